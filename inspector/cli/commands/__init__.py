"""One module for each command, imported when it is asked for.

Each has `configure(parser)`, which adds its options, and `run(options)`, which gives the exit code; only
`window.py` has neither, because it has no name to be asked by. They know everything in `inspector.cli`, but
not one another. Start with `list.py`, the smallest that uses the engine.
"""
