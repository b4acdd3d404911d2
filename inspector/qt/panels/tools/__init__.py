"""Tools panel: find a tool, fill in its arguments, call it, read the result.

Imports as in `qt.panels`. Start with `panel.py`.
"""
