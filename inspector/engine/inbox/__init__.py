"""Inbox: server requests that wait for the user or are answered by reply rules.

Imports the layers below and no other engine package. Start with `inbox.py`; `views.py` holds what is shown,
`reply_rules.py` the automatic replies.
"""
