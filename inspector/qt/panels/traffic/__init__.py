"""Traffic: every message of every server as it comes, and each one in detail. Start with `panel.py`."""
