"""Diagnoses of a command: program not found, file not executable, runtime too old."""

from __future__ import annotations

import os
import platform

from inspector.base.plain_text import one_line
from inspector.engine.doctor.program_probe import ProgramInfo, Runtime, VersionInfo, major_of, runtime_of
from inspector.engine.doctor.results import Diagnosis

_STEP = "command"


def diagnose_program(info: ProgramInfo) -> Diagnosis | None:
    """Return why the command cannot be started, judging by its file; None if it can."""
    if not info.name:
        return Diagnosis("no-command", _STEP, "No command is set.", "Edit the server and enter one.")
    if not info.cwd_exists:
        return Diagnosis(
            "folder-missing",
            _STEP,
            f"The working directory {info.cwd} does not exist.",
            "Create it, or change the server's working directory.",
        )
    if info.found:
        return _diagnose_file(info)
    return _diagnose_path(info) if info.is_path else _diagnose_name(info)


def _diagnose_name(info: ProgramInfo) -> Diagnosis:
    name = one_line(info.name)
    if any(character.isspace() for character in info.name):
        first, *rest = info.name.split()
        return Diagnosis(
            "line-as-command",
            _STEP,
            f"“{name}” is a whole command line. MCP Lens does not use a shell, so it looks for a program "
            "with that name.",
            f"Use “{one_line(first)}” as the command and “{one_line(' '.join(rest))}” as its arguments.",
        )
    runtime = runtime_of(info.name)
    if info.alternatives:
        locations = ", ".join(info.alternatives[:3])
        return Diagnosis(
            "not-on-path",
            _STEP,
            f"{name} is not on the server's PATH, but it was found in "
            f"{os.path.dirname(info.alternatives[0])}.",
            f"Use its full path, {info.alternatives[0]}, as the command, or set PATH for the server.",
            (f"Found: {locations}",),
        )
    if runtime is not None:
        return Diagnosis(
            "runtime-missing",
            _STEP,
            f"{name} was not found on PATH or in the usual folders: {_missing_text(runtime)}.",
            f"{runtime.install}, then run Doctor again.",
        )
    return Diagnosis(
        "command-missing",
        _STEP,
        f"Could not start {name}: not found on PATH.",
        "Check the spelling, install the program, or set its full path in Edit server….",
    )


def _missing_text(runtime: Runtime) -> str:
    if runtime.part_of:
        return f"it is part of {runtime.part_of}, which is not installed"
    return f"{runtime.name} is not installed"


def _diagnose_path(info: ProgramInfo) -> Diagnosis:
    if not info.exists:
        return Diagnosis(
            "file-missing",
            _STEP,
            f"File not found: {info.path}.",
            "Check the path. Relative paths are resolved against the server's working directory.",
        )
    if info.is_folder:
        return Diagnosis(
            "is-folder", _STEP, f"{info.path} is a folder, not a program.", "Use the program inside it."
        )
    return Diagnosis(
        "not-executable",
        _STEP,
        f"{info.path} is not executable.",
        f"Make it executable (chmod +x {os.path.basename(info.path)}), or use its interpreter as the "
        "command and the file as the first argument.",
    )


def _diagnose_file(info: ProgramInfo) -> Diagnosis | None:
    """Check whether the system can run the file."""
    if info.interpreter:
        return _diagnose_script(info)
    if info.head.startswith(b"\x7fELF") and not _runs_on_this_machine(info.head):
        return Diagnosis(
            "wrong-machine",
            _STEP,
            f"{info.found} is built for another CPU architecture; this machine is {platform.machine()}.",
            "Install the build for this machine.",
        )
    if info.head and not _is_binary(info.head):
        return Diagnosis(
            "no-shebang",
            _STEP,
            f"{info.found} is a script without a shebang line.",
            "Add a shebang line such as #!/usr/bin/env python3, or use the interpreter as the command.",
        )
    return None


def _diagnose_script(info: ProgramInfo) -> Diagnosis | None:
    shebang_line = info.head.partition(b"\n")[0]
    if shebang_line.endswith(b"\r"):
        return Diagnosis(
            "windows-line-ends",
            _STEP,
            f"{info.found} has Windows line endings, so the system looks for an interpreter whose name "
            "ends in a carriage return.",
            "Save it with Unix line endings (dos2unix, or “LF” in the editor).",
            (one_line(shebang_line.decode(errors="replace")),),
        )
    if not info.interpreter_exists:
        return Diagnosis(
            "interpreter-missing",
            _STEP,
            f"{info.found} needs the interpreter {one_line(info.interpreter)}, which does not exist.",
            "Fix its shebang line, or install that interpreter. If you moved a virtual environment, "
            "recreate it: its scripts contain old paths.",
        )
    if not info.is_interpreter_executable:
        return Diagnosis(
            "interpreter-not-executable",
            _STEP,
            f"{info.found} needs the interpreter {one_line(info.interpreter)}, which is not executable.",
            "Fix its shebang line, or make the interpreter executable.",
        )
    return None


# ELF e_machine by `platform.machine`.
_MACHINES = {"x86_64": (62, 3), "amd64": (62, 3), "aarch64": (183, 40), "arm64": (183, 40)}


def _runs_on_this_machine(head: bytes) -> bool:
    matching = _MACHINES.get(platform.machine().lower())
    if matching is None or len(head) < 20:
        return True  # unknown
    return int.from_bytes(head[18:20], "big" if head[5:6] == b"\x02" else "little") in matching


def _is_binary(head: bytes) -> bool:
    return b"\0" in head or head.startswith((b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))


def diagnose_version(program: str, info: VersionInfo) -> Diagnosis | None:
    """Warn about a runtime that is known to be too old."""
    runtime = runtime_of(program)
    if runtime is None or not runtime.min_major or not info.version:
        return None
    major = major_of(info.version)
    if not 0 < major < runtime.min_major:
        return None
    return Diagnosis(
        "runtime-too-old",
        "runtime",
        f"{runtime.name} {info.version} is too old: most servers need {runtime.min_major} or newer.",
        f"Install a newer {runtime.name}, or use the full path of a newer one as the command.",
        (f"{program} reports version {info.version}",),
    )
