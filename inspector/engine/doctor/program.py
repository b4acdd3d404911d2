"""Looks at what a command would start, without starting it."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from inspector.base.errors import ConnectFailed
from inspector.transport.program import Command, child_environment, find_program

_HEAD = 256  # bytes of the file to read


@dataclass(frozen=True, slots=True)
class ProgramSeen:
    """The file that a command would start; if `found` is empty, `problem` says why.

    `elsewhere` are files of that name outside the PATH. `head` are the first bytes of the file;
    `interpreter` is from its `#!` line.
    """

    name: str
    found: str = ""
    problem: str = ""
    is_path: bool = False
    path: str = ""  # the path checked, if the command is a path
    exists: bool = False
    is_folder: bool = False
    elsewhere: tuple[str, ...] = ()
    cwd: str = ""
    is_cwd_there: bool = True
    head: bytes = b""
    interpreter: str = ""
    is_interpreter_there: bool = True
    can_interpreter_run: bool = True


def look_at(command: Command) -> ProgramSeen:
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
    return ProgramSeen(
        name=name,
        found=found,
        problem=problem,
        is_path=is_path,
        path=path,
        exists=os.path.exists(path) if path else bool(found),
        is_folder=os.path.isdir(path) if path else False,
        elsewhere=() if found or is_path else tuple(_elsewhere(name, env)),
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


def _elsewhere(name: str, env: Mapping[str, str]) -> list[str]:
    if not name or os.path.basename(name) != name:
        return []
    home = env.get("HOME") or os.path.expanduser("~")
    found: dict[str, None] = {}
    for place in _PLACES:
        pattern = glob.escape(home) + place[1:] if place.startswith("~") else place
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
