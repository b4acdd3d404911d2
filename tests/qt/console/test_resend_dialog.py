"""Edit and resend: a sent request is opened as raw JSON, edited and sent again."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.base.json.values import JSONObject
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.traffic.compare import CompareDialog
from inspector.qt.dialogs.traffic.resend import ResendDialog
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.traffic.compare.diff import Change
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind
from tests.qt.console.raw_servers import parrot
from tests.qt.lens_driver import Lens, scripted, visible_text

_ARGUMENTS: JSONObject = {"text": "Liège"}


def calls(lens: Lens) -> list[int]:
    """Return the rows of the tool calls."""
    log = lens.app.bridge.log
    return [
        row
        for row in range(len(log))
        if log.method(row) == "tools/call" and log.kind(row) == RecordKind.REQUEST
    ]


def opened(lens: Lens) -> ResendDialog:
    """Return the dialog for a call."""
    lens.connect(scripted())
    lens.call("echo", _ARGUMENTS)
    panel, row = lens.window.traffic, calls(lens)[-1]
    lens.until(lambda: panel.model.find_row(row) is not None)
    panel.go_to(row)
    lens.do("traffic.resend")
    return lens.dialog(ResendDialog)


def send(lens: Lens, dialog: ResendDialog) -> None:
    """Press the Send button and wait for the response."""
    lens.press("Send", dialog)
    lens.until(lambda: not dialog.composer.is_waiting)


def test_request_is_shown_as_sent_and_linked_when_resent(lens: Lens) -> None:
    dialog = opened(lens)
    log, (old,) = lens.app.bridge.log, calls(lens)
    assert dialog.composer.editor.raw() == log.raw(old)
    assert "Request: tools/call" in dialog.composer.status.text()
    dialog.composer.editor.set_raw(log.raw(old).replace(b'"params"', b'"x-unknown":[1.10],"params"'))
    send(lens, dialog)
    new = calls(lens)[-1]
    assert new != old
    assert log.resent_of(new) == old
    assert b'"x-unknown":[1.10]' in log.raw(new)
    assert log.id(new) != log.id(old)
    lens.until(lambda: "Li" in dialog.response.text.shown_text())
    assert dialog.response.badge.text == "ok"


def test_id_is_sent_as_written_on_request(lens: Lens) -> None:
    dialog = opened(lens)
    log, (old,) = lens.app.bridge.log, calls(lens)
    dialog.composer.ids.button(1).click()
    send(lens, dialog)
    assert log.raw(calls(lens)[-1]) == log.raw(old)


def test_pretty_formats_it_and_as_sent_restores_the_bytes(lens: Lens) -> None:
    dialog = opened(lens)
    original = dialog.composer.editor.raw()
    dialog.composer.pretty_action.trigger()
    assert b"\n" in dialog.composer.editor.raw()
    assert dialog.composer.compact.isChecked()
    dialog.restore_action.trigger()
    assert dialog.composer.editor.raw() == original
    assert not dialog.composer.compact.isChecked()


def test_edits_survive_a_lost_connection_and_connect_is_offered(lens: Lens) -> None:
    dialog = opened(lens)
    lens.do("server.disconnect")
    lens.wait_for("scripted", ServerStatus.IDLE)
    lens.until(lambda: "not connected" in dialog.server.currentText())
    typed = dialog.composer.editor.raw().replace(b"tools/call", b"tools/list")
    dialog.composer.editor.set_raw(typed)
    send(lens, dialog)
    assert "is not connected" in dialog.composer.alert.text("connection")
    assert "Not sent" in visible_text(dialog.response)
    assert dialog.composer.editor.raw() == typed
    dialog.composer._connect_action.trigger()
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    lens.until(lambda: not dialog.composer.alert.text("connection"))
    send(lens, dialog)
    lens.until(lambda: dialog.response.badge.text == "ok")


def test_pending_resend_can_be_cancelled_and_is_not_sent_twice(lens: Lens) -> None:
    dialog = opened(lens)
    dialog.composer.editor.set_raw(dialog.composer.editor.raw().replace(b'"echo"', b'"waits"'))
    dialog.composer.send()
    dialog.composer.send()
    lens.until(lambda: len(calls(lens)) == 2)
    assert not dialog.composer.send_action.isEnabled()
    dialog.composer.cancel_action.trigger()
    lens.until(lambda: not dialog.composer.is_waiting)
    lens.settle()
    assert len(calls(lens)) == 2
    assert dialog.composer.send_action.isEnabled()
    assert "Cancelled" in visible_text(dialog.response)


def test_request_state_comes_with_a_hint(lens: Lens) -> None:
    dialog = opened(lens)
    assert not dialog.composer.alert.text("state")
    dialog.composer.editor.set_raw(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"requestState":"s"}}')
    lens.until(lambda: "requestState" in dialog.composer.alert.text("state"))
    dialog.composer.editor.set_raw(b'{"jsonrpc":"2.0","id":1,"method":"\\"requestState\\""}')
    lens.until(lambda: not dialog.composer.alert.text("state"))


def test_new_response_is_compared_with_the_old_one(lens: Lens) -> None:
    dialog = opened(lens)
    dialog.composer.editor.set_raw(dialog.composer.editor.raw().replace("Liège".encode(), b"Ghent"))
    send(lens, dialog)
    dialog.compare_action.trigger()
    compare = lens.dialog(CompareDialog)
    lens.until(lambda: compare.diff is not None)
    assert compare.part.name == "Responses"
    assert any("Ghent" in str(entry.right) for _, entry in _differences(compare))


def _differences(compare: CompareDialog) -> list[tuple[int, Change]]:
    assert compare.diff is not None
    return list(compare.diff.differences())


def test_response_can_be_shown_in_the_traffic(lens: Lens) -> None:
    dialog = opened(lens)
    send(lens, dialog)
    panel, row = lens.window.traffic, lens.app.bridge.log.partner(calls(lens)[-1])
    lens.until(lambda: row is not None and panel.model.find_row(row) is not None)
    dialog.show_action.trigger()
    assert panel.table.current_number() == row


def test_escape_does_not_close_the_dialog(lens: Lens) -> None:
    dialog = opened(lens)
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert dialog.isVisible()


@pytest.mark.parametrize("is_connected", [True, False])
def test_request_from_a_capture_goes_to_the_server_the_user_picks(lens: Lens, is_connected: bool) -> None:
    lens.add(scripted("first"))
    lens.add(parrot("second"))
    if is_connected:
        lens.choose("second")
        lens.do("server.connect")
        lens.wait_for("second", ServerStatus.CONNECTED)
    raw = b'{"jsonrpc":"2.0","id":5,"method":"x/y","params":{}}'
    log = TrafficLog()
    server = log.add_server("gone")
    log.append(server, RecordKind.REQUEST, Direction.OUT, 1, 1, raw, "x/y", id=5)
    log.publish()
    views = lens.window.servers.model.views()
    source = TrafficSource(log, "monday")
    dialog = ResendDialog(lens.app.bridge, lens.window._theme, source, 0, views, lens.window)
    dialog.show()
    assert dialog.server.count() == 2
    assert dialog.server.currentData() == ("second" if is_connected else "first")
    if is_connected:
        send(lens, dialog)
        lens.until(lambda: '"got"' in dialog.response.text.shown_text())
        response = json.loads(dialog.response.text.shown_text())
        assert json.loads(response["result"]["got"])["method"] == "x/y"
        assert not lens.app.bridge.log.resent()
    lens.ask(lambda engine: engine.servers.remove("second"))
    lens.until(lambda: dialog.server.count() == 1)
    source.deleteLater()


def test_closing_the_dialog_cancels_the_pending_request(lens: Lens) -> None:
    dialog = opened(lens)
    dialog.composer.editor.set_raw(dialog.composer.editor.raw().replace(b'"echo"', b'"waits"'))
    dialog.composer.send()
    lens.until(lambda: len(calls(lens)) == 2)
    dialog.close()
    lens.until(lambda: lens.sent("notifications/cancelled"))
