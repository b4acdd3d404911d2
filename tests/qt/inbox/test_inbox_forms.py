"""Form elicitations: accepted, declined, cancelled, sent with errors; compared on the wire."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QWidget

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.server_requests.request import RequestEnd
from tests.qt.inbox.inbox_stage import FORM, InboxStage, form, requesting_server
from tests.qt.lens_driver import Lens, visible_text

ALL_FIELDS: dict[str, JSON] = {
    "name": {"type": "string", "title": "Full name", "minLength": 1},
    "mail": {"type": "string", "format": "email", "default": "ada@example.org"},
    "nights": {"type": "integer", "minimum": 1, "maximum": 30, "default": 3},
    "rate": {"type": "number"},
    "insured": {"type": "boolean", "default": True},
    "seat": {
        "type": "string",
        "oneOf": [{"const": "w", "title": "Window"}, {"const": "a", "title": "Aisle"}],
    },
    "extras": {"type": "array", "items": {"type": "string", "enum": ["wifi", "meal"]}, "default": ["wifi"]},
}


def test_accepted_form_sends_typed_values_and_defaults(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[form("Book it", ("name",), **ALL_FIELDS)])
    stage.wait_for(1)
    text = stage.text()
    for expected in ("Form elicitation from asking", "Call to ask is waiting", "Book it"):
        assert expected in text
    section = stage.form()
    line = section.editor.form.findChild(QLineEdit)
    assert line is not None
    QTest.keyClicks(line, "Ada")
    stage.press("Accept")
    defaults = {"mail": "ada@example.org", "nights": 3, "insured": True, "extras": ["wifi"]}
    assert stage.replies(call) == [{"action": "accept", "content": {"name": "Ada", **defaults}}]
    stage.wait_for(0)
    assert [inbox_request.end for inbox_request in stage.earlier()] == [RequestEnd.ANSWERED]
    assert "accepted after" in stage.text()
    assert '"Ada"' in stage.text()


def test_decline_and_cancel_are_different_replies(lens: Lens) -> None:
    stage = InboxStage(lens)
    for label, action in (("Decline", "decline"), ("Cancel", "cancel")):
        call = stage.call(ask=[form()])
        stage.wait_for(1)
        stage.press(label)
        assert stage.replies(call) == [{"action": action}]
        stage.wait_for(0)
    tips = [stage.form().decline_action.toolTip(), stage.form().cancel_action.toolTip()]
    assert len(set(tips)) == 2


def test_form_without_fields_asks_for_confirmation(lens: Lens) -> None:
    stage = InboxStage(lens)
    input_request = form("Delete 4 files?")
    input_request["params"]["requestedSchema"]["properties"] = {}  # type: ignore[index,call-overload]
    call = stage.call(ask=[input_request])
    stage.wait_for(1)
    assert "Accept to confirm" in stage.text()
    stage.press("Accept")
    assert stage.replies(call) == [{"action": "accept", "content": {}}]


def test_invalid_form_is_sent_only_on_confirmation(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(
        ask=[form("?", ("name",), name={"type": "string"}, n={"type": "integer", "maximum": 5})]
    )
    stage.wait_for(1)
    stage.form().editor.set_arguments({"n": 9})
    stage.press("Accept")
    assert "error" in stage.form().bar.alert.text("reply")
    lens.settle()
    assert not call.done()
    stage.press("Send anyway")
    assert stage.replies(call) == [{"action": "accept", "content": {"n": 9}}]


def test_invalid_json_is_neither_sent_nor_lost(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[form()])
    stage.wait_for(1)
    editor = stage.form().editor
    assert editor.show_json()
    editor.json_view.box.setPlainText('{"name": "Ad')
    stage.press("Accept")
    assert "Can't send" in stage.form().bar.alert.text("reply")
    editor.json_view.box.setPlainText('{"name": "Ada", "extra": 1.50}')
    stage.press("Accept")
    assert "Not a field of the form: “extra”" in stage.form().bar.alert.text("reply")
    stage.press("Send anyway")
    assert stage.replies(call) == [{"action": "accept", "content": {"name": "Ada", "extra": 1.5}}]


def test_fields_that_look_like_secrets_are_warned_about(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("Log in", user={"type": "string"}, password={"type": "string"})])
    stage.wait_for(1)
    text = visible_text(stage.form().secrets)
    assert "seems to ask for a secret" in text
    assert "password: Its name" in text
    assert "user" not in text.replace("user,", "")
    stage.press("Decline")


def test_long_message_is_truncated_and_expanded_on_click(lens: Lens) -> None:
    stage = InboxStage(lens)
    message = "Read <b>this</b>. " * 700
    stage.call(ask=[form(message)])
    stage.wait_for(1)
    label = stage.form().message.label
    assert len(label.text()) < 1_100
    assert "<b>" in label.text()
    stage.press("Show all")
    assert label.text() == message.strip()
    stage.press("Cancel")


def test_control_return_accepts_and_calls_no_tool(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[form()])
    stage.wait_for(1)
    line = stage.form().editor.form.findChild(QLineEdit)
    assert line is not None
    line.setFocus()
    QTest.keyClicks(line, "Ada")
    QTest.keyClick(line, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert stage.replies(call) == [{"action": "accept", "content": {"name": "Ada"}}]
    assert len(lens.sent("tools/call")) == 1


def test_malformed_form_is_rejected_and_reported(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[{"method": "elicitation/create", "params": {"message": "No schema"}}])
    assert stage.replies(call)[0]["code"] == -32602
    lens.until(lambda: stage.earlier())
    inbox_request = stage.earlier()[0]
    assert inbox_request.end is RequestEnd.REFUSED
    assert stage.panel.show_request(inbox_request.id)
    assert "requestedSchema" in stage.view.head.note.text("note")
    assert "rejected" in stage.text()


def test_stateless_form_elicitation_gets_the_same_reply(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{"who": form()}])
    stage.wait_for(1)
    stage.form().editor.set_arguments({"name": "Ada"})
    stage.press("Accept")
    assert stage.replies(call) == [{"who": {"action": "accept", "content": {"name": "Ada"}}}]


def test_field_that_looks_like_a_secret_has_a_warning_beside_it(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("Log in", user={"type": "string"}, password={"type": "string"})])
    stage.wait_for(1)
    user, password = stage.form().editor.form.rows()
    assert "Warning: this looks like a secret." in visible_text(password)
    assert "Warning" in password.slot.editor.widget.accessibleDescription()
    assert "Warning" not in visible_text(user)
    stage.press("Decline")


def test_message_form_and_warnings_share_a_left_edge(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form("Log in", password={"type": "string"})])
    stage.wait_for(1)
    section = stage.form()
    row = section.editor.form.rows()[0]
    edges = {
        each.mapTo(section, QPoint()).x() for each in (section.message.label, section.editor.switch, row)
    }
    assert len(edges) == 1
    stage.press("Decline")


def focused_widget() -> QWidget:
    focused = QApplication.focusWidget()
    assert focused is not None
    return focused


def test_return_in_the_list_focuses_the_form(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[form()])
    stage.wait_for(1)
    stage.panel.list.setFocus()
    QTest.keyClick(stage.panel.list, Qt.Key.Key_Return)
    QTest.keyClicks(focused_widget(), "Ada")
    QTest.keyClick(focused_widget(), Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert stage.replies(call) == [{"action": "accept", "content": {"name": "Ada"}}]


def test_return_on_a_form_without_fields_sends_nothing_yet(lens: Lens) -> None:
    stage = InboxStage(lens)
    empty: JSONObject = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
    call = stage.call(ask=[{"method": FORM, "params": empty}])
    stage.wait_for(1)
    stage.panel.list.setFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Return, Qt.Key.Key_Space):
        QTest.keyClick(focused_widget(), key)
    lens.settle()
    assert stage.panel.count == 1
    stage.press("Accept")
    assert stage.replies(call) == [{"action": "accept", "content": {}}]


def test_cancelled_untouched_form_reports_no_lost_input(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form(name={"type": "string", "default": "Ada"})])
    stage.wait_for(1)
    stage.call(tool="withdraw")
    stage.wait_for(0)
    assert "Your reply was not sent" not in stage.text()
    assert stage.view.head.note.text("note") == "Reason: Another client replied."


def test_focus_stays_in_the_request_when_its_button_disappears(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[form()])
    stage.wait_for(1)
    decline = next(each for each in stage.view.findChildren(QPushButton) if each.text() == "Decline")
    decline.setFocus()
    QTest.keyClick(decline, Qt.Key.Key_Space)
    stage.wait_for(0)
    assert stage.panel.isAncestorOf(focused_widget())
