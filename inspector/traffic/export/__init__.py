"""Traffic in the formats of others, out and in, with its secrets masked.

Imports `protocol`, `base` and the rest of `traffic`. Start with `secrets.py` (what is found) and `masking.py`
(what becomes of it); then one module a format: `jsonlines.py` (nothing is lost), `har.py`, `markdown.py`, and
`copyas.py` for one exchange; `reading.py` is the way in. A writer is a generator: it yields how many rows it
has done, so that its caller can show progress and stop, and returns what the format could not take.
"""
