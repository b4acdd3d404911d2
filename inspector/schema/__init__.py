"""JSON Schema turned into a form description, and form entries turned into JSON: no Qt, no I/O.

Imports the standard library, `inspector.base` and jsonschema-rs. Start with `fields.py` (what a form consists
of) and `drafts.py` (what it holds), then `build.py` (schema to fields; `flatten` and `merging` take schemas
apart for it) and `values.py` (entries to JSON, with nothing lost on the way). `check` is the instant check,
`validate` the whole one, for a worker. `choose` finds the variant of a union, `active` the members that
apply, `sample` and `start` make values, `coverage` says what a form does not show.
"""
