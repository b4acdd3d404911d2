"""Client panel: the client capabilities declared to a server, and its roots.

Imports as in `qt.panels`. Start with `panel.py`.
"""
