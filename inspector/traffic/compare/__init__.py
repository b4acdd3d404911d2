"""Two messages, exchanges or captures beside each other: what differs, apart from what is ignored.

No I/O; imports `base` and the traffic log. Start with `values.py` (two JSON values), which gives a
`diff.Diff`; `texts.py` compares bytes, `messages.py` rows of a log, `captures.py` whole logs.
"""
