"""Dialogs, each for one job. None is modal: the main window stays usable.

May import `qt.views`, `qt.forms`, `qt.widgets`, `qt.models`, `qt.bridge` and below; never panels or the
window. The window imports dialogs on demand. Start with `help.py`, the shortest, then `settings.py`.
"""
