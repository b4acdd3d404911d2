"""Marks and checks for what Windows does not have; each mark says why the test is skipped there."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

IS_WINDOWS = sys.platform == "win32"
# The quotes of a command line that is shown or copied.
QUOTE = '"' if IS_WINDOWS else "'"

needs_permissions = pytest.mark.skipif(IS_WINDOWS, reason="Windows has no permission bits")
needs_links = pytest.mark.skipif(IS_WINDOWS, reason="symbolic links need a privilege on Windows")
needs_fifos = pytest.mark.skipif(IS_WINDOWS, reason="Windows has no named pipes in folders")
needs_signals = pytest.mark.skipif(IS_WINDOWS, reason="Windows has no signals between processes")
needs_process_groups = pytest.mark.skipif(
    IS_WINDOWS, reason="Windows has job objects, not process groups; see tests/windows"
)
needs_shebang = pytest.mark.skipif(IS_WINDOWS, reason="Windows does not read the #! line of a script")


def is_owner_only(path: Path) -> bool:
    """True if only the owner can access the file; always on Windows, where its folder decides."""
    return IS_WINDOWS or stat.S_IMODE(path.stat().st_mode) == 0o600
