"""JSON Schema turned into a form description, and form entries turned into JSON: no Qt, no I/O.

Imports the standard library and `inspector.base` only. Start with `fields.py` (what a form consists of),
then `build.py` (schema to fields) and `values.py` (entries to JSON, with nothing lost on the way).
"""
