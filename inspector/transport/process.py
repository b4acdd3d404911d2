"""Child processes: program lookup, environment, start, pipes, and ending the whole tree.

A process is started without a shell, in its own session. Everything it wrote is reported before
`on_exit`. Reading the process table takes milliseconds, so call `ProcessTree.snapshot` and `is_alive` on
a worker thread. Zombies do not count as alive: they only wait for their exit code to be read.

`OrphanGuard` ends all servers when MCP Lens dies, even by SIGKILL (POSIX only). A small `sh` in its own
session reads the process groups to watch from a pipe that only we hold. When the pipe ends, it ends every
group still watched and the descendants that left it: TERM, then KILL a second later. A parent-death signal
would reach only the direct child; servers started by `npx` or `uv` are grandchildren.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from inspector.base.errors import ConnectFailed, ConnectionLost
from inspector.base.plain_text import one_line

if TYPE_CHECKING:
    import psutil

GRACE_AFTER_STDIN = 0.5
GRACE_AFTER_TERM = 2.5
_PIPE_GRACE = 1.0
_MAX_GATHERED = 64 * 1024
KILL = signal.SIGKILL if os.name == "posix" else signal.SIGTERM
# Environment variables that every server gets. Others are passed only if configured: the environment of
# MCP Lens may hold keys and tokens that no server should see.
_ENVIRONMENT = (
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ"]
    if os.name == "posix"
    else [
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA"),
        *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    ]
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command to start, as configured."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str = ""


class Listener(Protocol):
    """Receives the events of a process."""

    def on_started(self, pid: int) -> None: ...

    def on_stdout(self, data: bytes) -> None: ...

    def on_stderr(self, data: bytes) -> None: ...

    def on_stdout_closed(self) -> None: ...

    def on_exit(self, code: int | None) -> None:
        """Handle the exit; `code` is negative for a signal, None if unknown."""


class ChildProcess(asyncio.SubprocessProtocol):
    """A running child process. Create it with `start`."""

    def __init__(self, listener: Listener, guard: OrphanGuard) -> None:
        self._listener = listener
        self._guard = guard
        self._transport: asyncio.SubprocessTransport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._ended = asyncio.Event()  # exited, and all pipes read to the end
        self._exited = asyncio.Event()
        self._drain_timer: asyncio.TimerHandle | None = None
        self._is_paused = False
        self._is_gathering = False
        self._gathered = bytearray()
        self.pid = 0

    @classmethod
    async def start(cls, command: Command, listener: Listener, guard: OrphanGuard) -> ChildProcess:
        """Start the process. Raises ConnectFailed with the cause."""
        env = child_environment(command.env)
        program = find_program(command, env.get("PATH", os.defpath))
        loop = asyncio.get_running_loop()
        try:
            _, process = await loop.subprocess_exec(
                lambda: cls(listener, guard),
                program,
                *command.argv[1:],
                env=env,
                cwd=command.cwd or None,
                start_new_session=True,
            )
        except (OSError, ValueError) as exc:
            raise start_error(program, exc) from exc
        return process

    async def write(self, data: bytes) -> None:
        """Write to stdin; wait while the pipe is full.

        The first write in an iteration of the event loop goes out immediately, all others together: each
        write wakes the process, which takes longer than anything else done for a message.
        """
        pipe = self._pipe(0)
        if pipe is None or pipe.is_closing() or self._exited.is_set():
            raise ConnectionLost("The server no longer reads stdin.", "Reconnect to start it again.")
        if self._is_gathering:
            self._gathered += data
            if len(self._gathered) > _MAX_GATHERED:
                self._write_gathered()
        else:
            self._is_gathering = True
            asyncio.get_running_loop().call_soon(self._end_gathering)
            cast(asyncio.WriteTransport, pipe).write(data)
        if not self._writable.is_set():
            await self._writable.wait()

    def _end_gathering(self) -> None:
        self._is_gathering = False
        self._write_gathered()

    def _write_gathered(self) -> None:
        gathered, self._gathered = self._gathered, bytearray()
        pipe = self._pipe(0)
        if gathered and pipe is not None and not pipe.is_closing():
            cast(asyncio.WriteTransport, pipe).write(gathered)

    def pause_reading(self) -> None:
        self._is_paused = True
        if (pipe := self._pipe(1)) is not None and not pipe.is_closing():
            cast(asyncio.ReadTransport, pipe).pause_reading()

    def resume_reading(self) -> None:
        self._is_paused = False
        if (pipe := self._pipe(1)) is not None and not pipe.is_closing():
            cast(asyncio.ReadTransport, pipe).resume_reading()

    def _pipe(self, fd: int) -> asyncio.BaseTransport | None:
        return self._transport.get_pipe_transport(fd) if self._transport else None

    async def stop(self) -> None:
        """Close stdin, wait, TERM, wait, KILL: the whole tree, including those that left the group."""
        self.resume_reading()  # to get its last output; a full pipe would block its exit
        tree = ProcessTree(self.pid)
        if not self._exited.is_set():
            await asyncio.to_thread(tree.snapshot)
        self._write_gathered()
        if (stdin := self._pipe(0)) is not None:
            stdin.close()
        if not await within(GRACE_AFTER_STDIN, self._exited):
            tree.signal(signal.SIGTERM)
            if not await within(GRACE_AFTER_TERM, self._exited):
                tree.signal(KILL)
        await _end_leftovers(tree)
        await self._ended.wait()
        self._guard.forget(self.pid)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.SubprocessTransport, transport)
        _deliver_directly(self._pipe(1), self._listener.on_stdout)
        _deliver_directly(self._pipe(2), self._listener.on_stderr)
        self.pid = self._transport.get_pid()
        self._guard.watch(self.pid)
        self._listener.on_started(self.pid)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Handle data from before `connection_made`; later data takes the fast path (`_DirectDelivery`)."""
        if fd == 1:
            self._listener.on_stdout(data)
        else:
            self._listener.on_stderr(data)

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
        if not group_exists(self.pid):
            self._guard.forget(self.pid)
        code = self._transport.get_returncode() if self._transport else None
        if self._transport is not None:
            self._transport.close()
        self._ended.set()
        self._listener.on_exit(code)

    def _start_drain_timer(self) -> None:
        """Limit the wait for the end of output: a grandchild may hold the pipes open forever."""
        self._drain_timer = asyncio.get_running_loop().call_later(_PIPE_GRACE, self._close_pipes)

    def _close_pipes(self) -> None:
        if self._is_paused:
            self._start_drain_timer()  # output is left in the pipe while reading is paused
            return
        signal_group(self.pid, KILL)
        if self._transport is not None:
            self._transport.close()


class _DirectDelivery(asyncio.Protocol):
    """Delivers pipe data as soon as it is read.

    asyncio delivers a child's output in the next iteration of the event loop, which would delay each
    response by one iteration. `wrapped` is asyncio's protocol, which tracks the open pipes.
    """

    def __init__(self, wrapped: asyncio.BaseProtocol, on_data: Callable[[bytes], None]) -> None:
        self._wrapped = wrapped
        self._on_data = on_data

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wrapped.connection_lost(exc)


def _deliver_directly(pipe: asyncio.BaseTransport | None, on_data: Callable[[bytes], None]) -> None:
    if pipe is not None:
        pipe.set_protocol(_DirectDelivery(pipe.get_protocol(), on_data))


async def within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event with a timeout; return True if it was set."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def describe_exit(code: int | None) -> str:
    """Describe an exit code; negative ones are signals."""
    if code is None:
        return "ended"
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
    """The tree under one child that leads its own process group."""

    def __init__(self, leader: int) -> None:
        self._group = leader
        self._descendants: list[psutil.Process] = []

    def snapshot(self) -> None:
        """Record every descendant while the leader is alive and they can be found through it."""
        import psutil

        with contextlib.suppress(psutil.Error):
            self._descendants = psutil.Process(self._group).children(recursive=True)

    def signal(self, number: signal.Signals) -> None:
        signal_group(self._group, number)
        for process in self._descendants:
            with contextlib.suppress(Exception):  # gone, or its pid was reused: psutil checks
                process.send_signal(number)

    def is_alive(self) -> bool:
        import psutil

        if any(_is_alive(process) for process in self._descendants):
            return True
        return group_exists(self._group) and any(
            _group_of(process) == self._group and _is_alive(process) for process in psutil.process_iter()
        )


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


def child_environment(configured: Mapping[str, str]) -> dict[str, str]:
    """Return the allow-listed environment variables, overridden by the configured ones."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | dict(configured)


def find_program(command: Command, path: str) -> str:
    """Return the executable's path. Only the PATH is searched, never the working directory."""
    if not command.argv or not command.argv[0]:
        raise ConnectFailed("No command is set.", "Edit the server and enter one.")
    if command.cwd and not os.path.isdir(command.cwd):
        raise ConnectFailed(
            f"The working directory {command.cwd!r} does not exist.", "Create it or edit the server."
        )
    name = os.path.expanduser(command.argv[0])
    if os.sep in name or (os.altsep and os.altsep in name):
        return _check_file(os.path.join(command.cwd, name) if command.cwd else name)
    # An empty or relative entry means the current directory, whose contents are not trusted.
    folders = os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))
    found = shutil.which(name, path=folders) if folders else None
    if found is None:
        raise ConnectFailed(
            f"Could not start {one_line(name)}: not found on PATH.",
            "Check the spelling, install the program, or set its full path in Edit server….",
        )
    return found


def _check_file(path: str) -> str:
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise ConnectFailed(f"File not found: {path!r}.", "Check the path.")
    if os.path.isdir(path):
        raise ConnectFailed(f"{path!r} is a folder, not a program.", "Use the program inside it.")
    if not os.access(path, os.X_OK):
        raise ConnectFailed(
            f"The file {path!r} is not executable.",
            f"Make it executable (chmod +x {os.path.basename(path)}), or start it with its interpreter.",
        )
    return path


def start_error(program: str, exc: OSError | ValueError) -> ConnectFailed:
    if not isinstance(exc, OSError):  # a null byte, a lone surrogate, a variable name with "=" in it
        return ConnectFailed(
            f"Could not start {program!r}: {exc}.",
            "Check its arguments, environment variables and working directory.",
        )
    if isinstance(exc, FileNotFoundError) and (interpreter := _interpreter(program)):
        return ConnectFailed(
            f"{program!r} needs an interpreter that does not exist: {interpreter}.", "Fix its shebang line."
        )
    if isinstance(exc, PermissionError):
        return ConnectFailed(f"You do not have permission to start {program!r}.", "Check its permissions.")
    if exc.errno == 8:  # ENOEXEC: a script without a shebang line
        return ConnectFailed(
            f"{program!r} is not an executable that the system can start.",
            "A script needs a shebang line such as #!/usr/bin/env python3.",
        )
    return ConnectFailed(f"Could not start {program!r}: {exc.strerror or exc}.", "Check the command.")


def _interpreter(program: str) -> str:
    """Return a script's interpreter from its shebang line; "" if it is not a script."""
    with contextlib.suppress(OSError), open(program, "rb") as file:
        line = file.readline(256)
        if line.startswith(b"#!"):
            return one_line(line[2:].decode(errors="replace").strip().partition(" ")[0])
    return ""


# `kill -s`, because dash takes the `--` of `kill -TERM --` for a number and then kills nothing. Processes
# that left the group are found through their parents, in /proc, or with ps where there is none.
_SCRIPT = """
groups=
while read -r verb group; do
  rest=
  for known in $groups; do [ "$known" = "$group" ] || rest="$rest $known"; done
  groups=$rest
  [ "$verb" = watch ] && groups="$groups $group"
done
[ -z "$groups" ] && exit 0

processes() {
  [ -e /proc/self/stat ] || { ps -A -o pid= -o ppid=; return; }
  for file in /proc/[0-9]*/stat; do
    read -r line <"$file" || continue
    set -- ${line##*) }
    echo "${line%% *} $2"
  done
}
table=$(processes)
family=" $groups "
while
  before=$family
  while read -r process parent; do
    case $family in *" $process "*) ;; *" $parent "*) family="$family$process " ;; esac
  done <<END
$table
END
  [ "$family" != "$before" ]
do :; done

end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for process in $family; do kill -s "$1" "$process"; done
}
end TERM
sleep 1
end KILL
"""


class OrphanGuard:
    """Ends orphaned process groups; one per engine.

    The watching process starts with the first group to watch.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def watch(self, group: int) -> None:
        self._report(f"watch {group}\n")

    def forget(self, group: int) -> None:
        if self._process is not None:
            self._report(f"forget {group}\n")

    def close(self) -> None:
        """End the watching process and, with it, the groups still watched."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _report(self, line: str) -> None:
        if os.name != "posix":
            return
        if self._process is None:
            self._process = _start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the guard was killed: servers still end with us
            self._process.stdin.write(line.encode())


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
