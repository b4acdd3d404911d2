"""Qt item models over engine values, and the texts about those values.

May import QtCore and QtGui (no QtWidgets), `qt.theme`, `qt.bridge`, value types of `engine` and everything
below it; not `qt.widgets`. `data()` is a lookup: no parsing, no I/O. Long work runs in slices of a few
milliseconds on the window's event loop.
Start with `servers.py`, then `traffic/traffic_model.py`.
"""
