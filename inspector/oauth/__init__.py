"""Logging in: the rules of `protocol.auth` run over HTTP, with a browser, a listener, keys and a store.

Imports `transport`, `traffic`, `config`, `protocol` and `base`, and no Qt. What can be decided without I/O is
decided in `protocol.auth`: start reading there, then `signing.py` (keys and signatures).
"""
