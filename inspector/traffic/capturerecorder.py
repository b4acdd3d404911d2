"""Which process records a capture: written into it, and asked of the machine when it is found not closed."""

from __future__ import annotations

import os

_KEY = "recorder"
_TOLERANCE_S = 5  # a process's start is computed from the machine's, which moves when its clock is set


def this_process() -> dict[str, str]:
    """For `about`."""
    import psutil  # not needed for anything that is shown first

    return {_KEY: f"{os.getpid()} {psutil.Process().create_time():.2f}"}


def is_recording(about: dict[str, str]) -> bool:
    """Whether the process that wrote this into `about` is still the one that has its number."""
    import psutil

    try:
        pid, started = about[_KEY].split()
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < _TOLERANCE_S
    except psutil.AccessDenied:  # it is there, and not ours
        return True
    except (KeyError, ValueError, OverflowError, psutil.Error):
        return False
