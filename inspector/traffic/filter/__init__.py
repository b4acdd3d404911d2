"""The traffic filter language: parsing, evaluation over the log, completion and its manual.

Imports `base`, `protocol`, and `log`, `columns` and `records` of `traffic`; no I/O apart from reading
bodies through the log. Start with `manual.py`, which describes the language, then `tree.py` (what a filter
is), `fields.py` (the fields) and `matcher.py` (which rows match).
"""
