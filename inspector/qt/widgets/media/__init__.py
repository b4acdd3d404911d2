"""Viewers for untrusted media: Markdown, images, audio, CSV tables.

Imports as in `qt.widgets`. Nothing shown here loads other files or contains clickable links.
Start with `markdown.py`.
"""
