"""JSON Schema form: widgets for the field tree of `inspector.schema`.

May import `qt.forms.json`, `qt.widgets`, `qt.theme`, `qt.bridge`, `schema` and `base`. Server text is shown
as plain text only. Start with `schema_form.py` (`SchemaForm` and the editor factory), then `editor.py` (the
contract of all editors) and `value_row.py` (how one editor replaces another). `arguments_editor.py`
adds JSON text as a second view of the same value.
"""
