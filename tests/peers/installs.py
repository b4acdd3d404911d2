"""Public packages, installed once into a cache folder that later runs reuse.

The folder is `mcp-lens-tests` in the user's cache folder, or the value of MCP_LENS_TEST_CACHE. Versions
are pinned, so that a failing test points to a change of ours.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

NODE_SERVERS = (
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
)

_LIMIT_S = 200
_CONNECT_LIMIT_S = 15


class Unavailable(Exception):
    """It cannot be installed here; the message says why."""


def npm_packages(*specs: str) -> Path:
    """Return the `node_modules` folder with these packages. Raises Unavailable."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise Unavailable("Node and npm are not installed")

    def install(folder: Path) -> None:
        # Without retries an unreachable registry is reported at once; by default npm tries for minutes.
        limits = ["--fetch-retries", "0", "--fetch-timeout", str(_CONNECT_LIMIT_S * 1000)]
        _run([npm, "install", "--no-fund", "--no-audit", *limits, "--prefix", str(folder), *specs])

    return _installed("npm", specs, install) / "node_modules"


def python_packages(*specs: str) -> Path:
    """Return the Python of a virtual environment with these packages. Raises Unavailable.

    Run its programs with `-m`: the scripts contain the folder in which they were installed.
    """

    def install(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(_python(folder)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, "--retries", "0", "--timeout", str(_CONNECT_LIMIT_S), "--only-binary", ":all:", *specs])

    return _python(_installed("python", specs, install))


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _installed(kind: str, specs: Sequence[str], install: Callable[[Path], None]) -> Path:
    """An existing folder is complete: it is filled under another name, then renamed."""
    words = (kind, sys.version, *specs)
    folder = cache_folder() / f"{kind}-{hashlib.sha256(' '.join(words).encode()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="installing-") as work:
        unfinished = Path(work, "packages")
        unfinished.mkdir()
        install(unfinished)
        if not folder.is_dir():  # another run may have been quicker
            unfinished.rename(folder)
    return folder


def _run(command: Sequence[str]) -> None:
    try:
        done = subprocess.run(
            command, env=_own_environment(), capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise Unavailable(f"could not run {command[0]}: {exc}") from exc
    if done.returncode:
        raise Unavailable(f"could not install {command[-1]}: {_cause(done.stderr)}")


def _cause(log: str) -> str:
    """Return the first error of npm or pip that names a cause."""
    lines = [line.strip() for line in log.splitlines()]
    errors = [line for line in lines if line.startswith(("ERROR:", "npm error code", "npm error errno"))]
    return (errors or lines or ["no output"])[0]


def cache_folder() -> Path:
    chosen = os.environ.get("MCP_LENS_TEST_CACHE")
    return Path(chosen) if chosen else _home_cache() / "mcp-lens-tests"


def _home_cache() -> Path:
    """Return the user's cache folder: tests have a temporary home, but packages should stay."""
    home = _home()
    return Path(home, ".cache") if home else platformdirs.user_cache_path()


def _home() -> str:
    if sys.platform == "win32":
        return ""
    import pwd

    return pwd.getpwuid(os.getuid()).pw_dir


def _own_environment() -> dict[str, str]:
    """Return the environment with the user's npm and pip settings, such as a registry."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    return {**env, "HOME": home} if (home := _home()) else env
