"""Values and small helpers for every layer: errors, signals, clock, JSON, text.

Imports the standard library only, and does no I/O. Start with `errors.py`, which shows the whole
exception tree, then `json/values.py`.
"""
