"""One sample of a server's processes: the tree below the child, CPU, memory and open files.

Reading the process table takes milliseconds: run it on a thread. What is not accessible, or not available
on the platform, is None.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_command

if TYPE_CHECKING:
    import psutil

T = TypeVar("T")

MAX_PROCESSES = 200
MAX_FILES = 500
_MAX_HANDLES = 5_000  # with more, files are not listed
_MAX_COMMAND_LENGTH = 400
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """A process.

    `cpu_ns` is its total CPU time, `share` its use of one core since the last sample. `is_stray`: its
    parent is gone, but it is still in the server's process group.
    """

    pid: int
    depth: int
    name: str
    command: str  # secrets masked
    state: str
    started_ns: int  # wall time
    cpu_ns: int | None
    share: float | None
    rss: int | None
    threads: int | None
    handles: int | None  # open files, pipes and sockets
    is_stray: bool = False


@dataclass(frozen=True, slots=True)
class OpenFile:
    pid: int
    path: str
    mode: str  # "r", "w", "r+"…; "" if unknown


@dataclass(frozen=True, slots=True)
class Sample:
    """All processes of a server at one moment, parents before children.

    `pss` (memory with shared pages counted proportionally) and `files` are expensive, and as old as the
    last deep sample.
    """

    at_ns: int  # monotonic
    processes: tuple[ProcessFacts, ...]
    left_out: int = 0
    pss: int | None = None
    files: tuple[OpenFile, ...] = ()
    files_note: str = ""  # why not all are listed

    @property
    def share(self) -> float | None:
        shares = [each.share for each in self.processes if each.share is not None]
        return sum(shares) if shares else None

    @property
    def rss(self) -> int:
        return sum(each.rss or 0 for each in self.processes)

    @property
    def threads(self) -> int:
        return sum(each.threads or 0 for each in self.processes)

    @property
    def handles(self) -> int | None:
        known = [each.handles for each in self.processes if each.handles is not None]
        return sum(known) if known else None


def take_sample(pid: int, before: Sample | None, *, deep: bool) -> Sample | None:
    """Sample the process tree; None if our child is gone. `deep` includes expensive values."""
    tree = list(_tree(pid))
    if not tree:
        return None
    at = time.monotonic_ns()
    known = {(each.pid, each.started_ns): each for each in before.processes} if before else {}
    since = at - before.at_ns if before else 0
    shown = tree[:MAX_PROCESSES]
    found = [_facts(process, depth, stray, known, since) for process, depth, stray in shown]
    processes = tuple(each for each in found if each is not None)
    pss, files, note = (before.pss, before.files, before.files_note) if before else (None, (), "")
    if deep or before is None:
        pss = _pss([process for process, _, _ in shown])
        files, note = _files([process for process, _, _ in shown], processes)
    return Sample(at, processes, len(tree) - len(shown), pss, files, note)


def tree_cpu_ns(pid: int) -> int | None:
    """Return the CPU time of our child and its descendants, including ended ones.

    None if it is gone or not accessible. Faster than `take_sample`, as the measured call waits for it.
    """
    import psutil

    used: list[int | None] = []
    for each in (pid, *_pids_below(pid)):
        with contextlib.suppress(psutil.Error):
            used.append(_cpu_with_children_ns(psutil.Process(each)))
    known = [each for each in used if each is not None]
    return sum(known) if known else None


def _tree(leader: int) -> Iterator[tuple[psutil.Process, int, bool]]:
    """Yield the leader and its descendants with depth, then orphans of its process group."""
    import psutil

    try:
        root = psutil.Process(leader)
        below = root.children(recursive=True)
    except psutil.Error:
        return
    children: dict[int, list[psutil.Process]] = {}
    for process in below:
        children.setdefault(_query(process.ppid) or leader, []).append(process)
    yield from _walk(root, children)
    known = {leader, *(process.pid for process in below)}
    for pid in _group(leader) - known:
        with contextlib.suppress(psutil.Error):
            yield psutil.Process(pid), 1, True


def _pids_below(pid: int) -> list[int]:
    """Return all descendants, using the kernel's child lists where available."""
    import psutil

    found, waiting = [], [pid]
    try:
        while waiting:
            children = _listed_children(waiting.pop())
            found.extend(children)
            waiting.extend(children)
    except OSError:
        with contextlib.suppress(psutil.Error):
            return [each.pid for each in psutil.Process(pid).children(recursive=True)]
        return []
    return found


def _listed_children(pid: int) -> list[int]:
    """Read /proc child lists. Raises OSError if unavailable or the process is gone."""
    children: list[int] = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        listed = Path(f"/proc/{pid}/task/{thread}/children").read_text()
        children.extend(int(child) for child in listed.split())
    return children


def _walk(
    root: psutil.Process, children: dict[int, list[psutil.Process]]
) -> Iterator[tuple[psutil.Process, int, bool]]:
    waiting = [(root, 0)]
    while waiting:
        process, depth = waiting.pop()
        yield process, depth, False
        # Popped: a process that was reparented meanwhile must not create a cycle.
        below = sorted(children.pop(process.pid, []), key=lambda each: each.pid, reverse=True)
        waiting.extend((each, depth + 1) for each in below)


def _group(leader: int) -> set[int]:
    """Return all pids in the process group led by our child."""
    import psutil

    if os.name != "posix":
        return set()
    found: set[int] = set()
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == leader:
                found.add(pid)
    return found


def _facts(
    process: psutil.Process,
    depth: int,
    is_stray: bool,
    known: dict[tuple[int, int], ProcessFacts],
    since_ns: int,
) -> ProcessFacts | None:
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess), process.oneshot():
        started = round(process.create_time() * _SECOND)
        cpu = _cpu_ns(process)
        before = known.get((process.pid, started))
        memory = _query(process.memory_info)
        return ProcessFacts(
            pid=process.pid,
            depth=depth,
            name=one_line(shorten(_query(process.name) or "?", 100)),
            command=_command(process),
            state=_query(process.status) or "",
            started_ns=started,
            cpu_ns=cpu,
            share=_share(cpu, before, since_ns),
            rss=memory.rss if memory is not None else None,
            threads=_query(process.num_threads),
            handles=_handles(process),
            is_stray=is_stray,
        )
    return None


def _share(cpu_ns: int | None, before: ProcessFacts | None, since_ns: int) -> float | None:
    if cpu_ns is None or before is None or before.cpu_ns is None or since_ns <= 0:
        return None
    return max(0, cpu_ns - before.cpu_ns) / since_ns


def _command(process: psutil.Process) -> str:
    command = _query(process.cmdline) or []
    return one_line(shorten(" ".join(masked_command(tuple(command))), _MAX_COMMAND_LENGTH))


def _cpu_ns(process: psutil.Process) -> int | None:
    """Return the CPU time: exact on Linux (per-process clock), else in ticks of about 10 ms."""
    if sys.platform == "linux":
        # As clock_getcpuclockid(3) computes it; takes a microsecond.
        with contextlib.suppress(OSError):
            return time.clock_gettime_ns((~process.pid << 3) | 2)
    times = _query(process.cpu_times)
    return round((times.user + times.system) * _SECOND) if times is not None else None


def _cpu_with_children_ns(process: psutil.Process) -> int | None:
    own, times = _cpu_ns(process), _query(process.cpu_times)
    if own is None or times is None:
        return own
    ended = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return own + round(ended * _SECOND)


def _handles(process: psutil.Process) -> int | None:
    count: Callable[[], int] | None = getattr(process, "num_fds", None) or getattr(
        process, "num_handles", None
    )
    return _query(count) if count is not None else None


def _pss(processes: list[psutil.Process]) -> int | None:
    """Return the total PSS; None unless known for all: a partial sum would be misleading."""
    total = 0
    for process in processes:
        memory = _query(process.memory_full_info) if sys.platform == "linux" else None
        if memory is None:
            return None
        total += memory.pss
    return total


def _files(
    processes: list[psutil.Process], facts: tuple[ProcessFacts, ...]
) -> tuple[tuple[OpenFile, ...], str]:
    handles = {each.pid: each.handles or 0 for each in facts}
    files: list[OpenFile] = []
    note = ""
    for process in processes:
        if handles.get(process.pid, 0) > _MAX_HANDLES:
            note = f"PID {process.pid} has {handles[process.pid]:,} open files; they are not listed."
            continue
        for each in _query(process.open_files) or []:
            files.append(OpenFile(process.pid, one_line(each.path), getattr(each, "mode", "")))
    if len(files) > MAX_FILES:
        note = f"Showing the first {MAX_FILES:,} of {len(files):,}."
    return tuple(files[:MAX_FILES]), note


def _query(read: Callable[[], T]) -> T | None:
    """Query a process; None if access is denied or not supported."""
    import psutil

    try:
        return read()
    except (psutil.Error, OSError, NotImplementedError):
        return None
