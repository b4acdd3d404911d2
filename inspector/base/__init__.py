"""Values and small tools for every layer.

Imports the standard library only, and does no I/O. Start with `errors.py`, which draws the whole
exception tree, then `jsonvalue.py`.
"""
