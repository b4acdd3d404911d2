"""Tools: find one, fill in its arguments, call it, read what comes back. Start with `panel.py`."""
