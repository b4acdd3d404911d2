"""How much memory a process and its children take (Linux: `/proc`)."""

from __future__ import annotations

from pathlib import Path

import psutil

_KIB_PER_MIB = 1024


def tree_pss_mib(pid: int) -> float:
    """Proportional set size of a whole process tree: shared pages count once, divided among their users."""
    process = psutil.Process(pid)
    pids = [pid, *(child.pid for child in process.children(recursive=True))]
    return round(sum(_kib(Path(f"/proc/{each}/smaps_rollup"), "Pss:") for each in pids) / _KIB_PER_MIB, 1)


def peak_rss_mib() -> float:
    """The most that this process ever held."""
    return round(_kib(Path("/proc/self/status"), "VmHWM:") / _KIB_PER_MIB, 1)


def _kib(file: Path, field: str) -> int:
    """A field of the form `Name:   123 kB`."""
    for line in file.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    raise LookupError(f"{file} has no {field}")
