"""Forms: editors for JSON Schema fields, JSON text, server entries and named values.

May import `qt.widgets`, `qt.models`, `qt.theme`, `qt.bridge` and what is below `qt`; not `qt.views`.
Titles, descriptions, choices and values come from a server and are shown as plain text only.
Start with `schema/schema_form.py`; `schema/arguments_editor.py` combines that form with the JSON editor
of `json`. `server` holds the form for a server entry.
"""
