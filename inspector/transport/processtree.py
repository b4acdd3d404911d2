"""A process group and the descendants that left it: who is still alive, and how to end them all.

Looking at the process table costs milliseconds, so `snapshot` and `is_alive` are for a worker thread.
Zombies do not count as alive: they only wait for somebody else to read their exit code.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

KILL = signal.SIGKILL if os.name == "posix" else signal.SIGTERM


class ProcessTree:
    """The tree under one child that leads its own process group."""

    def __init__(self, leader: int) -> None:
        self._group = leader
        self._descendants: list[psutil.Process] = []

    def snapshot(self) -> None:
        """Record every descendant while the leader is alive and they can be found through it."""
        import psutil

        with contextlib.suppress(psutil.Error):
            self._descendants = psutil.Process(self._group).children(recursive=True)

    def signal(self, number: signal.Signals) -> None:
        signal_group(self._group, number)
        for process in self._descendants:
            with contextlib.suppress(Exception):  # gone, or its pid was reused: psutil checks
                process.send_signal(number)

    def is_alive(self) -> bool:
        import psutil

        if any(_is_alive(process) for process in self._descendants):
            return True
        return group_exists(self._group) and any(
            _group_of(process) == self._group and _is_alive(process) for process in psutil.process_iter()
        )


def group_exists(group: int) -> bool:
    """True if any process is in the group. Includes zombies: this only asks the kernel."""
    if os.name != "posix":
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_group(group: int, number: signal.Signals) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _is_alive(process: psutil.Process) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _group_of(process: psutil.Process) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(process.pid)
    return -1
