"""Doctor on commands that cannot be started, with real broken files."""

from __future__ import annotations

import os
from pathlib import Path

from inspector.config.servers.entries import StdioEntry
from inspector.engine.doctor.program_probe import ProgramInfo
from inspector.engine.doctor.results import CheckState
from inspector.engine.doctor.rules.programs import diagnose_program
from tests.helpers.servers import fault_entry
from tests.unit.engine.doctor.doctor_stage import Report, checked, path_with, script, shell_script


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
    folder = tmp_path / ".nvm/versions/node/v20.11.1/bin"
    folder.mkdir(parents=True)
    shell_script(folder, "npx", "echo 10")
    empty = tmp_path / "empty"
    empty.mkdir()
    failure = (await started("npx", env={"PATH": str(empty), "HOME": str(tmp_path)})).failure
    assert failure.id == "not-on-path"
    assert "v20.11.1" in failure.cause
    assert str(folder / "npx") in failure.fix


async def test_missing_file_is_reported(tmp_path: Path) -> None:
    failure = (await started(tmp_path / "gone")).failure
    assert failure.id == "file-missing"
    assert str(tmp_path / "gone") in failure.cause


async def test_folder_is_not_a_program(tmp_path: Path) -> None:
    assert (await started(tmp_path)).failure.id == "is-folder"


async def test_non_executable_file_is_reported_with_chmod(tmp_path: Path) -> None:
    failure = (await started(script(tmp_path, "server.py", "print(1)", 0o644))).failure
    assert failure.id == "not-executable"
    assert "chmod +x server.py" in failure.fix


async def test_missing_working_folder_is_reported(tmp_path: Path) -> None:
    assert (await started("/bin/sh", cwd=str(tmp_path / "gone"))).failure.id == "folder-missing"


async def test_script_with_a_missing_interpreter_is_reported(tmp_path: Path) -> None:
    failure = (await started(script(tmp_path, "s", "#!/old/venv/bin/python\n"))).failure
    assert failure.id == "interpreter-missing"
    assert "/old/venv/bin/python" in failure.cause


async def test_non_executable_interpreter_is_reported(tmp_path: Path) -> None:
    interpreter = script(tmp_path, "interpreter", "", 0o644)
    failure = (await started(script(tmp_path, "s", f"#!{interpreter}\n"))).failure
    assert failure.id == "interpreter-not-executable"


async def test_script_with_windows_line_endings_is_recognized(tmp_path: Path) -> None:
    assert (await started(script(tmp_path, "s", b"#!/bin/sh\r\nexit\r\n"))).failure.id == "windows-line-ends"


async def test_script_without_a_shebang_is_recognized(tmp_path: Path) -> None:
    assert (await started(script(tmp_path, "s", "import sys\n"))).failure.id == "no-shebang"


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


async def test_a_fifo_in_place_of_a_program_does_not_hang_the_doctor(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o755)
    failure = (await started(tmp_path / "pipe")).failure
    assert failure.id == "start-refused"


async def test_null_byte_in_an_argument_is_reported_with_the_system_error() -> None:
    assert (await started("/bin/sh", "a\0b")).failure.id == "start-refused"


async def test_an_old_runtime_is_blamed_when_the_server_fails_on_it(tmp_path: Path) -> None:
    shell_script(
        tmp_path,
        "node",
        'if [ "$1" = --version ]; then echo v14.21.3; exit; fi',
        "echo \"SyntaxError: Unexpected token '??='\" >&2; exit 1",
    )
    report = await started("node", "server.js", env=path_with(tmp_path))
    assert report.failure.id == "runtime-too-old"
    assert "v14.21.3" in report.failure.cause
    assert report.results["runtime"].text == "v14.21.3"


async def test_old_runtime_is_a_warning_when_the_server_works(tmp_path: Path) -> None:
    real = fault_entry()
    run = " ".join((real.command, *real.args))
    shell_script(tmp_path, "node", 'if [ "$1" = --version ]; then echo v16.1.0; exit; fi', f"exec {run}")
    report = await started("node", env=path_with(tmp_path))
    assert report.warnings == ["runtime-too-old"]
    assert report.results["list"].state is CheckState.OK


async def test_runtime_that_does_not_report_its_version_is_not_an_obstacle(tmp_path: Path) -> None:
    real = fault_entry()
    run = " ".join((real.command, *real.args))
    shell_script(tmp_path, "deno", 'if [ "$1" = --version ]; then exit 3; fi', f"exec {run}")
    report = await started("deno", env=path_with(tmp_path))
    assert report.diagnoses == []
    assert "code 3" in report.results["runtime"].text


async def test_only_known_runtimes_are_asked_for_their_version(tmp_path: Path) -> None:
    marker = tmp_path / "asked"
    shell_script(tmp_path, "my-server", f'[ "$1" = --version ] && touch {marker}', "exit 1")
    report = await started(tmp_path / "my-server")
    assert report.results["runtime"].state is CheckState.SKIPPED
    assert not marker.exists()


async def test_nothing_in_an_untrusted_command_is_started(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    shell_script(tmp_path, "node", f"touch {marker}")
    entry = StdioEntry(name="srv", command="node", env=path_with(tmp_path))
    report = await checked(entry, may_contact=False)
    assert [each.id for each in report.diagnoses] == ["not-trusted"]
    assert report.results["command"].text == str(tmp_path / "node")
    assert report.results["runtime"].state is CheckState.SKIPPED
    assert not marker.exists()
