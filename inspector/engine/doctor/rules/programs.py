"""Diagnoses of a command: program not found, file not executable, runtime too old."""

from __future__ import annotations

import os
import platform

from inspector.base.environment import IS_WINDOWS
from inspector.base.plain_text import one_line
from inspector.engine.doctor.program_probe import ProgramInfo, Runtime, VersionInfo, major_of, runtime_of
from inspector.engine.doctor.results import Action, ActionKind, Diagnosis
from inspector.engine.doctor.rules.output_patterns import STORE_ALIAS_FIX

_STEP = "command"


def diagnose_program(info: ProgramInfo, *, is_windows: bool = IS_WINDOWS) -> Diagnosis | None:
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
        return _diagnose_windows_file(info) if is_windows else _diagnose_file(info)
    return _diagnose_path(info, is_windows) if info.is_path else _diagnose_name(info)


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
        return Diagnosis(
            "not-on-path",
            _STEP,
            f"{name} is not on the server's PATH, but it was found in "
            f"{os.path.dirname(info.alternatives[0])}.",
            *_found_elsewhere(info),
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


def _found_elsewhere(info: ProgramInfo) -> tuple[str, tuple[str, ...], Action]:
    """Return fix, evidence and action for a program that is in a folder outside the PATH.

    Its full path as the command would not be enough: it may start other programs from that folder.
    """
    folder = os.path.dirname(info.alternatives[0])
    return (
        f"Add {folder} to the server's PATH.",
        (f"Found: {', '.join(info.alternatives[:3])}",),
        Action(ActionKind.ADD_TO_PATH, "Add this folder to the server's PATH", folder),
    )


def _missing_text(runtime: Runtime) -> str:
    if runtime.part_of:
        return f"it is part of {runtime.part_of}, which is not installed"
    return f"{runtime.name} is not installed"


def _diagnose_path(info: ProgramInfo, is_windows: bool) -> Diagnosis:
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
    if is_windows:
        return _not_startable(info.path)
    return Diagnosis(
        "not-executable",
        _STEP,
        f"{info.path} is not executable.",
        f"Make it executable (chmod +x {os.path.basename(info.path)}), or use its interpreter as the "
        "command and the file as the first argument.",
    )


def _not_startable(path: str) -> Diagnosis:
    return Diagnosis(
        "not-startable",
        _STEP,
        f"{path} is not a program that Windows can start.",
        "If it is a script, use its interpreter (such as python or node) as the command and the file as the "
        "first argument.",
    )


def _diagnose_windows_file(info: ProgramInfo) -> Diagnosis | None:
    """Check the header of a .exe file. Batch files are text; a .com file may be anything."""
    is_program = not info.head or info.head.startswith(b"MZ")
    return None if is_program or not info.found.lower().endswith(".exe") else _not_startable(info.found)


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
    return _diagnose_env(info) if info.missing_program else None


def _diagnose_env(info: ProgramInfo) -> Diagnosis:
    """Diagnose a script that starts with `#!/usr/bin/env X`, with X not on the PATH."""
    name = one_line(info.missing_program)
    cause = f"{info.found} is a script that needs {name}, which is not on the server's PATH"
    if info.alternatives:
        folder = os.path.dirname(info.alternatives[0])
        return Diagnosis(
            "env-program-missing", _STEP, f"{cause}, but was found in {folder}.", *_found_elsewhere(info)
        )
    runtime = runtime_of(name)
    install = runtime.install if runtime is not None else f"Install {name}"
    return Diagnosis("env-program-missing", _STEP, f"{cause}.", f"{install}, then run Doctor again.")


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
    """Warn about a runtime that is too old or does not report its version."""
    runtime = runtime_of(program)
    if info.exit_code == _STORE_ALIAS_CODE and runtime is not None and runtime.name == "Python":
        return _store_alias(program, info)
    if info.problem:
        return Diagnosis(
            "version-unknown",
            "runtime",
            f"{info.problem.rstrip('.')}.",
            "Check that it works in a terminal; reinstall it if it does not.",
            (program,),
            is_warning=True,
        )
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
        is_warning=True,
    )


_STORE_ALIAS_CODE = 9009


def _store_alias(program: str, info: VersionInfo) -> Diagnosis:
    """Diagnose the alias of Windows for Python, which can be installed from the Microsoft Store."""
    return Diagnosis(
        "store-alias",
        "runtime",
        f"{program} is not a program: it only opens the Microsoft Store to install one.",
        f"{STORE_ALIAS_FIX} Then run Doctor again.",
        (info.problem,),
    )
