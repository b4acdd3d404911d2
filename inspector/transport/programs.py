"""Commands and their programs: search on PATH, start options, start errors, and Windows batch files.

The current directory is never searched: its files are not trusted. `CreateProcess` runs a batch file with
cmd.exe, which parses the arguments again with rules of its syntax ("BatBadBut", CVE-2024-24576). So the
batch files of npm are replaced by what they start, Node.js with a script; for others the command line is
quoted for cmd.exe. The platform is an argument, so that the rules of Windows can be tested anywhere.
"""

from __future__ import annotations

import contextlib
import ntpath
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspector.base.environment import IS_WINDOWS, child_environment, value_of
from inspector.base.errors import ConnectFailed
from inspector.base.plain_text import one_line
from inspector.base.search_path import extend_from_registry, folders_in, server_environment

# What CreateProcess can start. PATHEXT also lists script types, which only the shell opens.
_STARTABLE = (".com", ".exe", ".bat", ".cmd")
_BATCH = (".bat", ".cmd")
_MAX_SHIM_SIZE = 16 * 1024
MAX_BATCH_LINE = 8191  # characters of a command line that cmd.exe accepts
# Creation flags. The second: Ctrl+C in our terminal does not reach it. The third: its console has no window.
_CREATE_SUSPENDED, _CREATE_NEW_PROCESS_GROUP, _CREATE_NO_WINDOW = 0x4, 0x200, 0x8000000


@dataclass(frozen=True, slots=True)
class Command:
    """A command to start, as configured.

    `env` are the configured environment variables. They are added to the standard variables of MCP Lens, or
    to its whole environment (`inherits_all`).
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str = ""
    inherits_all: bool = False

    def environment(self) -> dict[str, str]:
        """Return all environment variables of the process."""
        return child_environment(server_environment(), self.env, whole=self.inherits_all)


def spawn_options(*, is_windows: bool = IS_WINDOWS, is_suspended: bool = False) -> dict[str, Any]:
    """Return the `Popen` options that every child process is started with.

    On POSIX it gets a session, and with it a process group. `is_suspended`: on Windows it does not run
    until the guard has put it into a job.
    """
    if not is_windows:
        return {"start_new_session": True}
    flags = _CREATE_NO_WINDOW | _CREATE_NEW_PROCESS_GROUP
    return {"creationflags": flags | _CREATE_SUSPENDED if is_suspended else flags}


def find_program(command: Command) -> str:
    """Return the executable's path. Only the command's PATH is searched, never the working directory."""
    if not command.argv or not command.argv[0]:
        raise ConnectFailed("No command is set.", "Edit the server and enter one.")
    if command.cwd and not os.path.isdir(command.cwd):
        raise ConnectFailed(
            f"The working directory {_shown(command.cwd)} does not exist.", "Create it or edit the server."
        )
    name, environment = os.path.expanduser(command.argv[0]), command.environment()
    if is_path(name):
        path = os.path.abspath(os.path.join(command.cwd, name))
        return _check_file(path, suffixes_in(environment))
    found = find_on_path(name, environment)
    if found is None and extend_from_registry():  # it may have been installed since the start
        found = find_on_path(name, command.environment())
    if found is None:
        raise ConnectFailed(
            f"Could not start {one_line(name)}: not found on PATH.",
            "Check the spelling, install the program, or set its full path in Edit server….",
        )
    return found


def _check_file(path: str, suffixes: Sequence[str]) -> str:
    for candidate in candidates(path, suffixes):
        if os.path.exists(candidate) and not os.path.isdir(candidate) and os.access(candidate, os.X_OK):
            return candidate
    if not os.path.exists(path):
        raise ConnectFailed(f"File not found: {_shown(path)}.", "Check the path.")
    if os.path.isdir(path):
        raise ConnectFailed(f"{_shown(path)} is a folder, not a program.", "Use the program inside it.")
    if "" not in suffixes:
        raise _not_startable(path)
    raise ConnectFailed(
        f"The file {_shown(path)} is not executable.",
        f"Make it executable (chmod +x {os.path.basename(path)}), or start it with its interpreter.",
    )


def check_interpreter(program: str, environment: Mapping[str, str]) -> None:
    """Raise ConnectFailed if a script starts with `#!/usr/bin/env X` and X is not on its PATH.

    The script would start, and `env` would exit with code 127.
    """
    name = env_program(read_head(program)) if os.name == "posix" else ""
    if name and find_on_path(name, environment) is None:
        raise ConnectFailed(
            f"Could not start {_shown(program)}: it is a script that needs {one_line(name)}, which is not on "
            "the server's PATH.",
            f"Run Doctor to find {one_line(name)}, install it, or add its folder to the variable PATH in "
            "Edit server….",
        )


def read_head(path: str) -> bytes:
    """Return the first bytes of a program; none if it cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path):  # reading a FIFO or a device could block forever
            with open(path, "rb") as file:
                return file.read(256)
    return b""


def env_program(head: bytes) -> str:
    """Return the program that `env` looks up for a script, from the script's first bytes.

    "" if it is not a script of `env`, or if its PATH is not that of the server.
    """
    if not head.startswith(b"#!"):
        return ""
    words = head[2:].partition(b"\n")[0].decode(errors="replace").split()
    if len(words) < 2 or os.path.basename(words[0]) != "env":
        return ""
    words = words[1:]
    if words[0] in ("-S", "--split-string") or words[0].startswith("-S"):
        words = [words[0].removeprefix("-S").removeprefix("--split-string"), *words[1:]]
    for word in filter(None, words):
        name, equals, _ = word.partition("=")
        if word.startswith("-") or name == "PATH" or "/" in name:
            return ""  # other options, another PATH, or a path
        if not equals:
            return word
    return ""


def _shown(path: str) -> str:
    """Return a path as part of a message; `repr` would double the backslashes of Windows."""
    return f"'{one_line(path)}'"


def is_path(name: str, *, is_windows: bool = IS_WINDOWS) -> bool:
    """True if the command names a file instead of a program on PATH. `C:x` depends on a drive's folder."""
    return any(separator in name for separator in ("/\\:" if is_windows else "/"))


def suffixes_in(environment: Mapping[str, str], *, is_windows: bool = IS_WINDOWS) -> tuple[str, ...]:
    """Return the suffixes of programs in the order of PATHEXT; none but "" on POSIX."""
    if not is_windows:
        return ("",)
    listed = (value_of("PATHEXT", environment, is_windows=True) or "").lower().split(";")
    return tuple(dict.fromkeys(suffix for suffix in listed if suffix in _STARTABLE)) or _STARTABLE


def candidates(name: str, suffixes: Sequence[str]) -> list[str]:
    """Return the file names that a command can mean: with a suffix appended, unless it has one."""
    appended = [name + suffix for suffix in suffixes]
    return [name, *appended] if "" not in suffixes and name.lower().endswith(tuple(suffixes)) else appended


def find_file(name: str, folders: Iterable[str], suffixes: Sequence[str]) -> str | None:
    """Return the first program of that name in the folders."""
    for folder in folders:
        for candidate in candidates(name, suffixes):
            path = os.path.join(folder, candidate)
            if _is_program(path):
                return path
    return None


def find_on_path(name: str, environment: Mapping[str, str]) -> str | None:
    """Return the program of that name on the PATH of an environment."""
    path = value_of("PATH", environment)
    return find_file(name, folders_in(os.defpath if path is None else path), suffixes_in(environment))


def _is_program(path: str) -> bool:
    try:
        return os.path.exists(path) and not os.path.isdir(path) and os.access(path, os.X_OK)
    except ValueError:  # a null byte
        return False


def is_batch_file(program: str) -> bool:
    # Windows ignores dots and spaces at the end of a name.
    return program.rstrip(". ").lower().endswith(_BATCH)


def windows_arguments(
    program: str, args: Sequence[str], environment: Mapping[str, str]
) -> tuple[str, ...] | str:
    """Return the `args` of Popen on Windows: a list, or the command line of a batch file.

    Raises ValueError if cmd.exe cannot get an argument unchanged.
    """
    if not is_batch_file(program):
        return (program, *args)
    with contextlib.suppress(OSError):
        if (command := resolve_shim(program, environment)) is not None:
            return (*command, *args)
    return batch_command_line(program, args, environment)


def batch_command_line(program: str, args: Sequence[str], environment: Mapping[str, str]) -> str:
    """Return the command line that runs a batch file with exactly these arguments. Raises ValueError."""
    if '"' in program or program.endswith("\\"):
        raise ValueError(f"{program!r} is not the name of a batch file")
    words = " ".join(_quote(word) for word in (program, *args))
    line = f'"{command_interpreter(environment)}" /d /e:on /v:off /c "{words}"'
    if len(line) > MAX_BATCH_LINE:
        raise ValueError(
            f"its command line has {len(line):,} characters; a batch file accepts {MAX_BATCH_LINE:,}"
        )
    return line


def command_interpreter(environment: Mapping[str, str]) -> str:
    """Return the path of cmd.exe. COMSPEC is not used: it may name another program."""
    root = value_of("SYSTEMROOT", environment, is_windows=True) or "C:\\Windows"
    return ntpath.join(root, "System32", "cmd.exe")


def _quote(word: str) -> str:
    """Quote a word for cmd.exe and for the C runtime of the program that the batch file starts.

    cmd.exe has no escape for `%`. The empty substring of %cd% before the second `%` ends what it takes for
    the name of a variable.
    """
    for character, name in (("\r", "carriage return"), ("\n", "line feed"), ("\0", "null character")):
        if character in word:
            raise ValueError(f"an argument of a batch file contains a {name}")
    word = re.sub(r'(\\*)"', r'\1\1""', word)
    word = re.sub(r"(\\+)$", r"\1\1", word)
    return '"' + word.replace("%", "%%cd:~,%") + '"'


# The last line of a batch file that npm, yarn or corepack made for a package (cmd-shim), and the line of the
# npm and npx that come with Node.js.
_SHIM_LINE = re.compile(
    r'(?:"%_prog%"|"%~dp0\\node\.exe"|\bnode)\s+"(?:%~dp0|%dp0%)\\?(?P<script>[^"%]+\.[cm]?js)"\s+%\*\s*$',
    re.IGNORECASE,
)
_OWN_LINE = re.compile(r'"%NODE_EXE%"\s+"%(?P<variable>NP[MX]_CLI_JS)%"\s+%\*\s*$', re.IGNORECASE)
_OTHER_PROGRAM = re.compile(r'SET\s+"?_prog=(?!node"?\s*$|%dp0%\\node\.exe"?\s*$)', re.IGNORECASE)


def shim_script(text: str) -> str | None:
    """Return the script that a batch file of npm starts with Node.js, relative to the file's folder.

    None for any other batch file, and for those of pnpm that set NODE_PATH.
    """
    lines = text.splitlines()
    if any(_OTHER_PROGRAM.search(line) or "NODE_PATH" in line.upper() for line in lines):
        return None
    calls = [line for line in lines if "%*" in line]
    if len(calls) == 1 and (own := _OWN_LINE.search(calls[0])) is not None:
        variable = re.escape(own["variable"])
        found = re.search(rf'SET "{variable}=%~dp0\\?([^"%]+\.js)"', text, re.IGNORECASE)
        return found[1] if found is not None else None
    matches = [_SHIM_LINE.search(line) for line in calls]
    scripts = {match["script"] if match is not None else "" for match in matches}
    return scripts.pop() or None if len(scripts) == 1 else None


def resolve_shim(program: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the Node.js and the script that a batch file of npm starts; None if they cannot be found."""
    with open(program, encoding="utf-8", errors="replace") as file:
        script = shim_script(file.read(_MAX_SHIM_SIZE))
    if script is None:
        return None
    folder = os.path.dirname(program)
    relative = script.replace("\\", os.sep)
    files = [os.path.normpath(os.path.join(folder, relative))]
    if os.path.basename(relative).lower() in ("npm-cli.js", "npx-cli.js"):
        # An npm that was updated with `npm install -g npm` replaces the one that came with Node.js.
        prefix = os.path.join(value_of("APPDATA", environment, is_windows=True) or folder, "npm")
        files.insert(0, os.path.normpath(os.path.join(prefix, relative)))
    found = next((file for file in files if os.path.isfile(file)), None)
    node = find_file("node", [folder], (".exe",))
    if node is None:
        path = value_of("PATH", environment, is_windows=True) or ""
        node = find_file("node", folders_in(path), (".exe",))
    return (node, found) if node is not None and found is not None else None


def _not_startable(path: str) -> ConnectFailed:
    return ConnectFailed(
        f"{_shown(path)} is not a program that Windows can start.",
        "If it is a script, set its interpreter (such as python or node) as the command and the file as the "
        "first argument.",
    )


def start_error(program: str, exc: OSError | ValueError, *, is_windows: bool = IS_WINDOWS) -> ConnectFailed:
    if not isinstance(exc, OSError):  # a null byte, a lone surrogate, a variable name with "=" in it
        return ConnectFailed(
            f"Could not start {_shown(program)}: {exc}.",
            "Check its arguments, environment variables and working directory.",
        )
    if is_windows:
        return _windows_start_error(program, exc)
    if isinstance(exc, FileNotFoundError) and (interpreter := _interpreter(program)):
        return ConnectFailed(
            f"{_shown(program)} needs an interpreter that does not exist: {interpreter}.",
            "Fix its shebang line.",
        )
    if isinstance(exc, PermissionError):
        return ConnectFailed(
            f"You do not have permission to start {_shown(program)}.", "Check its permissions."
        )
    if exc.errno == 8:  # ENOEXEC: a script without a shebang line
        return ConnectFailed(
            f"{_shown(program)} is not an executable that the system can start.",
            "A script needs a shebang line such as #!/usr/bin/env python3.",
        )
    return _other_start_error(program, exc)


# By Windows error code: why a program does not start, and what to do.
_WINDOWS_ERRORS = {
    5: ("access is denied", "Check its permissions, and whether a virus scanner blocks it."),
    206: ("the command line is too long", "Use fewer or shorter arguments."),
    216: ("it is built for another CPU architecture", "Install the build for this machine."),
    225: ("a virus scanner blocks it", "Check the quarantine of the virus scanner."),
    740: ("it requires administrator rights", "Start MCP Lens as administrator, or use another program."),
    1260: ("a group policy blocks it", "Ask the administrator of this machine."),
}


def _windows_start_error(program: str, exc: OSError) -> ConnectFailed:
    code = getattr(exc, "winerror", None)
    if code == 193:  # ERROR_BAD_EXE_FORMAT
        return _not_startable(program)
    if code in _WINDOWS_ERRORS:
        reason, next_step = _WINDOWS_ERRORS[code]
        return ConnectFailed(f"Could not start {_shown(program)}: {reason}.", next_step)
    return _other_start_error(program, exc)


def _other_start_error(program: str, exc: OSError) -> ConnectFailed:
    reason = (exc.strerror or str(exc)).rstrip(".")
    return ConnectFailed(f"Could not start {_shown(program)}: {reason}.", "Check the command.")


def _interpreter(program: str) -> str:
    """Return a script's interpreter from its shebang line; "" if it is not a script."""
    line = read_head(program).partition(b"\n")[0]
    if not line.startswith(b"#!"):
        return ""
    return one_line(line[2:].decode(errors="replace").strip().partition(" ")[0])
