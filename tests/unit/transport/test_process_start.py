"""Program lookup, the environment of a process, and messages for failed starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from inspector.base import search_path
from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectFailed, ConnectionLost
from inspector.protocol import jsonrpc
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import describe_exit
from inspector.transport.programs import Command, check_interpreter, env_program, find_program
from inspector.transport.stdio import StdioTransport
from tests.helpers.platforms import IS_WINDOWS, needs_shebang, needs_signals

SUFFIX = ".exe" if IS_WINDOWS else ""
FOLDER = os.path.dirname(os.path.abspath(__file__))
NO_PROGRAM = (
    ("'{}' is not a program that Windows can start.", "If it is a script, set its interpreter")
    if IS_WINDOWS
    else ("The file '{}' is not executable.", "Make it executable (chmod +x test_process_start.py)")
)
COULD_NOT_START = f"Could not start '{sys.executable}': "


def make_program(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> str:
    path = path.with_name(path.name + SUFFIX)
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def find(*argv: str, cwd: str = "", path: str = os.defpath) -> str:
    return find_program(Command(argv, {"PATH": path}, cwd))


def test_a_name_is_looked_up_on_the_path(tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    assert find("srv", path=os.pathsep.join(("/nowhere", str(tmp_path)))) == program


@pytest.mark.parametrize("path", ["", ".", ":/bin", "/bin:", "/bin::/usr/bin", "./:/bin"])
def test_the_working_directory_is_never_searched(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if PATH contains it: files in the current directory are not trusted."""
    make_program(tmp_path / "srv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConnectFailed, match="Could not start srv: not found on PATH"):
        find("srv", path=path.replace(":", os.pathsep))


def test_relative_path_is_resolved_from_the_working_directory(tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    assert find(program) == program
    assert os.path.samefile(find("./srv", cwd=str(tmp_path)), program)


def test_a_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    monkeypatch.setenv("USERPROFILE" if IS_WINDOWS else "HOME", str(tmp_path))
    assert find("~/srv") == program


@pytest.mark.parametrize(
    ("argv", "cwd", "summary", "next_step"),
    [
        ((), "", "No command is set.", "Edit the server"),
        (("",), "", "No command is set.", "Edit the server"),
        (
            ("nope-17",),
            "",
            "Could not start nope-17: not found on PATH.",
            "Check the spelling, install the program, or set its full path in Edit server….",
        ),
        (("/nope/srv",), "", f"File not found: '{os.path.abspath('/nope/srv')}'.", "Check the path."),
        ((FOLDER,), "", f"'{FOLDER}' is a folder, not a program.", "Use the program inside it."),
        ((__file__,), "", NO_PROGRAM[0].format(os.path.abspath(__file__)), NO_PROGRAM[1]),
        (("sh",), "/nope", "The working directory '/nope' does not exist.", "Create it or edit the server."),
        (("a\0b",), "", "Could not start a␀b: not found on PATH.", "Check the spelling"),
        (("sh",), "\0", "The working directory '␀' does not exist.", "Create it"),
    ],
)
def test_program_that_cannot_be_started_says_why_and_what_to_do(
    argv: tuple[str, ...], cwd: str, summary: str, next_step: str
) -> None:
    with pytest.raises(ConnectFailed) as caught:
        find(*argv, cwd=cwd)
    assert caught.value.summary.startswith(summary)
    assert caught.value.next_step.startswith(next_step)


@pytest.mark.parametrize(
    ("command", "summary"),
    [
        (
            Command(("{file}",), {}),
            "'{file}' is not "
            + ("a program that Windows" if IS_WINDOWS else "an executable that the system")
            + " can start.",
        ),
        pytest.param(
            Command(("{script}",), {}),
            "'{script}' needs an interpreter that does not exist: /nope/python.",
            marks=needs_shebang,
        ),
        (
            Command((sys.executable, "a\0b"), {}),
            f"{COULD_NOT_START}embedded null {'character' if IS_WINDOWS else 'byte'}.",
        ),
        pytest.param(
            Command((sys.executable, "\ud800"), {}),
            f"{COULD_NOT_START}'utf-8' codec can't encode",
            marks=pytest.mark.skipif(IS_WINDOWS, reason="Windows accepts lone surrogates"),
        ),
        (
            Command((sys.executable,), {"A=B": "c"}),
            f"{COULD_NOT_START}illegal environment variable name.",
        ),
        (
            Command((sys.executable, "x" * 3_000_000), {}),
            f"{COULD_NOT_START}{'the command line is' if IS_WINDOWS else 'Argument list'} too long.",
        ),
    ],
    ids=["no-format", "no-interpreter", "null", "surrogate", "variable", "too-long"],
)
async def test_start_refused_by_the_system_says_why(tmp_path: Path, command: Command, summary: str) -> None:
    file = make_program(tmp_path / "file", "no shebang line\n")
    script = make_program(tmp_path / "script", "#!/nope/python -u\n")
    argv = tuple(word.format(file=file, script=script) if "{" in word else word for word in command.argv)
    transport = StdioTransport(Command(argv, command.env), OrphanGuard(), SystemClock())
    with pytest.raises(ConnectFailed) as caught:
        await transport.open(lambda event: None)
    assert caught.value.summary.startswith(summary.format(file=file, script=script))
    assert caught.value.next_step
    await transport.close()


def test_only_listed_variables_and_configured_ones_are_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("LANG", "C.UTF-8")
    environment = Command((), {"MINE": "1", "LANG": "de_DE"}).environment()
    assert "SECRET_TOKEN" not in environment
    assert environment["MINE"] == "1"
    assert environment["LANG"] == "de_DE"
    assert environment["PATH"] == os.environ["PATH"]


def test_whole_environment_is_passed_only_if_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    assert Command(("sh",), {}, inherits_all=True).environment() == dict(os.environ)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("#!/usr/bin/env node", "node"),
        ("#! /usr/bin/env  node\r", "node"),
        ("#!/usr/bin/env -S node --flag", "node"),
        ("#!/usr/bin/env -Snode --flag", "node"),
        ("#!/usr/bin/env -S A=b node", "node"),
        ("#!/usr/bin/env -S PATH=/x node", ""),  # another PATH
        ("#!/usr/bin/env -i node", ""),
        ("#!/usr/bin/env ./node", ""),
        ("#!/usr/bin/env", ""),
        ("#!/usr/bin/node", ""),
        ("\x7fELF", ""),
        ("", ""),
    ],
)
def test_program_that_env_looks_up_is_read_from_the_shebang_line(line: str, name: str) -> None:
    assert env_program(line.encode() + b"\nrest") == name


@needs_shebang
async def test_script_whose_interpreter_is_not_on_the_path_is_not_started(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    npx = make_program(tmp_path / "npx", f"#!/usr/bin/env lens-node\ntouch {ran}\n")
    command = Command((npx,), {"PATH": "/usr/bin:/bin"})
    transport = StdioTransport(command, OrphanGuard(), SystemClock())
    with pytest.raises(ConnectFailed) as caught:
        await transport.open(lambda event: None)
    assert caught.value.summary == (
        f"Could not start '{npx}': it is a script that needs lens-node, which is not on the server's PATH."
    )
    assert "add its folder to the variable PATH" in caught.value.next_step
    check_interpreter(npx, {"PATH": f"/bin:{Path(make_program(tmp_path / 'lens-node')).parent}"})


def test_program_installed_since_the_start_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Windows: its folder is on the PATH in the registry."""
    program = make_program(tmp_path / "lens-node")
    monkeypatch.setattr(search_path, "_registry_variables", lambda: ({}, {"Path": str(tmp_path)}))
    monkeypatch.setattr(search_path, "IS_WINDOWS", True)
    try:
        command = Command(("lens-node",), {})
        assert find_program(command) == program
        assert str(tmp_path) in command.environment()["PATH"].split(os.pathsep), "the server gets it too"
    finally:
        search_path.use_search_path(None)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        pytest.param(-9, "was terminated by signal SIGKILL", marks=needs_signals),
        (-200, "was terminated by signal 200"),
        (3221225477, "exited with code 0xC0000005 (access violation)"),
        (0xC0000135, "exited with code 0xC0000135 (DLL not found)"),
        (0xC000013A, "exited with code 0xC000013A (Ctrl+C)"),
        (0xFFFFFFFF, "exited with code 0xFFFFFFFF"),
    ],
)
def test_exit_code_is_described(code: int, text: str) -> None:
    assert describe_exit(code) == text


async def test_unopened_transport_can_be_closed_and_rejects_sends() -> None:
    transport = StdioTransport(Command(("sh",), {}), OrphanGuard(), SystemClock())
    transport.pause()
    transport.resume()
    await transport.close()
    with pytest.raises(ConnectionLost, match="The server is not running"):
        await transport.send(jsonrpc.request(1, "ping"))
