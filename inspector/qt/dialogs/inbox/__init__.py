"""Dialogs about the Inbox: reply rules and the Inbox timeout.

Imports as in `qt.dialogs`. Start with `reply_rules.py`.
"""
