"""Discovered servers panel: servers in other clients' files, and whether you trust them.

Imports as in `qt.panels`. Everything shown here is untrusted text. Start with `panel.py`.
"""
