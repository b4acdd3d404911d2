"""The Raw tab: any message, also invalid on purpose, and its response."""

from __future__ import annotations

import json

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.engine.views import RawOutcome, ServerStatus
from inspector.qt.models.traffic.console import RawMessageColumn, raw_message_state
from inspector.qt.panels.console import TEMPLATES, RawConsole
from inspector.qt.views.raw_composer import RawResponse
from inspector.qt.window.tabs import RAW
from inspector.traffic.records import Direction, HttpExchange, RecordKind
from tests.qt.console.raw_servers import parrot
from tests.qt.lens_driver import Lens, scripted, visible_text


def opened(lens: Lens) -> RawConsole:
    """Return the Raw tab of a connected server that echoes the bytes it receives."""
    lens.add(parrot())
    lens.choose("parrot")
    lens.do("server.connect")
    lens.wait_for("parrot", ServerStatus.CONNECTED)
    lens.do("view.raw")
    return lens.workspace.panel(RAW)


def send(lens: Lens, raw: RawConsole, text: bytes) -> None:
    raw.composer.editor.set_raw(text)
    raw.send()
    lens.until(lambda: not raw.composer.is_waiting)


def cells(raw: RawConsole, column: RawMessageColumn) -> list[str]:
    return [str(raw.model.index(row, column).data()) for row in range(raw.model.rowCount())]


def echoed(raw: RawConsole) -> str:
    """Return the bytes that the server received."""
    return str(json.loads(raw.response.text.shown_text())["result"]["got"])


def test_message_is_sent_as_written_except_for_its_id(lens: Lens) -> None:
    raw = opened(lens)
    assert "Nothing sent yet" in visible_text(raw)
    text = b'{ "jsonrpc":"2.0" , "id": "mine", "method":"x/y", "x-extra":[1.10, 1e400], "x-extra":null}'
    send(lens, raw, text)
    lens.until(lambda: '"got"' in raw.response.text.shown_text())
    before, _, rest = text.decode().partition('"mine"')
    assert echoed(raw).startswith(before)
    assert echoed(raw).endswith(rest)
    assert '"mine"' not in echoed(raw)
    assert raw.response.badge.text == "ok"
    assert cells(raw, RawMessageColumn.STATUS) == ["ok", "ok"]
    raw.composer.ids.button(1).click()
    send(lens, raw, text)
    lens.until(lambda: '"mine"' in raw.response.text.shown_text())
    assert echoed(raw) == text.decode()


def test_invalid_json_is_sent_on_purpose_and_the_error_without_an_id_shows_up(lens: Lens) -> None:
    raw = opened(lens)
    raw.use_template("Invalid JSON")
    lens.until(lambda: raw.composer.status.text().startswith("Not JSON"))
    raw.composer.ids.button(1).click()
    raw.send()
    lens.until(lambda: raw.model.rowCount() == 2)
    assert TEMPLATES["Invalid JSON"].decode() in cells(raw, RawMessageColumn.TEXT)[0]
    assert "Parse error" in cells(raw, RawMessageColumn.TEXT)[1]
    assert cells(raw, RawMessageColumn.STATUS)[1] == "error"
    raw.table.selectRow(1)
    lens.until(lambda: "Parse error" in raw.response.text.shown_text())


def test_row_selected_while_a_message_is_pending_stays_in_front(lens: Lens) -> None:
    raw = opened(lens)
    send(lens, raw, TEMPLATES["Ping"])
    lens.until(lambda: raw.model.rowCount() == 2)
    raw.composer.editor.set_raw(b'{"jsonrpc": "2.0", "id": 7, "method": "the/second"}')
    raw.send()
    assert raw.composer.is_waiting
    raw.table.selectRow(0)
    lens.until(lambda: not raw.composer.is_waiting)
    lens.until(lambda: raw.model.rowCount() == 4)
    lens.settle()
    assert raw.table.currentIndex().row() == 0
    assert "the/second" not in raw.response.text.shown_text()


def test_every_template_says_what_it_is_and_can_be_sent(lens: Lens) -> None:
    raw = opened(lens)
    for name in TEMPLATES:
        raw.use_template(name)
        assert raw.composer.editor.raw() == TEMPLATES[name]
        raw.send()
        lens.until(lambda: not raw.composer.is_waiting)
    sent = [text for text in cells(raw, RawMessageColumn.TEXT) if "⇒" not in text]
    assert len(sent) >= len(TEMPLATES)
    assert raw.composer.alert.isHidden()


def test_line_break_is_not_sent_over_stdio_until_the_user_decides_how(lens: Lens) -> None:
    raw = opened(lens)
    text = b'{"jsonrpc": "2.0",\n "id": 1,\n "method": "x"}'
    send(lens, raw, text)
    assert "line break" in raw.composer.alert.text("break")
    assert raw.composer.editor.raw() == text
    assert raw.model.rowCount() == 0
    raw.composer._compact_action.trigger()
    lens.until(lambda: '"got"' in raw.response.text.shown_text())
    assert "\\n" not in raw.response.text.shown_text()
    assert raw.composer.editor.raw() == text
    assert raw.composer.alert.isHidden()


def test_formatted_text_is_sent_in_its_original_form(lens: Lens) -> None:
    raw = opened(lens)
    raw.composer.ids.button(1).click()
    text = b'{"jsonrpc":"2.0","id":9,"method":"x","params":{"a":"\\u00e9","b":[1.10]}}'
    raw.composer.editor.set_raw(text)
    raw.composer.pretty_action.trigger()
    assert raw.composer.editor.text().count("\n") > 5
    raw.send()
    lens.until(lambda: '"got"' in raw.response.text.shown_text())
    assert echoed(raw) == text.decode()


def test_ctrl_return_sends_the_message_and_calls_no_tool(lens: Lens) -> None:
    raw = opened(lens)
    raw.composer.editor.set_raw(TEMPLATES["Ping"])
    lens.window.activateWindow()
    raw.composer.editor.setFocus()
    QTest.keyClick(raw.composer.editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    lens.until(lambda: raw.model.rowCount() == 2)
    assert raw.isVisible()
    assert raw.composer.editor.raw() == TEMPLATES["Ping"]


def test_alt_up_recalls_sent_messages_and_alt_down_the_draft(lens: Lens) -> None:
    raw = opened(lens)
    editor = raw.composer.editor
    for text in (b'{"first": 1}', b'{"second": 2}', b'{"second": 2}'):
        send(lens, raw, text)
    editor.set_raw(b"a draft")
    seen = []
    for steps in (-1, -1, -1, 1, 1, 1):
        raw.step_history(steps)
        seen.append(editor.raw())
    assert seen == [
        b'{"second": 2}',
        b'{"first": 1}',
        b'{"first": 1}',
        b'{"second": 2}',
        b"a draft",
        b"a draft",
    ]


def test_disconnected_console_says_so_and_keeps_the_text(lens: Lens) -> None:
    lens.add(parrot())
    lens.choose("parrot")
    raw = lens.workspace.panel(RAW)
    assert "Not connected" in raw.strips.text("connection")
    send(lens, raw, TEMPLATES["Ping"])
    assert "is not connected" in raw.composer.alert.text("connection")
    raw.composer._connect_action.trigger()
    lens.wait_for("parrot", ServerStatus.CONNECTED)
    lens.until(lambda: raw.composer.alert.isHidden())
    assert not raw.strips.text("connection")
    assert raw.composer.editor.raw() == TEMPLATES["Ping"]


def test_pending_message_can_be_cancelled_and_a_second_one_sent_meanwhile(lens: Lens) -> None:
    lens.connect(scripted())
    raw = lens.workspace.panel(RAW)
    raw.composer.editor.set_raw(
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits","arguments":{}}}'
    )
    raw.send()
    lens.until(lambda: "pending" in cells(raw, RawMessageColumn.STATUS))
    raw.composer.editor.set_raw(b'{"jsonrpc":"2.0","id":1,"method":"no/such"}')
    raw.send()
    lens.until(lambda: "error" in cells(raw, RawMessageColumn.STATUS))
    assert raw.composer.is_waiting
    raw.composer.cancel_action.trigger()
    lens.until(lambda: "cancelled" in cells(raw, RawMessageColumn.STATUS))
    lens.until(lambda: any("notifications/cancelled" in text for text in cells(raw, RawMessageColumn.TEXT)))
    assert not raw.composer.is_waiting


def test_closed_connection_says_why_there_is_no_response(lens: Lens) -> None:
    lens.connect(scripted())
    raw = lens.workspace.panel(RAW)
    call = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"dies","arguments":{}}}'
    send(lens, raw, call)
    lens.until(lambda: raw.response.alert.text("outcome"))
    assert raw.composer.editor.raw() == call
    lens.until(lambda: "Not connected" in raw.strips.text("connection"))


def test_message_can_be_shown_in_the_traffic(lens: Lens) -> None:
    raw = opened(lens)
    send(lens, raw, TEMPLATES["Ping"])
    lens.until(lambda: raw.response.row is not None)
    panel, row = lens.window.traffic, raw.response.row
    lens.until(lambda: row is not None and panel.model.find_row(row) is not None)
    raw._show_action.trigger()
    assert panel.table.current_number() == row


def test_message_rejected_by_http_shows_the_status_and_the_body(lens: Lens) -> None:
    log = lens.app.bridge.log
    server = log.add_server("web")
    exchange = HttpExchange("POST", "http://x/mcp", (), 2, status=400, body=b"Bad Request: no session")
    sent = log.append(server, RecordKind.REQUEST, Direction.OUT, 1, 10**18, b"{}", "x")
    http = log.append(server, RecordKind.HTTP, Direction.OUT, 2, 10**18, b"")
    log.set_http(http, exchange)
    log.set_carrier(sent, http)
    log.publish()
    assert raw_message_state(log, sent) == ("HTTP 400", "error")
    response = RawResponse(lens.app.bridge, lens.window._theme)
    lens.bot.addWidget(response)
    outcome = RawOutcome(sent, None, 5_000_000, "The server refused it.", "Reconnect.", 400)
    lens.run(response.show_outcome(outcome))
    assert response.badge.text == "HTTP 400"
    assert response.text.shown_text() == "Bad Request: no session"
    assert response.alert.text("outcome") == "The server refused it. Reconnect."


def test_text_of_a_server_stays_plain_and_on_one_line(lens: Lens) -> None:
    raw = opened(lens)
    hostile = '{"jsonrpc":"2.0","id":1,"method":"<img src=x>\\u202e","params":{"a":"\u202eb\\n"}}'
    send(lens, raw, hostile.encode())
    lens.until(lambda: raw.model.rowCount() == 2)
    for text in cells(raw, RawMessageColumn.TEXT):
        assert "\u202e" not in text
        assert "\n" not in text
    tip = raw.model.index(0, RawMessageColumn.TEXT).data(Qt.ItemDataRole.ToolTipRole)
    assert "<img" not in tip
