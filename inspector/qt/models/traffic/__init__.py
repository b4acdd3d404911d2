"""Models of the traffic: table, timeline, statistics, console and message tree.

Imports as in `qt.models`; the analysis itself is in `traffic.analysis`. A log may have a million rows, so
searching and sorting run in slices. Start with `traffic_model.py`, then `row_search.py`.
"""
