"""Evidence and diagnoses about a command: its file, interpreter and runtime version.

Looks up what a command would start without starting it. Only known runtimes (Node.js, Python, uv, Docker,
…) are run, to ask for their version.
"""

from __future__ import annotations

import asyncio
import contextlib
import glob
import os
import platform
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.base.errors import ConnectFailed
from inspector.base.plain_text import one_line
from inspector.engine.doctor.results import Diagnosis
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.process import ChildProcess, Command, child_environment, find_program, within

_HEAD = 256  # bytes of the file to read


@dataclass(frozen=True, slots=True)
class ProgramInfo:
    """The file that a command would start; if `found` is empty, `problem` says why.

    `alternative` are files of that name outside the PATH. `head` are the first bytes of the file;
    `interpreter` is from its `#!` line.
    """

    name: str
    found: str = ""
    problem: str = ""
    is_path: bool = False
    path: str = ""  # the path checked, if the command is a path
    exists: bool = False
    is_folder: bool = False
    alternative: tuple[str, ...] = ()
    cwd: str = ""
    is_cwd_there: bool = True
    head: bytes = b""
    interpreter: str = ""
    is_interpreter_there: bool = True
    can_interpreter_run: bool = True


def inspect_program(command: Command) -> ProgramInfo:
    """Look up the program. Blocking but quick: a few file system calls."""
    name = os.path.expanduser(command.argv[0]) if command.argv else ""
    is_path = os.sep in name or bool(os.altsep and os.altsep in name)
    path = os.path.abspath(os.path.join(command.cwd, name)) if is_path else ""
    env = child_environment(command.env)
    found = problem = ""
    try:
        found = find_program(command, env.get("PATH", os.defpath))
    except ConnectFailed as exc:
        problem = exc.summary
    head = _head(found or path)
    interpreter = _interpreter(head)
    return ProgramInfo(
        name=name,
        found=found,
        problem=problem,
        is_path=is_path,
        path=path,
        exists=os.path.exists(path) if path else bool(found),
        is_folder=os.path.isdir(path) if path else False,
        alternative=() if found or is_path else tuple(_find_alternative(name, env)),
        cwd=command.cwd,
        is_cwd_there=not command.cwd or os.path.isdir(command.cwd),
        head=head,
        interpreter=interpreter,
        is_interpreter_there=not interpreter or os.path.exists(interpreter),
        can_interpreter_run=not interpreter or os.access(interpreter, os.X_OK),
    )


# Install locations that are usually on a terminal's PATH but not on that of a GUI app.
_PLACES = (
    *("~/.local/bin", "~/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.volta/bin", "~/.asdf/shims"),
    *("~/.nvm/versions/node/*/bin", "~/.fnm/node-versions/*/installation/bin", "~/.local/share/mise/shims"),
    *("~/.pyenv/shims", "~/miniconda3/bin", "~/anaconda3/bin", "/opt/homebrew/bin", "/usr/local/bin"),
    *("/usr/bin", "/snap/bin", "/home/linuxbrew/.linuxbrew/bin"),
)


def _find_alternative(name: str, env: Mapping[str, str]) -> list[str]:
    if not name or os.path.basename(name) != name:
        return []
    home = env.get("HOME") or os.path.expanduser("~")
    found: dict[str, None] = {}
    for location in _PLACES:
        pattern = glob.escape(home) + location[1:] if location.startswith("~") else location
        for folder in sorted(glob.glob(pattern), reverse=True):  # newest version first
            if (file := shutil.which(name, path=folder)) is not None:
                found[file] = None
    if (file := shutil.which(name)) is not None:  # on our own PATH, but not on the configured one
        found[file] = None
    return list(found)


def _head(path: str) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):  # reading a FIFO or a device could block forever
            with open(path, "rb") as file:
                return file.read(_HEAD)
    return b""


def _interpreter(head: bytes) -> str:
    if not head.startswith(b"#!"):
        return ""
    line = head[2:].partition(b"\n")[0].decode(errors="replace").lstrip(" ")
    return line.partition(" ")[0]


_STEP = "command"


def diagnose_program(info: ProgramInfo) -> Diagnosis | None:
    """Return None if the command can be started, as far as its file shows."""
    if not info.name:
        return Diagnosis(
            "no-command", _STEP, "There is no command to start.", "Edit the server and enter one."
        )
    if not info.is_cwd_there:
        return Diagnosis(
            "folder-missing",
            _STEP,
            f"The working directory {info.cwd} does not exist.",
            "Create it, or change the server's working directory.",
        )
    if info.found:
        return _file(info)
    return _path(info) if info.is_path else _name(info)


def _name(info: ProgramInfo) -> Diagnosis:
    name = one_line(info.name)
    if any(character.isspace() for character in info.name):
        first, *rest = info.name.split()
        return Diagnosis(
            "line-as-command",
            _STEP,
            f"The whole line “{name}” is set as the command; no shell splits it.",
            f"Use “{one_line(first)}” as the command and “{one_line(' '.join(rest))}” as its arguments.",
        )
    runtime = runtime_of(info.name)
    if info.alternative:
        locations = ", ".join(info.alternative[:3])
        return Diagnosis(
            "not-on-path",
            _STEP,
            f"{name} is not on the server's PATH, but there is one in "
            f"{os.path.dirname(info.alternative[0])}.",
            f"Use its full path, {info.alternative[0]}, as the command, or set PATH for the server.",
            (f"Found: {locations}",),
        )
    if runtime is not None:
        return Diagnosis(
            "runtime-missing",
            _STEP,
            f"{name} was not found on PATH or in the usual places: {_missing(runtime)}.",
            f"{runtime.install}, then run Doctor again.",
        )
    return Diagnosis(
        "command-missing",
        _STEP,
        f"No program named {name} on PATH.",
        "Check the spelling, install it, or use its full path.",
    )


def _missing(runtime: Runtime) -> str:
    _, _, whole = runtime.what.partition(", part of ")
    if whole:
        return f"it is part of {whole}, which is not installed"
    return f"{runtime.what} is not installed"


def _path(info: ProgramInfo) -> Diagnosis:
    if not info.exists:
        return Diagnosis(
            "file-missing",
            _STEP,
            f"File not found: {info.path}.",
            "Check the path. Relative paths start at the server's working directory.",
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


def _file(info: ProgramInfo) -> Diagnosis | None:
    """Check whether the system can run the file."""
    if info.interpreter:
        return _script(info)
    if info.head.startswith(b"\x7fELF") and not _fits_here(info.head):
        return Diagnosis(
            "wrong-machine",
            _STEP,
            f"{info.found} was built for a different processor than this {platform.machine()}.",
            "Install the build for this machine.",
        )
    if info.head and not _is_binary(info.head):
        return Diagnosis(
            "no-first-line",
            _STEP,
            f"{info.found} is a script without a shebang line.",
            "Add a first line such as #!/usr/bin/env python3, or use the interpreter as the command.",
        )
    return None


def _script(info: ProgramInfo) -> Diagnosis | None:
    first_line = info.head.partition(b"\n")[0]
    if first_line.endswith(b"\r"):
        return Diagnosis(
            "windows-line-ends",
            _STEP,
            f"{info.found} has Windows line endings, so the system looks for an interpreter whose name "
            "ends in a carriage return.",
            "Save it with Unix line endings (dos2unix, or “LF” in the editor).",
            (one_line(first_line.decode(errors="replace")),),
        )
    if not info.is_interpreter_there:
        return Diagnosis(
            "interpreter-missing",
            _STEP,
            f"{info.found} needs the interpreter {one_line(info.interpreter)}, which does not exist.",
            "Fix its first line, or install that interpreter. If you moved a virtual environment, "
            "recreate it: its scripts contain old paths.",
        )
    if not info.can_interpreter_run:
        return Diagnosis(
            "interpreter-not-executable",
            _STEP,
            f"{info.found} needs the interpreter {one_line(info.interpreter)}, which is not executable.",
            "Fix its first line, or make the interpreter executable.",
        )
    return None


# ELF e_machine by `platform.machine`.
_MACHINES = {"x86_64": (62, 3), "amd64": (62, 3), "aarch64": (183, 40), "arm64": (183, 40)}


def _fits_here(head: bytes) -> bool:
    matching = _MACHINES.get(platform.machine().lower())
    if matching is None or len(head) < 20:
        return True  # unknown
    return int.from_bytes(head[18:20], "big" if head[5:6] == b"\x02" else "little") in matching


def _is_binary(head: bytes) -> bool:
    return b"\0" in head or head.startswith((b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"))


def diagnose_version(program: str, info: VersionInfo) -> Diagnosis | None:
    """Warn about a runtime that is known to be too old."""
    runtime = runtime_of(program)
    if runtime is None or not runtime.oldest or not info.version:
        return None
    major = major_of(info.version)
    if not 0 < major < runtime.oldest:
        return None
    return Diagnosis(
        "runtime-too-old",
        "runtime",
        f"{runtime.what} {info.version} is older than {runtime.oldest}, which most servers need.",
        f"Install a newer {runtime.what}, or use the full path of a newer one as the command.",
        (f"{program} says {info.version}",),
    )


_LIMIT = 5.0
_MAX_COUNT = 4096


@dataclass(frozen=True, slots=True)
class Runtime:
    """A known runtime.

    `oldest` is the oldest major version that current servers and SDKs support, 0 if irrelevant.
    """

    what: str
    install: str
    oldest: int = 0


_NODE = "Install Node.js (nodejs.org)"
_UV = "Install uv (docs.astral.sh/uv)"
RUNTIMES = {
    "node": Runtime("Node.js", _NODE, 18),
    "npx": Runtime("npx, part of Node.js", _NODE),
    "npm": Runtime("npm, part of Node.js", _NODE),
    "bun": Runtime("Bun", "Install Bun (bun.sh)"),
    "bunx": Runtime("bunx, part of Bun", "Install Bun (bun.sh)"),
    "deno": Runtime("Deno", "Install Deno (deno.com)"),
    "python": Runtime("Python", "Install Python, or use python3"),
    "python3": Runtime("Python", "Install Python (python.org)"),
    "uv": Runtime("uv", _UV),
    "uvx": Runtime("uvx, part of uv", _UV),
    "pipx": Runtime("pipx", "Install pipx (pipx.pypa.io)"),
    "docker": Runtime("Docker", "Install Docker (docs.docker.com)"),
    "podman": Runtime("Podman", "Install Podman (podman.io)"),
    "java": Runtime("Java", "Install a Java runtime"),
    "dotnet": Runtime(".NET", "Install .NET (dot.net)"),
    "go": Runtime("Go", "Install Go (go.dev)"),
    "ruby": Runtime("Ruby", "Install Ruby"),
}
_FLAGS = {"go": "version"}


def runtime_of(program: str) -> Runtime | None:
    """Return the known runtime of a command by name, None for any other program."""
    return RUNTIMES.get(_stem(program))


def _stem(program: str) -> str:
    name = re.split(r"[/\\]", program)[-1].lower()
    name = re.sub(r"\.(exe|cmd|bat)$", "", name)
    return "python3" if re.fullmatch(r"python3\.\d+", name) else name


def is_installer(program: str) -> bool:
    """True if it may have to download the server before starting it."""
    return _stem(program) in ("npx", "npm", "bunx", "uv", "uvx", "pipx", "docker", "podman")


def major_of(version: str) -> int:
    """Return 20 for "v20.11.1", 0 if there is no number."""
    match = re.search(r"\d+", version)
    return int(match[0]) if match else 0


@dataclass(frozen=True, slots=True)
class VersionInfo:
    version: str = ""
    problem: str = ""


async def version_of(program: str, command: Command, guard: OrphanGuard) -> VersionInfo:
    """Ask a known runtime for its version. Nothing else is ever started here."""
    listener = _Listener()
    flag = _FLAGS.get(_stem(program), "--version")
    requested = Command((program, flag), command.env, command.cwd)
    try:
        child = await ChildProcess.start(requested, listener, guard)
    except ConnectFailed as exc:
        return VersionInfo(problem=exc.summary)
    try:
        is_over = await within(_LIMIT, listener.exited)
    finally:
        await child.stop()
    reported = next((line for line in listener.text().splitlines() if line.strip()), "")
    if not is_over:
        return VersionInfo(problem=f"It did not report its version within {_LIMIT:g} s.")
    if not listener.is_success:
        return VersionInfo(
            problem=f"{os.path.basename(program)} {flag} {listener.status}: {one_line(reported)[:200]}"
        )
    return VersionInfo(one_line(reported)[:80])


class _Listener:
    """Collects the beginning of a process's output."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.status = ""
        self._output = b""

    @property
    def is_success(self) -> bool:
        return self.status.endswith("code 0")

    def text(self) -> str:
        return self._output.decode(errors="replace")

    def on_started(self, pid: int) -> None:
        pass

    def on_stdout(self, data: bytes) -> None:
        self._output = (self._output + data)[:_MAX_COUNT]

    def on_stderr(self, data: bytes) -> None:
        self._output = (self._output + data)[:_MAX_COUNT]

    def on_stdout_closed(self) -> None:
        pass

    def on_exit(self, status: str) -> None:
        self.status = status
        self.exited.set()
