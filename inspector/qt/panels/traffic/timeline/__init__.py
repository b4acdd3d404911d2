"""Timeline view: operations as bars over time, one lane per server.

Imports as in `qt.panels`; data comes from `qt.models.traffic.timeline_bars`. Start with `timeline_view.py`.
"""
