"""stdio transport with real processes: their output is reported in order, and they are ended."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectionLost
from inspector.protocol import jsonrpc
from inspector.protocol.framing import Overlong
from inspector.transport import process as process_module
from inspector.transport.base import (
    Closed,
    FramesReceived,
    ProcessExited,
    ProcessStarted,
    StderrReceived,
    WireEvent,
)
from inspector.transport.process import Command, OrphanGuard
from inspector.transport.stdio import StdioTransport

FAULTSERVER = str(Path(__file__).parents[2] / "helpers" / "faultserver.py")
PYTHON = (sys.executable, "-I", "-S")

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
def shell(start: Start) -> Start:
    async def run(script: str, cap: int = 2**28) -> Wire:
        return await start("/bin/sh", "-c", script, cap=cap)

    return run


async def test_all_output_is_reported_before_the_exit(shell: Start) -> None:
    wire = await shell(
        "echo out 1; echo err 1 >&2; echo out 2; printf 'no end'; printf 'err no end' >&2; exit 3"
    )
    closed = await wire.until(Closed)
    assert wire.frames == [b"out 1", b"out 2", b"no end"]
    assert wire.stderr == [b"err 1", b"err no end"]
    assert [type(event) for event in wire.events[-2:]] == [ProcessExited, Closed]
    assert closed.summary == "The server exited with code 3."
    assert closed.next_step == "Last lines of stderr:\nerr 1\nerr no end"


async def test_the_start_is_reported_before_anything_else(start: Start) -> None:
    for _ in range(5):
        wire = await start("/bin/echo", "first")
        await wire.until(Closed)
        assert isinstance(wire.events[0], ProcessStarted)
        assert wire.frames == [b"first"]


async def test_exit_message_shows_only_the_last_lines_and_no_hidden_characters(shell: Start) -> None:
    wire = await shell(r"for n in 1 2 3 4 5 6 7; do echo line $n >&2; done; printf '\033[2J\n\n' >&2")
    closed = await wire.until(Closed)
    assert closed.next_step == "Last lines of stderr:\nline 4\nline 5\nline 6\nline 7\n␛[2J"


async def test_silent_exit_says_that_nothing_was_written(shell: Start) -> None:
    wire = await shell("kill -9 $$")
    closed = await wire.until(Closed)
    assert closed.summary == "The server was terminated by signal SIGKILL."
    assert closed.next_step == "It wrote nothing to stderr."


async def test_closed_stdout_of_a_running_process_ends_the_connection(shell: Start) -> None:
    wire = await shell("echo bye; exec 1>&-; read wait")
    closed = await wire.until(Closed)
    assert closed.summary == "The server closed stdout, but its process is still running."
    assert wire.frames == [b"bye"]
    await wire.close()
    assert wire.count(Closed) == 1
    assert isinstance(wire.events[-1], ProcessExited)


async def test_line_over_the_size_limit_gives_its_start(shell: Start) -> None:
    wire = await shell("head -c 100000 /dev/zero | tr '\\0' x; echo; echo next", cap=1000)
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
    wire.transport.resume()
    await wire.until(Closed)
    assert len(wire.frames) == 5000


async def test_message_is_sent_as_one_line(start: Start) -> None:
    wire = await start("/bin/cat")
    message = jsonrpc.request(1, "ping", {"text": "line\nfeed \u2028"})
    await wire.transport.send(message)
    await wire.until(FramesReceived)
    assert wire.frames == [message.raw]


async def test_message_larger_than_the_pipe_buffer_arrives_intact(start: Start) -> None:
    wire = await start("/bin/cat")
    message = jsonrpc.request(1, "x", {"text": "x" * 5_000_000})
    await wire.transport.send(message)
    await wire.until(FramesReceived)
    assert wire.frames == [message.raw]


async def test_simultaneous_messages_arrive_intact_and_in_order(start: Start) -> None:
    wire = await start("/bin/cat")
    sizes = [10, 20, 200_000, 30, 70_000, *range(100)]
    messages = [jsonrpc.request(id, "x", {"text": "x" * size}) for id, size in enumerate(sizes)]
    await asyncio.gather(*(wire.transport.send(message) for message in messages))
    while len(wire.frames) < len(messages):
        await wire.more()
    assert wire.frames == [message.raw for message in messages]


async def test_message_sent_right_before_closing_arrives(start: Start) -> None:
    wire = await start("/bin/cat")
    messages = [jsonrpc.request(id, "ping") for id in range(5)]
    for message in messages:
        await wire.transport.send(message)
    await wire.transport.close()
    assert wire.frames == [message.raw for message in messages]


async def test_sending_to_an_exited_process_says_how_it_exited(shell: Start) -> None:
    wire = await shell("echo no token >&2; exit 4")
    await wire.until(Closed)
    with pytest.raises(ConnectionLost) as caught:
        await wire.transport.send(jsonrpc.request(1, "ping"))
    assert caught.value.summary == "The server exited with code 4."
    assert caught.value.next_step == "Last lines of stderr:\nno token"


async def test_sending_to_a_process_that_closed_stdin_says_so(shell: Start) -> None:
    wire = await shell("exec 0<&-; echo closed; sleep 60 & wait")
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


async def test_output_during_shutdown_is_reported(shell: Start) -> None:
    wire = await shell("while read line; do :; done; echo last message; printf 'last line' >&2")
    await wire.transport.close()
    assert wire.frames == [b"last message"]
    assert wire.stderr == [b"last line"]


async def test_paused_transport_can_be_closed(start: Start) -> None:
    wire = await start("/bin/cat")
    wire.transport.pause()
    await asyncio.wait_for(wire.transport.close(), 30)
    assert isinstance(wire.events[-1], Closed)


async def test_closing_twice_or_after_the_exit_is_safe(start: Start) -> None:
    wire = await start("/bin/cat")
    await asyncio.gather(wire.transport.close(), wire.transport.close())
    await wire.transport.close()
    assert wire.count(Closed) == 1


async def test_closing_a_guard_kills_the_processes_it_still_watches() -> None:
    guard = OrphanGuard()
    process = await asyncio.create_subprocess_exec("/bin/sleep", "60", start_new_session=True)
    guard.watch(process.pid)
    assert guard.pid is not None
    await asyncio.to_thread(guard.close)
    assert await process.wait() == -15


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
