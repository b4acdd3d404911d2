"""The protocol without I/O: bytes and values in, events and bytes out.

Imports `base` only; knows no clock, no loop, no socket. Start with `jsonrpc.py` (what a message is),
then `connection.py` (the client's side of one conversation), `handshake.py` and `probe.py` (how it begins),
and `dialect.py` (what each era wants around a request).
"""
