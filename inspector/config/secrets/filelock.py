"""A lock between processes: whoever holds it is alone with a file. The system frees it when we end."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Polling interval: there is no portable lock call with a timeout.
_POLL_S = 0.02


class FileLock:
    """An exclusive file lock, also between threads. Its file stays: deleting it would be a race."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def try_take(self) -> bool:
        """Try to take the lock. Raises OSError if the file cannot be opened."""
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self._path, flags, 0o600)
        try:
            _try_lock(handle)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def take(self, limit: float) -> bool:
        """Wait for the lock for up to `limit` seconds. Raises OSError like `try_take`."""
        deadline = time.monotonic() + limit
        while not self.try_take():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)  # releases the lock
            self._handle = None
