"""No server outlives the application: when its process is killed, all of them end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from tests.helpers.servers import gone

ROOT = Path(__file__).parents[2]

Host = asyncio.subprocess.Process


@pytest.fixture
async def start_host() -> AsyncIterator[Callable[..., Awaitable[Host]]]:
    hosts: list[Host] = []
    pids: list[int] = []

    async def start(*servers: str) -> Host:
        host = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.helpers.enginehost", *servers),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
        )
        hosts.append(host)
        assert host.stdout is not None
        assert await host.stdout.readline() == b"connected\n"
        pids.extend(family(host))
        return host

    yield start
    for host in hosts:
        if host.returncode is None:
            host.kill()
        await host.wait()
    for pid in pids:  # of a test that failed
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def family(host: Host) -> list[int]:
    return [process.pid for process in psutil.Process(host.pid).children(recursive=True)]


@pytest.mark.parametrize(
    "servers",
    [
        ["echo"],
        ["stays,ignores-term,grandchild", "stays"],
        ["stays,grandchild=own"],
        ["grandchild=own"],
    ],
    ids=["good", "stubborn", "left-the-group", "left-by-a-server-that-exits-first"],
)
async def test_no_process_is_left_when_we_are_killed(
    start_host: Callable[..., Awaitable[Host]], servers: list[str]
) -> None:
    host = await start_host(*servers)
    pids = family(host)
    assert len(pids) >= len(servers) + 1  # the servers, what they started, and the guard
    host.send_signal(signal.SIGKILL)
    await host.wait()
    await gone(*pids)


async def test_no_process_is_left_when_we_are_terminated(start_host: Callable[..., Awaitable[Host]]) -> None:
    host = await start_host("stays")
    pids = family(host)
    host.send_signal(signal.SIGTERM)
    await host.wait()
    await gone(*pids)
