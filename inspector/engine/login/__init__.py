"""Logins of all servers: tokens, their refresh, and the login flow.

Imports `oauth`, `engine.secrets` and the layers below. Start with `logins.py`. `account.py` is imported
with a server's first authorized request, as it loads the OAuth code.
"""
