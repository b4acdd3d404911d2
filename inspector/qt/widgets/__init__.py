"""Widgets that know nothing about MCP: labels, badges, code views, inputs, notices, layout.

May import `qt.theme`, `base` and PySide6 only. Each widget takes the `Theme` and follows its changes.
Text is shown as plain text with hidden characters made visible: server text never becomes markup.
Start with `text/labels.py`, then `code/json_view.py`.
"""
