"""Notices: alerts, status strips, job progress, empty states and toasts.

Imports as in `qt.widgets`. Start with `notices.py`.
"""
