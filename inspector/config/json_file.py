"""JSON files with exact round trips, atomic writes and locks; safe file names.

Numbers keep their spelling and keys their order, as these files hold what the user typed for a server.
Writes replace the whole file or leave it unchanged. `JsonDocument` is for MCP Lens's own files, with a
lock around each read-modify-write. `read_file` and `write_file` are for folders that may come from
anyone: reads are limited in size and accept regular files only.

`FileLock` excludes other processes; the system releases it when the process ends. `readable_stem` and its
relatives make file names from arbitrary names, valid on every platform.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inspector.base.atomic_file import replace_file
from inspector.base.errors import ConfigError
from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSON, JSONError, JSONObject, check_depth, exact_decoder, to_wire
from inspector.base.plain_text import one_line
from inspector.base.units import size

if sys.platform == "win32":
    import msvcrt

    def _try_lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


MAX_BYTES = 4 * 1024 * 1024

# How long to wait for another process; none should hold the lock for more than a moment.
_LOCK_TIMEOUT_S = 2.0
# Polling interval: there is no portable lock call with a timeout.
_LOCK_POLL_S = 0.02


class JsonDocument:
    """A JSON file. Errors are sentences that name the file.

    Do every read-modify-write inside `locked`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file's lock, so that nothing else writes it between a read and a write."""
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)  # the lock file is next to the file
        with _locks.setdefault(os.path.realpath(self.path), _DocumentLock(self.path)):
            yield

    def read(self) -> JSONObject:
        """Return the file's object; a missing file is an empty object. Raises ConfigError."""
        try:
            document = read_exactly(self.path.read_text(encoding="utf-8-sig"), last_wins=True)
        except FileNotFoundError:
            return {}
        except (OSError, UnicodeDecodeError, JSONError) as exc:
            raise _not_read(self.path, exc) from exc
        return _require_object(self.path, document)

    def write(self, document: JSONObject) -> None:
        """Replace the file; it becomes readable only by its owner, as it may contain secrets.

        Raises ConfigError, leaving the file unchanged.
        """
        path = Path(os.path.realpath(self.path))  # users symlink such files: keep the link
        try:
            data = (write_exactly(document) + "\n").encode()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data, is_private=True)
        except (OSError, JSONError) as exc:
            raise _not_written(self.path, exc) from exc


class _DocumentLock:
    """Exclusive access to a document, among the threads of this process and among processes.

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
                self._processes.acquire(_LOCK_TIMEOUT_S)

    def __exit__(self, *reason: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._processes.release()
        self._threads.release()


# One per file and process: several modules store sections in the same file, on several threads.
_locks: dict[str, _DocumentLock] = {}


class FileLock:
    """An exclusive file lock, also between threads. Its file stays: deleting it would be a race."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def try_acquire(self) -> bool:
        """Acquire the lock if it is free. Raises OSError if the file cannot be opened."""
        flags = os.O_CREAT | os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        handle = os.open(self._path, flags, 0o600)
        try:
            _try_lock(handle)
        except OSError:
            os.close(handle)
            return False
        self._handle = handle
        return True

    def acquire(self, timeout: float) -> bool:
        """Wait for the lock for up to `timeout` seconds. Raises OSError like `try_acquire`."""
        deadline = time.monotonic() + timeout
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOCK_POLL_S)
        return True

    def release(self) -> None:
        if self._handle is not None:
            os.close(self._handle)  # releases the lock
            self._handle = None


def read_file(path: Path, max_bytes: int = MAX_BYTES) -> JSONObject:
    """Read a JSON object. Raises ConfigError, or FileNotFoundError if the file does not exist."""
    try:
        document = read_exactly(read_text(path, max_bytes))
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError, JSONError) as exc:
        raise _not_read(path, exc) from exc
    return _require_object(path, document)


def write_file(path: Path, document: JSONObject, *, is_private: bool) -> None:
    """Replace the file; a private one is readable only by its owner, others keep their mode.

    Raises ConfigError, leaving the file unchanged.
    """
    try:
        data = (write_exactly(document) + "\n").encode()
    except JSONError as exc:
        raise _not_written(path, exc) from exc
    write_bytes(path, data, is_private=is_private)


def write_bytes(path: Path, data: bytes, *, is_private: bool) -> None:
    """Like `write_file`, for raw bytes."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if is_private else 0o777)
        replace_file(path, data, is_private=is_private)
    except OSError as exc:
        raise _not_written(path, exc) from exc


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Read a regular UTF-8 file. Raises OSError and UnicodeDecodeError."""
    return read_bytes(path, max_bytes).decode("utf-8-sig")


def read_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a regular file. Raises OSError."""
    _require_regular(path.stat())  # merely opening a device can have side effects
    with open(path, "rb", opener=_open_without_blocking) as file:
        _require_regular(os.fstat(file.fileno()))  # it may have been replaced meanwhile
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(f"it is larger than {size(max_bytes)}")
    return data


def _require_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("it is not a regular file")


def _open_without_blocking(path: str, flags: int) -> int:
    """Open a file. Opening a FIFO the usual way would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _not_read(path: Path, cause: Exception) -> ConfigError:
    if isinstance(cause, JSONError):
        return ConfigError(f"{_display(path)} is not valid JSON: {cause}.", "Fix it in the file.")
    return ConfigError(f"Could not read {_display(path)}: {cause}.", "Check the file and its permissions.")


def _not_written(path: Path, cause: Exception) -> ConfigError:
    reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else cause
    return ConfigError(f"Could not write {_display(path)}: {reason}.", "The file was not changed.")


def _require_object(path: Path, document: JSON) -> JSONObject:
    if not isinstance(document, dict):
        raise ConfigError(f"{_display(path)} must contain a JSON object.", "Fix it in the file.")
    return document


def _display(path: Path) -> str:
    return one_line(str(path))


def read_exactly(text: str, *, last_wins: bool = False) -> JSON:
    """Parse a JSON value, preserving number spelling. Raises JSONError.

    A repeated key is an error too, unless `last_wins`.
    """
    try:
        check_depth(text)
        value: JSON = (_TOLERANT_DECODER if last_wins else _DECODER).decode(text)
    except json.JSONDecodeError as exc:
        raise JSONError(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from exc
    except RecursionError as exc:
        raise JSONError("nested too deeply to parse") from exc
    return value


def write_exactly(value: JSON) -> str:
    """Return indented JSON, the inverse of `read_exactly`. Raises JSONError if too deep."""
    return reindent(to_wire(value).decode())


def _object(pairs: list[tuple[str, JSON]]) -> JSONObject:
    members = dict(pairs)
    if len(members) < len(pairs):  # writing it back would lose one of them
        duplicate, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise JSONError(f"duplicate key {duplicate[:60]!r}")
    return members


_DECODER, _TOLERANT_DECODER = exact_decoder(object_pairs_hook=_object), exact_decoder()


_MAX_STEM_BYTES = 80  # UTF-8; file systems allow 255, and suffixes and numbers are added
# Reserved device names on Windows, with any extension.
_DEVICE_NAME = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def readable_stem(name: str, default: str) -> str:
    """Keep letters and digits of any script; replace everything else with single hyphens."""
    letters = (char if char.isalnum() else "-" for char in unicodedata.normalize("NFC", name[:400]))
    stem = re.sub("-+", "-", "".join(letters))
    stem = stem.encode(errors="ignore")[:_MAX_STEM_BYTES].decode(errors="ignore").strip("-")
    return f"{stem}-" if _DEVICE_NAME.fullmatch(stem) else stem or default


def free_stem(stem: str, taken: Container[str]) -> str:
    """Return the stem, numbered if taken. `taken` holds stems as returned by `folded`."""
    candidate, number = stem, 2
    while folded(candidate) in taken:
        candidate, number = f"{stem}-{number}", number + 1
    return candidate


def folded(stem: str) -> str:
    """Return the stem as case-insensitive, normalizing file systems compare it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", stem).casefold())


def distinct_stem(*names: str) -> str:
    """Return a readable stem that is unique for these names: it ends in a hash of them."""
    exact = "\0".join(names).encode(errors="surrogatepass")
    readable = "-".join(filter(None, (readable_stem(name[:40], "") for name in names)))
    readable = readable_stem(readable, "call")
    return f"{readable}-{hashlib.sha256(exact).hexdigest()[:16]}"
