"""Leaves the working folder out of where Python looks for modules. Import it before anything else.

`python -m` puts that folder first: a file there that is called as one of our libraries (`httpx2.py`) would
run as us, and the folder may be anybody's. The installed command `mcp-lens` has no such entry. Only what
every Python has loaded by itself is imported here: not even `__future__`.
"""

import os
import sys


def leave_working_folder() -> None:
    """Remove the entry that `-m` put first in `sys.path`, and only that one."""
    try:
        folder = os.getcwd()
    except OSError:  # it was deleted
        return
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", folder):
        del sys.path[0]


leave_working_folder()
