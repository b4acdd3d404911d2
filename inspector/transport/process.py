"""Child processes: start, pipes, and ending the whole tree.

A process is started without a shell, in its own session (POSIX) or job (Windows). Everything it wrote is
reported before `on_exit`. Reading the process table takes milliseconds, so call `ProcessTree.snapshot` and
`is_alive` on a worker thread. Zombies do not count as alive: they only wait for their exit code to be read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from inspector.base.environment import IS_WINDOWS
from inspector.base.errors import ConnectionLost
from inspector.transport.orphan_guard import MARK_VARIABLE, OrphanGuard
from inspector.transport.programs import (
    Command,
    check_interpreter,
    command_interpreter,
    find_program,
    spawn_options,
    start_error,
    windows_arguments,
)
from inspector.transport.task_scope import shielded

if TYPE_CHECKING:
    import psutil

    from inspector.base.job_objects import Job

GRACE_AFTER_STDIN = 2.0  # many servers save or disconnect first
GRACE_AFTER_TERM = 2.5
_PIPE_GRACE = 1.0
_LAST_GRACE = 5.0  # for the end of a process that was killed
_MAX_GATHERED = 64 * 1024
# Bytes of one read: asyncio would allocate 256 KiB each time, which takes 14 µs, and a pipe holds 64 KiB.
_FIRST_READ_SIZE, _MIN_READ_SIZE, _MAX_READ_SIZE = 8 * 1024, 512, 64 * 1024
# Lines of one read, less than a millisecond of work. What a noisy server wrote stays in its pipe meanwhile,
# so that the other servers have their turn.
_LINES_PER_READ = 64
KILL = signal.SIGKILL if os.name == "posix" else signal.SIGTERM


class Listener(Protocol):
    """Receives the events of a process."""

    def on_started(self, pid: int) -> None: ...

    def on_stdout(self, data: bytes) -> int:
        """Handle output; return the number of lines that it completes. The same for stderr."""

    def on_stderr(self, data: bytes) -> int: ...

    def on_stdout_closed(self) -> None: ...

    def on_exit(self, code: int | None) -> None:
        """Handle the exit; `code` is negative for a signal, None if unknown."""


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child process. Create it with `start`."""

    def __init__(self, listener: Listener, guard: OrphanGuard, mark: str) -> None:
        self._listener = listener
        self._guard = guard
        self._mark = mark
        self._transport: asyncio.SubprocessTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = asyncio.Event()  # exited, and all pipes read to the end
        self._exited = asyncio.Event()
        self._drain_timer: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._stdin: asyncio.WriteTransport | None = None
        self._wrote_since_output = False
        self._is_gathering = False
        self._gathered = bytearray()
        self._tree: ProcessTree | None = None
        self._has_reported_exit = False
        self.pid = 0

    @classmethod
    async def start(cls, command: Command, listener: Listener, guard: OrphanGuard) -> ChildProcess:
        """Start the process. Raises ConnectFailed with the cause.

        If this is cancelled, the process is stopped with everything that it started meanwhile.
        """
        mark = guard.new_mark()
        program = find_program(command)
        env = command.environment() | {MARK_VARIABLE: mark}
        check_interpreter(program, env)
        process = cls(listener, guard, mark)
        try:
            await shielded(_spawn(process, program, command, env))
        except (OSError, ValueError) as exc:
            raise start_error(program, exc) from exc
        except asyncio.CancelledError:
            await process.stop()
            raise
        return process

    def write(self, data: bytes) -> bool:
        """Write to stdin; return False if the pipe is full: then `drain` before the next write.

        Each write wakes the process, which takes longer than anything else done for a message. The second
        write without output from the process in between starts to gather: what follows in this iteration
        of the event loop is written together. A client that sends one request at a time never gathers,
        which would cost it an iteration for each request.
        """
        stdin = self._stdin
        if stdin is None or stdin.is_closing() or self._exited.is_set():
            raise ConnectionLost("The server no longer reads stdin.", "Reconnect to start it again.")
        if self._is_gathering:
            self._gathered += data
            if len(self._gathered) > _MAX_GATHERED:
                self._write_gathered()
        else:
            if self._wrote_since_output:
                self._is_gathering = True
                asyncio.get_running_loop().call_soon(self._end_gathering)
            self._wrote_since_output = True
            stdin.write(data)
        return self._writable.is_set()

    async def drain(self) -> None:
        """Wait while the pipe is full."""
        await self._writable.wait()

    def _end_gathering(self) -> None:
        self._is_gathering = False
        self._write_gathered()

    def _write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, bytearray()
        if gathered and self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(gathered)

    def pause_reading(self) -> None:
        self._is_paused = True
        for pipe in self._open_outputs():
            pipe.pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        for pipe in self._open_outputs():
            pipe.resume_reading()
        if self._drain_timer is not None and not self._ended.is_set():
            self._start_drain_timer()  # what is left in the pipes gets the whole time

    def _open_outputs(self) -> list[asyncio.ReadTransport]:
        pipes = [cast("asyncio.ReadTransport | None", self._pipe(fd)) for fd in (1, 2)]
        return [pipe for pipe in pipes if pipe is not None and not pipe.is_closing()]

    def _pipe(self, fd: int) -> asyncio.BaseTransport | None:
        return self._transport.get_pipe_transport(fd) if self._transport else None

    def has_exited(self) -> bool:
        """True once the process has exited; the listener learns it when the pipes are read to the end."""
        if self._exited.is_set():
            return True
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            return not _is_alive(psutil.Process(self.pid))
        return True

    async def stop(self) -> None:
        """Close stdin, wait, TERM, wait, KILL: the whole tree, including those that left the group.

        Windows has no TERM: the job is terminated. Returns within about 15 s, even if a process does not end,
        and not earlier if it is cancelled.
        """
        await shielded(self._stop())

    async def _stop(self) -> None:
        if (tree := self._tree) is None:
            return  # cancelled before it started
        self.resume_reading()  # to get its last output; a full pipe would block its exit
        await asyncio.to_thread(tree.snapshot)
        self._write_gathered()
        if (stdin := self._pipe(0)) is not None:
            stdin.close()
        if not await within(GRACE_AFTER_STDIN, self._exited):
            tree.signal(signal.SIGTERM)
            if not await within(GRACE_AFTER_TERM, self._exited):
                tree.signal(KILL)
        await _end_leftovers(tree)
        if not await within(_LAST_GRACE, self._ended):
            self._abandon()
        self._guard.forget(self.pid)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self._stdin = cast("asyncio.WriteTransport | None", self._pipe(0))
        _deliver_directly(self._pipe(1), self._on_stdout)
        _deliver_directly(self._pipe(2), self._listener.on_stderr)
        self.pid = self._transport.get_pid()
        self._tree = ProcessTree(self.pid, self._mark, self._guard.watch(self.pid))
        self._listener.on_started(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle data from before `connection_made`; later data takes the fast path (`_DirectDelivery`)."""
        if fd == 1:
            self._on_stdout(data)
        else:
            self._listener.on_stderr(data)

    def _on_stdout(self, data: bytes) -> int:
        self._wrote_since_output = False
        return self._listener.on_stdout(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self._writable.set()
        elif fd == 1:
            self._listener.on_stdout_closed()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def process_exited(self) -> None:
        self._exited.set()
        self._writable.set()
        self._start_drain_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._drain_timer is not None:
            self._drain_timer.cancel()
        if self._tree is not None and not self._tree.exists():
            self._guard.forget(self.pid)
        code = self._transport.get_returncode() if self._transport else None
        if self._transport is not None:
            self._transport.close()
        self._ended.set()
        self._report_exit(code)

    def _report_exit(self, code: int | None) -> None:
        if not self._has_reported_exit:
            self._has_reported_exit = True
            self._listener.on_exit(code)

    def _abandon(self) -> None:
        """Close the pipes of a process that does not end although it was killed, as in an I/O wait."""
        if self._transport is not None:
            self._transport.close()
        self._report_exit(None)

    def _start_drain_timer(self) -> None:
        """Limit the wait for the end of output: a grandchild may hold the pipes open forever."""
        if self._drain_timer is not None:
            self._drain_timer.cancel()
        self._drain_timer = asyncio.get_running_loop().call_later(_PIPE_GRACE, self._close_pipes)

    def _close_pipes(self) -> None:
        if self._is_paused:
            self._start_drain_timer()  # output is left in the pipe while reading is paused
            return
        if self._tree is not None:
            self._tree.signal(KILL)
        if self._transport is not None:
            self._transport.close()


async def _spawn(process: ChildProcess, program: str, command: Command, env: Mapping[str, str]) -> None:
    """Start the program with the protocol `process`. Raises OSError or ValueError."""
    loop, args = asyncio.get_running_loop(), command.argv[1:]
    options = {"env": env, "cwd": command.cwd or None, **spawn_options(is_suspended=True)}
    arguments = windows_arguments(program, args, env) if IS_WINDOWS else (program, *args)
    if not isinstance(arguments, str):
        await loop.subprocess_exec(lambda: process, *arguments, **options)
        return
    # `subprocess_exec` accepts no command line, and `subprocess_shell` no options of cmd.exe.
    pipe = subprocess.PIPE
    await cast(Any, loop)._make_subprocess_transport(
        process, arguments, False, pipe, pipe, pipe, 0, executable=command_interpreter(env), **options
    )


class _DirectDelivery(asyncio.Protocol):
    """Delivers pipe data as soon as it is read.

    asyncio delivers a child's output in the next iteration of the event loop, which would delay each
    response by one iteration. `wrapped` is asyncio's protocol, which tracks the open pipes. `on_data`
    returns the number of lines, which determines the size of the next read.
    """

    def __init__(self, pipe: asyncio.BaseTransport, on_data: Callable[[bytes], int]) -> None:
        self._pipe = pipe
        self._wrapped = pipe.get_protocol()
        self._on_data = on_data
        self._read_size = _FIRST_READ_SIZE
        self._set_read_size(_FIRST_READ_SIZE)

    def data_received(self, data: bytes) -> None:
        lines, size = self._on_data(data), self._read_size
        if lines > _LINES_PER_READ or len(data) == size:
            self._set_read_size(next_read_size(size, lines))

    def connection_lost(self, exc: Exception | None) -> None:
        self._wrapped.connection_lost(exc)

    def _set_read_size(self, size: int) -> None:
        self._read_size = size
        if hasattr(self._pipe, "max_size"):  # POSIX
            self._pipe.max_size = size


def next_read_size(size: int, lines: int) -> int:
    """Return the size of the next read after a full one, or after one with too many lines.

    Reads are short while lines are short, and long within a long line.
    """
    if lines > _LINES_PER_READ:
        return max(_MIN_READ_SIZE, size * _LINES_PER_READ // (lines + 1))
    return min(_MAX_READ_SIZE, 2 * size) if 3 * lines <= _LINES_PER_READ else size


def _deliver_directly(pipe: asyncio.BaseTransport | None, on_data: Callable[[bytes], int]) -> None:
    if pipe is not None:
        pipe.set_protocol(_DirectDelivery(pipe, on_data))


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event with a timeout; return True if it was set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


_CONTROL_C_EXIT = 0xC000_013A
# NTSTATUS codes with which Windows ends a process that crashed, and two of runtimes.
CRASH_CODES = {
    0x8000_0003: "breakpoint",
    0xC000_0005: "access violation",
    0xC000_0017: "out of memory",
    0xC000_001D: "illegal instruction",
    0xC000_0094: "integer division by zero",
    0xC000_00FD: "stack overflow",
    0xC000_0135: "DLL not found",
    0xC000_0139: "entry point not found in a DLL",
    0xC000_0142: "DLL initialization failed",
    0xC000_0374: "heap corruption",
    0xC000_0409: "stack buffer overrun or abort",
    0xE043_4352: "unhandled .NET exception",
    0xE06D_7363: "unhandled C++ exception",
}


def describe_exit(code: int | None) -> str:
    """Describe an exit code; negative ones are signals, very large ones the NTSTATUS codes of Windows."""
    if code is None:
        return "ended"
    if code >= 0x8000_0000:
        name = "Ctrl+C" if code == _CONTROL_C_EXIT else CRASH_CODES.get(code, "")
        return f"exited with code 0x{code:08X} ({name})" if name else f"exited with code 0x{code:08X}"
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"was terminated by signal {signal.Signals(-code).name}"
    return f"was terminated by signal {-code}"


async def _end_leftovers(tree: ProcessTree) -> None:
    """End the processes that the exited child left behind; poll, as there is no notification."""
    deadline = asyncio.get_running_loop().time() + GRACE_AFTER_TERM
    is_first_check = True
    while await asyncio.to_thread(tree.is_alive):
        if is_first_check:
            tree.signal(signal.SIGTERM)
            is_first_check = False
        elif asyncio.get_running_loop().time() > deadline:
            tree.signal(KILL)
            return
        await asyncio.sleep(0.05)


class ProcessTree:
    """The tree under one child that leads its own process group, or is in a job (Windows)."""

    def __init__(self, leader: int, mark: str, job: Job | None = None) -> None:
        self._group = leader
        self._mark = mark
        self._job = job
        self._descendants: list[psutil.Process] = []

    def snapshot(self) -> None:
        """Record every descendant: through the leader, or by their mark once it has exited."""
        if self._job is not None:
            return  # the job contains them
        import psutil

        with contextlib.suppress(psutil.Error):
            leader = psutil.Process(self._group)
            self._descendants = leader.children(recursive=True)
            if os.name != "posix":  # there is no group that contains it
                self._descendants.append(leader)
            if _is_alive(leader):
                return
        self._descendants += [process for process in psutil.process_iter() if self._has_mark(process)]

    def signal(self, number: signal.Signals) -> None:
        if self._job is not None:
            with contextlib.suppress(OSError):
                self._job.terminate()
            return
        signal_group(self._group, number)
        for process in self._descendants:
            with contextlib.suppress(Exception):  # gone, or its pid was reused: psutil checks
                process.send_signal(number)

    def _has_mark(self, process: psutil.Process) -> bool:
        import psutil

        with contextlib.suppress(psutil.Error):
            return process.environ().get(MARK_VARIABLE) == self._mark
        return False

    def exists(self) -> bool:
        """True if any process of the group or job is left. Includes zombies: this only asks the system."""
        return group_exists(self._group) if self._job is None else _is_active(self._job)

    def is_alive(self) -> bool:
        if self._job is not None:
            return _is_active(self._job)
        import psutil

        if any(_is_alive(process) for process in self._descendants):
            return True
        return group_exists(self._group) and any(
            _group_of(process) == self._group and _is_alive(process) for process in psutil.process_iter()
        )


def _is_active(job: Job) -> bool:
    with contextlib.suppress(OSError):
        return job.active_processes() > 0
    return False


def group_exists(group: int) -> bool:
    """True if any process is in the group. Includes zombies: this only asks the kernel."""
    if os.name != "posix":
        return False
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def signal_group(group: int, number: signal.Signals) -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _is_alive(process: psutil.Process) -> bool:
    import psutil

    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _group_of(process: psutil.Process) -> int:
    with contextlib.suppress(OSError):
        return os.getpgid(process.pid)
    return -1
