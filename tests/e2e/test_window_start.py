"""The window as a process that cannot start: Qt lacks a system library, or there is no display.

Nothing appears on a screen: Qt fails before it opens a window.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

from tests.e2e import cli_process

_QT = Path(PySide6.__path__[0], "Qt")


def _skip_reason() -> str:
    """Return why Qt's xcb plugin cannot be used for these tests; empty if it can."""
    ldd = shutil.which("ldd")
    if not sys.platform.startswith("linux") or ldd is None:
        return "platform plugins of Linux"
    plugin = _QT / "plugins" / "platforms" / "libqxcb.so"
    linked = subprocess.run([ldd, plugin], capture_output=True, text=True, check=True).stdout
    missing = [line.split()[0] for line in linked.splitlines() if "not found" in line]
    return f"Qt's xcb plugin lacks {', '.join(missing)}" if missing else ""


pytestmark = pytest.mark.skipif(bool(_skip_reason()), reason=_skip_reason())

_COMMANDS = pytest.mark.parametrize("words", [(), ("--demo",), ("tour", "--out", "shots")])


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder for PATH with the only programs that MCP Lens finds: ldd and apt-get."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ldd = shutil.which("ldd")
    assert ldd, "the dynamic linker's ldd is part of glibc"
    (folder / "ldd").symlink_to(ldd)
    (folder / "apt-get").touch(mode=0o755)  # never run
    return folder


@pytest.fixture
def broken_plugin(tmp_path: Path) -> Path:
    """Return a folder with a copy of Qt's xcb plugin that needs two libraries that do not exist."""
    folder = tmp_path / "qt" / "plugins" / "platforms"
    folder.mkdir(parents=True)
    (tmp_path / "qt" / "lib").symlink_to(_QT / "lib")
    content = (_QT / "plugins" / "platforms" / "libqxcb.so").read_bytes()
    for library, missing in ((b"libxcb-icccm.so.4", b"libxcb-wrong.so.4"), (b"libX11.so.6", b"libX33.so.6")):
        assert content.count(library + b"\0") == 1
        content = content.replace(library + b"\0", missing + b"\0")
    (folder / "libqxcb.so").write_bytes(content)
    return folder


def start(programs: Path, tmp_path: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    own = ("DISPLAY", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE")
    clean = dict.fromkeys(own, "") | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "", "PATH": str(programs)}
    return cli_process.run(*words, env={**clean, **env}, cwd=tmp_path)


@_COMMANDS
def test_missing_libraries_are_named_with_the_command_that_installs_them(
    words: tuple[str, ...], programs: Path, broken_plugin: Path, tmp_path: Path
) -> None:
    done = start(programs, tmp_path, *words, QT_QPA_PLATFORM_PLUGIN_PATH=str(broken_plugin))
    sudo = "" if os.geteuid() == 0 else "sudo "
    assert done.stderr == (
        "mcp-lens: Could not open the app window: system libraries are missing (libX33.so.6, "
        f"libxcb-wrong.so.4). Install them with: {sudo}apt-get install -y libx33-6 libxcb-wrong4\n"
    )
    assert done.returncode == 2
    assert done.stdout == ""


def test_missing_libraries_are_named_on_a_system_without_apt(
    programs: Path, broken_plugin: Path, tmp_path: Path
) -> None:
    (programs / "apt-get").unlink()
    done = start(programs, tmp_path, QT_QPA_PLATFORM_PLUGIN_PATH=str(broken_plugin))
    assert done.stderr.endswith(
        "system libraries are missing (libX33.so.6, libxcb-wrong.so.4). "
        "Install the packages that contain them.\n"
    )
    assert done.returncode == 2


@_COMMANDS
@pytest.mark.parametrize(
    ("display", "reason"),
    [("", "no display is set"), (":7777", "could not connect to the display :7777")],
    ids=["no display", "unreachable display"],
)
def test_missing_display_is_the_reason_and_not_a_library(
    words: tuple[str, ...], display: str, reason: str, programs: Path, tmp_path: Path
) -> None:
    done = start(programs, tmp_path, *words, DISPLAY=display)
    assert done.stderr == (
        f"mcp-lens: Could not open the app window: {reason}. Set DISPLAY or WAYLAND_DISPLAY to a running "
        "display server. The list and call commands need no window.\n"
    )
    assert done.returncode == 2


def test_unknown_platform_plugin_is_named(programs: Path, tmp_path: Path) -> None:
    done = start(programs, tmp_path, QT_QPA_PLATFORM="nonsense")
    assert done.stderr.startswith("mcp-lens: Could not open the app window: ")
    assert '"nonsense"' in done.stderr
    assert "libxcb" not in done.stderr
    assert done.returncode == 2


_IMPORT_FAILS = """
import sys
sys.modules["PySide6.QtWidgets"] = None  # as if a library of it could not be loaded
from inspector.cli.main import main
sys.exit(main([]))
"""


def test_missing_libraries_are_named_when_qt_cannot_be_imported(
    programs: Path, broken_plugin: Path, tmp_path: Path
) -> None:
    env = {"PATH": str(programs), "QT_QPA_PLATFORM_PLUGIN_PATH": str(broken_plugin), "QT_QPA_PLATFORM": ""}
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_FAILS],
        env={**os.environ, "WAYLAND_DISPLAY": "", "HOME": str(tmp_path), **env},
        capture_output=True,
        text=True,
    )
    assert "system libraries are missing (libX33.so.6, libxcb-wrong.so.4)" in done.stderr
    assert done.returncode == 2
