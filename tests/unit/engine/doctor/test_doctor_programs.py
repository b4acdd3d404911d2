"""Doctor on commands that cannot be started, with real broken files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.search_path import SearchPath, use_search_path
from inspector.config.servers.entries import SecretRef, StdioEntry
from inspector.engine.doctor.check_run import apply_fix
from inspector.engine.doctor.program_probe import ProgramInfo, VersionInfo
from inspector.engine.doctor.results import Action, ActionKind, CheckState
from inspector.engine.doctor.rules.programs import diagnose_program, diagnose_version
from tests.helpers.platforms import IS_WINDOWS, needs_fifos, needs_permissions, needs_shebang
from tests.unit.engine.doctor.doctor_stage import (
    Report,
    checked,
    make_program,
    path_with,
    runtime_code,
    script,
    server_code,
)


async def started(
    command: str | Path, *args: str, env: dict[str, str] | None = None, cwd: str = ""
) -> Report:
    return await checked(StdioEntry(name="srv", command=str(command), args=args, env=env or {}, cwd=cwd))


async def test_empty_command_is_reported() -> None:
    assert (await started("")).failure.id == "no-command"


async def test_a_misspelled_command_is_not_on_the_path() -> None:
    failure = (await started("no-such-program-anywhere")).failure
    assert failure.id == "command-missing"
    assert "no-such-program-anywhere" in failure.cause


async def test_command_line_given_as_the_command_is_recognized() -> None:
    failure = (await started("npx -y some-server")).failure
    assert failure.id == "line-as-command"
    assert "“npx”" in failure.fix
    assert "“-y some-server”" in failure.fix


def test_runtime_component_names_its_runtime() -> None:
    probe = ProgramInfo("npx", problem="not found")
    failure = diagnose_program(probe)
    assert failure is not None
    assert failure.cause.endswith("folders: it is part of Node.js, which is not installed.")


async def test_a_runtime_that_is_not_installed_is_named_with_where_to_get_it(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    failure = (await started("dotnet", env=env)).failure
    assert failure.id == "runtime-missing"
    assert "dot.net" in failure.fix


async def test_runtime_outside_the_path_is_found_in_its_usual_install_location(tmp_path: Path) -> None:
    folder = tmp_path / ("nvm/v20.11.1" if IS_WINDOWS else ".nvm/versions/node/v20.11.1/bin")
    folder.mkdir(parents=True)
    make_program(folder, "npx", "print(10)")
    empty = tmp_path / "empty"
    empty.mkdir()
    env = {"PATH": str(empty), "APPDATA" if IS_WINDOWS else "HOME": str(tmp_path)}
    failure = (await started("npx", env=env)).failure
    assert failure.id == "not-on-path"
    assert "v20.11.1" in failure.cause
    assert failure.action == Action(
        ActionKind.ADD_TO_PATH, "Add this folder to the server's PATH", str(folder)
    )


async def test_missing_file_is_reported(tmp_path: Path) -> None:
    failure = (await started(tmp_path / "gone")).failure
    assert failure.id == "file-missing"
    assert str(tmp_path / "gone") in failure.cause


async def test_folder_is_not_a_program(tmp_path: Path) -> None:
    assert (await started(tmp_path)).failure.id == "is-folder"


@needs_permissions
async def test_non_executable_file_is_reported_with_chmod(tmp_path: Path) -> None:
    failure = (await started(script(tmp_path, "server.py", "print(1)", 0o644))).failure
    assert failure.id == "not-executable"
    assert "chmod +x server.py" in failure.fix


async def test_missing_working_folder_is_reported(tmp_path: Path) -> None:
    assert (await started(sys.executable, cwd=str(tmp_path / "gone"))).failure.id == "folder-missing"


@needs_shebang
async def test_script_with_a_missing_interpreter_is_reported(tmp_path: Path) -> None:
    failure = (await started(script(tmp_path, "s", "#!/old/venv/bin/python\n"))).failure
    assert failure.id == "interpreter-missing"
    assert "/old/venv/bin/python" in failure.cause


@needs_shebang
async def test_non_executable_interpreter_is_reported(tmp_path: Path) -> None:
    interpreter = script(tmp_path, "interpreter", "", 0o644)
    failure = (await started(script(tmp_path, "s", f"#!{interpreter}\n"))).failure
    assert failure.id == "interpreter-not-executable"


@needs_shebang
async def test_script_with_windows_line_endings_is_recognized(tmp_path: Path) -> None:
    assert (await started(script(tmp_path, "s", b"#!/bin/sh\r\nexit\r\n"))).failure.id == "windows-line-ends"


@needs_shebang
async def test_script_without_a_shebang_is_recognized(tmp_path: Path) -> None:
    assert (await started(script(tmp_path, "s", "import sys\n"))).failure.id == "no-shebang"


@needs_shebang
async def test_program_for_another_cpu_is_recognized(tmp_path: Path) -> None:
    # The head of an ELF file for a SPARC.
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + (2).to_bytes(2, "little")
        + (43).to_bytes(2, "little")
        + bytes(200)
    )
    assert (await started(script(tmp_path, "s", head))).failure.id == "wrong-machine"


@needs_fifos
async def test_a_fifo_in_place_of_a_program_does_not_hang_the_doctor(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o755)
    failure = (await started(tmp_path / "pipe")).failure
    assert failure.id == "start-refused"


async def test_null_byte_in_an_argument_is_reported_with_the_system_error() -> None:
    assert (await started(sys.executable, "a\0b")).failure.id == "start-refused"


async def test_an_old_runtime_is_blamed_when_the_server_fails_on_it(tmp_path: Path) -> None:
    code = """sys.exit("SyntaxError: Unexpected token '??='")"""
    make_program(tmp_path, "node", runtime_code("v14.21.3", code))
    report = await started("node", "server.js", env=path_with(tmp_path))
    assert report.failure.id == "runtime-too-old"
    assert "v14.21.3" in report.failure.cause
    assert report.results["runtime"].text == "v14.21.3"


async def test_old_runtime_is_a_warning_when_the_server_works(tmp_path: Path) -> None:
    make_program(tmp_path, "node", runtime_code("v16.1.0", server_code()))
    report = await started("node", env=path_with(tmp_path))
    assert report.warnings == ["runtime-too-old"]
    assert report.results["list"].state is CheckState.OK


async def test_runtime_that_does_not_report_its_version_is_not_an_obstacle(tmp_path: Path) -> None:
    program = make_program(tmp_path, "deno", runtime_code("", server_code()))
    report = await started("deno", env=path_with(tmp_path))
    assert report.warnings == ["version-unknown"]
    assert report.results["runtime"].state is CheckState.WARN
    assert report.results["runtime"].text == f"{program.name} --version exited with code 3."
    assert report.results["list"].state is CheckState.OK


async def test_failed_version_check_does_not_hide_why_the_server_exits(tmp_path: Path) -> None:
    program = make_program(tmp_path, "deno", "sys.stderr.write('nothing works\\n'); sys.exit(3)")
    report = await started("deno", env=path_with(tmp_path))
    assert report.failure.id == "exited"
    assert report.warnings == ["version-unknown"]
    assert report.results["runtime"].text == f"{program.name} --version exited with code 3: nothing works."


def test_alias_of_the_microsoft_store_is_recognized() -> None:
    program = r"C:\Users\me\AppData\Local\Microsoft\WindowsApps\python.exe"
    said = "Python was not found; run without arguments to install from the Microsoft Store"
    found = diagnose_version(program, VersionInfo(problem=f"exited with code 9009: {said}", exit_code=9009))
    assert found is not None
    assert (found.id, found.step, found.is_warning) == ("store-alias", "runtime", False)
    assert program in found.cause
    assert "Install Python," in found.fix
    assert "execution aliases" in found.fix
    other = diagnose_version(r"C:\nodejs\npx.cmd", VersionInfo(problem="failed", exit_code=9009))
    assert other is not None
    assert other.id == "version-unknown", "a batch file whose program is missing exits with that code too"


@needs_shebang
async def test_script_whose_interpreter_is_not_on_the_path_fails_at_the_command(tmp_path: Path) -> None:
    """A full path to npx: its folder has node, but is not on the PATH."""
    npx = script(tmp_path, "npx", "#!/usr/bin/env lens-node\n")
    without = (await started(npx)).failure
    assert (without.id, without.step, without.action) == ("env-program-missing", "command", None)
    assert without.cause == f"{npx} is a script that needs lens-node, which is not on the server's PATH."
    make_program(tmp_path, "lens-node", "sys.exit(1)")
    report = await started(npx)
    assert report.failure.cause.endswith(f"not on the server's PATH, but was found in {tmp_path}.")
    action = Action(ActionKind.ADD_TO_PATH, "Add this folder to the server's PATH", str(tmp_path))
    assert report.failure.action == action
    assert report.results["runtime"].state is CheckState.SKIPPED
    fixed = apply_fix(StdioEntry(name="srv", command=str(npx)), action, None)
    assert isinstance(fixed, StdioEntry)
    assert fixed.env == {"PATH": f"{tmp_path}{os.pathsep}${{PATH}}"}
    env = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert (await started(npx, env=env)).results["command"].state is CheckState.OK


def test_folder_is_added_before_a_path_that_the_server_has() -> None:
    action = Action(ActionKind.ADD_TO_PATH, "", "/a/${b}")
    entry = StdioEntry(name="srv", command="x", env={"A": "1", "PATH": "/mine"})
    fixed = apply_fix(entry, action, None)
    assert isinstance(fixed, StdioEntry)
    assert fixed.env == {"A": "1", "PATH": f"/a/$${{b}}{os.pathsep}/mine"}
    secret = StdioEntry(name="srv", command="x", env={"PATH": SecretRef("env/srv/PATH")})
    with pytest.raises(ConfigError, match="secret store"):
        apply_fix(secret, action, None)


async def test_report_shows_the_path_and_where_it_comes_from() -> None:
    path = os.pathsep.join(("/lens/a", os.defpath))
    use_search_path(SearchPath(path, "as MCP Lens was started, and a test", is_extensible=False))
    try:
        details = (await started("no-such-program")).results["command"].details
        assert details == ("PATH: as MCP Lens was started, and a test", path)
    finally:
        use_search_path(None)
    details = (await started("no-such-program", env={"PATH": "/x"})).results["command"].details
    assert details == ("PATH: set for this server", "/x")


async def test_only_known_runtimes_are_asked_for_their_version(tmp_path: Path) -> None:
    marker = tmp_path / "asked"
    code = f"if sys.argv[1:] == ['--version']: open({str(marker)!r}, 'w').close()\nsys.exit(1)"
    report = await started(make_program(tmp_path, "my-server", code))
    assert report.results["runtime"].state is CheckState.SKIPPED
    assert not marker.exists()


async def test_nothing_in_an_untrusted_command_is_started(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    program = make_program(tmp_path, "node", f"open({str(marker)!r}, 'w').close()")
    entry = StdioEntry(name="srv", command="node", env=path_with(tmp_path))
    report = await checked(entry, may_contact=False)
    assert [each.id for each in report.diagnoses] == ["not-trusted"]
    assert report.results["command"].text == str(program)
    assert report.results["runtime"].state is CheckState.SKIPPED
    assert not marker.exists()


@pytest.mark.parametrize(
    ("info", "id"),
    [
        (ProgramInfo("C:\\s.py", is_path=True, path="C:\\s.py", exists=True), "not-startable"),
        (ProgramInfo("s", found="C:\\s.exe", head=b"#!/usr/bin/env python3\n"), "not-startable"),
        (ProgramInfo("s", found="C:\\s.exe", head=b"MZ\x90"), None),
        (ProgramInfo("python", found="C:\\WindowsApps\\python.exe"), None),
        (ProgramInfo("npx", found="C:\\nodejs\\npx.cmd", head=b"@echo off\r\n"), None),
    ],
    ids=["script", "text", "program", "store", "batch"],
)
def test_advice_on_windows_mentions_no_permissions_or_shebang_lines(
    info: ProgramInfo, id: str | None
) -> None:
    failure = diagnose_program(info, is_windows=True)
    assert (failure.id if failure is not None else None) == id
    if failure is not None:
        assert "interpreter (such as python or node) as the command" in failure.fix
        assert "chmod" not in failure.fix
