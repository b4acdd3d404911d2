"""Inbox panel: server requests that wait for the user, and the replies to them.

Imports as in `qt.panels`. Start with `panel.py`, then `request_view.py`, which picks a `Section` for each
kind of request.
"""
