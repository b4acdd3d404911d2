"""The filter language: text to tree, tree to matching rows, and the help for whoever types it.

Imports the log and its records; does no I/O of its own. Start with the docstring of `grammar.py`, which is
the manual, then `tree.py` (what a filter is), `fields.py` (the words) and `matcher.py` (which rows fit).
"""
