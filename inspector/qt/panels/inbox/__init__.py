"""The Inbox: what servers ask of the person, and how it is answered. Start with `panel.py`."""
