"""What fills the window: one module or package a panel. No panel imports another.

A panel is given the theme, the actions and the bridge; it awaits the bridge and touches no session.
Start with `overview.py`, the shortest.
"""
