"""The list of servers, at the left edge of the window: `panel.py`, and how a row looks: `rows.py`.

It is painted before the engine is imported: nothing here may import more of that than its views.
"""
