"""Third-party servers, each on every transport it supports, used through the engine.

`installs.py` installs them into a cache folder, once; `netserver.py` runs those that listen on a port;
`visit.py` is a connection to one of them. What cannot be installed (no Node, no registry) is skipped,
with the reason. Start with `visit.py`, then read `test_peer_everything.py`.
"""
