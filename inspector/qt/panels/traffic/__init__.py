"""Traffic panel: every recorded message of all servers, live or from a capture.

Imports as in `qt.panels`. Start with `panel.py`; `detail` shows one row, `timeline` operations over time.
"""
