"""A file that is written whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_file_beside(target: Path) -> Iterator[Path]:
    """An empty file in the target's folder, for its owner's eyes only: to be filled, and put in the target's
    place when it is whole. Otherwise it is gone afterwards. Raises OSError.

    Its name cannot be foreseen: in a folder of many people nobody can put a link there beforehand.
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".mcp-lens-", suffix=".part")
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
