"""One live connection to one server.

Imports `transport`, `traffic`, `config`, `protocol` and `base`. Runs on the engine's event loop and knows
neither the engine nor Qt. Start with `session.py` (life cycle), then `conversation.py` (one transport's
traffic) and `client.py` (typed calls). `connect.py` turns a configured entry into transports.
"""
