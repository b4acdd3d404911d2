"""Recorded traffic: the log of everything on the wire, with filters, analysis and export.

Imports `protocol` and `base`. Among the packages here, `export` imports `captures`, which imports
`masking`; `decode` imports `compare`, which imports `filter`; all may import `log` and `records`. Start
with `records.py` (what a row is), then `log.py` (all rows, in columns) and `recorder.py` (which writes
them).
"""
