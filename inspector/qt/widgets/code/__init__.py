"""Code views and editors for content of any size: JSON, text, bytes.

Imports as in `qt.widgets`. Start with `json_view.py`, then `pager.py`.
"""
