"""The protocol without I/O: bytes and values in, events and bytes out.

Imports `base` only; knows no clock, no loop, no socket. Start with `jsonrpc.py` (what a message is),
then `connection.py` (the client's side of one conversation) and `handshake.py` (how it begins).
"""
