"""A file that is written whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_file_beside(target: Path) -> Iterator[Path]:
    """Create a temporary file in the target's folder, to be moved to the target when complete.

    Readable by its owner only; deleted afterwards unless it was moved. Raises OSError. Its name is
    unpredictable, so that in a shared folder no one can place a link there beforehand.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".mcp-lens-", suffix=".part")
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
