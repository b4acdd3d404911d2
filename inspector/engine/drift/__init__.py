"""Drift: changes of what a server offers, compared with a baseline that the user accepted.

Imports `engine.views`, `engine.workers`, `protocol.drift` and the layers below. Start with `drift.py`;
`baseline.py` has the file and the comparison.
"""
