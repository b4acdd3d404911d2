"""stdio transport: one JSON-RPC message per line over a child's pipes, and its stderr."""

from __future__ import annotations

import asyncio
from collections import deque

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost
from inspector.base.plain_text import visible
from inspector.protocol.framing import DEFAULT_LINE_CAP, LineFramer, Overlong
from inspector.protocol.jsonrpc import Message
from inspector.protocol.revisions import Revision
from inspector.transport.base import (
    PLAIN,
    Closed,
    Envelope,
    FramesReceived,
    ProcessExited,
    ProcessStarted,
    Report,
    StderrReceived,
    UnfinishedOutput,
    discard_event,
)
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import ChildProcess, describe_exit, within
from inspector.transport.programs import Command

_GRACE_AFTER_STDOUT = 1.0
_GRACE_WITHIN_LINE = 1.0  # seconds after which a line without its end is reported
_LAST_LINES = 5


class StdioTransport:
    """Starts the command, frames its output, and ends it."""

    def __init__(
        self, command: Command, guard: OrphanGuard, clock: Clock, line_cap: int = DEFAULT_LINE_CAP
    ) -> None:
        self._command = command
        self._guard = guard
        self._clock = clock
        self._stdout = LineFramer(line_cap)
        self._stderr = LineFramer(line_cap)
        self._last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._process: ChildProcess | None = None
        self._pid = 0
        self._report: Report = discard_event
        self._closed: Closed | None = None
        self._over = asyncio.Event()
        self._stdout_timer: asyncio.TimerHandle | None = None
        self._line_timer: asyncio.TimerHandle | None = None

    async def open(self, report: Report) -> None:
        self._report = report
        self._process = await ChildProcess.start(self._command, self, self._guard)

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        if self._process is None:
            raise ConnectionLost("The server is not running.", "Connect first.")
        try:
            if not self._process.write(message.raw + b"\n"):
                await self._process.drain()
        except ConnectionLost:
            # Usually the process is exiting: wait a moment for the reason.
            if not await within(_GRACE_AFTER_STDOUT, self._over):
                raise
            assert self._closed is not None
            raise ConnectionLost(self._closed.summary, self._closed.next_step) from None

    def set_revision(self, revision: Revision) -> None:
        """Do nothing: stdio has no headers."""

    def forget(self, request: Message) -> None:
        """Do nothing: stdio holds nothing for a request."""

    def pause(self) -> None:
        if self._process is not None:
            self._process.pause_reading()

    def resume(self) -> None:
        if self._process is not None:
            self._process.resume_reading()

    async def close(self) -> None:
        if self._process is not None:
            await self._process.stop()

    def on_started(self, pid: int) -> None:
        """Report the start first: a fast process may have written, or exited, before `open` resumes."""
        self._pid = pid
        command, names = self._command, tuple(sorted(self._command.env))
        self._report(ProcessStarted(pid, command.argv, command.cwd, names, self._now(), command.inherits_all))

    def on_stdout(self, data: bytes) -> int:
        at = self._now()
        if frames := self._stdout.feed(data):
            self._report(FramesReceived(frames, at))
        if data[-1:] != b"\n" and self._line_timer is None:
            self._watch_line()
        return len(frames)

    def on_stderr(self, data: bytes) -> int:
        at = self._now()
        if lines := self._stderr.feed(data):
            self._report_stderr(lines, at)
        return len(lines)

    def on_stdout_closed(self) -> None:
        """Handle the end of stdout.

        Usually the process is about to exit; if it does not, the connection ends anyway.
        """
        if (rest := self._stdout.end()) is not None:
            self._report(FramesReceived([rest], self._now()))
        loop = asyncio.get_running_loop()
        self._stdout_timer = loop.call_later(_GRACE_AFTER_STDOUT, self._on_stdout_lost)

    def _watch_line(self) -> None:
        """Check later whether the line that has begun is still growing."""
        loop = asyncio.get_running_loop()
        self._line_timer = loop.call_later(_GRACE_WITHIN_LINE, self._check_line, self._stdout.unfinished_size)

    def _check_line(self, size: int) -> None:
        self._line_timer = None
        if self._stdout.unfinished_size > size:
            self._watch_line()
        elif self._stdout.unfinished_size == size:
            self._report(UnfinishedOutput(self._stdout.unfinished(), self._now()))

    def on_exit(self, code: int | None) -> None:
        status = describe_exit(code)
        for timer in (self._stdout_timer, self._line_timer):
            if timer is not None:
                timer.cancel()
        if (rest := self._stderr.end()) is not None:
            self._report_stderr([rest], self._now())
        # A fast process exits before `open` has returned.
        self._report(ProcessExited(self._pid, status, self._now(), code))
        self._close(f"The server {status}.")

    def _on_stdout_lost(self) -> None:
        if self._process is not None and self._process.has_exited():
            return  # `on_exit` follows: something still holds stderr open, or the machine is busy
        self._close("The server closed stdout, but its process is still running.")

    def _close(self, summary: str) -> None:
        if self._closed is None:
            self._closed = Closed(summary, self._stderr_hint(), self._now())
            self._over.set()
            self._report(self._closed)

    def _stderr_hint(self) -> str:
        if not self._last_lines:
            return (
                "It wrote nothing to stderr. Start its command in a terminal to see why, then connect again."
            )
        return "Correct the cause, then connect again. Last lines of stderr:\n" + "\n".join(self._last_lines)

    def _report_stderr(self, lines: list[bytes | Overlong], at: int) -> None:
        raw = [line.head if isinstance(line, Overlong) else line for line in lines]
        last = [line for line in raw if line.strip()][-_LAST_LINES:]
        self._last_lines.extend(visible(line[:500].decode(errors="replace")) for line in last)
        self._report(StderrReceived(raw, at))

    def _now(self) -> int:
        return self._clock.monotonic_ns()
