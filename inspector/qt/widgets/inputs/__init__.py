"""Input widgets: buttons, search and filter fields, completion, popups, secrets, clipboard.

Imports as in `qt.widgets`. Start with `controls.py`.
"""
