"""JSON values and JSON text: exact numbers, tolerant and strict parsing, text layout.

Imports the standard library and `base.plain_text` only. Start with `values.py` (data from a peer);
`text.py` is for JSON that the user edits, `scanner.py` for text that is shown exactly as it was sent.
"""
