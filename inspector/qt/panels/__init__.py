"""Panels that fill the window: one module or package per panel.

May import `qt.views`, `qt.forms`, `qt.widgets`, `qt.models`, `qt.actions`, `qt.bridge` and below; never
dialogs, the window or another panel. A panel gets the theme, the actions and the bridge, awaits the
bridge and touches no session. Start with `overview.py`, the shortest.
"""
