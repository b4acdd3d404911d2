"""Detail of one traffic row: message, HTTP exchange, timing, findings and related messages.

Imports as in `qt.panels`. Start with `detail_view.py`.
"""
