"""The command line `mcp-lens`: opens the window, or runs one command on a headless engine.

May import everything, but imports `app` (and with it Qt) only inside the commands that open the window.
Start with `main.py`, which parses the command line and loads one module of `commands/`. `headless.py`
runs an engine for commands that need one. All terminal output goes through `output.py`.
"""
