"""Processes on Windows: jobs, batch files, program search and start errors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectFailed
from inspector.engine.doctor.program_probe import inspect_program
from inspector.engine.doctor.rules.programs import diagnose_program
from inspector.engine.processes.file_watch import scan_files
from inspector.transport.base import FramesReceived, ProcessExited, WireEvent
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.programs import Command, batch_command_line, find_program
from inspector.transport.stdio import StdioTransport
from tests.e2e.cli_process import run

# Ignores the end of stdin, as does its child. Reports both pids.
STUBBORN = """
import subprocess, sys, threading
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
print(child.pid, flush=True)
threading.Event().wait()
"""
# Writes its arguments as JSON, then waits for the end of stdin.
ECHO = "import json, sys\nprint(json.dumps(sys.argv[1:]), flush=True)\nsys.stdin.read()\n"


@pytest.fixture
def guard() -> Iterator[OrphanGuard]:
    guard = OrphanGuard()
    yield guard
    guard.close()


class Running:
    """A started command; `first_line` is what it wrote first."""

    def __init__(self, command: Command, guard: OrphanGuard) -> None:
        self.transport = StdioTransport(command, guard, SystemClock())
        self.events: list[WireEvent] = []
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    async def start(self) -> bytes:
        await self.transport.open(self._on_event)
        return await self._lines.get()

    def _on_event(self, event: WireEvent) -> None:
        self.events.append(event)
        if isinstance(event, FramesReceived):
            for frame in event.frames:
                self._lines.put_nowait(bytes(frame) if isinstance(frame, bytes) else b"")

    def exit_status(self) -> str:
        return next(event.status for event in self.events if isinstance(event, ProcessExited))


def wait_for_end(*pids: int) -> None:
    """Wait until the processes are gone; the test's timeout is the limit."""
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            psutil.Process(pid).wait()


def python(code: str, *args: str, env: dict[str, str] | None = None) -> Command:
    return Command((sys.executable, "-c", code, *args), env or {})


async def test_server_that_ignores_the_end_of_stdin_is_ended_with_its_children(guard: OrphanGuard) -> None:
    server = Running(python(STUBBORN), guard)
    grandchild = int(await server.start())
    assert psutil.pid_exists(grandchild)
    await server.transport.close()
    assert server.exit_status() == "exited with code 1"
    wait_for_end(grandchild)


async def test_child_left_by_a_server_that_exited_ends_with_the_connection(guard: OrphanGuard) -> None:
    code = STUBBORN.rpartition("threading.Event()")[0] + "sys.stdin.read()"
    server = Running(python(code), guard)
    grandchild = int(await server.start())
    await server.transport.close()
    assert server.exit_status() == "exited with code 0"
    wait_for_end(grandchild)


# Starts a stubborn server as the app does, and reports the pids of server and grandchild.
APP = """
import asyncio, sys
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import ChildProcess
from inspector.transport.programs import Command

class Listener:
    def on_started(self, pid): self.pid = pid
    def on_stdout(self, data):
        print(self.pid, data.decode().strip(), flush=True)
        return 1
    def on_stderr(self, data): return 1
    def on_stdout_closed(self): pass
    def on_exit(self, code): pass

async def main():
    await ChildProcess.start(Command((sys.executable, "-c", sys.argv[1]), {}), Listener(), OrphanGuard())
    await asyncio.Event().wait()

asyncio.run(main())
"""


def test_servers_end_when_mcp_lens_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", APP, STUBBORN], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as app:
        assert app.stdout is not None
        server, grandchild = (int(pid) for pid in app.stdout.readline().split())
        assert psutil.pid_exists(server)
        assert psutil.pid_exists(grandchild)
        app.kill()
    wait_for_end(server, grandchild)


def make_batch(folder: Path, name: str = "srv.cmd") -> str:
    """Make a batch file that starts a Python script with its arguments, as npm's do with Node.js."""
    (folder / "echo.py").write_text(ECHO)
    batch = folder / name
    batch.write_text(f'@echo off\n"{sys.executable}" "%~dp0echo.py" %*\n')
    return str(batch)


@pytest.mark.parametrize(
    "argument",
    [
        "plain",
        "",
        "with space",
        "https://h/sse?a=1&b=2",
        "a^b",
        "a|b",
        "x>file",
        'say "hi"',
        '"&echo>planted&rem "',
        "C:\\dir\\",
        "!x!",
        "(x)",
        "ä€",
    ],
)
async def test_batch_file_gets_its_arguments_unchanged(
    tmp_path: Path, argument: str, guard: OrphanGuard
) -> None:
    batch = make_batch(tmp_path)
    server = Running(Command((batch, "-y", argument, "last"), {}, str(tmp_path)), guard)
    assert json.loads(await server.start()) == ["-y", argument, "last"]
    await server.transport.close()
    assert sorted(os.listdir(tmp_path)) == ["echo.py", "srv.cmd"]  # nothing was run or written


@pytest.mark.parametrize("argument", ["%PLANTED%", "100%", "%", "%%PLANTED%%", 'a "%PLANTED%" b', "%cd%"])
def test_the_shell_does_not_expand_variables_in_arguments(argument: str) -> None:
    """Of a program instead of a batch file: within one, Wine expands them a second time, unlike Windows."""
    environment = {**os.environ, "PLANTED": "expanded"}
    line = batch_command_line(
        sys.executable, ("-c", "import sys; print(sys.argv[1:])", argument), environment
    )
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{[argument]}\n"


async def test_line_break_in_an_argument_of_a_batch_file_is_refused(
    tmp_path: Path, guard: OrphanGuard
) -> None:
    server = Running(Command((make_batch(tmp_path), "a\nb"), {}), guard)
    with pytest.raises(ConnectFailed, match="an argument of a batch file contains a line feed"):
        await server.start()


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("https://h/sse?a=1&b=2", ""),
        ('"&echo>planted&rem "', ""),
        ("a\nb", "an argument of a batch file contains a line feed"),
    ],
)
def test_variable_in_an_argument_of_a_batch_file_is_quoted_after_its_expansion(
    value: str, error: str, tmp_path: Path
) -> None:
    batch = make_batch(tmp_path)
    (tmp_path / "echo.py").write_text("import json, sys\njson.dump(sys.argv[1:], open('arguments', 'w'))\n")
    config = tmp_path / "servers.json"
    entry = {"command": batch, "args": ["${PLANTED}", "last"], "cwd": str(tmp_path)}
    config.write_text(json.dumps({"mcpServers": {"srv": entry}}))
    done = run("list", "tools", "--server", "srv", "--config", str(config), env={"PLANTED": value})
    assert error in done.stderr
    arguments = tmp_path / "arguments"
    assert (json.loads(arguments.read_text()) if arguments.exists() else []) == (
        [] if error else [value, "last"]
    )
    assert not (tmp_path / "planted").exists()


# What npm writes for a package.
NPM_SHIM = r"""@ECHO off
GOTO start
:find_dp0
SET dp0=%~dp0
EXIT /b
:start
SETLOCAL
CALL :find_dp0

IF EXIST "%dp0%\node.exe" (
  SET "_prog=%dp0%\node.exe"
) ELSE (
  SET "_prog=node"
  SET PATHEXT=%PATHEXT:;.JS;=;%
)

endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\node_modules\srv\cli.js" %*
"""


@pytest.mark.parametrize("argument", ["a\nb", "%PATH%", "https://h/sse?a=1&b=2"])
async def test_batch_file_of_npm_is_not_run_by_the_shell(
    argument: str, tmp_path: Path, guard: OrphanGuard
) -> None:
    """Python plays Node.js; cmd.exe could not pass a line break."""
    script = tmp_path / "node_modules" / "srv" / "cli.js"
    script.parent.mkdir(parents=True)
    script.write_text(ECHO)
    (tmp_path / "srv.cmd").write_text(NPM_SHIM)
    shutil.copy(sys.executable, tmp_path / "node.exe")
    env = {"PATH": f"{tmp_path};{sys.base_prefix}", "PYTHONHOME": sys.base_prefix}
    server = Running(Command(("srv", argument), env), guard)
    assert json.loads(await server.start()) == [argument]
    await server.transport.close()


async def test_batch_file_ends_with_the_program_that_it_started(tmp_path: Path, guard: OrphanGuard) -> None:
    (tmp_path / "srv.py").write_text(STUBBORN)
    batch = tmp_path / "srv.cmd"
    batch.write_text(f'@echo off\n"{sys.executable}" "%~dp0srv.py"\n')
    server = Running(Command((str(batch),), {}), guard)
    grandchild = int(await server.start())
    await server.transport.close()
    wait_for_end(grandchild)


def test_program_in_the_current_folder_is_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_batch(tmp_path, "npx.cmd")
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", os.environ["SYSTEMROOT"]):
        with pytest.raises(ConnectFailed, match="Could not start npx: not found on PATH"):
            find_program(Command(("npx",), {"PATH": path}))
    assert inspect_program(Command(("npx",), {"PATH": ""})).alternatives == ()


def test_full_path_gets_the_suffix_of_the_program(tmp_path: Path) -> None:
    """Node.js installs `npx`, a script for Git Bash, beside `npx.cmd`."""
    (tmp_path / "npx").write_text("#!/usr/bin/env bash\n")
    batch = make_batch(tmp_path, "npx.cmd")
    command = Command((str(tmp_path / "npx"),), {})
    assert find_program(command) == batch
    assert diagnose_program(inspect_program(command)) is None


def test_script_without_a_program_suffix_says_to_use_the_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "srv.py"
    script.write_text("#!/usr/bin/env python3\n")
    command = Command((str(script),), {})
    with pytest.raises(ConnectFailed) as caught:
        find_program(command)
    diagnosis = diagnose_program(inspect_program(command))
    assert diagnosis is not None
    assert caught.value.summary == f"'{script}' is not a program that Windows can start."
    for text in (caught.value.next_step, diagnosis.fix):
        assert "interpreter" in text
        assert "chmod" not in text
        assert "#!" not in text


async def test_file_that_is_no_program_says_so(tmp_path: Path, guard: OrphanGuard) -> None:
    program = tmp_path / "srv.exe"
    program.write_text("text")
    with pytest.raises(ConnectFailed, match="is not a program that Windows can start"):
        await Running(Command((str(program),), {}), guard).start()
    diagnosis = diagnose_program(inspect_program(Command((str(program),), {})))
    assert diagnosis is not None
    assert diagnosis.id == "not-startable"


async def test_configured_variable_replaces_one_that_differs_in_case(guard: OrphanGuard) -> None:
    code = "from os import environ\nprint([n for n in environ if n == 'PATH'], environ['PATH'], flush=True)"
    server = Running(python(code, env={"Path": "C:\\only"}), guard)
    assert await server.start() == b"['PATH'] C:\\only"
    await server.transport.close()


async def test_server_gets_the_variables_that_programs_rely_on(guard: OrphanGuard) -> None:
    names = {"PROCESSOR_ARCHITECTURE", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES"}
    names |= {"NUMBER_OF_PROCESSORS", "OS", "COMPUTERNAME", "PUBLIC"}
    code = "import json, os\nprint(json.dumps(dict(os.environ)), flush=True)"
    server = Running(python(code), guard)
    variables = json.loads(await server.start())
    await server.transport.close()
    assert {name: variables.get(name) for name in names} == {name: os.environ.get(name) for name in names}
    assert {"OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS"} <= variables.keys()


async def test_server_has_no_console_window(guard: OrphanGuard) -> None:
    server = Running(
        python("import ctypes\nprint(ctypes.windll.kernel32.GetConsoleWindow(), flush=True)"), guard
    )
    assert await server.start() == b"0"
    await server.transport.close()


async def test_crash_is_described_by_its_status(guard: OrphanGuard) -> None:
    code = "import os\nprint(1, flush=True)\nos._exit(-1073741819)"
    server = Running(python(code), guard)
    await server.start()
    await server.transport.close()
    assert server.exit_status() == "exited with code 0xC0000005 (access violation)"


def test_globs_ignore_case(tmp_path: Path) -> None:
    (tmp_path / "Server.PY").write_text("")
    assert len(scan_files(tmp_path, ("*.py",)).files) == 1
