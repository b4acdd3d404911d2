"""Prompts: find one, fill in its arguments, read the messages that it becomes. Start with `panel.py`."""
