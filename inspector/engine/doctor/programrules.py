"""Why a command cannot be started: what was seen of its file in, a diagnosis out."""

from __future__ import annotations

import os
import platform

from inspector.base.plaintext import one_line
from inspector.engine.doctor.checks import Diagnosis
from inspector.engine.doctor.program import ProgramSeen
from inspector.engine.doctor.runtimes import Runtime, VersionSeen, major_of, runtime_of

_STEP = "command"


def diagnose_program(seen: ProgramSeen) -> Diagnosis | None:
    """Return None if the command can be started, as far as its file shows."""
    if not seen.name:
        return Diagnosis(
            "no-command", _STEP, "There is no command to start.", "Edit the server and give one."
        )
    if not seen.is_cwd_there:
        return Diagnosis(
            "folder-missing",
            _STEP,
            f"The working folder {seen.cwd} does not exist.",
            "Create it, or edit the server's working folder.",
        )
    if seen.found:
        return _file(seen)
    return _path(seen) if seen.is_path else _name(seen)


def _name(seen: ProgramSeen) -> Diagnosis:
    name = one_line(seen.name)
    if any(character.isspace() for character in seen.name):
        first, *rest = seen.name.split()
        return Diagnosis(
            "line-as-command",
            _STEP,
            f"The whole line “{name}” is given as the command. No shell splits it.",
            f"Give “{one_line(first)}” as the command, and “{one_line(' '.join(rest))}” as its arguments.",
        )
    runtime = runtime_of(seen.name)
    if seen.elsewhere:
        places = ", ".join(seen.elsewhere[:3])
        return Diagnosis(
            "not-on-path",
            _STEP,
            f"{name} is not on the PATH that the server gets; there is one in "
            f"{os.path.dirname(seen.elsewhere[0])}.",
            f"Give its full path, {seen.elsewhere[0]}, as the command, or set PATH for the server.",
            (f"Found: {places}",),
        )
    if runtime is not None:
        return Diagnosis(
            "runtime-missing",
            _STEP,
            f"{name} is not on the PATH, nor in the usual places: {_missing(runtime)}.",
            f"{runtime.install}; then examine again.",
        )
    return Diagnosis(
        "command-missing",
        _STEP,
        f"There is no program called {name} on the PATH.",
        "Check the spelling, install it, or give its full path.",
    )


def _missing(runtime: Runtime) -> str:
    _, _, whole = runtime.what.partition(", a part of ")
    if whole:
        return f"it is a part of {whole}, which is not installed here"
    return f"{runtime.what} is not installed here"


def _path(seen: ProgramSeen) -> Diagnosis:
    if not seen.exists:
        return Diagnosis(
            "file-missing",
            _STEP,
            f"There is no file {seen.path}.",
            "Check the path. A relative one counts from the server's working folder.",
        )
    if seen.is_folder:
        return Diagnosis(
            "is-folder", _STEP, f"{seen.path} is a folder, not a program.", "Give the program inside it."
        )
    return Diagnosis(
        "not-executable",
        _STEP,
        f"{seen.path} is a file that may not be run.",
        f"Make it executable (chmod +x {os.path.basename(seen.path)}), or give its interpreter as the "
        "command and the file as its first argument.",
    )


def _file(seen: ProgramSeen) -> Diagnosis | None:
    """Check whether the system can run the file."""
    if seen.interpreter:
        return _script(seen)
    if seen.head.startswith(b"\x7fELF") and not _fits_here(seen.head):
        return Diagnosis(
            "wrong-machine",
            _STEP,
            f"{seen.found} is made for another kind of processor than this {platform.machine()}.",
            "Install the build for this machine.",
        )
    if seen.head and not _is_binary(seen.head):
        return Diagnosis(
            "no-first-line",
            _STEP,
            f"{seen.found} is a script without a first line that says what runs it.",
            "Begin it with a line such as #!/usr/bin/env python3, or give the interpreter as the command.",
        )
    return None


def _script(seen: ProgramSeen) -> Diagnosis | None:
    first_line = seen.head.partition(b"\n")[0]
    if first_line.endswith(b"\r"):
        return Diagnosis(
            "windows-line-ends",
            _STEP,
            f"{seen.found} has the line ends of Windows: the system looks for an interpreter whose name ends "
            "in a carriage return.",
            "Save it with Unix line ends (dos2unix, or “LF” in the editor).",
            (one_line(first_line.decode(errors="replace")),),
        )
    if not seen.is_interpreter_there:
        return Diagnosis(
            "interpreter-missing",
            _STEP,
            f"{seen.found} is to be run by {one_line(seen.interpreter)}, which is not there.",
            "Correct its first line, or install that interpreter. A virtual environment that was moved has "
            "old paths in its scripts: make it anew.",
        )
    if not seen.can_interpreter_run:
        return Diagnosis(
            "interpreter-not-executable",
            _STEP,
            f"{seen.found} is to be run by {one_line(seen.interpreter)}, which may not be run.",
            "Correct its first line, or make the interpreter executable.",
        )
    return None


# ELF e_machine by `platform.machine`.
_MACHINES = {"x86_64": (62, 3), "amd64": (62, 3), "aarch64": (183, 40), "arm64": (183, 40)}


def _fits_here(head: bytes) -> bool:
    fitting = _MACHINES.get(platform.machine().lower())
    if fitting is None or len(head) < 20:
        return True  # unknown
    return int.from_bytes(head[18:20], "big" if head[5:6] == b"\x02" else "little") in fitting


def _is_binary(head: bytes) -> bool:
    return b"\0" in head or head.startswith((b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))


def diagnose_version(program: str, seen: VersionSeen) -> Diagnosis | None:
    """Warn about a runtime that is known to be too old."""
    runtime = runtime_of(program)
    if runtime is None or not runtime.oldest or not seen.version:
        return None
    major = major_of(seen.version)
    if not 0 < major < runtime.oldest:
        return None
    return Diagnosis(
        "runtime-too-old",
        "runtime",
        f"{runtime.what} {seen.version} is older than {runtime.oldest}, which most servers need.",
        f"Install a newer {runtime.what}, or give the full path of one as the command.",
        (f"{program} says {seen.version}",),
    )
