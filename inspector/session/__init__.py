"""One live connection to one server.

Imports `transport`, `traffic`, `config`, `protocol` and `base`. Start with `session.py` (its life),
then `client.py` (typed calls on top of it). `connect.py` turns a configured entry into a transport.
"""
