"""Server requests: sampling, elicitation and roots, their parsing, notes and replies.

Imports `base` and the rest of `protocol`. Start with `request.py`, then `sampling.py` and
`elicitation.py`; `replies.py` writes and checks the replies.
"""
