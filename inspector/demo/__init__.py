"""The embedded demo servers: something real to connect to before you have a server of your own.

Each runs as its own process, `python -m inspector.demo NAME`, over stdio or (`--http`) Streamable HTTP. They
stand on the official `mcp` SDK, so the inspector is tried against an independent peer and not against its own
code. Only `faulty` does without: it exists to break the wire rules that the SDK keeps. `login` is a
whole site around an SDK server, with an authorization server that breaks the rules of OAuth on demand.

May import `inspector.base`, the standard library and the SDK; never a session, a transport or the engine.
Start reading at `servers.py`, the registry: it is the only module here that the rest of the application
imports, and it does not load the SDK.
"""
