"""Refuses to run when Python has files of the working directory on its module path.

`python -m` puts that directory first on the module path and imports from there before it comes to our code:
a cloned folder with a `types.py` runs its own code. Nothing here can prevent that, so this way to start is
refused, except in the source folder of MCP Lens, whose code is meant to run. The command `mcp-lens` and
`python -P -m` have no such entry. Only modules that every interpreter has already loaded may be imported
here, not even `__future__`.
"""

import os
import sys

_SOURCE_FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def refuse_working_directory(module: str) -> None:
    """Exit if this process was started with `-m` in another folder than that of our source."""
    if not sys.flags.safe_path and sys.path[0] != _SOURCE_FOLDER:
        sys.stderr.write(
            f"mcp-lens: “python -m {module}” lets Python run files of the current folder. Run mcp-lens, or "
            f"python -P -m {module}.\n"
        )
        sys.exit(64)  # ExitCode.USAGE; nothing else is imported before this
