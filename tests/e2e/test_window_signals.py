"""The window as a process: what ends it, and what remains afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

_TIMEOUT = 100.0
pytestmark = pytest.mark.timeout(3 * _TIMEOUT)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_and_leaves_no_process(number: signal.Signals, tmp_path: Path) -> None:
    env = os.environ | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    window = subprocess.Popen(
        [sys.executable, "-P", "-m", "inspector", "--demo"], env=env, stderr=subprocess.PIPE
    )
    try:
        servers = _wait_for_servers(psutil.Process(window.pid))
        window.send_signal(number)
        _, reported = window.communicate(timeout=_TIMEOUT)
    finally:
        window.kill()
        window.wait()
    assert window.returncode == 0
    assert b"Traceback" not in reported
    _, alive = psutil.wait_procs(servers, timeout=_TIMEOUT)
    assert alive == []


def _wait_for_servers(window: psutil.Process) -> list[psutil.Process]:
    """Wait until the demo servers run, by polling the process table."""
    deadline = time.monotonic() + _TIMEOUT
    while time.monotonic() < deadline:
        servers = [child for child in window.children(recursive=True) if _is_demo(child)]
        if len(servers) >= 4:
            return servers
        time.sleep(0.05)
    raise AssertionError("the demo servers did not start")


def _is_demo(process: psutil.Process) -> bool:
    try:
        return "inspector.demo" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


# Ends Qt's loop from inside when the servers run, as Qt itself does when the display goes away.
_LOSE_THE_DISPLAY = """
import sys
from PySide6.QtCore import QTimer
import inspector.app.main as main
make_frontend = main.make_frontend
def make_and_lose(layout):
    frontend = make_frontend(layout)
    def look():
        views = frontend.window.servers.model.views()
        if sum(view.pid is not None for view in views) >= 3 and len(views) >= 4:
            frontend.qt.exit(1)
    timer = QTimer(frontend.window, interval=50)
    timer.timeout.connect(look)
    timer.start()
    return frontend
main.make_frontend = make_and_lose
sys.exit(main.run_window(True, None))
"""


def test_window_that_loses_its_display_leaves_no_process(tmp_path: Path) -> None:
    env = os.environ | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    window = subprocess.Popen(
        [sys.executable, "-P", "-c", _LOSE_THE_DISPLAY], env=env, stderr=subprocess.PIPE
    )
    try:
        servers = _wait_for_servers(psutil.Process(window.pid))
        _, reported = window.communicate(timeout=_TIMEOUT)
    finally:
        window.kill()
        window.wait()
    assert window.returncode == 1, reported.decode()
    _, alive = psutil.wait_procs(servers, timeout=_TIMEOUT)
    assert alive == []
