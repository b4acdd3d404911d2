"""Prompts panel: find a prompt, fill in its arguments, read its messages.

Imports as in `qt.panels`. Start with `panel.py`.
"""
