"""OAuth over HTTP: logins, tokens and their storage.

Imports `transport`, `traffic`, `config`, `protocol` and `base`. Everything that can be decided without
I/O is in `protocol.auth`: start reading there. Then `login/flow.py` is a login, `authorizer.py` adds
credentials to every request after it, and `token_endpoint.py` refreshes and revokes tokens.
"""
