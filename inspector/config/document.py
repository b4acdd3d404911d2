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

# How long we wait for another process: none has reason to hold the lock for longer than a moment.
_PATIENCE_S = 2.0


class _Turn:
    """Who has it is alone with a file: among the threads of this process, and among processes.

    Where no lock file can be made, or somebody keeps it, we go on without: a change that cannot be written
    at all would be worse.
    """

    def __init__(self, path: Path) -> None:
        self._threads = threading.RLock()
        # Beside a link, not beside what it leads to: that may be in somebody's repository.
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


# One a file, for the whole process: several parts keep their sections in the same one, on several threads.
_turns: dict[str, _Turn] = {}


class JsonDocument:
    """Errors are sentences that name the file. Who reads it to write it again does so while `changing`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def changing(self) -> Iterator[None]:
        """What is read in here is what is written over: nobody else writes the file meanwhile."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)  # the lock is beside the file
        with _turns.setdefault(os.path.realpath(self.path), _Turn(self.path)):
            yield

    def read(self) -> JSONObject:
        """A file that is not there is an empty object. Raises ConfigError."""
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
        """Raises ConfigError; the file is then as it was."""
        path = os.path.realpath(self.path)  # people link to such files: the link is to stay
        try:
            data = (write_exactly(document) + "\n").encode()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(path, data)
        except (OSError, JSONProblem) as exc:
            raise ConfigError(f"{self.path} cannot be written: {exc}.", "Nothing was changed in it.") from exc


def _replace(path: str, data: bytes) -> None:
    """Only its owner can read the file: it may hold secrets."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=os.path.basename(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # or a power cut could leave an empty file in the old one's place
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
