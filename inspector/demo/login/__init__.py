"""The `login` demo server: a protected MCP server and its authorization server, offline.

One process on one loopback port: the notes server (`notes_server.py`, on the SDK and behind its bearer
check), the authorization server that it trusts, a company identity provider for the enterprise flow, and
switches that each make one part break one rule. Start with `fault_switches.py`, then `app.py`. JWTs are
made and verified with PyJWT and pages served with Starlette, both of which come with the SDK. No code is
shared with the `oauth` package, so that a login meets an independent peer.

May import the SDK, what comes with it, and `inspector.demo`. Everything is held in memory. User names,
passwords and secrets are public and printed on the page `/`: they protect nothing but a few notes on the
user's own machine. Keys are generated at startup.
"""
