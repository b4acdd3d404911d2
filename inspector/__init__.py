"""MCP Lens: a desktop inspector and debugger for Model Context Protocol servers.

Layers, each importing only those below it: `cli`, `app`, `qt`, `engine`, `session` and `demo`, `oauth`,
then `transport`, `traffic`, `config` and `schema`, then `protocol`, then `base`. Nothing below `qt`
imports PySide6. Start with `cli/main.py` for the commands, or `app/main.py` for the window.
"""

__version__ = "0.1.0"
