"""Tasks panel: the tasks of a server, their state and results.

Imports as in `qt.panels`. Start with `panel.py`.
"""
