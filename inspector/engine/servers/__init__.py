"""Servers: the registry, one server's life cycle, and discovered servers.

Imports `engine.login`, `engine.inbox`, `engine.secrets`, `engine.views` and the layers below. Start with
`registry.py` (all servers), then `server.py` (one server and its session).
"""
