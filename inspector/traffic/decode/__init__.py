"""Decoding of encoded data in messages: base64, JSON in strings, JWTs, images, audio, URLs.

No I/O; nothing is rendered or followed. Imports `base`, `protocol` and the paths of `traffic.compare`.
Start with `finder.py`.
"""
