"""Records numbered rows until it is killed: `python -m tests.helpers.recordingchild FILE`.

For each line that it reads, it publishes some rows and prints "published COUNT MONOTONIC_NS"; for a line
"flush" it then waits until they are in the file and prints "flushed COUNT". "limit BYTES" limits the size
of files (0: no limit).
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from inspector.traffic.captures import recording
from inspector.traffic.log import TrafficLog

ROWS = 50


def body(number: int) -> bytes:
    """Return bodies of all sizes, some large enough for a separate chunk."""
    size = 80_000 if number % 97 == 0 else number * 37 % 900
    return b"%d " % number * (size // 8)


def main() -> None:
    recording.RETRY_S = 0.05
    log = TrafficLog()
    server = log.add_server("srv")
    recorder = recording.Recording(log, Path(sys.argv[1]))
    for line in sys.stdin:
        if line.startswith("limit"):
            _limit(int(line.split()[1]))
            continue
        for number in range(len(log), len(log) + ROWS):
            log.append(server, 2, 1, time.monotonic_ns(), number, body(number), f"method {number % 5}")
        log.publish()
        print("published", len(log), time.monotonic_ns(), flush=True)
        if line.startswith("flush"):
            print("flushed" if recorder.flush() else "refused", len(log), flush=True)


def _limit(size: int) -> None:
    import resource  # POSIX only

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size or hard, hard))


if __name__ == "__main__":
    main()
