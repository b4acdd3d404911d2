"""Files that are written beside their target and then moved over it.

The only way in which MCP Lens writes to a path that the user chose, or into a folder in which others may
write. The new file has an unpredictable name and is created exclusively, so that a link that someone
placed in the folder is never written through; the move replaces a link at the target itself. The target is
replaced whole or left unchanged.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_FLAGS = os.O_CREAT | os.O_EXCL | os.O_RDWR
_FLAGS |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)

_DEFAULT_MODE = 0o666  # less the umask, which only the system knows
# Pauses in seconds between attempts to move a file on Windows; 1.6 s in total.
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.5, 0.5)
# ERROR_ACCESS_DENIED, ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
_IN_USE = frozenset({5, 32, 33})
_STILL_IN_USE = "access denied; another program may have the file open"


class AtomicFile:
    """A new file in the target's folder, which `commit` moves over the target.

    As a context manager it is deleted at the end unless it was committed. Every method raises OSError.
    """

    def __init__(self, target: Path, *, is_private: bool) -> None:
        """Create the file. A private one is readable by its owner only, others get the target's mode."""
        self.target = target
        self.path = target.with_name(f".{secrets.token_hex(8)}.tmp")  # the target's name may be at the limit
        replaced_mode = _mode_of(target)
        self._mode = None if is_private else replaced_mode
        mode = _DEFAULT_MODE if self._mode is None else self._mode
        self._file = os.fdopen(os.open(self.path, _FLAGS, 0o600 if is_private else mode), "wb")

    def __enter__(self) -> AtomicFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def sync(self) -> None:
        """Write everything to the disk: otherwise a power failure could leave an empty file."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def commit(self) -> None:
        """Complete the file and move it over the target."""
        self.sync()
        self._file.close()
        if self._mode is not None:
            os.chmod(self.path, self._mode)  # it was created with this mode less the umask
        move_file(self.path, self.target)

    def discard(self) -> None:
        """Delete the file, unless it was committed. Raises nothing."""
        with suppress(OSError):
            self._file.close()  # flushes: fails on a full disk
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def replace_file(target: Path, data: bytes, *, is_private: bool) -> None:
    """Write a whole file. Raises OSError, leaving the target unchanged."""
    with AtomicFile(target, is_private=is_private) as file:
        file.write(data)
        file.commit()


def move_file(
    source: Path,
    target: Path,
    *,
    move: Callable[[Path, Path], None] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Move a file, replacing the target. Raises OSError.

    Windows denies this while another process has one of the two files open: another window, the command
    line, a virus scanner, the search indexer. They close it soon, so the move is tried again for 1.6 s.
    """
    move = move or os.replace
    for seconds in _PAUSES:
        try:
            move(source, target)
            return
        except PermissionError as exc:
            if getattr(exc, "winerror", None) not in _IN_USE:
                raise
        pause(seconds)
    try:
        move(source, target)
    except PermissionError as exc:
        raise PermissionError(exc.errno, _STILL_IN_USE, str(target)) from exc


def _mode_of(target: Path) -> int | None:
    """Return the mode of the file to replace; None for no file and for a link, which may point anywhere."""
    try:
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(mode):  # replacing a device or a FIFO would break it for others
        raise OSError(errno.EINVAL, "it is not a regular file", str(target))
    return stat.S_IMODE(mode) & 0o777
