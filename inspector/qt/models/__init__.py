"""Qt models over the engine's values. QtCore and QtGui only; `data()` is a lookup, never work.

Start with `logrows.py`: the traffic table and the console are two views of the same log.
"""
