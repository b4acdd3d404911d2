"""Servers that others wrote, each on every transport it offers, visited through the engine.

`installs.py` puts them into a cache folder, once; `netserver.py` runs those that listen on a port; `visit.py`
is a connection to one of them. What cannot be installed (no Node, no registry) is skipped, with the reason.
Start with `visit.py`, then read `test_peer_everything.py`.
"""
