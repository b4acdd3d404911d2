"""Resources panel: find a resource, read it, subscribe to it, see its changes.

Imports as in `qt.panels`. Start with `panel.py`.
"""
