"""Reasons why Qt cannot open a window: missing system libraries, or no display.

Qt reports neither well: it names `libxcb-cursor0` whatever is missing, and then aborts the process. Must not
import QtWidgets or QtGui, which may be what cannot be loaded.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import UserError

if TYPE_CHECKING:
    from PySide6.QtCore import QMessageLogContext, QtMsgType

_EXIT_CODE = 2  # of a command that failed, as in `cli.output`
_WITHOUT_WINDOW = "The list and call commands need no window."
_TRIED = re.compile(r'platform plugin "([\w-]+)"')
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found$", re.MULTILINE)
_DISPLAY = "could not connect to display"
# Debian Policy 8.1 forms a package name from the name of the library; these packages are older.
_OLD_PACKAGES = {
    **dict.fromkeys((f"libg{part}-2.0.so.0" for part in ("lib", "thread", "object", "io")), "libglib2.0-0"),
    "libz.so.1": "zlib1g",
}


def import_failure(exc: ImportError) -> UserError:
    """Return the error for modules of Qt that cannot be imported, with all missing libraries."""
    return _libraries_failure(missing_libraries([_configured_platform()])) or UserError(
        f"Could not open the app window: {exc}.",
        f"Install the missing packages; in a checkout, ./packaging/run does that. {_WITHOUT_WINDOW}",
    )


def start_failure(messages: Iterable[str]) -> UserError:
    """Return the error for a QApplication that cannot be created, from the messages of Qt."""
    lines = [line for message in messages for line in message.splitlines()]
    tried = [match[1] for line in lines if (match := _TRIED.search(line))]
    if failure := _libraries_failure(missing_libraries(tried or [_configured_platform()])):
        return failure
    if display := next((line for line in lines if _DISPLAY in line), None):
        name = os.environ.get("WAYLAND_DISPLAY") or display.partition(_DISPLAY)[2].strip()
        reason = f"could not connect to the display {name}" if name else "no display is set"
        return UserError(
            f"Could not open the app window: {reason}.",
            f"Set DISPLAY or WAYLAND_DISPLAY to a running display server. {_WITHOUT_WINDOW}",
        )
    reasons = [line for line in lines if line and "xcb-cursor0" not in line]
    return UserError(f"Could not open the app window: {' '.join(reasons)}", _WITHOUT_WINDOW)


@contextlib.contextmanager
def reports_start_failure() -> Iterator[None]:
    """Wrap the creation of the QApplication: if Qt fails, print the reason and exit.

    Qt aborts the process after its last message, so the exit must happen while that message is handled.
    """
    from PySide6.QtCore import QtMsgType, qFormatLogMessage, qInstallMessageHandler

    messages: list[str] = []

    def handle(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        messages.append(qFormatLogMessage(kind, context, message))
        if kind is QtMsgType.QtFatalMsg:
            _write(f"mcp-lens: {start_failure(messages)}\n")
            os._exit(_EXIT_CODE)

    previous = qInstallMessageHandler(handle)
    try:
        yield
    finally:
        qInstallMessageHandler(previous)
        for message in messages:  # warnings of a successful start
            _write(f"{message}\n")


def missing_libraries(platforms: Iterable[str]) -> list[str]:
    """Return the libraries that Qt and these platform plugins need and that are not installed."""
    ldd = shutil.which("ldd")
    files = [path for path in _qt_files(platforms) if path.is_file()]
    if ldd is None or not files or not sys.platform.startswith("linux"):
        return []
    import subprocess

    command = [ldd, *map(str, files)]
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=env)
    return sorted(set(_NOT_FOUND.findall(done.stdout)))


def debian_package(library: str) -> str:
    """Return the package of a library, as Debian Policy 8.1 names it: libX11.so.6 is in libx11-6."""
    if library in _OLD_PACKAGES:
        return _OLD_PACKAGES[library]
    name, _, version = library.partition(".so.")
    return f"{name}{'-' if name[-1:].isdigit() else ''}{version}".lower()


def _libraries_failure(missing: list[str]) -> UserError | None:
    if not missing:
        return None
    if shutil.which("apt-get"):
        packages = " ".join(sorted(set(map(debian_package, missing))))
        sudo = "" if os.geteuid() == 0 else "sudo "
        advice = f"Install them with: {sudo}apt-get install -y {packages}"
    else:
        advice = "Install the packages that contain them."
    return UserError(
        f"Could not open the app window: system libraries are missing ({', '.join(missing)}).", advice
    )


def _configured_platform() -> str:
    """Return the platform plugin that Qt tries first on Linux."""
    fallback = "wayland" if os.environ.get("WAYLAND_DISPLAY") else "xcb"
    return re.split("[:;]", os.environ.get("QT_QPA_PLATFORM", ""))[0] or fallback


def _qt_files(platforms: Iterable[str]) -> Iterator[Path]:
    try:
        import PySide6
    except ImportError:
        return
    folder = Path(PySide6.__path__[0])
    yield folder / "QtWidgets.abi3.so"
    plugins = os.environ.get("QT_QPA_PLATFORM_PLUGIN_PATH") or folder / "Qt/plugins/platforms"
    for platform in platforms:
        yield Path(plugins) / f"libq{platform}.so"


def _write(text: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            sys.stderr.write(text)
            sys.stderr.flush()
