"""Which files fit some globs below a folder, and when each was written last.

`*` and `?` stay within a name, `**` stands for any folders, `{a,b}` for either, `[…]` for one character. A
glob without a `/` fits names in the folder itself. Looking walks the folders, so it is for a worker thread;
what it costs is bounded, and links to folders are not followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line

Stamp: TypeAlias = tuple[int, int]  # (mtime, size) of a file

MOST_SEEN = 20_000  # files and folders
MOST_GLOBS = 50
_LONGEST = 500
_MOST_CHOICES = 64  # expansions of one glob with braces
_LEFT_OUT = frozenset(
    (
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        "node_modules",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
    )
)
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Seen:
    """Matching files by path. `problem` is a sentence about what was not examined, or ""."""

    files: dict[str, Stamp] = field(default_factory=dict)
    problem: str = ""

    def changed(self, before: Seen) -> tuple[str, ...]:
        """Return paths that were added, removed or modified."""
        if self.files == before.files:
            return ()
        both = sorted({*self.files, *before.files})
        return tuple(path for path in both if self.files.get(path) != before.files.get(path))


def check_globs(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the globs if they are supported. Raises ConfigError."""
    if len(globs) > MOST_GLOBS:
        raise ConfigError(f"There are more than {MOST_GLOBS} patterns of files.", "Use fewer: ** and {a,b}.")
    for glob in globs:
        shown = one_line(shorten(glob, 60))
        if not glob.strip() or len(glob) > _LONGEST or "\0" in glob:
            raise ConfigError(f"“{shown}” is no pattern of files.", "Give one such as src/**/*.py.")
        for choice in _choices(glob):
            try:
                re.compile(_regex(choice))
            except re.error as exc:
                raise ConfigError(f"“{shown}” is no pattern of files: {exc}.", "Close the brackets.") from exc
    return tuple(globs)


def look(folder: Path, globs: Sequence[str]) -> Seen:
    """Return all matching files. Raises ConfigError for an unsupported glob."""
    check_globs(globs)
    files: dict[str, Stamp] = {}
    left = MOST_SEEN
    for root, (patterns, depth) in _walks(folder, globs, files).items():
        for path in _walk(root, depth):
            left -= 1
            if left < 0:
                words = f"More than {MOST_SEEN:,} files are below {one_line(root)}: the rest is not watched."
                return Seen(files, f"{words} Name the folders more closely.")
            if any(pattern.fullmatch(path) for pattern in patterns):
                _note(files, path)
    return Seen(files)


def _walks(
    folder: Path, globs: Sequence[str], files: dict[str, Stamp]
) -> dict[str, tuple[list[re.Pattern[str]], int | None]]:
    """Return where to walk, for which patterns, and how deep (None: unlimited).

    A glob that names a single file is handled here.
    """
    walks: dict[str, tuple[list[re.Pattern[str]], int | None]] = {}
    for glob in globs:
        for choice in _choices(_expanded(glob, folder)):
            names = choice.split("/")
            first = next((place for place, name in enumerate(names) if _MAGIC.search(name)), None)
            if first is None:
                _note(files, choice)
                continue
            depth = None if "**" in names else len(names) - first - 1
            root = "/".join(names[:first])
            root = root if root and not root.endswith(":") else f"{root}/"  # also for a drive root
            patterns, known = walks.get(root, ([], 0))
            patterns.append(re.compile(_regex(choice), re.DOTALL))
            walks[root] = (patterns, None if depth is None or known is None else max(depth, known))
    return walks


# ------------------------------------------------------------------ globs


def _expanded(glob: str, folder: Path) -> str:
    """Return the absolute glob, with `/` as separator."""
    glob = os.path.expanduser(glob.strip()).replace(os.sep, "/")
    whole = glob if os.path.isabs(glob) else f"{folder.as_posix().rstrip('/')}/{glob}"
    # Normalizing is safe: globs have no way to name a file `.` or `..`.
    return os.path.normpath(whole).replace(os.sep, "/")


def _choices(glob: str) -> list[str]:
    """Expand braces, innermost first: `a.{b,c}` becomes `a.b` and `a.c`."""
    waiting, done = [glob], []
    while waiting:
        one = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if found is None:
            done.append(one)
        elif len(waiting) + len(done) > _MOST_CHOICES:
            shown = one_line(shorten(glob, 60))
            raise ConfigError(f"“{shown}” stands for too many patterns.", "Use fewer braces.")
        else:
            parts = found[1].split(",")
            waiting.extend(f"{one[: found.start()]}{part}{one[found.end() :]}" for part in parts)
    return done


def _regex(glob: str) -> str:
    """Translate a glob. `**` between slashes matches any number of folders; elsewhere it is `*`."""
    parts: list[str] = []
    place = 0
    while place < len(glob):
        if glob.startswith("**/", place) and (place == 0 or glob[place - 1] == "/"):
            parts.append("(?:.*/)?")
            place += 3
        elif glob[place:] == "**" and (place == 0 or glob[place - 1] == "/"):
            parts.append(".*")
            place += 2
        elif glob[place] == "*":
            parts.append("[^/]*")
            place += 1
        elif glob[place] == "?":
            parts.append("[^/]")
            place += 1
        elif glob[place] == "[" and (end := glob.find("]", place + 2)) > 0:
            inside = glob[place + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside[0] == '!' else inside}]")
            place = end + 1
        else:
            parts.append(re.escape(glob[place]))
            place += 1
    return "".join(parts)


# ------------------------------------------------------------------ files


def _walk(root: str, depth: int | None) -> Iterator[str]:
    """Yield every file below a folder. Unreadable ones are skipped and retried next time."""
    waiting = [(root, 0)]
    while waiting:
        folder, level = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            path = f"{folder.rstrip('/')}/{entry.name}"
            is_deeper = entry.name not in _LEFT_OUT and (depth is None or level < depth)
            if is_deeper and entry.is_dir(follow_symlinks=False):
                waiting.append((path, level + 1))
            yield path


def _note(files: dict[str, Stamp], path: str) -> None:
    try:
        found = os.stat(path)
    except OSError:
        return
    if stat.S_ISREG(found.st_mode):
        files[path] = (found.st_mtime_ns, found.st_size)
