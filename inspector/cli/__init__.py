"""The command `mcp-lens`: the window, and the same engine without one.

May import everything, but imports `app` (and with it Qt) only inside the commands that open the window.
Start with `main.py`, which reads the command line and loads one module of `commands/`; `headless.py` runs an
engine for those that need one. What goes to the terminal goes through `output.py`.
"""
