"""A server that ignores the end of stdin keeps nothing from ending: disconnecting, the CLI, the window."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.engine import Engine
from inspector.engine.settings import SettingsStore
from tests.e2e.cli_process import run, script
from tests.windows.test_processes import wait_for_end

pytestmark = pytest.mark.timeout(300)


def stubborn(pids: Path) -> list[str]:
    """Return the command of a server that runs on when stdin ends, as does its child. It writes both pids."""
    body = f"""
import threading
child = subprocess.Popen([sys.executable, "-c", "import threading; threading.Event().wait()"])
with open({str(pids)!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
tool = {{"name": "wait", "inputSchema": {{"type": "object"}}}}
for request in requests(**{{"tools/list": {{"tools": [tool]}}}}):
    pass
threading.Event().wait()
"""
    return script(body)[1:]


def read_pids(path: Path) -> tuple[int, int]:
    server, child = path.read_text().split()
    return int(server), int(child)


async def test_server_that_ignores_the_end_of_stdin_can_be_disconnected_and_restarted(tmp_path: Path) -> None:
    program, *args = stubborn(tmp_path / "pids")
    engine = Engine(settings=SettingsStore(defaults={"connections.connectTimeout": 90}))
    engine.servers.add(StdioEntry(name="srv", command=program, args=tuple(args)))
    await engine.servers.connector.connect("srv")
    first = read_pids(tmp_path / "pids")
    await engine.servers.connector.disconnect("srv")
    wait_for_end(*first)
    await engine.servers.connector.connect("srv")
    second = read_pids(tmp_path / "pids")
    assert psutil.pid_exists(second[0])
    await engine.close()
    wait_for_end(*second)


def test_command_line_ends_although_the_server_ignores_the_end_of_stdin(tmp_path: Path) -> None:
    done = run("list", "tools", "--connect-timeout", "90", "--", *stubborn(tmp_path / "pids"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "wait" in done.stdout
    wait_for_end(*read_pids(tmp_path / "pids"))


# Closes the window once the server is connected.
WINDOW = """
import os, sys
from pathlib import Path
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from PySide6.QtCore import QTimer
import inspector.app.main as main
from inspector.engine.views import ServerStatus
from tests.helpers.servers import timeouts
make_frontend = main.make_frontend
def make_and_close(layout):
    frontend = make_frontend(layout)
    def look():
        if any(view.status is ServerStatus.CONNECTED for view in frontend.window.servers.model.views()):
            timer.stop()
            frontend.window.close()
    timer = QTimer(frontend.window, interval=50)
    timer.timeout.connect(look)
    timer.start()
    return frontend
main.make_frontend = make_and_close
sys.exit(main.run_window(False, Path(sys.argv[1])))
"""


def test_window_closes_although_the_server_ignores_the_end_of_stdin(tmp_path: Path) -> None:
    program, *args = stubborn(tmp_path / "pids")
    config = tmp_path / "servers.json"
    config.write_text(
        json.dumps({"mcpServers": {"srv": {"command": program, "args": args, "autoConnect": True}}})
    )
    folders = {name: str(tmp_path) for name in ("APPDATA", "LOCALAPPDATA", "USERPROFILE")}
    window = subprocess.run(
        [sys.executable, "-c", WINDOW, str(config)],
        env=os.environ | folders,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert window.returncode == 0, window.stderr.decode(errors="replace")
    wait_for_end(*read_pids(tmp_path / "pids"))
