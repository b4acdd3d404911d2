"""Rules of Windows for programs: PATH and PATHEXT, batch files, npm's shims and start errors.

The functions are pure or look only at files, so the tests run on every platform.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inspector.transport.programs import (
    batch_command_line,
    candidates,
    find_file,
    is_batch_file,
    is_path,
    resolve_shim,
    shim_script,
    spawn_options,
    start_error,
    suffixes_in,
    windows_arguments,
)

NPX = r"""
:: Created by npm, please don't edit manually.
@ECHO OFF

SETLOCAL

SET "NODE_EXE=%~dp0\node.exe"
IF NOT EXIST "%NODE_EXE%" (
  SET "NODE_EXE=node"
)

SET "NPM_PREFIX_JS=%~dp0\node_modules\npm\bin\npm-prefix.js"
SET "NPX_CLI_JS=%~dp0\node_modules\npm\bin\npx-cli.js"
FOR /F "delims=" %%F IN ('CALL "%NODE_EXE%" "%NPM_PREFIX_JS%"') DO (
  SET "NPM_PREFIX_NPX_CLI_JS=%%F\node_modules\npm\bin\npx-cli.js"
)
IF EXIST "%NPM_PREFIX_NPX_CLI_JS%" (
  SET "NPX_CLI_JS=%NPM_PREFIX_NPX_CLI_JS%"
)

"%NODE_EXE%" "%NPX_CLI_JS%" %*
"""
CMD_SHIM = r"""@ECHO off
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

endLocal & goto #_undefined_# 2>NUL || title %COMSPEC% & "%_prog%"  "%dp0%\node_modules\srv\dist\index.js" %*
"""
OLD_SHIM = r"""@IF EXIST "%~dp0\node.exe" (
  "%~dp0\node.exe"  "%~dp0\..\srv\cli.js" %*
) ELSE (
  @SETLOCAL
  @SET PATHEXT=%PATHEXT:;.JS;=;%
  node  "%~dp0\..\srv\cli.js" %*
)
"""
ENVIRONMENT = {"SystemRoot": "C:\\Windows"}


def line(*args: str) -> str:
    """Return the arguments of a batch file as they are written on its command line."""
    whole = batch_command_line("C:\\x y\\srv.cmd", args, ENVIRONMENT)
    start = '"C:\\Windows\\System32\\cmd.exe" /d /e:on /v:off /c ""C:\\x y\\srv.cmd" '
    assert whole.startswith(start)
    assert whole.endswith('"')
    return whole[len(start) : -1]


@pytest.mark.parametrize(
    ("argument", "quoted"),
    [
        ("plain", '"plain"'),
        ("", '""'),
        ("https://h/sse?a=1&b=2", '"https://h/sse?a=1&b=2"'),
        ("a^b|c>d<e(f)!g!", '"a^b|c>d<e(f)!g!"'),
        ('"&echo>f&rem "', '"""&echo>f&rem """'),
        ("C:\\dir\\", '"C:\\dir\\\\"'),
        ('a\\\\"b', '"a\\\\\\\\""b"'),
        ("%PATH%", '"%%cd:~,%PATH%%cd:~,%"'),
    ],
)
def test_arguments_of_a_batch_file_are_quoted_for_the_shell(argument: str, quoted: str) -> None:
    assert line("-y", argument) == f'"-y" {quoted}'


@pytest.mark.parametrize(
    ("argument", "name"), [("a\rb", "carriage return"), ("a\nb", "line feed"), ("a\0b", "null character")]
)
def test_characters_that_cannot_be_quoted_are_refused(argument: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"an argument of a batch file contains a {name}"):
        line(argument)


def test_command_line_that_the_shell_would_cut_is_refused() -> None:
    with pytest.raises(ValueError, match=r"characters; a batch file accepts 8,191"):
        line("x" * 9000)


def test_only_batch_files_are_started_by_the_shell() -> None:
    assert windows_arguments("C:\\x\\node.exe", ["a&b"], {}) == ("C:\\x\\node.exe", "a&b")
    assert [
        name for name in ("a.cmd", "a.BAT", "a.cmd.", "a.bat ", "a.exe", "cmd") if is_batch_file(name)
    ] == [
        "a.cmd",
        "a.BAT",
        "a.cmd.",
        "a.bat ",
    ]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (NPX, "node_modules\\npm\\bin\\npx-cli.js"),
        (
            NPX.replace("NPX_CLI", "NPM_CLI").replace("npx-cli", "npm-cli"),
            "node_modules\\npm\\bin\\npm-cli.js",
        ),
        (CMD_SHIM, "node_modules\\srv\\dist\\index.js"),
        (OLD_SHIM, "..\\srv\\cli.js"),
        (CMD_SHIM.replace("_prog=node", "_prog=python"), None),
        (OLD_SHIM.replace("@SETLOCAL", '@SET "NODE_PATH=C:\\x"'), None),
        (OLD_SHIM.replace('node  "%~dp0\\..\\srv', 'node  "%~dp0\\..\\other'), None),
        ("@echo off\npython server.py %*\n", None),
        ("", None),
    ],
    ids=["npx", "npm", "cmd-shim", "old", "python", "node-path", "two-scripts", "other", "empty"],
)
def test_script_of_an_npm_batch_file_is_recognized(text: str, script: str | None) -> None:
    assert shim_script(text) == script


def make_file(path: Path, text: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_npm_batch_file_is_replaced_by_node_and_its_script(tmp_path: Path) -> None:
    shim = make_file(tmp_path / "nodejs" / "npx.cmd", NPX)
    assert resolve_shim(shim, {}) is None  # there is no Node.js and no script
    script = make_file(tmp_path / "nodejs" / "node_modules" / "npm" / "bin" / "npx-cli.js")
    assert resolve_shim(shim, {}) is None
    node = make_file(tmp_path / "nodejs" / "node.exe")
    assert resolve_shim(shim, {}) == (node, script)
    assert windows_arguments(shim, ["-y", "a&b"], {}) == (node, script, "-y", "a&b")


def test_updated_npm_replaces_the_one_that_came_with_node(tmp_path: Path) -> None:
    shim = make_file(tmp_path / "nodejs" / "npx.cmd", NPX)
    node = make_file(tmp_path / "nodejs" / "node.exe")
    make_file(tmp_path / "nodejs" / "node_modules" / "npm" / "bin" / "npx-cli.js")
    updated = make_file(tmp_path / "npm" / "node_modules" / "npm" / "bin" / "npx-cli.js")
    assert resolve_shim(shim, {"AppData": str(tmp_path)}) == (node, updated)


def test_batch_file_that_is_not_from_npm_is_quoted_instead(tmp_path: Path) -> None:
    batch = make_file(tmp_path / "srv.cmd", "@echo off\npython server.py %*\n")
    line = windows_arguments(batch, ["a&b"], ENVIRONMENT)
    assert line == f'"C:\\Windows\\System32\\cmd.exe" /d /e:on /v:off /c ""{batch}" "a&b""'


def test_suffixes_are_those_of_pathext_that_windows_can_start() -> None:
    assert suffixes_in({"PathExt": ".CMD;.JS;.EXE;.PY"}, is_windows=True) == (".cmd", ".exe")
    assert suffixes_in({}, is_windows=True) == (".com", ".exe", ".bat", ".cmd")
    assert suffixes_in({"PATHEXT": ".JS"}, is_windows=True) == (".com", ".exe", ".bat", ".cmd")
    assert suffixes_in({"PATHEXT": ".EXE"}, is_windows=False) == ("",)


def test_suffix_is_appended_unless_the_name_has_one() -> None:
    assert candidates("npx", (".exe", ".cmd")) == ["npx.exe", "npx.cmd"]
    assert candidates("npx.CMD", (".exe", ".cmd")) == ["npx.CMD", "npx.CMD.exe", "npx.CMD.cmd"]
    assert candidates("server.py", (".exe",)) == ["server.py.exe"]
    assert candidates("npx", ("",)) == ["npx"]


def test_shell_script_beside_a_batch_file_is_not_started(tmp_path: Path) -> None:
    """Node.js installs `npx`, a script for Git Bash, beside `npx.cmd`."""
    make_file(tmp_path / "npx", "#!/bin/sh\n")
    batch = make_file(tmp_path / "npx.cmd")
    (tmp_path / "npx.exe").mkdir()
    assert find_file("npx", [str(tmp_path)], (".exe", ".cmd")) == batch


@pytest.mark.parametrize(
    ("name", "windows", "posix"),
    [("npx", False, False), ("./npx", True, True), ("bin\\npx", True, False), ("C:npx", True, False)],
)
def test_command_with_a_separator_or_a_drive_is_a_path(name: str, windows: bool, posix: bool) -> None:
    assert is_path(name, is_windows=True) == windows
    assert is_path(name, is_windows=False) == posix


def test_processes_on_windows_have_no_window_and_their_own_group() -> None:
    assert spawn_options(is_windows=True) == {"creationflags": 0x08000200}
    assert spawn_options(is_windows=True, is_suspended=True) == {"creationflags": 0x08000204}
    assert spawn_options(is_windows=False, is_suspended=True) == {"start_new_session": True}


class WindowsError(OSError):
    """An OSError with the code of Windows, which exists only there."""

    def __init__(self, code: int) -> None:
        super().__init__(22, "text of Windows.")
        self.winerror = code


@pytest.mark.parametrize(
    ("code", "summary"),
    [
        (193, "'C:\\x\\srv' is not a program that Windows can start."),
        (5, "Could not start 'C:\\x\\srv': access is denied."),
        (740, "Could not start 'C:\\x\\srv': it requires administrator rights."),
        (999, "Could not start 'C:\\x\\srv': text of Windows."),
    ],
)
def test_start_error_on_windows_mentions_nothing_of_posix(code: int, summary: str) -> None:
    error = start_error("C:\\x\\srv", WindowsError(code), is_windows=True)
    assert error.summary == summary
    assert not [word for word in ("chmod", "#!", "shebang") if word in error.next_step]


def test_file_without_permission_on_posix_can_be_made_executable() -> None:
    error = start_error(os.sep + "srv", PermissionError(13, "Permission denied"), is_windows=False)
    assert error.summary == f"You do not have permission to start '{os.sep}srv'."
