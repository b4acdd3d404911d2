"""Forms: widgets for the field tree of `inspector.schema`.

May import `schema`, `qt.widgets`, `qt.theme` and `base`. Titles, descriptions, choices and values come from
a server and are shown as plain text only. Start with `form.py` (`SchemaForm`) and `editor.py` (what an editor
promises); `kit.py` says which editors a kind of field has, `slot.py` how they follow one another.
`argumentseditor.py` puts JSON text beside the form: its editor is `jsonedit.py`. Whoever shows arguments
passes `ArgumentsEditor` a function that checks them in full (`checking.Validate`).
"""
