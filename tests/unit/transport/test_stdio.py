"""stdio transport with real processes: their output is reported in order, and they are ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectionLost
from inspector.protocol import jsonrpc
from inspector.protocol.framing import Overlong
from inspector.transport import process as process_module
from inspector.transport import stdio as stdio_module
from inspector.transport.base import (
    Closed,
    FramesReceived,
    ProcessExited,
    ProcessStarted,
    StderrReceived,
    UnfinishedOutput,
    WireEvent,
)
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.programs import Command
from inspector.transport.stdio import StdioTransport
from tests.helpers.platforms import needs_process_groups

FAULTSERVER = str(Path(__file__).parents[2] / "helpers" / "faultserver.py")
PYTHON = (sys.executable, "-I", "-S")
# Returns each message unchanged, as cat does.
ECHO = (*PYTHON, "-c", "import os\nwhile data := os.read(0, 65536): os.write(1, data)")
# What the scripts below begin with: unbuffered output without translated line ends.
PRELUDE = """
import os, sys, time
def out(text): os.write(1, text.encode())
def err(text): os.write(2, text.encode())
"""


Kind = TypeVar("Kind")


class Wire:
    """A transport and the events that it reported."""

    def __init__(self, *argv: str, cap: int = 2**28) -> None:
        self.guard = OrphanGuard()
        self.transport = StdioTransport(Command(argv, {}), self.guard, SystemClock(), cap)
        self.events: list[WireEvent] = []
        self._changes = asyncio.Event()

    def report(self, event: WireEvent) -> None:
        self.events.append(event)
        self._changes.set()

    async def until(self, kind: type[Kind]) -> Kind:
        """Wait for the first event of this kind."""
        while True:
            for event in self.events:
                if isinstance(event, kind):
                    return event
            await self.more()

    async def more(self) -> None:
        """Wait for another event."""
        self._changes.clear()
        await self._changes.wait()

    def count(self, kind: type[object]) -> int:
        return sum(isinstance(event, kind) for event in self.events)

    @property
    def frames(self) -> list[bytes | Overlong]:
        return [frame for event in self.events if isinstance(event, FramesReceived) for frame in event.frames]

    @property
    def stderr(self) -> list[bytes]:
        return [line for event in self.events if isinstance(event, StderrReceived) for line in event.lines]

    async def close(self) -> None:
        await self.transport.close()
        self.guard.close()


Start = Callable[..., Awaitable[Wire]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    wires: list[Wire] = []

    async def start(*argv: str, cap: int = 2**28) -> Wire:
        wire = Wire(*argv, cap=cap)
        wires.append(wire)
        await wire.transport.open(wire.report)
        return wire

    yield start
    for wire in wires:
        await wire.close()


@pytest.fixture
def script(start: Start) -> Start:
    async def run(code: str, cap: int = 2**28) -> Wire:
        return await start(*PYTHON, "-c", PRELUDE + code, cap=cap)

    return run


async def test_all_output_is_reported_before_the_exit(script: Start) -> None:
    wire = await script(
        r"out('out 1\n'); err('err 1\n'); out('out 2\n'); out('no end'); err('err no end'); sys.exit(3)"
    )
    closed = await wire.until(Closed)
    assert wire.frames == [b"out 1", b"out 2", b"no end"]
    assert wire.stderr == [b"err 1", b"err no end"]
    assert [type(event) for event in wire.events[-2:]] == [ProcessExited, Closed]
    assert closed.summary == "The server exited with code 3."
    assert (
        closed.next_step == "Correct the cause, then connect again. Last lines of stderr:\nerr 1\nerr no end"
    )


async def test_the_start_is_reported_before_anything_else(script: Start) -> None:
    for _ in range(5):
        wire = await script(r"out('first\n')")
        await wire.until(Closed)
        assert isinstance(wire.events[0], ProcessStarted)
        assert wire.frames == [b"first"]


async def test_exit_message_shows_only_the_last_lines_and_no_hidden_characters(script: Start) -> None:
    wire = await script(r"err(''.join(f'line {n}\n' for n in range(1, 8)) + '\033[2J\n\n')")
    closed = await wire.until(Closed)
    assert closed.next_step.startswith("Correct the cause, then connect again. ")
    assert closed.next_step.endswith("Last lines of stderr:\nline 4\nline 5\nline 6\nline 7\n␛[2J")


async def test_silent_exit_says_that_nothing_was_written(script: Start) -> None:
    wire = await script("os.kill(os.getpid(), 9)")
    closed = await wire.until(Closed)
    ending = "exited with code 9" if sys.platform == "win32" else "was terminated by signal SIGKILL"
    assert closed.summary == f"The server {ending}."
    assert (
        closed.next_step
        == "It wrote nothing to stderr. Start its command in a terminal to see why, then connect again."
    )


async def test_closed_stdout_of_a_running_process_ends_the_connection(script: Start) -> None:
    wire = await script(r"out('bye\n'); os.close(1); sys.stdin.readline()")
    closed = await wire.until(Closed)
    assert closed.summary == "The server closed stdout, but its process is still running."
    assert wire.frames == [b"bye"]
    await wire.close()
    assert wire.count(Closed) == 1
    assert isinstance(wire.events[-1], ProcessExited)


async def test_exit_is_reported_although_a_child_of_the_process_holds_stderr_open(
    script: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_PIPE_GRACE", stdio_module._GRACE_AFTER_STDOUT + 1)
    child = "[sys.executable, '-c', 'import time; time.sleep(60)']"
    wire = await script(
        f"import subprocess; subprocess.Popen({child}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL);"
        "sys.exit(3)"
    )
    closed = await wire.until(Closed)
    assert closed.summary == "The server exited with code 3."
    await wire.close()


async def test_exit_of_a_process_that_ends_while_it_is_being_opened_is_reported(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = process_module.ChildProcess.start

    async def begin_slowly(*args: Any) -> process_module.ChildProcess:
        child = await begin(*args)
        await child._ended.wait()
        return child

    monkeypatch.setattr(process_module.ChildProcess, "start", begin_slowly)
    wire = await start(*PYTHON, "-c", "")
    exited = await wire.until(ProcessExited)
    assert (exited.pid, exited.code) == (wire.transport._process.pid, 0)  # type: ignore[union-attr]


async def test_line_over_the_size_limit_gives_its_start(script: Start) -> None:
    wire = await script(r"out('x' * 100_000 + '\n'); out('next\n')", cap=1000)
    await wire.until(Closed)
    assert wire.frames == [Overlong(b"x" * 1000, 100_000), b"next"]


async def test_output_pending_while_reading_is_paused_survives_the_exit(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_PIPE_GRACE", 0.01)
    wire = await start(*PYTHON, "-c", "import sys; sys.stdin.read(1); print('x\\n' * 5000, end='')")
    wire.transport.pause()
    await wire.transport.send(jsonrpc.notification("go"))
    process = wire.transport._process
    assert process is not None
    await process._exited.wait()
    await asyncio.sleep(0.05)  # longer than the grace period, which is what this tests
    assert wire.frames == []
    monkeypatch.undo()  # reading 5,000 lines may take longer
    wire.transport.resume()
    await wire.until(Closed)
    assert len(wire.frames) == 5000


async def test_stderr_is_not_read_while_reading_is_paused(start: Start) -> None:
    wire = await start(*PYTHON, "-c", f"{PRELUDE}sys.stdin.readline(); err('late\\n')")
    wire.transport.pause()
    await wire.transport.send(jsonrpc.notification("go"))
    process = wire.transport._process
    assert process is not None
    await process._exited.wait()
    for _ in range(10):  # what is ready would be read
        await asyncio.sleep(0)
    assert wire.stderr == []
    wire.transport.resume()
    await wire.until(Closed)
    assert wire.stderr == [b"late"]


async def test_message_is_sent_as_one_line(start: Start) -> None:
    wire = await start(*ECHO)
    message = jsonrpc.request(1, "ping", {"text": "line\nfeed \u2028"})
    await wire.transport.send(message)
    await wire.until(FramesReceived)
    assert wire.frames == [message.raw]


async def test_message_larger_than_the_pipe_buffer_arrives_intact(start: Start) -> None:
    wire = await start(*ECHO)
    message = jsonrpc.request(1, "x", {"text": "x" * 5_000_000})
    await wire.transport.send(message)
    await wire.until(FramesReceived)
    assert wire.frames == [message.raw]


async def test_simultaneous_messages_arrive_intact_and_in_order(start: Start) -> None:
    wire = await start(*ECHO)
    sizes = [10, 20, 200_000, 30, 70_000, *range(100)]
    messages = [jsonrpc.request(id, "x", {"text": "x" * size}) for id, size in enumerate(sizes)]
    await asyncio.gather(*(wire.transport.send(message) for message in messages))
    while len(wire.frames) < len(messages):
        await wire.more()
    assert wire.frames == [message.raw for message in messages]


async def test_message_sent_right_before_closing_arrives(start: Start) -> None:
    wire = await start(*ECHO)
    messages = [jsonrpc.request(id, "ping") for id in range(5)]
    for message in messages:
        await wire.transport.send(message)
    await wire.transport.close()
    assert wire.frames == [message.raw for message in messages]


async def test_sending_to_an_exited_process_says_how_it_exited(script: Start) -> None:
    wire = await script(r"err('no token\n'); sys.exit(4)")
    await wire.until(Closed)
    with pytest.raises(ConnectionLost) as caught:
        await wire.transport.send(jsonrpc.request(1, "ping"))
    assert caught.value.summary == "The server exited with code 4."
    assert caught.value.next_step == "Correct the cause, then connect again. Last lines of stderr:\nno token"


async def test_sending_to_a_process_that_closed_stdin_says_so(
    script: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "GRACE_AFTER_STDIN", 0.1)  # it does not end by itself
    wire = await script(r"os.close(0); out('closed\n'); time.sleep(60)")
    await wire.until(FramesReceived)

    async def send_until_refused() -> None:
        while True:  # asyncio notices it in a later iteration
            await wire.transport.send(jsonrpc.request(1, "ping"))
            await asyncio.sleep(0)

    with pytest.raises(ConnectionLost, match="no longer reads stdin"):
        await asyncio.wait_for(send_until_refused(), 30)


async def test_well_behaved_server_exits_when_its_stdin_closes(start: Start) -> None:
    wire = await start(*PYTHON, FAULTSERVER)
    await wire.transport.close()
    assert (await wire.until(ProcessExited)).status == "exited with code 0"


async def test_output_during_shutdown_is_reported(script: Start) -> None:
    wire = await script(r"sys.stdin.read(); out('last message\n'); err('last line')")
    await wire.transport.close()
    assert wire.frames == [b"last message"]
    assert wire.stderr == [b"last line"]


async def test_paused_transport_can_be_closed(start: Start) -> None:
    wire = await start(*ECHO)
    wire.transport.pause()
    await asyncio.wait_for(wire.transport.close(), 30)
    assert isinstance(wire.events[-1], Closed)


async def test_closing_twice_or_after_the_exit_is_safe(start: Start) -> None:
    wire = await start(*ECHO)
    await asyncio.gather(wire.transport.close(), wire.transport.close())
    await wire.transport.close()
    assert wire.count(Closed) == 1


@needs_process_groups
async def test_process_is_ended_although_closing_is_cancelled(
    script: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "GRACE_AFTER_STDIN", 0.1)
    wire = await script(r"out('ready\n'); time.sleep(1000)")
    await wire.until(FramesReceived)
    closing = asyncio.get_running_loop().create_task(wire.transport.close())
    for _ in range(3):
        await asyncio.sleep(0)
        closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert wire.count(ProcessExited) == 1


async def test_process_is_ended_if_its_start_is_cancelled(script: Start, tmp_path: Path) -> None:
    wire = Wire(*PYTHON, "-c", "import time; time.sleep(1000)")
    opening = asyncio.get_running_loop().create_task(wire.transport.open(wire.report))
    await asyncio.sleep(0)
    for _ in range(2):
        opening.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await opening
    (started,) = [event for event in wire.events if isinstance(event, ProcessStarted)]
    assert not psutil.pid_exists(started.pid)
    wire.guard.close()


async def test_closing_a_guard_kills_the_processes_it_still_watches() -> None:
    guard = OrphanGuard()
    process = await asyncio.create_subprocess_exec("/bin/sleep", "60", start_new_session=True)
    guard.watch(process.pid)
    assert guard.pid is not None
    await asyncio.to_thread(guard.close)
    assert await process.wait() == -15


@needs_process_groups
async def test_guard_leaves_forgotten_processes_alone() -> None:
    guard = OrphanGuard()
    kept = await asyncio.create_subprocess_exec(
        "/bin/cat", start_new_session=True, stdin=asyncio.subprocess.PIPE
    )
    guard.watch(kept.pid)
    guard.forget(kept.pid)
    guard.close()
    assert kept.stdin is not None
    kept.stdin.close()
    assert await kept.wait() == 0


async def test_output_without_a_line_feed_is_reported_once_it_stops(start: Start) -> None:
    code = "import sys; sys.stdout.write('{}\\r'); sys.stdout.flush(); sys.stdin.read()"
    wire = await start(*PYTHON, "-c", code)
    assert (await wire.until(UnfinishedOutput)).head == b"{}\r"
    assert wire.frames == []
    await wire.close()
    assert wire.frames == [b"{}"]


async def test_unfinished_line_is_reported_once_and_still_read_whole(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_module, "_GRACE_WITHIN_LINE", 0.0)
    code = "import sys; sys.stdout.write('{'); sys.stdout.flush(); sys.stdin.readline(); print('}')"
    wire = await start(*PYTHON, "-c", code)
    await wire.until(UnfinishedOutput)
    await wire.transport.send(jsonrpc.request(1, "ping"))
    await wire.until(Closed)
    assert wire.count(UnfinishedOutput) == 1
    assert wire.frames == [b"{}"]
