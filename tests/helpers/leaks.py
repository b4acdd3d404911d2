"""Pytest plugin: a test that leaves something running fails, with the name of what it left.

Watches asyncio tasks, threads, child processes, active QTimers and top-level widgets. What existed before
the test (a server shared by a module) is ignored. Things that are about to end get a moment to do so. Qt
is not imported here, and checked only if the test imported it.

A child process whose exit code was never read counts as left behind even if it has ended: the warning
about it would appear at the next garbage collection, in another test.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.helpers import qtleaks

# In seconds; only a test that leaks waits for so long.
_GRACE = float(os.environ.get("LENS_TESTS_GRACE", "10"))
_LOOP_TURNS = 20

# Each process that was started with `subprocess`, which asyncio uses as well.
_started: weakref.WeakSet[subprocess.Popen[Any]] = weakref.WeakSet()


def pytest_configure() -> None:
    """Record each process that is started."""
    start: Callable[..., None] = subprocess.Popen.__init__

    def noted(process: subprocess.Popen[Any], *args: Any, **options: Any) -> None:
        start(process, *args, **options)
        _started.add(process)

    subprocess.Popen.__init__ = noted  # type: ignore[assignment, method-assign]


@pytest.fixture(autouse=True)
def no_leaked_threads_or_processes() -> Iterator[None]:
    """The outermost guard: loops and fixtures have cleaned up when it checks."""
    threads, children, processes = set(threading.enumerate()), _children(), _without_exit_code()
    yield
    leaked = [*_leaked_threads(threads), *_leaked_children(children)]
    if not leaked:
        leaked = [_describe_ended(process) for process in _without_exit_code() - processes]
    if leaked:
        pytest.fail(f"the test left running: {'; '.join(leaked)}")


@pytest.fixture(autouse=True)
def no_leaked_tasks(request: pytest.FixtureRequest, no_leaked_threads_or_processes: None) -> None:
    if inspect.iscoroutinefunction(getattr(request, "function", None)):
        request.getfixturevalue("watch_tasks")


@pytest.fixture
async def watch_tasks() -> AsyncIterator[None]:
    """Set up before and torn down after every other async fixture, on the test's loop."""
    before = asyncio.all_tasks()
    yield
    leaked = await _leaked_tasks(before)
    if leaked:
        pytest.fail(f"the test left tasks running: {', '.join(task.get_name() for task in leaked)}")


@pytest.fixture(autouse=True)
def no_leaked_widgets_or_timers(no_leaked_threads_or_processes: None) -> Iterator[None]:
    if "PySide6.QtCore" not in sys.modules:
        yield
        return
    before = qtleaks.alive()
    yield
    if qtleaks.alive() - before:
        gc.collect()  # a widget in a reference cycle is not a leak yet
    if leaked := qtleaks.alive() - before:
        pytest.fail(f"the test left behind: {'; '.join(sorted(item.text for item in leaked))}")


async def _leaked_tasks(before: set[asyncio.Task[object]]) -> set[asyncio.Task[object]]:
    """Return the tasks that remain; cancelled ones need a few iterations of the loop to end."""
    leaked: set[asyncio.Task[object]] = set()
    for _ in range(_LOOP_TURNS):
        leaked = asyncio.all_tasks() - before - {_current_task()}
        if not leaked:
            break
        await asyncio.sleep(0)
    return leaked


def _current_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _leaked_threads(before: set[threading.Thread]) -> list[str]:
    deadline = time.monotonic() + _GRACE
    leaked = [thread for thread in threading.enumerate() if thread not in before]
    for thread in leaked:
        thread.join(max(0.0, deadline - time.monotonic()))
    return [f"thread {thread.name!r}" for thread in leaked if thread.is_alive()]


def _leaked_children(before: set[int]) -> list[str]:
    deadline = time.monotonic() + _GRACE
    while leaked := [text for pid in _children() - before if (text := _describe(pid))]:
        if time.monotonic() > deadline:
            return leaked
        time.sleep(0.01)  # there is no event for the end of another process's child
    return []


def _children() -> set[int]:
    """Return our direct children; a grandchild that we can find has one of them above it."""
    try:
        lists = [path.read_text() for path in Path("/proc/self/task").glob("*/children")]
    except OSError:
        lists = []  # a thread ended while we looked
    if not lists:  # not Linux, or a kernel without these files
        return {child.pid for child in psutil.Process().children()}
    return {int(pid) for pids in lists for pid in pids.split()}


def _describe(pid: int) -> str:
    """Describe a process; empty for a zombie."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE and process.ppid() == os.getpid():
            tree = [process, *process.children(recursive=True)]
            return ", ".join(f"process {item.pid} ({_command(item)})" for item in tree)
    return ""


def _without_exit_code() -> set[subprocess.Popen[Any]]:
    """Return the processes that nothing has waited for; this does not wait for them either."""
    return {process for process in _started if process.returncode is None}


def _describe_ended(process: subprocess.Popen[Any]) -> str:
    return f"process {process.pid} without reading its exit code ({str(process.args)[:80]})"


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())[:80]
    return "gone"
