"""The files that a command would run: the program, and what its arguments stand for; and what is in them.

It is not all: a script reads others. But it is what an argument says, and a change of it is a change of what
was agreed to. Reads files, and blocks on that.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence

from inspector.base.errors import ConfigError

_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".sh", ".rb", ".pl", ".php", ".jar", ".lua", ".ps1")
_OF_FOLDER = (
    "package.json",
    "index.js",
    "__main__.py",
)  # entry points that runtimes look for in a folder
_MOST_FILES = 1000
_MOST_FOLDERS = 4
_MOST_BYTES = 512 * 1024 * 1024  # per server; beyond that only head, tail, size and mtime are hashed
_END = 1024 * 1024


class Hashes:
    """Cache of file hashes: twenty servers may start the same program, by twenty links."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], str] = {}

    def of_all(self, paths: Sequence[str]) -> list[str]:
        """Return a hash per path; "" if it is not a regular file or cannot be read."""
        left = _MOST_BYTES
        found: list[str] = []
        for path in paths:
            try:
                status = os.stat(path)
            except (OSError, ValueError):
                found.append("")
                continue
            is_whole = status.st_size <= left
            left -= status.st_size if is_whole else 0
            key = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, is_whole)
            if key not in self._known:
                self._known[key] = hash_of(path, is_whole)
            found.append(self._known[key])
        return found


def hash_of(path: str, is_whole: bool = True) -> str:
    """Hash a file's content, or its head, tail, size and mtime."""
    try:
        if not is_plain(path):  # opening a FIFO would block
            return ""
        with open(path, "rb") as file:
            if is_whole:
                return hashlib.file_digest(file, "sha256").hexdigest()
            status = os.fstat(file.fileno())
            digest = hashlib.sha256(f"{status.st_size} {status.st_mtime_ns}".encode())
            digest.update(file.read(_END))
            file.seek(-_END, os.SEEK_END)
            digest.update(file.read(_END))
            return f"ends {digest.hexdigest()}"
    except OSError:
        return ""


def scripts_of(args: Sequence[str], folder: str) -> tuple[str, ...]:
    """Return the regular files that these arguments refer to, run in this folder.

    These are the first non-option argument, anything named like a script, and the module after `-m`. Raises
    ConfigError.
    """
    found: dict[str, None] = {}
    for path in _scripts(args, folder):
        if is_plain(path):
            found[os.path.abspath(path)] = None
        if len(found) > _MOST_FILES:
            raise ConfigError(
                f"Its arguments name more than {_MOST_FILES:,} files. That is too much to check."
            )
    return tuple(found)


def is_plain(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _scripts(args: Sequence[str], folder: str) -> Iterator[str]:
    """Yield candidate paths; not all of them exist."""
    words = [(argument.partition("=")[2] if argument.startswith("-") else argument) for argument in args]
    folders = [folder, *_folders(words, folder)]
    is_first, before = True, ""
    for argument, word in zip(args, words, strict=True):
        path = os.path.join(folder, os.path.expanduser(word))
        if before == "-m":
            yield from _of_module(os.path.join(folder, *word.split(".")))
        elif word.lower().endswith(_SCRIPTS):
            yield from (os.path.join(each, os.path.expanduser(word)) for each in folders)
        elif word and is_first:
            yield path
            yield from (os.path.join(path, name) for name in _OF_FOLDER)
        is_first = is_first and argument.startswith("-")
        before = argument


def _of_module(path: str) -> Iterator[str]:
    yield f"{path}.py"
    yield os.path.join(path, "__init__.py")
    yield os.path.join(path, "__main__.py")


def _folders(words: Sequence[str], folder: str) -> list[str]:
    """Return absolute folders, as in `uv --directory /a/b run server.py`, that may hold scripts."""
    found: dict[str, None] = {}
    for word in words:
        path = os.path.expanduser(word)
        if os.path.isabs(path) and path != folder and len(found) < _MOST_FOLDERS and os.path.isdir(path):
            found[path] = None
    return list(found)
