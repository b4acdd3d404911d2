"""File watch: globs below a folder, and the restart of a server when matching files change.

`*` and `?` match within a name, `**` any folders, `{a,b}` either, `[…]` one character. A glob without `/`
matches names in the folder itself. On Windows, globs ignore case. A scan walks the folders, so it runs on a
thread; its cost is bounded, and links to folders are not followed.

Files are polled twice a second while the server is supposed to be connected; a server that failed at
start-up is tried again at the next save. Editors and builds write in several steps, so a restart waits
for a quiet moment.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.config.servers.entries import StdioEntry
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.transport.task_scope import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

Stamp: TypeAlias = tuple[int, int]  # (mtime, size) of a file

_WATCHED_STATUSES = (
    ServerStatus.CONNECTING,
    ServerStatus.CONNECTED,
    ServerStatus.FAILED,
    ServerStatus.RECONNECTING,
)
_MAX_NAMED = 3
_MAX_CHANGED = 100


@dataclass(frozen=True, slots=True)
class WatchTiming:
    """Intervals in seconds.

    `poll` is the polling interval, `quiet` how long files must be unchanged, `max_delay` the limit of that
    wait.
    """

    poll: float = 0.5
    quiet: float = 0.25
    max_delay: float = 3.0
    share: int = 10  # a slow scan is followed by a pause this many times as long


@dataclass(frozen=True, slots=True)
class FileWatchView:
    """State of one server's file watch. `changed` are the files that caused the last restart."""

    server: str
    globs: tuple[str, ...] = ()
    folder: str = ""
    is_on: bool = False
    files: int = 0
    problem: str = ""
    changed: tuple[str, ...] = ()
    changed_ns: int = 0  # wall time
    is_restarting: bool = False
    took_ns: int | None = None  # from restart to negotiation; None while restarting or if it failed
    failure: str = ""  # why the restart failed

    def cause(self) -> str:
        """Return e.g. `server.py and 2 more changed`."""
        names = [one_line(os.path.basename(path)) for path in self.changed[:_MAX_NAMED]]
        rest = len(self.changed) - len(names)
        return f"{', '.join(names)}{f' and {rest:,} more' if rest else ''} changed" if names else ""


class FileWatch:
    """Restarts servers when their files change. Runs on the engine's loop.

    Signals:
        changed: The watch of a server changed; carries its FileWatchView.
        restarted: A server reconnected after its files changed; carries its name and what changed.
        not_restarted: The restart failed; carries the same, and the reason.
    """

    def __init__(self, engine: Engine, timing: WatchTiming | None = None) -> None:
        self.changed: Signal[FileWatchView] = Signal()
        self.restarted: Signal[str, str] = Signal()
        self.not_restarted: Signal[str, str, str] = Signal()
        self.timing = timing or WatchTiming()
        self._engine = engine
        self._views: dict[str, FileWatchView] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._tasks = TaskScope()
        engine.servers.changed.connect(self._on_server_changed)
        engine.servers.removed.connect(self._forget)

    async def view(self, server: str) -> FileWatchView:
        """Return the state of a server's file watch. Raises ConfigError."""
        return self._view(server)

    async def set_globs(self, server: str, globs: tuple[str, ...]) -> None:
        """Set and save the globs to watch. Raises ConfigError."""
        self._engine.servers.set_watch(server, check_globs(globs))

    async def close(self) -> None:
        await self._tasks.close()

    def _on_server_changed(self, view: ServerView) -> None:
        server, is_watching = view.name, view.name in self._watching
        if is_watching and self._views[server].is_restarting:
            return  # these state changes are ours
        try:
            globs = self._globs(server)
        except ConfigError:
            return  # already removed
        is_wanted = bool(globs) and view.status in _WATCHED_STATUSES
        if is_watching and (not is_wanted or globs != self._views[server].globs):
            self._end(server)
            is_watching = False
        if is_wanted and not is_watching and view.status is not ServerStatus.CONNECTING:
            self._begin(server, globs)
        elif globs != self._view(server).globs:
            self._publish(server, globs=globs, files=0, problem="")

    def _begin(self, server: str, globs: tuple[str, ...]) -> None:
        self._publish(server, globs=globs, folder=str(self._folder(server)), is_on=True, files=0, problem="")
        self._watching[server] = self._tasks.spawn(f"watch files of {server}", self._watch(server, globs))

    def _end(self, server: str) -> None:
        task = self._watching.pop(server, None)
        if task is not None:
            task.cancel()
            self._publish(server, is_on=False, is_restarting=False)

    def _forget(self, server: str) -> None:
        self._end(server)
        self._views.pop(server, None)

    async def _watch(self, server: str, globs: tuple[str, ...]) -> None:
        try:
            snapshot = await self._scan(server, globs)
            while True:
                now = await self._scan_later(server, globs)
                if not now.changed(snapshot):
                    continue
                now = await self._wait_until_quiet(server, globs, now)
                changed, snapshot = now.changed(snapshot), now
                if changed and not await self._restart(server, changed):
                    return
                if (new_globs := self._globs(server)) != globs:  # changed by the user during the restart
                    self._publish(server, globs=new_globs, is_on=bool(new_globs))
                    if not new_globs:
                        return
                    globs, snapshot = new_globs, await self._scan(server, new_globs)
        except ConfigError as exc:  # from a server list edited by hand
            self._publish(server, is_on=False, problem=str(exc))
        finally:
            if self._watching.get(server) is asyncio.current_task():
                del self._watching[server]

    async def _scan(self, server: str, globs: tuple[str, ...]) -> FileSnapshot:
        folder = Path(self._views[server].folder)
        snapshot = await asyncio.to_thread(scan_files, folder, globs)
        problem = snapshot.problem or (
            "" if snapshot.files else f"No files match in {one_line(str(folder))}."
        )
        known = self._views[server]
        if (len(snapshot.files), problem) != (known.files, known.problem):
            self._publish(server, files=len(snapshot.files), problem=problem)
        return snapshot

    async def _scan_later(self, server: str, globs: tuple[str, ...]) -> FileSnapshot:
        """Scan after a pause; a folder that is slow to scan is scanned less often."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(self.timing.poll)
        began = loop.time()
        snapshot = await self._scan(server, globs)
        await asyncio.sleep(max(0.0, self.timing.share * (loop.time() - began) - self.timing.poll))
        return snapshot

    async def _wait_until_quiet(
        self, server: str, globs: tuple[str, ...], snapshot: FileSnapshot
    ) -> FileSnapshot:
        """Wait until nothing changes any more, up to the limit."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.timing.max_delay
        while loop.time() < deadline:
            await asyncio.sleep(self.timing.quiet)
            now = await self._scan(server, globs)
            if not now.changed(snapshot):
                return now
            snapshot = now
        return snapshot

    async def _restart(self, server: str, changed: tuple[str, ...]) -> bool:
        """Reconnect. Returns False if the user did something else meanwhile: stop watching."""
        clock = self._engine.clock
        self._publish(
            server,
            changed=changed[:_MAX_CHANGED],
            changed_ns=clock.wall_ns(),
            is_restarting=True,
            took_ns=None,
            failure="",
        )
        cause = self._views[server].cause()
        self._engine.servers.get(server).session.note(f"{cause}: restarting.")
        began, failure = clock.monotonic_ns(), ""
        took: int | None = None
        try:
            await self._engine.servers.connector.connect(server)
            took = clock.monotonic_ns() - began
        except UserError as exc:
            failure = exc.summary
        status = self._engine.servers.get(server).view.status
        is_wanted = status in _WATCHED_STATUSES
        if status is not ServerStatus.FAILED:
            failure = ""  # connected or disconnected by the user meanwhile
        self._publish(server, is_restarting=False, is_on=is_wanted, took_ns=took, failure=failure)
        if status is ServerStatus.CONNECTED:
            self.restarted.emit(server, cause)
        elif failure:
            self.not_restarted.emit(server, cause, failure)
        return is_wanted

    def _globs(self, server: str) -> tuple[str, ...]:
        """Return the globs of stdio servers; other servers have no files here."""
        entry = self._engine.servers.entry(server)
        return entry.watch if isinstance(entry, StdioEntry) else ()

    def _folder(self, server: str) -> Path:
        """Return the process's working directory, or the one it would get."""
        entry = self._engine.servers.entry(server)
        configured = entry.cwd if isinstance(entry, StdioEntry) and "${" not in entry.cwd else ""
        return Path(self._engine.processes.folder(server) or configured or os.getcwd()).absolute()

    def _view(self, server: str) -> FileWatchView:
        known = self._views.get(server)
        return known or FileWatchView(server, self._globs(server), str(self._folder(server)))

    def _publish(self, server: str, **changes: Any) -> None:
        view = self._views[server] = replace(self._view(server), **changes)
        self.changed.emit(view)


MAX_SCANNED = 20_000  # files and folders
MAX_GLOBS = 50
_MAX_GLOB_LENGTH = 500
_MAX_EXPANSIONS = 64  # expansions of one glob with braces
_MAX_PATTERNS = 256  # of all globs, with braces expanded
_SKIPPED_FOLDERS = frozenset(
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
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class FileSnapshot:
    """Matching files by path. `problem` is a sentence about what was not scanned, or ""."""

    files: dict[str, Stamp] = field(default_factory=dict)
    problem: str = ""

    def changed(self, before: FileSnapshot) -> tuple[str, ...]:
        """Return paths that were added, removed or modified."""
        if self.files == before.files:
            return ()
        both = sorted({*self.files, *before.files})
        return tuple(path for path in both if self.files.get(path) != before.files.get(path))


def check_globs(globs: Sequence[str]) -> tuple[str, ...]:
    """Return the globs if they are supported. Raises ConfigError."""
    if len(globs) > MAX_GLOBS:
        raise ConfigError(
            f"There are more than {MAX_GLOBS} file patterns.", "Use fewer, for example with ** and {a,b}."
        )
    left = _MAX_PATTERNS
    for glob in globs:
        shown = one_line(shorten(glob, 60))
        if not glob.strip() or len(glob) > _MAX_GLOB_LENGTH or "\0" in glob:
            raise ConfigError(f"“{shown}” is not a valid file pattern.", "Use one such as src/**/*.py.")
        expansions = _expansions(glob)
        left -= len(expansions)
        try:
            for expansion in expansions:
                _PathPattern(expansion.split("/"))
        except re.error as exc:
            raise ConfigError(
                f"“{shown}” is not a valid file pattern: {exc}.", "Close the brackets."
            ) from exc
    if left < 0:
        raise ConfigError(f"The file patterns expand to more than {_MAX_PATTERNS}.", "Use fewer braces.")
    return tuple(globs)


def scan_files(folder: Path, globs: Sequence[str], *, ignore_case: bool = os.name == "nt") -> FileSnapshot:
    """Return all matching files. Raises ConfigError for an unsupported glob.

    Globs ignore case on Windows, as its file systems do.
    """
    check_globs(globs)
    files: dict[str, Stamp] = {}
    left = MAX_SCANNED
    for root, (patterns, depth) in _walks(folder, globs, files, ignore_case).items():
        for path in _walk(root, depth):
            left -= 1
            if left < 0:
                text = (
                    f"There are more than {MAX_SCANNED:,} files under {one_line(root)}; the rest "
                    "are not watched."
                )
                return FileSnapshot(files, f"{text} Use more specific patterns.")
            names = path[len(root.rstrip("/")) + 1 :].split("/")
            if any(pattern.matches(names) for pattern in patterns):
                _add_file(files, path)
    return FileSnapshot(files)


def _walks(
    folder: Path, globs: Sequence[str], files: dict[str, Stamp], ignore_case: bool
) -> dict[str, tuple[list[_PathPattern], int | None]]:
    """Return where to walk, for which patterns, and how deep (None: unlimited).

    A glob that names a single file is handled here.
    """
    walks: dict[str, tuple[list[_PathPattern], int | None]] = {}
    for glob in globs:
        for expansion in _expansions(_expanded(glob, folder)):
            names = expansion.split("/")
            first = next((position for position, name in enumerate(names) if _WILDCARD.search(name)), None)
            if first is None:
                _add_file(files, expansion)
                continue
            depth = None if "**" in names else len(names) - first - 1
            root = "/".join(names[:first])
            root = root if root and not root.endswith(":") else f"{root}/"  # also for a drive root
            patterns, known = walks.get(root, ([], 0))
            patterns.append(_PathPattern(names[first:], ignore_case))
            walks[root] = (patterns, None if depth is None or known is None else max(depth, known))
    return walks


def _expanded(glob: str, folder: Path) -> str:
    """Return the absolute glob, with `/` as separator."""
    glob = os.path.expanduser(glob.strip()).replace(os.sep, "/")
    whole = glob if os.path.isabs(glob) else f"{folder.as_posix().rstrip('/')}/{glob}"
    # Normalizing is safe: globs have no way to name a file `.` or `..`.
    return os.path.normpath(whole).replace(os.sep, "/")


def _expansions(glob: str) -> list[str]:
    """Expand braces, innermost first: `a.{b,c}` becomes `a.b` and `a.c`."""
    waiting, done = [glob], []
    while waiting:
        one = waiting.pop(0)
        found = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if found is None:
            done.append(one)
        elif len(waiting) + len(done) > _MAX_EXPANSIONS:
            shown = one_line(shorten(glob, 60))
            raise ConfigError(f"“{shown}” expands to too many patterns.", "Use fewer braces.")
        else:
            parts = found[1].split(",")
            waiting.extend(f"{one[: found.start()]}{part}{one[found.end() :]}" for part in parts)
    return done


class _NamePattern:
    """A glob for one file or folder name.

    The parts between the `*` have a fixed length, so the first match of each is the right one: no
    backtracking, which would take exponential time for a glob such as `*a*a*a*b`.
    """

    def __init__(self, glob: str, ignore_case: bool) -> None:
        parts = _fixed_parts(glob)
        flags = re.DOTALL | re.IGNORECASE if ignore_case else re.DOTALL
        self._parts = [re.compile("".join(part), flags) for part in parts]
        self._end_length = len(parts[-1])

    def matches(self, name: str) -> bool:
        first, *others = self._parts
        if not others:
            return first.fullmatch(name) is not None
        end = len(name) - self._end_length
        found = first.match(name)
        for part in others[:-1]:
            found = part.search(name, found.end()) if found is not None else None
        return found is not None and found.end() <= end and others[-1].match(name, end) is not None


def _fixed_parts(glob: str) -> list[list[str]]:
    """Return the parts between the `*`, each as regular expressions for single characters."""
    parts: list[list[str]] = [[]]
    position = 0
    while position < len(glob):
        end = glob.find("]", position + 2) if glob[position] == "[" else -1
        if glob[position] == "*":
            parts.append([])
        elif glob[position] == "?":
            parts[-1].append(".")
        elif end > 0:
            inside = glob[position + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            parts[-1].append(f"[{'^' + inside[1:] if inside[0] == '!' else inside}]")
            position = end
        else:
            parts[-1].append(re.escape(glob[position]))
        position += 1
    return parts


class _PathPattern:
    """A glob for a path below a folder, as names; `**` matches any number of folders."""

    def __init__(self, names: Sequence[str], ignore_case: bool = False) -> None:
        names = [*names, "*"] if names[-1] == "**" else names
        self._names = [None if name == "**" else _NamePattern(name, ignore_case) for name in names]

    def matches(self, names: Sequence[str]) -> bool:
        """Match in time proportional to the product of both lengths: only the last `**` is retried."""
        at = position = 0
        retry_at, retry_position = -1, 0
        while position < len(names):
            pattern = self._names[at] if at < len(self._names) else None
            if at < len(self._names) and pattern is None:
                retry_at, retry_position = at, position
                at += 1
            elif pattern is not None and pattern.matches(names[position]):
                at, position = at + 1, position + 1
            elif retry_at >= 0:
                retry_position += 1
                at, position = retry_at + 1, retry_position
            else:
                return False
        return all(pattern is None for pattern in self._names[at:])


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
            is_deeper = entry.name not in _SKIPPED_FOLDERS and (depth is None or level < depth)
            if is_deeper and entry.is_dir(follow_symlinks=False):
                waiting.append((path, level + 1))
            yield path


def _add_file(files: dict[str, Stamp], path: str) -> None:
    try:
        found = os.stat(path)
    except OSError:
        return
    if stat.S_ISREG(found.st_mode):
        files[path.replace("/", os.sep)] = (found.st_mtime_ns, found.st_size)
