"""Models of comparisons: messages, captures, and a server's changes since its baseline.

Imports as in `qt.models`; the comparing itself is in `traffic.compare`. Start with `comparison.py`.
"""
