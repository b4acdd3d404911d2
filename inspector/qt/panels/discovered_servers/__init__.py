"""Discovered servers panel: servers in other tools' files, their effects, and the user's trust.

Imports as in `qt.panels`. Everything shown here is untrusted text. Start with `panel.py`.
"""
