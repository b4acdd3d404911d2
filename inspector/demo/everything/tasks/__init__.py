"""Tools that run as tasks, in both designs, written by hand: the SDK knows the types and has no methods.

`runs.py` holds the tasks whatever the design. `core.py` speaks 2025-11-25, where tasks are experimental and
the caller asks for one; `extension.py` speaks the extension for 2026-07-28, where the server decides.
`tools.py` is the table of tools; start reading there.
"""
