"""JSON text editor: highlighting, folding, completion and error marks.

May import `qt.widgets`, `qt.theme`, `schema` and `base`. Start with `json_edit.py`; `json_text_view.py`
adds parsing and error messages for one JSON object.
"""
