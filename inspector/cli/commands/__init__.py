"""The commands of `mcp-lens`, one module each, imported when the command is used.

Each has `configure(parser)`, which adds its options, and `run(options)`, which returns the exit code.
`window.py` has neither: it runs when no command is given. Commands may import `inspector.cli` and all
layers below, but not each other (except `needs_qt` in `window.py`). Start with `list.py`, the smallest
one that uses the engine.
"""
