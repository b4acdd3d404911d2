"""PATH of the servers: where it comes from, and the folders where programs are usually installed.

A desktop launcher starts MCP Lens with a short PATH: what the startup files of a shell add is missing, such
as the folders of nvm or Homebrew. So servers may get more folders than MCP Lens has; they are appended, and
the environment of MCP Lens itself is not changed. The platform is an argument, so that the rules of Windows
can be tested anywhere.
"""

from __future__ import annotations

import contextlib
import glob
import ntpath
import os
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inspector.base.units import plural

IS_WINDOWS = os.name == "nt"
# Values of the setting; any other one is a PATH.
LOGIN_SHELL, AS_STARTED = "login-shell", "as-started"
# In a PATH that the user wrote: the inherited PATH.
INHERITED = "${PATH}"
_STARTED = "as MCP Lens was started"


@dataclass(frozen=True, slots=True)
class SearchPath:
    """A PATH. `source` says where it comes from, for display.

    `is_extensible`: folders of programs that were installed since may be added (Windows).
    """

    value: str
    source: str = _STARTED
    is_extensible: bool = True


def folders_in(path: str, *, is_windows: bool = IS_WINDOWS) -> list[str]:
    """Return the absolute folders of a PATH. Others depend on the current directory and are left out."""
    if not is_windows:
        return [folder for folder in path.split(":") if posixpath.isabs(folder)]
    folders = (folder.strip().strip('"') for folder in path.split(";"))
    return [folder for folder in folders if ntpath.isabs(folder) and ntpath.splitdrive(folder)[0]]


def with_folders(
    path: str, folders: Iterable[str], *, is_windows: bool = IS_WINDOWS
) -> tuple[str, tuple[str, ...]]:
    """Return the PATH with the folders that are new appended, and these."""
    known = {_key(folder, is_windows) for folder in folders_in(path, is_windows=is_windows)}
    added: dict[str, str] = {}
    separator = ";" if is_windows else ":"
    for folder in folders:
        key = _key(folder, is_windows)
        if key not in known and separator not in folder:
            added.setdefault(key, folder)
    return separator.join(filter(None, (path, *added.values()))), tuple(added.values())


def _key(folder: str, is_windows: bool) -> str:
    return ntpath.normcase(folder).rstrip("\\") if is_windows else folder.rstrip("/")


def custom_path(text: str, started: str, home: str) -> SearchPath:
    """Return a PATH that the user wrote: `~` is the home folder, `${PATH}` the PATH at the start."""
    folders = [
        home + folder[1:] if folder == "~" or folder.startswith(("~/", "~\\")) else folder
        for folder in text.strip().split(os.pathsep)
    ]
    value = os.pathsep.join(folders).replace(INHERITED, started)
    return SearchPath(value, "custom, from Settings", is_extensible=False)


def is_path_list(text: str) -> bool:
    """True if it is a PATH that the user may write, with at least one folder."""
    if any(character in text for character in "\0\r\n"):
        return False
    return bool(folders_in(custom_path(text, os.path.abspath(os.sep), os.path.abspath(os.sep)).value))


def path_variable(configured: Iterable[str]) -> str:
    """Return the name of PATH among the variables of a server; on Windows it may be `Path`."""
    return next((name for name in configured if IS_WINDOWS and name.upper() == "PATH"), "PATH")


def path_source(configured: Mapping[str, object]) -> str:
    """Return where the PATH of a server with these environment variables comes from."""
    name, inherited = path_variable(configured), search_path().source
    if name not in configured:
        return inherited
    is_extended = any(each in str(configured[name]) for each in ("${PATH}", "${env:PATH}"))
    return f"set for this server, then {inherited}" if is_extended else "set for this server"


# The PATH that servers get instead of that of MCP Lens, for the whole process, as `os.environ` is.
_current: SearchPath | None = None


def use_search_path(path: SearchPath | None) -> None:
    """Let servers get this PATH from their next start on; None for that of MCP Lens."""
    global _current
    _current = path


def search_path() -> SearchPath:
    """Return the PATH of the servers."""
    return _current or SearchPath(started_path())


def started_path() -> str:
    """Return the PATH with which MCP Lens was started."""
    return os.environ.get("PATH", os.defpath)


def server_environment() -> Mapping[str, str]:
    """Return the environment that servers inherit from: that of MCP Lens, with the PATH of the servers."""
    return os.environ if _current is None else {**os.environ, "PATH": _current.value}


# Folders that are usually on the PATH of a terminal but not on that of a desktop launcher.
_POSIX_FOLDERS = (
    *("~/.local/bin", "~/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.volta/bin", "~/.asdf/shims"),
    *("~/.local/share/mise/shims", "~/.pyenv/shims", "~/.nodenv/shims", "~/.rbenv/shims"),
    *("~/.nvm/versions/node/*/bin", "~/.config/nvm/versions/node/*/bin"),
    *("~/.local/share/fnm/aliases/default/bin", "~/.fnm/aliases/default/bin"),
    "~/Library/Application Support/fnm/aliases/default/bin",
    *("~/.local/share/fnm/node-versions/*/installation/bin", "~/.fnm/node-versions/*/installation/bin"),
    "~/Library/Application Support/fnm/node-versions/*/installation/bin",
    *("~/.local/share/pnpm", "~/Library/pnpm", "~/.npm-global/bin", "~/go/bin", "~/.dotnet/tools"),
    *("~/.pixi/bin", "~/miniconda3/bin", "~/miniforge3/bin", "~/anaconda3/bin"),
    *("~/.docker/bin", "~/.orbstack/bin", "~/.rd/bin"),
    *("/opt/homebrew/bin", "/usr/local/bin", "/opt/local/bin", "/usr/bin", "/snap/bin"),
    *("/home/linuxbrew/.linuxbrew/bin", "~/.nix-profile/bin", "/run/current-system/sw/bin"),
)
_WINDOWS_FOLDERS = (
    *("%APPDATA%/npm", "%PROGRAMFILES%/nodejs", "%PROGRAMFILES(X86)%/nodejs"),
    *("%USERPROFILE%/scoop/shims", "%SCOOP%/shims", "%PROGRAMDATA%/scoop/shims"),
    *("%LOCALAPPDATA%/Volta/bin", "%PROGRAMFILES%/Volta"),
    *("%NVM_SYMLINK%", "%SYSTEMDRIVE%/nvm4w/nodejs", "%APPDATA%/nvm/v*", "%LOCALAPPDATA%/nvm/v*"),
    *("%APPDATA%/fnm/aliases/default", "%APPDATA%/fnm/node-versions/*/installation"),
    *("%USERPROFILE%/.local/bin", "%USERPROFILE%/.cargo/bin", "%USERPROFILE%/.bun/bin"),
    *("%USERPROFILE%/.deno/bin", "%LOCALAPPDATA%/mise/shims", "%USERPROFILE%/.pyenv/pyenv-win/shims"),
    *("%LOCALAPPDATA%/pnpm", "%LOCALAPPDATA%/Microsoft/WinGet/Links", "%PROGRAMDATA%/chocolatey/bin"),
    *("%LOCALAPPDATA%/Programs/Python/Python3*", "%LOCALAPPDATA%/Programs/Python/Python3*/Scripts"),
    *("%PROGRAMFILES%/Python3*", "%LOCALAPPDATA%/Programs/Python/Launcher", "%USERPROFILE%/miniconda3"),
    *("%PROGRAMFILES%/Docker/Docker/resources/bin", "%PROGRAMFILES%/dotnet", "%PROGRAMFILES%/Go/bin"),
)


def install_patterns(environment: Mapping[str, str], *, is_windows: bool = IS_WINDOWS) -> Iterator[str]:
    """Yield glob patterns of the usual folders of programs. Those of unset variables are left out."""
    if not is_windows:
        home = glob.escape(environment.get("HOME") or os.path.expanduser("~"))
        yield from (home + each[1:] if each.startswith("~") else each for each in _POSIX_FOLDERS)
        return
    variables = {name.upper(): value for name, value in environment.items()}
    for each in _WINDOWS_FOLDERS:
        _, name, rest = each.split("%")
        if value := variables.get(name):
            yield glob.escape(value.rstrip("\\/")) + rest.replace("/", "\\")


def installed_folders(environment: Mapping[str, str], *, newest_only: bool = False) -> list[str]:
    """Return the usual folders of programs that exist; of several versions, the newest first or only."""
    found: dict[str, None] = {}
    for pattern in install_patterns(environment):
        folders = sorted(filter(os.path.isdir, glob.glob(pattern)), key=_version_key, reverse=True)
        found |= dict.fromkeys(folders[:1] if newest_only else folders)
    return list(found)


def _version_key(path: str) -> list[tuple[int, str]]:
    """Return a sort key that puts v9 before v20."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path)]


def extend_from_registry() -> bool:
    """Windows: add the folders that were added to the PATH since MCP Lens was started.

    Return whether there are any. An installer changes the registry; running programs keep their PATH.
    """
    if not IS_WINDOWS:
        return False
    extended = extended_path(search_path(), registry_path(*_registry_variables(), os.environ))
    if extended is None:
        return False
    use_search_path(extended)
    return True


def extended_path(path: SearchPath, registered: str, *, is_windows: bool = IS_WINDOWS) -> SearchPath | None:
    """Return the PATH with the new folders of the registered one; None if there are none."""
    if not path.is_extensible:
        return None
    folders = folders_in(registered, is_windows=is_windows)
    value, added = with_folders(path.value, folders, is_windows=is_windows)
    return SearchPath(value, f"{_STARTED}, and {plural(len(added), 'folder')} added since") if added else None


def registry_path(system: Mapping[str, str], user: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Return the PATH of new processes: that of the system, then that of the user.

    Both may refer to other variables, also to ones that were set since MCP Lens was started.
    """
    variables = {name.upper(): value for each in (environment, system, user) for name, value in each.items()}
    paths = (
        value for each in (system, user) for name, value in each.items() if name.upper() == "PATH" and value
    )
    return _expanded(
        ";".join(paths), {name: _expanded(value, variables) for name, value in variables.items()}
    )


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"%([^%;]+)%", lambda match: variables.get(match[1].upper(), match[0]), text)


def _registry_variables() -> tuple[dict[str, str], dict[str, str]]:
    """Return the environment variables of the system and of the user."""
    found: list[dict[str, str]] = [{}, {}]
    if sys.platform == "win32":
        import winreg

        system = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
        keys = ((winreg.HKEY_LOCAL_MACHINE, system), (winreg.HKEY_CURRENT_USER, "Environment"))
        for values, (root, name) in zip(found, keys, strict=True):
            with contextlib.suppress(OSError), winreg.OpenKey(root, name) as key:  # there may be no such key
                for index in range(winreg.QueryInfoKey(key)[1]):
                    variable, value, _ = winreg.EnumValue(key, index)
                    if isinstance(value, str):
                        values[variable] = value
    return found[0], found[1]
