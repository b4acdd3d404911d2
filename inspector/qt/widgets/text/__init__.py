"""Text widgets: labels, badges, fact lists, long texts and text boxes.

Imports as in `qt.widgets`. Start with `labels.py`, which says why all text is plain.
"""
