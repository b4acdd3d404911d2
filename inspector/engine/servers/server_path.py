"""The PATH of the servers as the setting says, and the login shell that is asked for it.

Started from a desktop launcher, MCP Lens has a short PATH. The login shell knows the one that the user has
in a terminal; it is asked once, when the setting needs it. It runs without a terminal and for a limited
time, and only its PATH is used. Windows has no login shell: there, `base.search_path` reads the registry.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

from inspector.base.plain_text import one_line
from inspector.base.search_path import (
    AS_STARTED,
    IS_WINDOWS,
    LOGIN_SHELL,
    SearchPath,
    custom_path,
    folders_in,
    installed_folders,
    search_path,
    started_path,
    use_search_path,
    with_folders,
)
from inspector.base.signals import Signal
from inspector.base.units import plural
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import KILL, ProcessTree, within
from inspector.transport.task_scope import TaskScope, shielded

_log = logging.getLogger(__name__)

_TIMEOUT = 5.0
_KILL_GRACE = 5.0
_MAX_OUTPUT = 256 * 1024
_SHELLS_FILE = "/etc/shells"
_KNOWN_SHELLS = ("bash", "zsh", "fish", "sh", "dash", "ash", "ksh", "mksh")
_BASH_PROFILES = (".bash_profile", ".bash_login", ".profile")
_STARTED = "as MCP Lens was started"


class ServerPath:
    """The PATH of the servers. Runs on the engine's loop.

    Set `is_desktop_start` before the first `use`, if the login shell may have to be asked.

    Signals:
        changed: Servers get another PATH from their next start on; carries it.
    """

    def __init__(self, guard: OrphanGuard) -> None:
        self.changed: Signal[SearchPath] = Signal()
        self._guard = guard
        self._used: SearchPath | None = None
        self.is_desktop_start = False
        self._setting = LOGIN_SHELL
        self._shell_path: SearchPath | None = None
        self._asking: asyncio.Task[None] | None = None
        self._tasks = TaskScope()

    @property
    def is_pending(self) -> bool:
        """True while the login shell is asked; servers should wait for the end (`ready`)."""
        return self._asking is not None and self._setting == LOGIN_SHELL

    def use(self, setting: str) -> None:
        """Use the PATH that the setting names: LOGIN_SHELL, AS_STARTED or a PATH."""
        self._setting = setting
        if setting == AS_STARTED:
            self._set(SearchPath(started_path(), is_extensible=False))
        elif setting != LOGIN_SHELL:
            self._set(custom_path(setting, started_path(), os.path.expanduser("~")))
        else:
            self._set(self._shell_path)
            if self.is_desktop_start and self._shell_path is None and self._asking is None:
                self._asking = self._tasks.spawn("ask the login shell for its PATH", self._ask())

    async def ready(self) -> None:
        """Wait until the login shell has answered, if it is asked."""
        if self._asking is not None and self.is_pending:
            await asyncio.wait([self._asking])

    async def close(self) -> None:
        await self._tasks.close()
        use_search_path(None)

    async def _ask(self) -> None:
        try:
            self._shell_path = await _desktop_path(self._guard)
        finally:
            self._asking = None
            if self._setting == LOGIN_SHELL:
                self._set(self._shell_path)

    def _set(self, path: SearchPath | None) -> None:
        if path != self._used:
            self._used = path
            use_search_path(path)
            self.changed.emit(search_path())


async def _desktop_path(guard: OrphanGuard) -> SearchPath:
    shell = await asyncio.to_thread(_configured_shell, os.environ)
    if not shell:
        return await asyncio.to_thread(fallback_path, "no login shell is configured")
    try:
        found = await ask_login_shell(shell, os.environ, guard)
    except (OSError, ValueError) as exc:
        _log.warning("The login shell %s did not report its PATH: %s", shell, exc)
        return await asyncio.to_thread(fallback_path, f"{one_line(shell)} did not report its PATH: {exc}")
    value, added = with_folders(started_path(), folders_in(found))
    count = plural(len(added), "folder") if added else "no other folders"
    return SearchPath(value, f"{_STARTED}, and {count} from the login shell ({one_line(shell)})")


def fallback_path(reason: str) -> SearchPath:
    """Return the PATH at the start and the usual folders of programs that exist."""
    value, added = with_folders(started_path(), installed_folders(os.environ, newest_only=True))
    return SearchPath(value, f"{_STARTED}, and {plural(len(added), 'well-known folder')} ({reason})")


def is_started_from_desktop() -> bool:
    """True if no standard stream is a terminal, as for a desktop launcher. Always False on Windows."""
    if IS_WINDOWS:  # a terminal has the same PATH there
        return False
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):  # closed
            if stream is not None and stream.isatty():
                return False
    return True


def _configured_shell(environment: Mapping[str, str]) -> str:
    """Return the login shell: from SHELL, else from the user database. "" if it must not be used."""
    shell = environment.get("SHELL", "")
    if not shell:
        import pwd

        with contextlib.suppress(KeyError):  # a user without an entry, as in a container
            shell = pwd.getpwuid(os.getuid()).pw_shell
    listed: list[str] = []
    with contextlib.suppress(OSError, UnicodeDecodeError):
        listed = Path(_SHELLS_FILE).read_text().splitlines()
    return shell if is_usable_shell(shell, listed) and os.access(shell, os.X_OK) else ""


def is_usable_shell(shell: str, listed: Collection[str]) -> bool:
    """True for an absolute path that is listed in /etc/shells or has the name of a known shell."""
    return os.path.isabs(shell) and (shell in listed or os.path.basename(shell) in _KNOWN_SHELLS)


def shell_arguments(shell: str, marker: str, home_files: Collection[str]) -> tuple[str, str]:
    """Return the arguments that make a shell print its PATH between two markers.

    Its startup files may print anything before and after. In the home folder, a login bash reads only a
    profile, which usually includes .bashrc; if there is no profile, it would read nothing, unlike the bash
    in a terminal.
    """
    has_profile = any(name in home_files for name in _BASH_PROFILES)
    flags = "-ic" if os.path.basename(shell) == "bash" and not has_profile else "-ilc"
    return flags, f"printf '%s' {marker} \"$PATH\" {marker}"


def marked_value(output: bytes, marker: str) -> str | None:
    """Return the text between the first two markers; None if it is not complete."""
    parts = output.split(marker.encode(), 2)
    return parts[1].decode(errors="surrogateescape") if len(parts) == 3 else None


async def ask_login_shell(
    shell: str, environment: Mapping[str, str], guard: OrphanGuard, timeout: float = _TIMEOUT
) -> str:
    """Return the PATH of a login shell. Raises OSError or ValueError with the reason.

    It gets no stdin and no terminal. If it is not done in time, or if this task is cancelled, it is killed
    with all its descendants.
    """
    marker = f"mcp-lens-{secrets.token_hex(8)}"
    home = environment.get("HOME", "")
    files = await asyncio.to_thread(_files_in, home)
    protocol = _ShellOutput(marker)
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: protocol,
        shell,
        *shell_arguments(shell, marker, files or ()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/" if files is None else home,
        env=environment,
        start_new_session=True,
    )
    guard.watch(transport.get_pid())
    try:
        has_finished = await within(timeout, protocol.finished)
    finally:
        await shielded(_end(transport, protocol, guard))
    value = marked_value(bytes(protocol.output), marker)
    if value is None or not folders_in(value):
        code = transport.get_returncode()
        raise ValueError(f"it exited with code {code}" if has_finished else f"no answer within {timeout:g} s")
    return value


async def _end(transport: asyncio.SubprocessTransport, protocol: _ShellOutput, guard: OrphanGuard) -> None:
    """Kill the shell and its descendants unless it has exited; then close the pipe.

    What a shell leaves running when it exits, such as ssh-agent, is meant to run on.
    """
    if not protocol.exited.is_set():
        tree = ProcessTree(transport.get_pid(), "")
        await asyncio.to_thread(tree.snapshot)
        tree.signal(KILL)
        await within(_KILL_GRACE, protocol.exited)
    transport.close()
    guard.forget(transport.get_pid())


def _files_in(folder: str) -> list[str] | None:
    with contextlib.suppress(OSError):
        return os.listdir(folder) if folder else None
    return None


class _ShellOutput(asyncio.SubprocessProtocol):
    """Collects the output of a shell. `finished`: it has exited, and its output is complete."""

    def __init__(self, marker: str) -> None:
        self.output = bytearray()
        self.exited = asyncio.Event()
        self.finished = asyncio.Event()
        self._marker = marker
        self._is_open = True

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self.output += data[: _MAX_OUTPUT - len(self.output)]
        self._check()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._is_open = False
        self._check()

    def process_exited(self) -> None:
        self.exited.set()
        self._check()

    def _check(self) -> None:
        """A process that the shell started may keep the pipe open after the value is complete."""
        is_complete = not self._is_open or marked_value(bytes(self.output), self._marker) is not None
        if self.exited.is_set() and is_complete:
            self.finished.set()
