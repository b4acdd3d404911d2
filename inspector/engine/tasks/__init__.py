"""Tasks of all servers: polling, input requests and outcomes.

Imports `engine.calls`, `engine.views` and the layers below. Start with `store.py`; `follower.py` polls
one task.
"""
