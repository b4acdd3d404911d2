"""The models follow Qt's contract while rows come and go, and show what the log contains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, cast

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester

from inspector.config.servers.entries import StdioEntry
from inspector.engine.server_view import ServerView
from inspector.engine.servers.server import view_of
from inspector.engine.views import ServerStatus
from inspector.protocol.jsonrpc import read
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.qt.models.feature_list import ToolsModel
from inspector.qt.models.servers import ServersModel, connection_placeholder, state_text
from inspector.qt.models.traffic.columns import Column
from inspector.qt.models.traffic.console import ConsoleModel
from inspector.qt.models.traffic.traffic_model import TrafficModel
from inspector.qt.theme import Theme
from inspector.session.state import SessionState, Status
from inspector.traffic.filter.matcher import Matcher, compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.traffic.records import RecordKind
from tests.helpers.fakes import FakeClock

Check: TypeAlias = Callable[[QAbstractItemModel], None]

ICONS = Path(__file__).parents[3] / "resources" / "icons"


class Wire:
    """Writes rows into a log as the connections of two servers would."""

    def __init__(self) -> None:
        self.log = TrafficLog()
        self.clock = FakeClock()
        self._recorders = {name: Recorder(self.log, name, self.clock) for name in ("one", "two")}

    def ask(self, id: int, method: str = "tools/list", server: str = "one") -> None:
        self._recorders[server].sent(read(b'{"jsonrpc":"2.0","id":%d,"method":"%s"}' % (id, method.encode())))

    def response(self, id: int, server: str = "one", body: bytes = b'"result":{}') -> None:
        self.clock.advance(0.25)
        frame = read(b'{"jsonrpc":"2.0","id":%d,%s}' % (id, body))
        self._recorders[server].received([frame], self.clock.monotonic_ns())

    def line(self, text: bytes, server: str = "one") -> None:
        self._recorders[server].stderr([text], self.clock.monotonic_ns())

    def stray(self, text: bytes, server: str = "one") -> None:
        self._recorders[server].received([read(text)], self.clock.monotonic_ns())

    def note(self, kind: RecordKind, text: str) -> None:
        self._recorders["one"].note(kind, text)


@pytest.fixture
def check(qtmodeltester: ModelTester) -> Check:
    """Check that a model follows the contract, now and after each change."""
    return cast(Check, qtmodeltester.check)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


def cells(model: QAbstractItemModel, column: int) -> list[object]:
    return [model.index(row, column).data() for row in range(model.rowCount())]


def matching(log: TrafficLog, text: str) -> Matcher:
    return compile(parse(text), log, now_ns=0)


def tool(name: str, **members: str) -> Tool:
    return Tool.read({"name": name, **members})


def server(name: str, status: ServerStatus = ServerStatus.IDLE, reason: str = "") -> ServerView:
    return ServerView(name, "stdio", "command", status, reason=reason)


def test_traffic_model_satisfies_the_contract_while_rows_arrive_and_are_refiltered(
    wire: Wire, theme: Theme, check: Check
) -> None:
    model = TrafficModel(wire.log, theme)
    check(model)
    for number in range(3):
        wire.ask(number)
        wire.line(b"noise")
        model.extend(len(wire.log))
        wire.response(number)
        model.extend(len(wire.log))
    model.set_matcher(matching(wire.log, "tools"))
    model.set_by_operation(True)
    model.set_by_operation(False)
    model.sort_by(Column.DURATION, is_descending=True)
    model.set_with_events(True)
    model.set_matcher(None)
    model.finish()
    model.sort_by(None)
    model.clear_view()
    model.show_cleared()
    model.clear_view()
    wire.ask(9)
    model.extend(len(wire.log))
    check(model)
    assert model.rowCount() == 1


def test_console_model_satisfies_the_contract_while_lines_arrive(
    wire: Wire, theme: Theme, check: Check
) -> None:
    model = ConsoleModel(wire.log, "one", theme)
    check(model)
    for text in (b"first", b"second"):
        wire.line(text)
        wire.line(b"of the other", server="two")
        model.extend(len(wire.log))
    check(model)
    assert cells(model, 2) == ["first", "second"]


def test_servers_model_satisfies_the_contract_while_servers_are_added_changed_and_removed(
    theme: Theme, check: Check
) -> None:
    model = ServersModel(theme)
    check(model)
    for name in ("one", "two", "three"):
        model.put(server(name))
    model.put(server("two", ServerStatus.FAILED, "It\nended."))
    model.remove("one")
    model.remove("never there")
    check(model)
    spoken = model.index(0, 0).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "two, stdio, failed: it ended"


def test_tools_model_satisfies_the_contract_during_a_search(qapp: QApplication, check: Check) -> None:
    model = ToolsModel()
    check(model)
    model.set_listing(Listing((tool("b"), tool("a")), (Malformed(7, "not an object: 7"),)))
    check(model)
    model.set_text("a")
    check(model)
    model.set_listing(Listing())
    check(model)


def test_request_changes_from_pending_to_ok_with_its_duration(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    wire.ask(1)
    model.extend(len(wire.log))
    assert model.index(0, Column.STATUS).data() == "pending"
    assert model.index(0, Column.DURATION).data() == ""
    wire.response(1)
    model.extend(len(wire.log))
    assert cells(model, Column.STATUS) == ["ok", "ok"]
    assert cells(model, Column.DURATION) == ["250 ms", "250 ms"]
    assert cells(model, Column.MESSAGE) == ["tools/list", "tools/list"]


@pytest.mark.parametrize(
    ("body", "words"),
    [(b'"result":{"isError":true}', "tool error"), (b'"error":{"code":1,"message":"no"}', "error")],
)
def test_status_distinguishes_tool_errors_from_protocol_errors(
    wire: Wire, theme: Theme, body: bytes, words: str
) -> None:
    model = TrafficModel(wire.log, theme)
    wire.ask(1, "tools/call")
    wire.response(1, body=body)
    model.extend(len(wire.log))
    assert cells(model, Column.STATUS) == [words, words]


def test_unexpected_response_is_shown_as_a_finding(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    wire.response(99)
    model.extend(len(wire.log))
    assert cells(model, Column.MESSAGE) == ["response without a matching request"]
    assert cells(model, Column.STATUS) == ["finding"]
    assert "99" in model.index(0, Column.STATUS).data(Qt.ItemDataRole.ToolTipRole)


def test_traffic_of_one_server_excludes_the_others(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    model.set_server("two")
    wire.ask(1)
    wire.ask(1, "ping", server="two")
    model.extend(len(wire.log))
    assert cells(model, Column.SERVER) == ["two"]
    model.set_server(None)
    assert cells(model, Column.SERVER) == ["one", "two"]


def test_events_appear_among_the_messages_only_on_request_and_stderr_never(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    wire.note(RecordKind.STATE, "connected")
    wire.ask(1)
    wire.line(b"noise")
    wire.note(RecordKind.LOCAL, "Not sent: pipe closed")
    model.extend(len(wire.log))
    assert cells(model, Column.MESSAGE) == ["tools/list"]
    model.set_with_events(True)
    assert cells(model, Column.STATUS) == ["state", "pending", "local"]


def test_row_is_shown_once_even_when_an_older_length_is_reported_later(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    wire.ask(1)
    older = len(wire.log)
    wire.ask(2)
    model.extend(len(wire.log))
    model.extend(older)
    model.extend(len(wire.log))
    assert cells(model, Column.ID) == ["1", "2"]


def test_cleared_view_shows_only_later_rows_and_the_log_keeps_all(wire: Wire, theme: Theme) -> None:
    model = TrafficModel(wire.log, theme)
    wire.ask(1)
    model.extend(len(wire.log))
    model.clear_view()
    wire.ask(2)
    model.extend(len(wire.log))
    assert cells(model, Column.ID) == ["2"]
    assert len(wire.log) == 2
    assert model.find_row(0) is None
    assert model.find_row(1) == 0


def test_console_names_the_source_of_each_line(wire: Wire, theme: Theme) -> None:
    model = ConsoleModel(wire.log, "one", theme)
    wire.note(RecordKind.PROCESS, "Process 7 started")
    wire.line(b"to stderr")
    wire.stray(b"Listening on stdin")
    wire.note(RecordKind.LOCAL, "Not sent")
    wire.ask(1)
    model.extend(len(wire.log))
    assert cells(model, 1) == ["process", "stderr", "stdout", "MCP Lens"]
    assert cells(model, 2) == ["Process 7 started", "to stderr", "Listening on stdin", "Not sent"]


def test_search_ranks_prefix_matches_before_substring_matches(qapp: QApplication) -> None:
    model = ToolsModel()
    described = tool("zeta", description="Gets an issue.")
    titled = tool("eta", title="Issue finder")
    model.set_listing(Listing((described, tool("add_issue"), titled, tool("Issue_list"), tool("other"))))
    model.set_text("ISSUE")
    assert cells(model, 0) == ["Issue_list", "add_issue", "zeta", "eta"]
    assert model.total == 5


def test_unusable_entry_is_listed_last_with_its_reason(qapp: QApplication) -> None:
    model = ToolsModel()
    model.set_listing(Listing((tool("good"),), (Malformed(7, "not an object: 7"),)))
    assert cells(model, 0) == ["good", "⚠ invalid: not an object: 7"]
    assert model.row_of("good") == 0


@pytest.mark.parametrize("status", [each for each in ServerStatus if each is not ServerStatus.CONNECTED])
def test_panel_without_a_connection_explains_itself_and_offers_a_next_step(status: ServerStatus) -> None:
    placeholder = connection_placeholder(server("one", status, "It ended."))
    assert placeholder is not None
    assert placeholder.title
    assert placeholder.text
    assert placeholder.command


@pytest.mark.parametrize(
    ("was_connected", "title", "command"),
    [(True, "Connection lost", "server.reconnect"), (False, "Connection failed", "server.connect")],
)
def test_lost_connection_is_distinguished_from_a_failed_one(
    was_connected: bool, title: str, command: str
) -> None:
    view = replace(server("one", ServerStatus.FAILED, "It ended."), was_connected=was_connected)
    placeholder = connection_placeholder(view)
    assert placeholder is not None
    assert (placeholder.title, placeholder.command) == (title, command)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("Could not start x: not found on PATH.", "not found on PATH"),
        ("Connection refused: nothing is listening on 127.0.0.1:9.", "connection refused"),
        ("HTTP 500 from the server.", "HTTP 500 from the server"),
        ("", "failed"),
    ],
)
def test_status_of_a_failed_server_starts_with_the_cause(reason: str, text: str) -> None:
    assert state_text(server("one", ServerStatus.FAILED, reason)) == text


def test_status_of_a_reconnecting_server_includes_the_cause() -> None:
    view = replace(
        server("one", ServerStatus.RECONNECTING, "The server exited with code 9."),
        reconnect="reconnecting, attempt 1 of 5",
        next_step="Look at its log.",
    )
    assert state_text(view) == "reconnecting, attempt 1 of 5: the server exited with code 9"
    placeholder = connection_placeholder(view)
    assert placeholder is not None
    assert placeholder.text == "The server exited with code 9. Reconnecting, attempt 1 of 5."
    assert placeholder.next_step == "Look at its log."


def test_stopped_disabled_server_is_shown_as_disabled() -> None:
    entry = StdioEntry(name="one", command="x", enabled=False)
    assert view_of(entry, SessionState(Status.IDLE), True).status is ServerStatus.DISABLED


def test_invalid_index_has_no_data(wire: Wire, theme: Theme) -> None:
    for model in (TrafficModel(wire.log, theme), ConsoleModel(wire.log, "one", theme)):
        assert model.data(QModelIndex()) is None
