"""Processes of stdio servers: what runs, what it uses, and restarts when files change.

Imports `engine.views` and the layers below. Start with `processes.py`; `sample.py` reads the process
table, `file_watch.py` restarts servers.
"""
