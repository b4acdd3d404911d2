"""An environment for measured processes: separate home, bytecode caches, no visible window."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FOLDERS = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


@contextmanager
def sandbox() -> Iterator[dict[str, str]]:
    """Return the environment variables for a child. No file of the user is read or written."""
    with tempfile.TemporaryDirectory(prefix="lens-bench-", ignore_cleanup_errors=True) as home:
        env = {**os.environ, "HOME": home, "PYTHONPYCACHEPREFIX": str(Path(home, "bytecode"))}
        # An installed app has its bytecode; a run that must not write any would compile at every start.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        for name in _FOLDERS:
            folder = Path(home, name.lower())
            folder.mkdir(mode=0o700)
            env[name] = str(folder)
        env.setdefault("QT_QPA_PLATFORM", "offscreen")
        yield env
