"""What to start and with which environment; every reason why it cannot be started, in words."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.base.errors import ConnectFailed
from inspector.base.plaintext import one_line

# What every program may know of the user's environment. Anything else is passed only if configured: our own
# environment holds keys and tokens that no server should see.
_ENVIRONMENT = (
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR", "TZ"]
    if os.name == "posix"
    else [
        *("APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROGRAMDATA"),
        *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
    ]
)


@dataclass(frozen=True, slots=True)
class Command:
    """What to start, as configured."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str = ""


def child_environment(configured: Mapping[str, str]) -> dict[str, str]:
    """Return the allow-listed part of our environment, overridden by the configured variables."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ} | dict(configured)


def find_program(command: Command, path: str) -> str:
    """Return the executable's path. Only the PATH is searched, never the working directory."""
    if not command.argv or not command.argv[0]:
        raise ConnectFailed("There is no command to start.", "Edit the server and give one.")
    if command.cwd and not os.path.isdir(command.cwd):
        raise ConnectFailed(
            f"The working folder {command.cwd!r} does not exist.", "Create it or edit the server."
        )
    name = os.path.expanduser(command.argv[0])
    if os.sep in name or (os.altsep and os.altsep in name):
        return _check_file(os.path.join(command.cwd, name) if command.cwd else name)
    # An empty or relative entry means the current directory, whose contents are not trusted.
    folders = os.pathsep.join(folder for folder in path.split(os.pathsep) if os.path.isabs(folder))
    found = shutil.which(name, path=folders) if folders else None
    if found is None:
        raise ConnectFailed(
            f"The command {name!r} was not found on the PATH.",
            "Check the spelling, install it, or give its full path.",
        )
    return found


def _check_file(path: str) -> str:
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise ConnectFailed(f"There is no file {path!r} to start.", "Check the path.")
    if os.path.isdir(path):
        raise ConnectFailed(f"{path!r} is a folder, not a program.", "Give the program inside it.")
    if not os.access(path, os.X_OK):
        raise ConnectFailed(
            f"The file {path!r} is not executable.",
            f"Make it executable (chmod +x {os.path.basename(path)}), or start it with its interpreter.",
        )
    return path


def start_failed(program: str, exc: OSError | ValueError) -> ConnectFailed:
    if not isinstance(exc, OSError):  # a null byte, a lone surrogate, a variable name with "=" in it
        return ConnectFailed(
            f"{program!r} cannot be started: {exc}.", "Check its arguments, variables and folder."
        )
    if isinstance(exc, FileNotFoundError) and (interpreter := _interpreter(program)):
        return ConnectFailed(
            f"{program!r} needs an interpreter that is not there: {interpreter}.", "Correct its first line."
        )
    if isinstance(exc, PermissionError):
        return ConnectFailed(f"Starting {program!r} is not permitted.", "Check its permissions.")
    if exc.errno == 8:  # ENOEXEC: a script without a #! line
        return ConnectFailed(
            f"{program!r} is not a program that the system can start.",
            "A script needs a first line such as #!/usr/bin/env python3.",
        )
    return ConnectFailed(f"Could not start {program!r}: {exc.strerror or exc}.", "Check the command.")


def _interpreter(program: str) -> str:
    """Return a script's interpreter from its first line; "" if it is not a script."""
    with contextlib.suppress(OSError), open(program, "rb") as file:
        line = file.readline(256)
        if line.startswith(b"#!"):
            return one_line(line[2:].decode(errors="replace").strip().partition(" ")[0])
    return ""
