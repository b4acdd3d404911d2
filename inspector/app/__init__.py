"""Wiring: the one place that builds everything, in order. Imports everything.

Start with `main.py`; `tour.py` drives the same window through the main jobs.
"""
