"""Memory of a process and its children (Linux: `/proc`)."""

from __future__ import annotations

from pathlib import Path

import psutil

_KIB_PER_MIB = 1024


def tree_pss_mib(pid: int) -> float:
    """Return the proportional set size of a process tree: shared pages are divided among users."""
    process = psutil.Process(pid)
    pids = [pid, *(child.pid for child in process.children(recursive=True))]
    return round(sum(_kib(Path(f"/proc/{each}/smaps_rollup"), "Pss:") for each in pids) / _KIB_PER_MIB, 1)


def peak_rss_mib() -> float:
    """Return the peak memory of this process."""
    return round(_kib(Path("/proc/self/status"), "VmHWM:") / _KIB_PER_MIB, 1)


def rss_mib() -> float:
    """Return the memory of this process now."""
    return round(_kib(Path("/proc/self/smaps_rollup"), "Rss:") / _KIB_PER_MIB, 1)


def anonymous_mib() -> float:
    """Return the memory of this process now without files: independent of what other processes load."""
    return round(_kib(Path("/proc/self/smaps_rollup"), "Anonymous:") / _KIB_PER_MIB, 1)


def _kib(file: Path, field: str) -> int:
    """Return a field of the form `Name:   123 kB`."""
    for line in file.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(f"{file} has no {field}")
