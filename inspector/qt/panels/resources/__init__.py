"""Resources: find one, read it, hear of its changes, see what changed. Start with `panel.py`."""
