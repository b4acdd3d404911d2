"""The protocol without I/O: bytes and values in, events and bytes out.

Imports `base` only; no clock, no event loop, no socket: times are arguments. Start with `jsonrpc.py`
(messages), then `connection.py` (the client side of one connection), `handshake.py` (the two eras and
`initialize`) and `discovery.py` (detecting the era). `revisions.py` lists protocol versions and methods.
"""
