"""The window as a process: the PATH of its servers, what ends it, and what remains afterwards."""

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


@pytest.mark.skipif(os.name != "posix", reason="Windows has no login shell")
def test_server_from_nvm_starts_when_the_window_is_started_from_the_desktop(tmp_path: Path) -> None:
    """The launcher's PATH does not have the folder; .bashrc adds it."""
    node_folder, launcher = tmp_path / ".nvm/versions/node/v22.1.0/bin", tmp_path / "launcher"
    node_folder.mkdir(parents=True)
    launcher.mkdir()
    for name in ("bash", "env", "sh"):
        (launcher / name).symlink_to(Path("/usr/bin/env" if name == "env" else f"/bin/{name}"))
    os.mkfifo(tmp_path / "started")
    for name, text in (
        ("npx", "#!/usr/bin/env node\n"),
        ("node", '#!/bin/sh\necho "$0 $* $PATH" > "$HOME/started"\n'),
    ):
        (node_folder / name).write_text(text)
        (node_folder / name).chmod(0o755)
    (tmp_path / ".bashrc").write_text(f'echo welcome\nPATH="{node_folder}:$PATH"\n')
    config = tmp_path / "servers.json"
    config.write_text('{"mcpServers": {"srv": {"command": "npx", "args": ["-y", "x"], "autoConnect": true}}}')
    env = {"HOME": str(tmp_path), "SHELL": "/bin/bash", "PATH": str(launcher), "QT_QPA_PLATFORM": "offscreen"}
    window = subprocess.Popen(
        [sys.executable, "-P", "-m", "inspector", "--config", str(config)],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        started = (tmp_path / "started").read_text()
        window.terminate()
        window.wait(_TIMEOUT)
    finally:
        window.kill()
        window.wait()
    assert started == f"{node_folder}/node {node_folder}/npx -y x {launcher}:{node_folder}\n"


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


# Passes two files as Finder does: one before the engine is up, one afterwards.
_OPEN_FILES = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtGui import QFileOpenEvent
import inspector.app.main as main
from inspector.qt.window.captures import CaptureDocks
CaptureDocks.open = lambda self, paths: print("opened", *(path.name for path in paths), flush=True)
make_frontend = main.make_frontend
def make_and_open(layout):
    frontend = make_frontend(layout)
    QTimer.singleShot(0, lambda: frontend.qt.sendEvent(frontend.qt, QFileOpenEvent("/x/early.mcpcap")))
    def look():
        if frontend.bridge.is_attached:
            timer.stop()
            frontend.qt.sendEvent(frontend.qt, QFileOpenEvent("/x/late.mcpcap"))
            frontend.window.close()
    timer = QTimer(frontend.window, interval=20)
    timer.timeout.connect(look)
    timer.start()
    return frontend
main.make_frontend = make_and_open
sys.exit(main.run_window(True, None))
"""


def test_files_that_the_desktop_passes_are_opened(tmp_path: Path) -> None:
    env = os.environ | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"}
    window = subprocess.run(
        [sys.executable, "-P", "-c", _OPEN_FILES], env=env, capture_output=True, timeout=_TIMEOUT, check=False
    )
    assert window.stdout.decode().splitlines() == ["opened early.mcpcap", "opened late.mcpcap"], window.stderr
    assert window.returncode == 0
