"""Views shared by panels and dialogs that are not forms: results, content, messages, diffs.

May import `qt.models`, `qt.widgets`, `qt.actions`, `qt.theme`, `qt.bridge` and value types of `engine` and
below; not `qt.forms`, panels or dialogs. They call nothing but the bridge.
Start with `content_view.py`, then `result_view.py`.
"""
