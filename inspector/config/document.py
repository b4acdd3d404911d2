"""One JSON file of ours: read as an object, written whole or not at all. Numbers keep their spelling: it may
hold what a person wrote for a server."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.config.exactfile import read_exactly, write_exactly
from inspector.config.secrets.filelock import FileLock

# How long to wait for another process; none should hold the lock for more than a moment.
_PATIENCE_S = 2.0


class _Turn:
    """Exclusive access to a file, among the threads of this process and among processes.

    If the lock file cannot be created, or another process keeps holding it, continue without: not being
    able to save at all would be worse.
    """

    def __init__(self, path: Path) -> None:
        self._threads = threading.RLock()
        # Next to the symlink, not its target: the target may be in a user's repository.
        self._processes = FileLock(path.with_name(f".{path.name}.lock"))
        self._depth = 0

    def __enter__(self) -> None:
        self._threads.acquire()
        self._depth += 1
        if self._depth == 1:
            with suppress(OSError):
                self._processes.take(_PATIENCE_S)

    def __exit__(self, *reason: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._processes.release()
        self._threads.release()


# One per file and process: several modules store sections in the same file, on several threads.
_turns: dict[str, _Turn] = {}


class JsonDocument:
    """A JSON file. Errors are sentences that name the file.

    Do every read-modify-write inside `changing`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Hold the file's lock, so that nothing else writes it between a read and a write."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)  # the lock file is next to the file
        with _turns.setdefault(os.path.realpath(self.path), _Turn(self.path)):
            yield

    def read(self) -> JSONObject:
        """Return the file's object; a missing file is an empty object. Raises ConfigError."""
        try:
            document = read_exactly(self.path.read_text(encoding="utf-8-sig"), last_wins=True)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"{self.path} cannot be read: {exc}.", "Check the file.") from exc
        except JSONProblem as exc:
            raise ConfigError(f"{self.path} is not valid JSON: {exc}.", "Correct it there.") from exc
        if not isinstance(document, dict):
            raise ConfigError(f"{self.path} must hold a JSON object.", "Correct it there.")
        return document

    def write(self, document: JSONObject) -> None:
        """Replace the file. Raises ConfigError, leaving the file unchanged."""
        path = os.path.realpath(self.path)  # users symlink such files: keep the link
        try:
            data = (write_exactly(document) + "\n").encode()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except (OSError, JSONProblem) as exc:
            raise ConfigError(f"{self.path} cannot be written: {exc}.", "Nothing was changed in it.") from exc


def _replace(path: str, data: bytes) -> None:
    """Replace a file atomically, readable only by its owner: it may contain secrets."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # otherwise a power failure could leave an empty file
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
