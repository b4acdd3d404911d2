"""Analysis of recorded traffic: statistics, timeline, and the messages related to a row.

Imports `base` and the modules of `traffic` itself (`log`, `records`, `operations`), but none of its other
packages; no Qt and no I/O. Results are updated as the log grows. Start with `related.py`, then
`statistics.py` and `timeline.py`.
"""
