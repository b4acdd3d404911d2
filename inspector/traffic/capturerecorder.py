"""Which process records a capture: written into it, and asked of the machine when it is found not closed."""

from __future__ import annotations

import os

_KEY = "recorder"
_TOLERANCE_S = 5  # start times derive from the boot time, which shifts when the clock is set


def this_process() -> dict[str, str]:
    """Return this process's identity, for `about`."""
    import psutil  # not needed at startup

    return {_KEY: f"{os.getpid()} {psutil.Process().create_time():.2f}"}


def is_recording(about: dict[str, str]) -> bool:
    """True if the process recorded in `about` is still running, under the same pid."""
    import psutil

    try:
        pid, started = about[_KEY].split()
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < _TOLERANCE_S
    except psutil.AccessDenied:  # it exists, but is not ours
        return True
    except (KeyError, ValueError, OverflowError, psutil.Error):
        return False
