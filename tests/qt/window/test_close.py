"""Closing at an awkward moment, uncaught errors, and signals from the engine to the window."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from inspector.app.demo_servers import add_demo_servers
from inspector.app.runtime_hooks import report_task_errors, report_uncaught
from inspector.base.errors import UserError
from inspector.engine.views import ServerStatus
from tests.qt.lens_driver import Lens, faulty, scripted

# The `lens` fixture closes the window, and `tests/helpers/leaks.py` looks whether a process, thread, task,
# timer or widget is left: what a test here does is to make that hard.


def children() -> set[int]:
    return {each.pid for each in psutil.Process().children(recursive=True)}


def test_closing_during_calls_and_connects_leaves_nothing_behind(make_lens: Callable[[], Lens]) -> None:
    before, lens = children(), make_lens()

    def leave_in_the_middle() -> None:
        for number in range(3):
            lens.connect(scripted(f"calling {number}")).choose("steps")
            lens.do("tool.call")
        lens.add(faulty("stubborn", "silent", "grandchild=own"))
        lens.choose("stubborn")
        lens.do("server.connect")
        lens.until(lambda: lens.view("stubborn").pid is not None)
        lens.add(scripted("hardly begun"))
        lens.choose("hardly begun")
        lens.do("server.connect")
        lens.do("server.add")

    lens.play(leave_in_the_middle)
    assert children() - before == set()


def test_closing_while_a_big_result_is_read_leaves_nothing_behind(lens: Lens) -> None:
    lens.connect(scripted()).choose("big")
    lens.do("tool.call")
    lens.until(lambda: lens.actions["tool.call"].isEnabled())
    lens.do("tool.call")


def test_closing_while_the_demo_servers_start_leaves_nothing_behind(make_lens: Callable[[], Lens]) -> None:
    before, lens = children(), make_lens()

    def leave_at_once() -> None:
        lens.app.bridge.start("demo", add_demo_servers(lens.app.bridge, lens.app.demo_http))
        lens.until(lambda: lens.window.servers.model.rowCount() == 3)

    lens.play(leave_at_once)
    assert children() - before == set()


def test_removing_a_server_while_its_result_is_read_is_harmless(lens: Lens) -> None:
    lens.connect(scripted()).choose("big")
    lens.do("tool.call")
    lens.until(lambda: lens.sent("tools/call"))
    lens.until(lambda: lens.actions["tool.call"].isEnabled())
    lens.do("server.remove")
    lens.until(lambda: lens.window.workspace() is None)
    lens.settle()


IMMEDIATELY = "window.close()"
AFTER_ADDING_A_SERVER = """
window.add_commands.open()
dialog = window.findChild(AddServerDialog)
dialog.address.put("no-such-program-anywhere")
dialog.add_action.trigger()
window.servers.model.rowsInserted.connect(window.close)
"""


@pytest.mark.parametrize("moment", [IMMEDIATELY, AFTER_ADDING_A_SERVER], ids=["at once", "in use"])
def test_window_is_usable_before_the_engine_starts_and_closes_cleanly(moment: str, tmp_path: Path) -> None:
    """The real entry point in a child process: the engine loads after the window is shown."""
    code = f"""
import sys
from PySide6.QtCore import QTimer
import inspector.app.main as main
from inspector.qt.dialogs.servers.add_server import AddServerDialog

make_frontend = main.make_frontend

def made(*args):
    frontend = make_frontend(*args)
    window = frontend.window
    QTimer.singleShot(0, lambda: use(window))
    return frontend

def use(window):
{textwrap.indent(moment, "    ")}

main.make_frontend = made
sys.exit(main.run_window(False, main.Path({str(tmp_path / "servers.json")!r})))
"""
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, timeout=100, check=False
    )
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"Traceback" not in ended.stderr
    assert list(tmp_path.glob("mcp-lens-*.txt")) == [], "a crash report was written"


def test_user_errors_in_panel_tasks_are_shown_and_others_are_logged(lens: Lens) -> None:
    async def fail(error: Exception) -> None:
        raise error

    lens.app.bridge.start("failing task", fail(UserError("The disk is full.", "Make room.")))
    lens.until(lambda: lens.window.notices.text() == "The disk is full. Make room.")
    task = lens.app.bridge.start("broken", fail(ValueError("a bug of ours")))
    lens.until(task.done)
    lens.until(lambda: lens.errors.texts)
    assert "a bug of ours" in lens.errors.texts.pop()


def test_rows_cross_to_the_window_in_batches(lens: Lens) -> None:
    lens.connect(faulty("chatty"))
    lens.settle()
    lengths: list[int] = []
    lens.app.bridge.traffic_grew.connect(lengths.append)
    lens.call("floods", {"count": 5000})
    lens.until(lambda: lengths and lengths[-1] == len(lens.app.bridge.log))
    assert lens.window.traffic.model.rowCount() > 5000
    assert len(lengths) < 1000
    assert lengths == sorted(set(lengths))


def test_cancelled_wait_cancels_the_engine_task(lens: Lens) -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    task = lens.app.bridge.start("wait", lens.app.bridge.ask(lambda engine: work()))
    lens.settle()
    task.cancel()
    lens.until(lambda: ended)


@pytest.fixture
def crash_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of crash reports; the hooks are restored afterwards."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    loggers = [logging.getLogger(name) for name in ("inspector", "asyncio")]
    before = [list(logger.handlers) for logger in loggers]
    yield tmp_path
    for logger, handlers in zip(loggers, before, strict=True):
        logger.handlers[:] = handlers


def raised(text: str) -> ValueError:
    try:
        raise ValueError(text)
    except ValueError as exc:
        return exc


def test_uncaught_error_is_logged_to_a_file_and_reported(crash_folder: Path) -> None:
    reported: list[str] = []
    report_uncaught(reported.append)
    report_task_errors(reported.append)
    error = raised("a lone \udcff surrogate, as in a file name")
    sys.excepthook(type(error), error, error.__traceback__)
    (report,) = crash_folder.glob("mcp-lens-*.txt")
    assert str(report) in reported[0]
    assert "Traceback" not in reported[0]
    assert "ValueError: a lone" in report.read_text()


def test_background_task_error_is_logged_and_shown_in_the_window(lens: Lens, crash_folder: Path) -> None:
    report_uncaught(lens.app.bridge.problem_found.emit)
    report_task_errors(lens.app.bridge.problem_found.emit)

    async def break_on_engine() -> None:
        logging.getLogger("inspector.somewhere").error("task failed", exc_info=raised("a bug of ours"))

    lens.ask(lambda engine: break_on_engine())
    lens.until(lens.window.notices.isVisible)
    (report,) = crash_folder.glob("mcp-lens-*.txt")
    assert str(report) in lens.window.notices.text()
    assert "a bug of ours" in report.read_text()
    lens.errors.texts.clear()


def test_keyboard_interrupt_is_not_a_crash(crash_folder: Path) -> None:
    reported: list[str] = []
    report_uncaught(reported.append)
    report_task_errors(reported.append)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert reported == []
    assert list(crash_folder.glob("mcp-lens-*.txt")) == []


def test_demo_servers_connect_and_their_tools_can_be_called(lens: Lens) -> None:
    lens.run(add_demo_servers(lens.app.bridge, lens.app.demo_http))
    names = ["everything", "library", "faulty", "everything (http)"]
    for name in names:
        lens.wait_for(name, ServerStatus.CONNECTED)
    for name, tool in (("everything", "echo"), ("everything (http)", "echo")):
        lens.choose(name)
        lens.until(lambda: lens.tools.model.total)
        lens.call(tool, {"message": "hello"})
        assert "hello" in lens.tools.call_view.result.content.shown_text()
    lens.choose("library")
    lens.until(lambda: lens.tools.model.total == 250)
