"""Forms: of JSON Schema, for the field tree of `inspector.schema`, and of the app's own values.

May import `qt.forms.json`, `qt.widgets`, `qt.theme`, `qt.bridge`, `config.json_file`, `schema` and `base`.
Server text is shown as plain text only. Start with `schema_form.py` (`SchemaForm` and the editor factory),
then `editor.py` (the contract of all editors) and `value_row.py` (how one editor replaces another).
`arguments_editor.py` adds JSON text as a second view of the same value. `plain_form.py` shows fields of the
app itself, such as login options, as ordinary labels and controls.
"""
