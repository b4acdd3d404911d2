"""JSON Schema to form description, form entries to JSON, and tools as model APIs take them. No Qt and no I/O.

Imports the standard library, `inspector.base`, `inspector.protocol.types`, jsonschema-rs and `uritemplate`.
Start with `fields.py` (what a form consists of) and `drafts.py` (what it holds), then `builder.py` (schema
to fields, using `flatten` and `applicators`) and `values.py` (entries to JSON without loss). `check` is the
immediate check, `validation` the complete one, which runs in a worker process. `samples` makes example
values. `tool_names` and `tool_definitions` write tools as hosts offer them to models.
"""
