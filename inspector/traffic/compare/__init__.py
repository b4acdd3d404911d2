"""Comparison of two messages, exchanges or captures, with rules for what to ignore.

No I/O. Imports `base`, the traffic log and `traffic.filter` (checks of regular expressions). Start with
`json_values.py`, which compares two JSON values into a `diff.Diff`; `texts.py` compares bytes,
`messages.py` rows of a log, `captures.py` whole captures, and `lines.py` lays a diff out for display.
"""
