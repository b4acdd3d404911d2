"""To be the only one, in all processes, that renews a secret."""

from __future__ import annotations

import hashlib
from pathlib import Path

from inspector.config.secrets.filelock import FileLock


class Claims:
    """Cross-process claims on secrets. Without a folder, they hold in this process only."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: set[str] = set()

    def try_claim(self, name: str) -> Claim | None:
        """Return a claim, or None while another holder has it. Raises OSError."""
        if name in self._held:
            return None
        lock = FileLock(self._folder / _file_name(name)) if self._folder is not None else None
        if lock is not None and not lock.try_take():
            return None
        self._held.add(name)
        return Claim(self._held, name, lock)


class Claim:
    """A claim on a secret, held until released or until the process exits."""

    def __init__(self, held: set[str], name: str, lock: FileLock | None) -> None:
        self._held = held
        self._name = name
        self._lock = lock

    def release(self) -> None:
        self._held.discard(self._name)
        if self._lock is not None:
            self._lock.release()


def _file_name(name: str) -> str:
    return f"claim-{hashlib.sha256(name.encode()).hexdigest()[:32]}.lock"
