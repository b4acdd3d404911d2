"""Fakes of the clock and the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from inspector.base.errors import ConnectFailed, ConnectionLost
from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Revision
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    FramesReceived,
    ProcessStarted,
    Report,
    StderrReceived,
    WireEvent,
)


class FakeClock:
    """A clock that only moves when a test moves it."""

    def __init__(self, monotonic_ns: int = 1_000_000_000, wall_ns: int = 1_700_000_000_000_000_000) -> None:
        self._monotonic, self._wall = monotonic_ns, wall_ns

    def monotonic_ns(self) -> int:
        return self._monotonic

    def wall_ns(self) -> int:
        return self._wall

    def advance(self, seconds: float) -> None:
        self._monotonic += round(seconds * 1e9)
        self._wall += round(seconds * 1e9)


class MemoryWire:
    """Both ends of a wire without a server: our `Transport`, and the server's part for a test.

    Everything that arrives is delivered immediately, in the call that sends it.
    """

    def __init__(self, *, refuses: ConnectFailed | None = None) -> None:
        self._refuses = refuses
        self._report: Report | None = None
        self._sent: asyncio.Queue[Message] = asyncio.Queue()
        self._may_send = asyncio.Event()
        self._may_send.set()
        self._is_over = False
        self.closed = asyncio.Event()
        self.closes_when = asyncio.Event()
        self.closes_when.set()
        self.revision: Revision | None = None
        self.forgotten: list[Message] = []

    @property
    def is_closed(self) -> bool:
        return self.closed.is_set()

    async def open(self, report: Report) -> None:
        if self._refuses is not None:
            raise self._refuses
        self._report = report

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        if self.is_closed:
            raise ConnectionLost("The wire is closed.", "")
        await self._may_send.wait()
        if self._is_over:
            raise ConnectionLost("The wire is closed.", "")
        self._sent.put_nowait(message)

    def set_revision(self, revision: Revision) -> None:
        self.revision = revision

    def forget(self, request: Message) -> None:
        self.forgotten.append(request)

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    async def close(self) -> None:
        await self.closes_when.wait()
        self.closed.set()

    async def next(self) -> JSONObject:
        """Return the next message that we sent."""
        return (await self._sent.get()).body()

    def sends_nothing(self) -> bool:
        return self._sent.empty()

    def happen(self, event: WireEvent) -> None:
        assert self._report is not None, "the wire was not opened"
        self._report(event)

    def send_frames(self, *frames: bytes | Overlong) -> None:
        self.happen(FramesReceived(frames, 0))

    def show_message(self, **members: JSON) -> None:
        self.send_frames(to_wire({"jsonrpc": "2.0", **members}))

    def start_process(self, pid: int = 4711) -> None:
        self.happen(ProcessStarted(pid, ("server",), "", (), 0))

    def write_stderr(self, lines: Sequence[bytes]) -> None:
        self.happen(StderrReceived(lines, 0))

    def end(
        self, summary: str = "The server exited with code 9.", next_step: str = "Look at its log."
    ) -> None:
        self._is_over = True
        self._may_send.set()
        self.happen(Closed(summary, next_step, 0))

    def block_sending(self) -> None:
        """Act as a server that no longer reads: the pipe is full."""
        self._may_send.clear()

    def unblock_sending(self) -> None:
        self._may_send.set()

    async def answer_initialize(self, **result: JSON) -> None:
        """Play the server's part of the handshake, up to and including `initialized`."""
        request = await self.next()
        assert request["method"] == "initialize"
        self.show_message(id=request["id"], result=INITIALIZED | result)
        assert (await self.next())["method"] == "notifications/initialized"


INITIALIZED: JSONObject = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {"listChanged": True}, "resources": {}, "prompts": {}},
    "serverInfo": {"name": "memory", "version": "1"},
}


class LoopTime:
    """The clock of the running loop, moved by hand: timeouts of seconds expire immediately."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._real, self._now = loop.time, loop.time()
        loop.time = lambda: self._now  # type: ignore[method-assign]

    def go_on(self) -> None:
        """Let the clock run by itself again."""
        ahead = self._now - self._real()
        asyncio.get_running_loop().time = lambda: self._real() + ahead  # type: ignore[method-assign]

    async def advance(self, seconds: float) -> None:
        """Advance the clock and run everything that is due."""
        self._now += seconds
        for _ in range(10):
            await asyncio.sleep(0)
