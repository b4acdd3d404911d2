"""What went over the wire, as it was: recorded once, read by everybody.

Imports `protocol` and `base`. Start with `records.py` (what one row is), then `log.py` (the rows, in
columns) and `recorder.py` (who writes them).
"""
