"""A server that listens on a port, in a child process of the test run."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager


@contextmanager
def listening(
    command: Sequence[str], announcement: str, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Start a server and wait for its announcement on stderr; yield the pattern's group.

    The child ends with the block. Its output is read all the time, so that it never blocks.
    """
    with subprocess.Popen(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        reader = threading.Thread(target=process.stderr.read, name="stderr of a peer", daemon=True)
        try:
            found = _await(process, announcement)
            reader.start()
            yield found
        finally:
            process.kill()
            if reader.ident is not None:
                reader.join()


def _await(process: subprocess.Popen[str], announcement: str) -> str:
    assert process.stderr is not None
    reported: list[str] = []
    for line in process.stderr:
        if match := re.search(announcement, line):
            return match[1]
        reported.append(line)
    raise AssertionError(
        f"{process.args!r} ended without saying where it listens: {''.join(reported)[-2000:]}"
    )


def free_port() -> int:
    """Return a free port, for servers that cannot choose one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
