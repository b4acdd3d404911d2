"""Ctrl+C and Ctrl+Break in the terminal on Windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Raises a signal on another thread, as Windows does, once the engine is running.
WINDOW = """
import os, signal, sys, threading
from pathlib import Path
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QTimer
import inspector.app.main as main
make_frontend = main.make_frontend
def make_and_interrupt(layout):
    frontend = make_frontend(layout)
    def look():
        if frontend.bridge.is_attached:
            timer.stop()
            threading.Thread(target=signal.raise_signal, args=(int(sys.argv[1]),)).start()
    timer = QTimer(frontend.window, interval=50)
    timer.timeout.connect(look)
    timer.start()
    return frontend
main.make_frontend = make_and_interrupt
sys.exit(main.run_window(False, Path(sys.argv[2])))
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [2, 21], ids=["SIGINT", "SIGBREAK"])
def test_ctrl_c_closes_the_window(number: int, tmp_path: Path) -> None:
    folders = {name: str(tmp_path) for name in ("APPDATA", "LOCALAPPDATA", "USERPROFILE")}
    window = subprocess.run(
        [sys.executable, "-c", WINDOW, str(number), str(tmp_path / "servers.json")],
        env=os.environ | folders,
        capture_output=True,
        timeout=90,
        check=False,
    )
    assert window.returncode == 0, window.stderr.decode(errors="replace")
    assert b"Traceback" not in window.stderr
