"""Main window: docks, menus, one workspace per server, and what each command does.

May import everything in `qt` and below; nothing in `qt` imports it. Wiring only: panels and dialogs do the
work. Start with `main_window.py`, then `workspace.py` and `commands.py`.
"""
