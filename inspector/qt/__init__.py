"""The window. The only package, with `app`, that imports PySide6.

Imports go down: window, then panels and dialogs, then forms, then widgets and models, then actions and
theme, then bridge. A panel never imports another panel. Start with `bridge.py`, the only file where the
engine's thread and the window's thread meet; then `window/mainwindow.py`.
"""
