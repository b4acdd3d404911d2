"""Faults that the window survives: lost and damaged captures, servers that misbehave.

After each fault the window still runs its event loop, and a message names the cause and the next step.
Errors of background tasks, exceptions in slots and Qt warnings fail a test (`lens`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.exports import ExportFormat
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.qt.dialogs.traffic.compare import CompareDialog
from inspector.qt.dialogs.traffic.export import ExportDialog
from inspector.qt.dialogs.traffic.resend import ResendDialog
from inspector.qt.panels.inbox.panel import InboxPanel
from inspector.qt.panels.traffic.detail.detail_view import Tab
from inspector.qt.panels.traffic.detail.message_view import Form, RowBody
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.view_stack import View
from inspector.qt.widgets.code.save_file import BodySaver
from inspector.qt.window.tabs import OVERVIEW
from inspector.traffic.captures import recording
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, HttpExchange, RecordKind, Status
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.traffic.test_captures_window import EndlessScan, endless_scan
from tests.unit.traffic.captures.test_foreign_capture import put_hot_journal

__all__ = ["endless_scan"]

REQUESTING_SERVER = Path(__file__).parents[1] / "qt" / "inbox" / "requesting_server.py"
EXCHANGES = 3
LONG = 600_000  # stored in a chunk of its own, shown in pages, its tree built by the worker


def make_capture(path: Path, size: int) -> Path:
    """Record calls over HTTP whose requests and results have at least this size."""
    log = TrafficLog()
    server = log.add_server("elsewhere")
    for number in range(EXCHANGES):
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"text": "q" * size}}
        result = {"jsonrpc": "2.0", "id": number, "result": {"text": "r" * size}}
        at = 10 * number
        request, response = (
            log.append(server, kind, way, at, at, json.dumps(body).encode(), "tools/call", id=number)
            for kind, way, body in (
                (RecordKind.REQUEST, Direction.OUT, call),
                (RecordKind.RESULT, Direction.IN, result),
            )
        )
        log.link(request, response, Status.OK)
        http = log.append(server, RecordKind.HTTP, Direction.OUT, at, at, b"POST /mcp", "POST")
        log.set_http(
            http, HttpExchange("POST", "https://example.org/mcp", (), size, status=200, is_over=True)
        )
        log.set_carrier(request, http)
    log.publish()
    Recording(log, path).close()
    return path


def open_capture(lens: Lens, path: Path) -> TrafficPanel:
    lens.window.captures.open([path])
    lens.until(lambda: lens.window.captures.all)
    panel = lens.window.captures.all[-1].panel
    lens.until(lambda: panel.model.rowCount() >= 2 * EXCHANGES)
    return panel


def delete_chunks(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DELETE FROM chunk")
    connection.close()


def truncate(path: Path) -> None:
    os.truncate(path, 4096)  # the first page: the list of tables


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.mcpcap"))


# What happens to the file, and the cause that the window must name.
LOSSES: dict[str, tuple[Callable[[Path], object], str]] = {
    "moved": (move, "lost.mcpcap was moved or deleted"),
    "deleted": (Path.unlink, "lost.mcpcap was moved or deleted"),
    "a chunk missing": (delete_chunks, "the file is damaged there"),
    "truncated": (truncate, "database disk image is malformed"),
}


@pytest.fixture(params=LOSSES)
def loss(request: pytest.FixtureRequest) -> tuple[Callable[[Path], object], str]:
    return LOSSES[request.param]


@pytest.fixture(params=[10, LONG], ids=["short", "long"])
def size(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_message_of_a_lost_capture_shows_the_cause_in_every_form(
    lens: Lens, loss: tuple[Callable[[Path], object], str], size: int
) -> None:
    lose, cause = loss
    path = make_capture(lens.folder / "lost.mcpcap", size)
    panel = open_capture(lens, path)
    lose(path)
    panel.choose(0)
    for form in Form:
        panel.detail.message.set_form(form)
        shown = visible_text(panel.detail.message.own)
        assert "Could not be read" in shown
        assert cause in shown
    panel.detail.message.own.text_view(Form.PRETTY)  # reads by itself, as find and copy do
    panel.detail.tabs.setCurrentIndex(Tab.HTTP)
    if "missing" not in cause and "damaged" not in cause:
        assert cause in visible_text(panel.detail.http)
    for tab in (Tab.TIMING, Tab.FINDINGS, Tab.RELATED):
        panel.detail.tabs.setCurrentIndex(tab)
    panel.choose(1)
    assert cause in visible_text(panel.detail.message.own)


def test_page_of_a_message_that_is_lost_while_it_is_read_keeps_the_pages_before(lens: Lens) -> None:
    path = make_capture(lens.folder / "lost.mcpcap", LONG)
    panel = open_capture(lens, path)
    panel.choose(0)
    panel.detail.message.set_form(Form.PRETTY)
    view = panel.detail.message.own.text_view(Form.PRETTY)
    head = view.shown_text()
    lens.window.captures.all[-1].capture.close()  # no open file that could still be read
    path.unlink()
    while "moved or deleted" not in view.progress_text():
        view.show_more()
    assert view.shown_text() == head


def test_moved_capture_can_be_read_again_when_it_is_back(lens: Lens) -> None:
    path = make_capture(lens.folder / "lost.mcpcap", 10)
    panel = open_capture(lens, path)
    move(path)
    panel.choose(0)
    message = panel.detail.message.own
    assert "Could not be read" in visible_text(message)
    path.with_name("elsewhere.mcpcap").rename(path)
    lens.press("Try again", message)
    assert "Could not be read" not in visible_text(message)
    assert "qqqqqqqqqq" in message.shown_text()


def test_commands_on_a_lost_message_name_the_cause(
    lens: Lens, loss: tuple[Callable[[Path], object], str]
) -> None:
    lose, cause = loss
    path = make_capture(lens.folder / "lost.mcpcap", 10)
    panel = open_capture(lens, path)
    lose(path)
    panel.choose(0)
    reported: list[str] = []
    lens.app.bridge.problem_found.connect(reported.append)
    QGuiApplication.clipboard().setText("before")
    for count, command in enumerate(("copy", "copy_json", "copy_python", "resend"), 1):
        panel.local_actions[f"traffic.{command}"].trigger()
        assert len(reported) == count
        assert cause in reported[-1]
    assert QGuiApplication.clipboard().text() == "before"
    assert lens.dialogs(ResendDialog) == []
    panel.compare_requested.emit([0, 3])
    dialog = lens.dialog(CompareDialog)
    lens.until(lambda: cause in visible_text(dialog))
    dialog.close()
    saver = panel.detail.message.own.findChild(BodySaver)
    assert isinstance(saver, BodySaver)
    with lens.bot.waitSignal(saver.ended):
        saver.save(RowBody(panel.source.log, 0), lens.folder / "saved.json")
    assert cause in saver.text()
    assert not (lens.folder / "saved.json").exists()


def test_search_in_a_lost_capture_finds_nothing_and_ends(
    lens: Lens, loss: tuple[Callable[[Path], object], str]
) -> None:
    lose, cause = loss
    path = make_capture(lens.folder / "lost.mcpcap", 10)
    panel = open_capture(lens, path)
    lose(path)
    panel.filter_bar.set_text("qqqq")
    lens.until(lambda: not panel.model.search.is_searching and panel.model.search.condition.matcher)
    assert panel.model.rowCount() == 0
    assert cause in panel.strips.text("unreadable")
    panel.filter_bar.set_text("status:ok")
    lens.until(lambda: panel.model.rowCount() > 0)
    assert panel.strips.text("unreadable") == ""


def test_export_of_a_lost_capture_names_the_cause(
    lens: Lens, loss: tuple[Callable[[Path], object], str]
) -> None:
    lose, cause = loss
    path = make_capture(lens.folder / "lost.mcpcap", 10)
    panel = open_capture(lens, path)
    lose(path)
    lens.do("capture.export")
    dialog = lens.dialog(ExportDialog)
    lens.until(dialog.export_action.isEnabled)
    dialog.formats.choose(list(ExportFormat).index(ExportFormat.JSON_LINES))
    dialog.export_to(lens.folder / "out.jsonl")
    lens.until(lambda: cause in lens.window.notices.text())
    assert not (lens.folder / "out.jsonl").exists()
    assert panel.model.rowCount() > 0


def test_deleted_running_capture_shows_the_cause_for_rows_that_left_memory(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "_MEMORY_BYTES", 0)
    lens.ask(lambda engine: engine.captures.begin())
    lens.connect(scripted())
    log, panel = lens.app.bridge.log, lens.window.traffic
    row = next(row for row in range(len(log)) if log.kind(row) == RecordKind.REQUEST)
    lens.until(lambda: log.in_memory(row, row + 1) == [None])
    (path,) = (lens.folder / "captures").glob("*.mcpcap")
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    panel.go_to(row)
    assert f"{path.name} was moved or deleted" in visible_text(panel)


# Statements that change a capture, and what the window must show.
HOSTILE: dict[str, tuple[str, str]] = {
    "largest numbers": ("UPDATE segment SET columns = filled(columns, 127)", "invalid and ignored"),
    "negative numbers": ("UPDATE segment SET columns = filled(columns, 254)", "invalid and ignored"),
    "short columns": ("UPDATE segment SET columns = substr(columns, 1, 7)", "could not be read"),
    "bodies of another type": ("UPDATE chunk SET bytes = 7", "the file is damaged there"),
    "exchanges of another type": (
        'UPDATE http SET value = \'{"status": [], "url": 3, "request_headers": [[1, 2], 5]}\'',
        "request to elsewhere",
    ),
    "names of another type": ("UPDATE word SET texts = '[null, 7, {}]'", "invalid and ignored"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_capture_is_shown_as_far_as_it_is_valid(lens: Lens, kind: str) -> None:
    statement, expected = HOSTILE[kind]
    path = make_capture(lens.folder / "hostile.mcpcap", 10)
    connection = sqlite3.connect(path)
    connection.create_function("filled", 2, lambda data, value: bytes([value]) * len(data))
    with connection:
        connection.execute(statement)
    connection.close()
    reported: list[str] = []
    lens.app.bridge.problem_found.connect(reported.append)
    lens.window.captures.open([path])
    lens.until(lambda: lens.window.captures.all)
    panel = lens.window.captures.all[-1].panel
    log = panel.source.log
    assert len(log) == 3 * EXCHANGES
    lens.do("traffic.events")  # rows that are not messages, as unreadable ones
    lens.until(lambda: panel.model.rowCount() == len(log))
    shown = ""
    for row in range(len(log)):
        panel.choose(row)
        for tab in Tab:
            panel.detail.tabs.setCurrentIndex(tab)
            shown += visible_text(panel.detail)
        panel.detail.tabs.setCurrentIndex(Tab.MESSAGE)
        for form in Form:
            panel.detail.message.set_form(form)
            shown += visible_text(panel.detail)
    for view in View:
        panel.show_view(view)
        panel.grab()
    assert expected in "".join(reported) + shown
    panel.filter_bar.set_text("qqqq or dur>1ms or server:elsewhere")
    lens.until(lambda: not panel.model.search.is_searching)


def test_journal_beside_a_foreign_capture_deletes_no_file_when_a_row_is_marked(lens: Lens) -> None:
    """T28: a hostile journal names a file of the user as its super-journal."""
    folder = lens.folder / "downloads"
    folder.mkdir()
    path, victim = make_capture(folder / "planted.mcpcap", 10), lens.folder / "victim"
    victim.write_text("precious")
    put_hot_journal(path, victim)
    content = {file: file.read_bytes() for file in folder.iterdir()}
    panel = open_capture(lens, path)
    assert "planted.mcpcap-journal was ignored" in lens.window.notices.text()
    panel.choose(0)
    panel.local_actions["traffic.mark"].trigger()
    lens.do("capture.close")
    lens.until(lambda: any((lens.folder / "captures").rglob("*notes*")))
    assert victim.read_text() == "precious"
    assert {file: file.read_bytes() for file in folder.iterdir()} == content


def test_export_closed_while_it_scans_leaves_no_scan(endless_scan: EndlessScan, lens: Lens) -> None:
    open_capture(lens, make_capture(lens.folder / "long.mcpcap", 10))
    for count in range(1, 11):  # more than the thread pool has threads
        lens.do("capture.export")
        dialog = lens.dialog(ExportDialog)
        assert "Scanning for secrets" in visible_text(dialog)
        lens.until(partial(endless_scan.has_started, count))
        dialog.close()
    lens.until(lambda: endless_scan.running == 0)


# Results that require input without naming any that can be asked for.
NO_INPUT: list[JSONObject] = [
    {},
    {"inputRequests": None},
    {"inputRequests": []},
    {"inputRequests": {"who": 7}},
    {"inputRequests": {"who": {"method": "elicitation/create"}}},
]


@pytest.mark.parametrize("members", NO_INPUT, ids=json.dumps)
def test_input_required_without_a_request_fails_the_call_and_is_reported(
    lens: Lens, members: JSONObject
) -> None:
    args = ("-I", "-S", str(REQUESTING_SERVER))
    lens.connect(StdioEntry(name="asking", command=sys.executable, args=args, era="2026-07-28"))
    assert not lens.workspace.findChildren(InboxPanel)  # the Inbox was never shown
    outcome = lens.call("ask", {"result": {"resultType": "input_required", **members}})
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary.startswith("The result is invalid: ")
    lens.until(lambda: "asking" in lens.window.strips.text("inbox"))
    assert "was rejected automatically" in lens.window.strips.text("inbox")
    assert lens.call("ask", {"rounds": []}).kind is OutcomeKind.RESULT


def test_storm_of_progress_and_changed_lists_changes_the_window_once_per_batch(lens: Lens) -> None:
    count = 5_000
    lens.connect(scripted(tools=[{"name": "storms", "inputSchema": {"type": "object"}}]))
    bridge = lens.app.bridge
    progress: list[float] = []
    changes: list[str] = []
    bridge.list_changed.connect(lambda server, kind: changes.append(kind))
    on_progress = bridge.on_window(lambda event: progress.append(event.progress))
    call = ToolCall("storms", {"count": count})
    outcome = lens.ask(
        lambda engine: engine.tool_caller.call_for_user("scripted", call, on_progress=on_progress)
    )
    assert outcome.kind is OutcomeKind.RESULT
    lens.until(lambda: progress and progress[-1] == count and changes)
    assert progress == sorted(progress)
    assert max(len(progress), len(changes)) < count / 5
    received = [row for row in lens.records() if row.method == "notifications/progress"]
    assert len(received) == count  # all of them are in Traffic


def test_server_that_dies_during_a_call_is_reported_and_can_be_restarted(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.connect(scripted("other"))
    lens.choose("scripted")
    outcome = lens.call("dies")
    assert outcome.kind is OutcomeKind.FAILED
    lens.wait_for("scripted", ServerStatus.FAILED)
    for shown in (visible_text(panel.call_view.result), visible_text(panel)):
        assert "exited with code 9" in shown
        assert "Fatal: lost the database." in shown
    lens.choose("other")
    assert lens.call("echo", {"text": "here"}).kind is OutcomeKind.RESULT
    lens.choose("scripted")
    lens.do("server.reconnect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    assert lens.call("echo", {"text": "again"}).kind is OutcomeKind.RESULT


def test_tool_nested_2000_deep_is_reported_and_hides_no_other(lens: Lens) -> None:
    deep = {"name": "deep", "inputSchema": {"type": "object", "properties": "DEEP"}}
    panel = lens.connect(scripted(tools=[{"name": "before"}, deep, {"name": "echo"}], depth=2_000))
    listed = [panel.list.model().index(row, 0).data() for row in range(panel.list.model().rowCount())]
    assert listed == ["before", "echo", "⚠ invalid: “deep”: nested too deeply to parse"]
    assert lens.call("echo", {"text": "here"}).kind is OutcomeKind.RESULT
    row = next(row for row in lens.records() if row.method == "tools/list" and row.kind is RecordKind.RESULT)
    lens.window.traffic.go_to(row.number)
    for form in Form:
        lens.window.traffic.detail.message.set_form(form)
        lens.window.grab()


def test_instructions_of_5_mb_are_shortened_in_the_overview_and_whole_in_traffic(lens: Lens) -> None:
    length = 5_000_000
    lens.connect(scripted(instructions="Call \u202eme, <b>please</b>.\n", instructions_length=length))
    lens.workspace.show_tab("overview")
    lens.window.grab()
    assert "Call ⟨U+202E⟩me, <b>please</b>." in visible_text(lens.workspace.panel(OVERVIEW))
    assert len(visible_text(lens.workspace.panel(OVERVIEW))) < 50_000
    view = lens.view("scripted")
    assert view.negotiated is not None
    assert len(view.negotiated.instructions) == length
    traffic = lens.window.traffic
    row = next(row for row in lens.records() if row.method == "initialize" and row.kind is RecordKind.RESULT)
    traffic.go_to(row.number)
    assert traffic.source.log.record(row.number).size > length
    for form in Form:
        traffic.detail.message.set_form(form)
        lens.window.grab()
    assert "Could not be read" not in visible_text(traffic.detail)


def test_window_is_alive_after_a_loss(lens: Lens) -> None:
    path = make_capture(lens.folder / "lost.mcpcap", LONG)
    panel = open_capture(lens, path)
    path.unlink()
    panel.choose(0)
    panel.choose(1)
    lens.do("capture.close")
    QApplication.processEvents()
    assert lens.connect(scripted()).list.isVisibleTo(lens.tools)
