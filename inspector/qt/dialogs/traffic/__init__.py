"""Dialogs about traffic: compare, export, resend, captures, color rules.

Imports as in `qt.dialogs`. Start with `compare.py`.
"""
