"""Logging in: the rules of `protocol.auth` run over HTTP, with a browser, a listener, keys and a store.

Imports `transport`, `traffic`, `config`, `protocol` and `base`, and no Qt. What can be decided without I/O is
decided in `protocol.auth`: start reading there. Then `flow.py` is a login, whose steps are in the modules
that `stepwork.py` names; `provider.py` is what goes with every request after it, and `lifetime.py` how tokens
are renewed and given back.
"""
