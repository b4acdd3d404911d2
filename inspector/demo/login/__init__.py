"""A protected MCP server and its authorization server, so that a login can be walked through offline.

One process on one loopback port: the notes server (`notes.py`, on the SDK and behind its bearer check), the
authorization server that it trusts, a small company identity provider for the enterprise flow, and the fault
bench: switches that make one part break one rule each (`switches.py`, start reading there). JWTs are made and
checked with PyJWT and pages served with Starlette, both of which the SDK brings along: no code is shared with
the inspector's own login, so that it meets an independent peer.

Everything is held in memory. Names, passwords and secrets are public, printed on the page `/`: they protect
three notes on the person's own machine and nothing else. Keys are made at the start and die with the process.
"""
