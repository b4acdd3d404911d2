"""Doctor panel: the connection checks of a server, what failed and how to fix it.

Imports as in `qt.panels`; the checks run in `engine.doctor`. Start with `panel.py`.
"""
