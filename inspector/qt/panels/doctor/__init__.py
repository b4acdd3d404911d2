"""The Doctor panel: the way to a server step by step, what failed on it, and what to do. Start with "
"`panel.py`."""
