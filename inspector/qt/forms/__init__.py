"""Forms: widgets for the field tree of `inspector.schema`.

May import `schema`, `qt.widgets`, `qt.theme` and `base`. Titles, descriptions, choices and values come from
a server and are shown as plain text only. Start with `form.py` (`SchemaForm`); `argumentseditor.py` puts a
JSON view beside it; `editors.py` has one editor for each kind of field.
"""
