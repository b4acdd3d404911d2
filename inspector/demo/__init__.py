"""Embedded demo servers: something real to connect to before you have a server yourself.

Each runs in a separate process, `python -P -m inspector.demo NAME`, over stdio or (`--http`) Streamable
HTTP. They are built on the official `mcp` SDK, so that MCP Lens is tried against an independent peer
rather than its own code. Only `faulty` is not: it exists to break wire rules that the SDK enforces.
`login` is a whole site around an SDK server, with an authorization server that violates OAuth on demand.

May import `inspector.base`, the standard library, the SDK and what comes with it; never a session, a
transport or the engine. Start with `servers.py`, the registry. It is what the rest of the application
imports, and it does not load the SDK.
"""
