"""Process panel: a server's processes, earlier exits, file watch and regression calls.

Imports as in `qt.panels`. Start with `panel.py`.
"""
