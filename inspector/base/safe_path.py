"""Removes the working directory from `sys.path` on import. Import it before anything else.

`python -m` puts that directory first: a file in it that is named like one of our libraries (`httpx2.py`)
would be run as our code, and the directory may belong to anyone. The installed command `mcp-lens` has no
such entry. Only modules that every interpreter has already loaded may be imported here, not even
`__future__`.
"""

import os
import sys


def remove_working_directory() -> None:
    """Remove the entry that `-m` put first in `sys.path`, and only that one."""
    try:
        folder = os.getcwd()
    except OSError:  # it was deleted
        return
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", folder):
        del sys.path[0]


remove_working_directory()
