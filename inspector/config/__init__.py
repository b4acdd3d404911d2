"""Servers and settings, as files.

Imports `base`, and from `protocol` its limits. Start with `entries.py` (what a server's configuration
is), then `catalogue.py` (where ours are kept).
"""
