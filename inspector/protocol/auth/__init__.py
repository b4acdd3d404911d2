"""Authorization as rules: what a challenge, a metadata document, a callback or a token reply may say.

Imports `base` and the rest of `protocol`; no I/O, no clock, no cryptography beyond hashes. Nothing here
raises on what a server sent: a reader gives a value and findings about it. Start with `findings.py` (what
can be wrong and how it is told), then `guard.py` (which addresses are contacted at all), and then the order
of a login: `challenge.py`, `resourcemeta.py`, `servermeta.py` and what follows from them.
"""
