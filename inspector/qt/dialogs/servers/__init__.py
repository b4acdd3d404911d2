"""Dialogs about the server list: add, edit, export, secrets, external changes.

Imports as in `qt.dialogs`; the forms are in `qt.forms.server`. Start with `add_server.py`.
"""
