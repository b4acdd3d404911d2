"""Widgets that know no MCP: labels, badges, empty states, code and fact views, search, headers.

They may import `qt.theme`, `base` and PySide6, nothing else of ours. Each takes the `Theme` first and
re-reads its tokens when it changes. Text given to them is shown as plain text, hidden characters made
visible: a server's words never become markup. Start with `labels.py`, then `jsonview.py`.
"""
