"""The PATH of the servers by setting, and the login shell that is asked for it, with real shells."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psutil
import pytest

from inspector.base.search_path import AS_STARTED, LOGIN_SHELL, SearchPath, search_path, use_search_path
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.engine import Engine
from inspector.engine.server_view import ServerView
from inspector.engine.servers import server_path
from inspector.engine.servers.server_path import (
    ServerPath,
    ask_login_shell,
    is_started_from_desktop,
    is_usable_shell,
    marked_value,
    shell_arguments,
)
from inspector.engine.views import ServerStatus
from inspector.transport.orphan_guard import OrphanGuard
from tests.helpers.servers import fault_entry

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no login shell")

START = "/usr/bin:/bin"


@pytest.fixture(autouse=True)
def _desktop(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", START)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    yield
    use_search_path(None)


@pytest.fixture
def guard() -> Iterator[OrphanGuard]:
    guard = OrphanGuard()
    yield guard
    guard.close()


@pytest.fixture
async def path(guard: OrphanGuard) -> AsyncIterator[ServerPath]:
    path = ServerPath(guard)
    path.is_desktop_start = True
    yield path
    await path.close()


def fake_shell(folder: Path, *lines: str, name: str = "sh") -> str:
    """Make a program that a test can use as the login shell; $2 is the script."""
    file = folder / name
    file.write_text("\n".join(("#!/bin/sh", *lines, "")))
    file.chmod(0o755)
    return str(file)


async def test_folders_of_the_login_shell_are_appended(path: ServerPath, tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text('echo noise; . "$HOME/.bashrc"')
    (tmp_path / ".bashrc").write_text('echo "more noise"; export PATH="$HOME/.nvm/bin:$PATH:."')
    path.use(LOGIN_SHELL)
    assert path.is_pending
    await path.ready()
    assert search_path().value.startswith(f"{START}:")
    assert f"{tmp_path}/.nvm/bin" in search_path().value.split(":")
    assert "noise" not in search_path().value
    assert search_path().source.endswith("from the login shell (/bin/bash)")
    assert not path.is_pending


async def test_bashrc_is_read_without_a_profile(path: ServerPath, tmp_path: Path) -> None:
    """As in a terminal: a login bash reads no file at all then."""
    (tmp_path / ".bashrc").write_text('PATH="$PATH:/from/bashrc"')
    path.use(LOGIN_SHELL)
    await path.ready()
    assert search_path().value == f"{START}:/from/bashrc"


async def test_login_shell_is_asked_once(path: ServerPath, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").write_text('echo x >> "$HOME/asked"')
    path.use(LOGIN_SHELL)
    path.use(LOGIN_SHELL)
    await path.ready()
    path.use(AS_STARTED)
    assert search_path().source == "as MCP Lens was started"
    path.use(LOGIN_SHELL)
    assert not path.is_pending
    assert "login shell" in search_path().source
    assert (tmp_path / "asked").read_text() == "x\n"


@pytest.mark.parametrize(
    ("setting", "value", "source"),
    [
        (AS_STARTED, START, "as MCP Lens was started"),
        ("/opt/x:${PATH}", f"/opt/x:{START}", "custom, from Settings"),
    ],
)
async def test_other_settings_ask_no_shell(path: ServerPath, setting: str, value: str, source: str) -> None:
    path.use(setting)
    assert not path.is_pending
    assert (search_path().value, search_path().source) == (value, source)


async def test_start_from_a_terminal_asks_no_shell(path: ServerPath) -> None:
    path.is_desktop_start = False
    path.use(LOGIN_SHELL)
    assert not path.is_pending
    assert search_path() == SearchPath(START, "as MCP Lens was started")


@pytest.mark.parametrize(
    ("shell", "reason"),
    [
        ("/bin/nologin-shell", "no login shell is configured"),
        ("bash", "no login shell is configured"),
        ("{fails}", "did not report its PATH: it exited with code 3"),
    ],
)
async def test_without_an_answer_the_well_known_folders_are_appended(
    path: ServerPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str, reason: str
) -> None:
    node = tmp_path / ".nvm/versions/node/v20.1.0/bin"
    node.mkdir(parents=True)
    monkeypatch.setenv("SHELL", shell.format(fails=fake_shell(tmp_path, "exit 3")))
    path.use(LOGIN_SHELL)
    await path.ready()
    assert search_path().value.startswith(f"{START}:")
    assert str(node) in search_path().value.split(":")
    assert "well-known folder" in search_path().source
    assert reason in search_path().source


async def test_shell_that_hangs_is_killed_with_its_descendants(
    path: ServerPath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a descendant in another session, which is not in the shell's process group."""
    os.mkfifo(tmp_path / "pids")
    away = "import os, time; os.setsid(); print(os.getpid(), os.getppid(), flush=True); time.sleep(999)"
    shell = fake_shell(tmp_path, f'{sys.executable} -I -S -c "{away}" > $HOME/pids &', "wait")
    monkeypatch.setenv("SHELL", shell)
    path.use(LOGIN_SHELL)
    with await asyncio.to_thread(open, tmp_path / "pids") as pipe:
        pids = (await asyncio.to_thread(pipe.readline)).split()
    processes = [psutil.Process(int(pid)) for pid in pids]
    await path.close()
    gone, alive = psutil.wait_procs(processes, timeout=30)
    assert len(gone) == 2
    assert not alive


async def test_shell_without_an_answer_in_time_is_reported(guard: OrphanGuard, tmp_path: Path) -> None:
    shell = fake_shell(tmp_path, "sleep 999")
    with pytest.raises(ValueError, match=r"no answer within 0\.1 s"):
        await ask_login_shell(shell, os.environ, guard, timeout=0.1)


async def test_process_that_the_shell_leaves_running_does_not_delay_the_answer(
    guard: OrphanGuard, tmp_path: Path
) -> None:
    """Such as ssh-agent: it holds stdout open, and it is not killed."""
    shell = fake_shell(tmp_path, "sleep 99 & echo $! > $HOME/agent", 'eval "$2"')
    assert await ask_login_shell(shell, os.environ, guard, timeout=60) == START
    agent = psutil.Process(int((tmp_path / "agent").read_text()))
    assert agent.is_running()
    agent.kill()


async def test_shell_gets_no_stdin_and_its_own_session(guard: OrphanGuard, tmp_path: Path) -> None:
    facts = "import os; print(os.getsid(0) == os.getppid(), repr(os.read(0, 9)))"
    shell = fake_shell(tmp_path, f'{sys.executable} -I -S -c "{facts}" > $HOME/facts', 'eval "$2"')
    await ask_login_shell(shell, os.environ, guard)
    assert (tmp_path / "facts").read_text() == "True b''\n"


@pytest.mark.parametrize(
    ("shell", "listed", "is_usable"),
    [
        ("/bin/bash", (), True),
        ("/opt/homebrew/bin/fish", (), True),
        ("/usr/bin/nu", ("/usr/bin/nu",), True),
        ("/usr/bin/nu", ("/bin/sh",), False),
        ("bash", ("bash",), False),
        ("./bash", (), False),
        ("", (), False),
    ],
)
def test_shell_must_be_a_path_that_is_listed_or_has_a_known_name(
    shell: str, listed: tuple[str, ...], is_usable: bool
) -> None:
    assert is_usable_shell(shell, listed) is is_usable


def test_bash_without_a_profile_is_no_login_shell() -> None:
    assert shell_arguments("/bin/bash", "m", [".bashrc"])[0] == "-ic"
    assert shell_arguments("/bin/bash", "m", [".bashrc", ".profile"])[0] == "-ilc"
    assert shell_arguments("/bin/zsh", "m", [])[0] == "-ilc"


@pytest.mark.parametrize(
    ("output", "value"),
    [(b"noise m1/a:/bm1 noise", "/a:/b"), (b"m1/a", None), (b"", None), (b"m1/\xffm1", "/\udcff")],
)
def test_value_is_between_the_markers(output: bytes, value: str | None) -> None:
    assert marked_value(output, "m1") == value


def test_standard_streams_decide_whether_there_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream:
        def __init__(self, is_terminal: bool) -> None:
            self.isatty = lambda: is_terminal

    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, Stream(False))
    assert is_started_from_desktop()
    monkeypatch.setattr(sys, "stdin", None)  # closed by the launcher
    assert is_started_from_desktop()
    monkeypatch.setattr(sys, "stderr", Stream(True))
    assert not is_started_from_desktop()
    monkeypatch.setattr(sys, "stderr", Stream(False))
    monkeypatch.setattr(server_path, "IS_WINDOWS", True)
    assert not is_started_from_desktop()


async def test_server_waits_for_the_login_shell_and_finds_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like npx from nvm: a script that needs another program on PATH."""
    real = fault_entry()
    node_folder = tmp_path / ".nvm/versions/node/v20.1.0/bin"
    node_folder.mkdir(parents=True)
    fake_shell(node_folder, f"exec {' '.join((real.command, *real.args))}", name="lens-node")
    (node_folder / "lens-npx").write_text("#!/usr/bin/env lens-node\n")
    (node_folder / "lens-npx").chmod(0o755)
    (tmp_path / ".bashrc").write_text('PATH="$HOME/.nvm/versions/node/v20.1.0/bin:$PATH"')
    engine = Engine()
    seen: list[ServerView] = []
    engine.servers.changed.connect(seen.append)
    engine.server_path.is_desktop_start = True
    engine.begin()
    try:
        engine.servers.add(StdioEntry(name="srv", command="lens-npx", args=("-y", "some-server")))
        await engine.servers.connector.connect("srv")
        view = engine.servers.get("srv").view
        assert view.status is ServerStatus.CONNECTED
        assert view.path_source == "as MCP Lens was started, and 1 folder from the login shell (/bin/bash)"
        assert "the PATH of the login shell" in [each.waits_for for each in seen]
    finally:
        await engine.close()
    assert search_path().source == "as MCP Lens was started"


async def test_changed_setting_is_shown_by_commands_only() -> None:
    engine = Engine()
    try:
        engine.servers.add(StdioEntry(name="command", command="x"))
        engine.servers.add(HttpEntry(name="url", url="http://127.0.0.1:9/mcp"))
        changed: list[tuple[str, str]] = []
        engine.servers.changed.connect(lambda view: changed.append((view.name, view.path_source)))
        await engine.settings.set("connections.serverPath", "/opt/x")
        assert ("command", "custom, from Settings") in changed
        assert engine.servers.get("url").view.path_source == ""
    finally:
        await engine.close()


async def test_discovered_servers_are_inspected_with_the_path_of_the_login_shell(
    tmp_path: Path,
) -> None:
    (tmp_path / ".bashrc").write_text('PATH="$PATH:/from/bashrc"')
    engine = Engine()
    engine.server_path.is_desktop_start = True
    engine.begin()
    try:
        await engine.discovery.scan()
        assert search_path().value == f"{START}:/from/bashrc"
    finally:
        await engine.close()
