"""Program lookup, the environment of a process, and messages for failed starts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import ConnectFailed, ConnectionLost
from inspector.protocol import jsonrpc
from inspector.transport.process import Command, OrphanGuard, child_environment, describe_exit, find_program
from inspector.transport.stdio import StdioTransport


def make_program(path: Path, text: str = "#!/bin/sh\n", mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def find(*argv: str, cwd: str = "", path: str = "/usr/bin:/bin") -> str:
    return find_program(Command(argv, {}, cwd), path)


def test_a_name_is_looked_up_on_the_path(tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    assert find("srv", path=f"/nowhere:{tmp_path}") == program


@pytest.mark.parametrize("path", ["", ".", ":/bin", "/bin:", "/bin::/usr/bin", "./:/bin"])
def test_the_working_directory_is_never_searched(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even if PATH contains it: files in the current directory are not trusted."""
    make_program(tmp_path / "srv")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConnectFailed, match="Could not start srv: not found on PATH"):
        find("srv", path=path)


def test_relative_path_is_resolved_from_the_working_directory(tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    assert find(program) == program
    assert os.path.samefile(find("./srv", cwd=str(tmp_path)), program)


def test_a_home_folder_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = make_program(tmp_path / "srv")
    monkeypatch.setenv("HOME", str(tmp_path))
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
        (("/nope/srv",), "", "File not found: '/nope/srv'.", "Check the path."),
        (("/usr",), "", "'/usr' is a folder, not a program.", "Use the program inside it."),
        (
            ("/etc/passwd",),
            "",
            "The file '/etc/passwd' is not executable.",
            "Make it executable (chmod +x passwd)",
        ),
        (("sh",), "/nope", "The working directory '/nope' does not exist.", "Create it or edit the server."),
        (("a\0b",), "", "Could not start a␀b: not found on PATH.", "Check the spelling"),
        (("sh",), "\0", "The working directory '\\x00' does not exist.", "Create it"),
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
        (Command(("{file}",), {}), "'{file}' is not an executable that the system can start."),
        (Command(("{script}",), {}), "'{script}' needs an interpreter that does not exist: /nope/python."),
        (Command(("/bin/sh", "a\0b"), {}), "Could not start '/bin/sh': embedded null byte."),
        (Command(("/bin/sh", "\ud800"), {}), "Could not start '/bin/sh': 'utf-8' codec can't encode"),
        (
            Command(("/bin/sh",), {"A=B": "c"}),
            "Could not start '/bin/sh': illegal environment variable name.",
        ),
        (Command(("/bin/sh", "x" * 10_000_000), {}), "Could not start '/bin/sh': Argument list too long."),
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
    environment = child_environment({"MINE": "1", "LANG": "de_DE"})
    assert "SECRET_TOKEN" not in environment
    assert environment["MINE"] == "1"
    assert environment["LANG"] == "de_DE"
    assert environment["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-9, "was terminated by signal SIGKILL"),
        (-200, "was terminated by signal 200"),
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
