"""Pipes of a child process: how much is read at once, and which writes are gathered."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import ChildProcess


class Pipe(asyncio.ReadTransport, asyncio.WriteTransport):
    """A pipe that records the writes; `max_size` is asyncio's read size on POSIX."""

    max_size = 256 * 1024

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.protocol: asyncio.BaseProtocol = asyncio.Protocol()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol


class Subprocess(asyncio.SubprocessTransport):
    def __init__(self) -> None:
        super().__init__()
        self.pipes = [Pipe(), Pipe(), Pipe()]

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport:
        return self.pipes[fd]

    def get_pid(self) -> int:
        return 1

    def get_returncode(self) -> int | None:
        return None

    def close(self) -> None:
        pass


class Listener:
    def __init__(self) -> None:
        self.codes: list[int | None] = []

    def on_started(self, pid: int) -> None: ...

    def on_stdout(self, data: bytes) -> int:
        return data.count(b"\n")

    def on_stderr(self, data: bytes) -> int:
        return data.count(b"\n")

    def on_stdout_closed(self) -> None: ...

    def on_exit(self, code: int | None) -> None:
        self.codes.append(code)


class Guard(OrphanGuard):
    """Watches nothing: there is no process."""

    def watch(self, group: int) -> None:
        return None


class Stage:
    def __init__(self) -> None:
        self.subprocess = Subprocess()
        self.listener = Listener()
        self.process = ChildProcess(self.listener, Guard(), "mark")
        self.process.connection_made(self.subprocess)

    @property
    def written(self) -> list[bytes]:
        return self.subprocess.pipes[0].written

    def output(self, data: bytes, fd: int = 1) -> None:
        cast(asyncio.Protocol, self.subprocess.pipes[fd].protocol).data_received(data)


async def test_requests_one_at_a_time_are_never_gathered() -> None:
    """Gathering would cost each request an iteration of the event loop."""
    stage = Stage()
    for request in (b"1\n", b"2\n", b"3\n"):
        assert stage.process.write(request)
        assert stage.written[-1] == request
        stage.output(b"response\n")


async def test_requests_of_one_iteration_are_written_together() -> None:
    stage = Stage()
    for request in (b"1\n", b"2\n", b"3\n", b"4\n"):
        stage.process.write(request)
    assert stage.written == [b"1\n", b"2\n"]
    await asyncio.sleep(0)
    assert stage.written == [b"1\n", b"2\n", b"3\n4\n"]


async def test_gathered_requests_are_bounded() -> None:
    stage = Stage()
    for _ in range(100):
        stage.process.write(b"x" * 1023 + b"\n")
    assert sum(map(len, stage.written)) > 64 * 1024
    await asyncio.sleep(0)
    assert sum(map(len, stage.written)) == 100 * 1024


@pytest.mark.parametrize("length", [1, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("fd", [1, 2])
async def test_a_noisy_server_gets_a_bounded_turn(fd: int, length: int) -> None:
    """The other servers share the event loop: after the first read, no read has too many lines."""
    stage = Stage()
    flood, turns = (b"x" * (length - 1) + b"\n") * (1024 * 1024 // length), []
    while flood:
        size = stage.subprocess.pipes[fd].max_size
        read, flood = flood[:size], flood[size:]
        turns.append(read.count(b"\n"))
        stage.output(read, fd)
    assert max(turns[1:]) <= max(64, 512 // length)
    assert len(turns) <= 4 * max(1, 1024 * 1024 // max(512, 64 * min(length, 1024)))


async def test_within_a_long_line_reads_grow_to_what_a_pipe_holds() -> None:
    """asyncio's default of 256 KiB takes 14 µs to allocate, for each response."""
    stage = Stage()
    pipe, sizes = stage.subprocess.pipes[1], []
    for _ in range(6):
        sizes.append(pipe.max_size)
        stage.output(b"x" * pipe.max_size)
    assert sizes == [8192, 16384, 32768, 65536, 65536, 65536]


async def test_one_short_response_after_another_does_not_change_the_read_size() -> None:
    stage = Stage()
    for _ in range(100):
        stage.output(b"response\n")
    assert stage.subprocess.pipes[1].max_size == 8192


class Undying:
    """A process tree that no signal ends."""

    def __init__(self, *args: object) -> None: ...

    def snapshot(self) -> None: ...

    def signal(self, number: int) -> None: ...

    def is_alive(self) -> bool:
        return True

    def exists(self) -> bool:
        return True


async def test_stop_returns_although_the_process_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.transport.process.ProcessTree", Undying)
    for name in ("GRACE_AFTER_STDIN", "GRACE_AFTER_TERM", "_LAST_GRACE"):
        monkeypatch.setattr(f"inspector.transport.process.{name}", 0)
    stage = Stage()
    await stage.process.stop()
    assert stage.listener.codes == [None]
    stage.process.connection_lost(None)  # it ends later
    assert stage.listener.codes == [None]


async def test_output_left_in_the_pipes_gets_the_whole_time_when_reading_resumes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stage = Stage()
    stage.process.pause_reading()
    stage.process.process_exited()
    first = stage.process._drain_timer
    monkeypatch.setattr("inspector.transport.process._PIPE_GRACE", 100)
    stage.process.resume_reading()
    second = stage.process._drain_timer
    stage.process.connection_lost(None)
    assert first is not None
    assert first.cancelled()
    assert second is not None
    assert second.when() > first.when() + 50
