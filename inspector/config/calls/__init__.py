"""Files about tool calls: history, saved calls with their expected results, and variables.

Imports `base` and `config.json_file`. Start with `saved_calls.py`; `variables.py` has the `${name}`
syntax of arguments, `history.py` the log of past calls.
"""
