"""Forms for the app's own values: defaults, untouched members, hidden rows, pages."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSON, JSONObject
from inspector.qt.forms.schema.plain_editors import (
    Hint,
    PlainBox,
    PlainChoice,
    PlainEditor,
    PlainJson,
    PlainLine,
    PlainNumber,
    PlainSeconds,
    PlainSecret,
    PlainSwitch,
    Row,
    choice,
    text,
)
from inspector.qt.forms.schema.plain_form import PlainForm
from inspector.qt.theme import Theme
from inspector.schema.fields import (
    BooleanField,
    IntegerField,
    ListField,
    NumberField,
    ObjectField,
    TextField,
)
from tests.qt.lens_driver import visible_text
from tests.qt.login.login_stage import ICONS

FIELDS: dict[str, Row] = {
    "kind": choice("Kind", {"a": "A", "b": "B"}),
    "name": (TextField(title="Name", description="What it is called.", default=""), Hint(page="First")),
    "port": (
        IntegerField(title="Port", minimum=0, maximum=9, default=0),
        Hint(shown_if=lambda value: value.get("kind") == "b"),
    ),
    "wait": (NumberField(title="Wait", minimum=1, default=None), Hint()),
    "timeout": (NumberField(title="Timeout", default=None), Hint(PlainSeconds)),
    "args": (ListField(title="Arguments", item=TextField(), default=[]), Hint()),
    "secret": (TextField(title="Secret", default=""), Hint(PlainSecret)),
    "extra": (ObjectField(title="Extra"), Hint(text="Extra")),
    "network.proxy": text("Proxy", page="Second", group="Network"),
    "network.verify": (BooleanField(title="Verify", default=True), Hint(page="Second")),
}


@pytest.fixture
def form(qtbot: QtBot) -> PlainForm:
    form = PlainForm(Theme(ICONS), FIELDS, label_width=100)
    qtbot.addWidget(form)
    form.show()
    return form


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kind": "a", "network": {"verify": True}, "x-theirs": {"kept": 1}},
        {"wait": 0.5, "timeout": 1.0, "args": ["a b", ""], "secret": {"ref": "s"}, "extra": {"n": 1}},
        {"kind": 7, "name": "two\nlines", "network": 3, "args": "x", "timeout": [1]},
    ],
)
def test_value_is_returned_as_set_until_it_is_edited(form: PlainForm, value: JSONObject) -> None:
    form.set_value(value)
    assert form.value() == value
    form.editor("wait", PlainNumber).box.setValue(5)
    assert form.value() == {**value, "wait": 5}


def test_default_is_left_out_when_the_user_chooses_it(form: PlainForm) -> None:
    form.set_value({"kind": "b", "network": {"verify": False}})
    form.editor("kind", PlainChoice).box.setCurrentIndex(0)
    form.editor("network.verify", PlainSwitch).box.click()
    assert form.value() == {}


def test_nested_member_is_set_beside_unknown_ones(form: PlainForm) -> None:
    form.set_value({"network": {"x-theirs": 1}})
    form.editor("network.proxy", PlainLine).line.setText(" http://host ")
    assert form.value() == {"network": {"x-theirs": 1, "proxy": "http://host"}}


def test_rows_are_shown_by_page_and_by_value(form: PlainForm) -> None:
    port, proxy = form.editor("port", PlainEditor).widget, form.editor("network.proxy", PlainLine).line
    form.show_page("First")
    assert not port.isVisible()
    assert not proxy.isVisible()
    assert "Network" not in visible_text(form)
    form.editor("kind", PlainChoice).box.setCurrentIndex(1)
    form.show_page("Second")
    assert port.isVisible()
    assert proxy.isVisible()
    assert "Network" in visible_text(form)
    assert not form.editor("name", PlainLine).line.isVisible()
    assert form.is_shown("name"), "it is on the other page"


def test_hidden_row_keeps_what_was_typed(form: PlainForm) -> None:
    form.set_value({"kind": "b"})
    form.editor("port", PlainNumber).box.setValue(7)
    form.editor("kind", PlainChoice).box.setCurrentIndex(0)
    form.editor("kind", PlainChoice).box.setCurrentIndex(1)
    assert form.value() == {"kind": "b", "port": 7}


def test_value_that_a_row_cannot_show_is_left_to_json(form: PlainForm) -> None:
    form.set_value({"args": ["two\nlines"]})
    assert "can only be edited on the JSON page" in visible_text(form)
    assert not form.editor("args", PlainBox).box.isVisible()
    form.set_value({"args": ["one line"]})
    assert "can only be edited" not in visible_text(form)
    assert form.editor("args", PlainBox).box.isVisible()


@pytest.mark.parametrize(
    ("typed", "lines"),
    [("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\n\n", ["a", ""]), ("-y\nb c", ["-y", "b c"])],
)
def test_list_has_one_item_per_line(form: PlainForm, typed: str, lines: JSON) -> None:
    form.editor("args", PlainBox).box.setPlainText(typed)
    assert form.value().get("args", []) == lines


def test_invalid_json_keeps_the_previous_value_and_is_reported(form: PlainForm) -> None:
    form.set_value({"extra": {"n": 1}})
    box = form.editor("extra", PlainJson).box
    box.selectAll()
    QTest.keyClicks(box, "oops")
    assert form.value() == {"extra": {"n": 1}}
    assert form.problem().startswith("Extra is not JSON")
    box.selectAll()
    QTest.keyClick(box, Qt.Key.Key_Delete)
    assert (form.value(), form.problem()) == ({}, "")


def test_one_and_true_are_different_json_values(form: PlainForm) -> None:
    form.set_value({"extra": {"n": 1}})
    box = form.editor("extra", PlainJson).box
    box.set_text('{"n": true}')
    box.edited.emit()
    assert str(form.value()) == "{'extra': {'n': True}}"


def test_long_json_is_read_when_typing_pauses_or_on_finish(form: PlainForm, qtbot: QtBot) -> None:
    box = form.editor("extra", PlainJson).box
    with qtbot.assertNotEmitted(form.value_changed):
        box.set_text('{"n": "' + "x" * 40_000 + '"}')
        box.edited.emit()
    with qtbot.waitSignal(form.value_changed):
        form.finish()
    assert len(str(form.value())) > 40_000


def test_seconds_that_are_not_a_number_are_kept_to_be_reported(form: PlainForm) -> None:
    line = form.editor("timeout", PlainSeconds).line
    line.setText("soon")
    assert form.value() == {"timeout": "soon"}
    line.setText("2.5")
    assert form.value() == {"timeout": 2.5}
    line.clear()
    assert form.value() == {}


def test_stored_secret_is_replaced_deleted_or_kept(form: PlainForm) -> None:
    saved: JSONObject = {"secret": {"ref": "s"}}
    form.set_value(saved)
    editor = form.editor("secret", PlainSecret)
    assert isinstance(editor.control, QLineEdit)
    assert "in the secret store" in editor.control.placeholderText()
    editor.delete_action.trigger()
    assert form.value() == {}
    editor.delete_action.trigger()
    assert form.value() == saved
    editor.control.setFocus()
    QTest.keyClicks(editor.control, "new")
    assert form.value() == {"secret": "new"}


def test_setting_a_value_is_not_reported_as_a_change(form: PlainForm, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(form.value_changed), qtbot.assertNotEmitted(form.editing_finished):
        form.set_value({"kind": "b", "name": "n", "args": ["a"], "wait": 3, "extra": {"n": 1}})
    with qtbot.waitSignals([form.value_changed, form.editing_finished]):
        form.editor("network.verify", PlainSwitch).box.click()


def test_line_is_finished_when_it_is_left_and_not_while_typing(form: PlainForm, qtbot: QtBot) -> None:
    form.show_page("First")
    line = form.editor("name", PlainLine).line
    line.setFocus()
    with qtbot.assertNotEmitted(form.editing_finished):
        QTest.keyClicks(line, "abc")
    with qtbot.waitSignal(form.editing_finished):
        QTest.keyClick(line, Qt.Key.Key_Return)


@pytest.mark.parametrize("name", ["kind", "wait"])
def test_the_wheel_scrolls_the_form_and_changes_nothing(form: PlainForm, name: str) -> None:
    before = form.value()
    box = form.editor(name, PlainEditor).widget
    box.setFocus()
    center = QPointF(box.rect().center())
    wheel = QWheelEvent(
        center,
        QPointF(box.mapToGlobal(box.rect().center())),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(box, wheel)
    assert not wheel.isAccepted()
    assert form.value() == before


def test_tab_goes_from_a_control_to_the_buttons_in_its_row(form: PlainForm) -> None:
    button = QPushButton("More")
    form.add_widget("kind", button)
    assert form.editor("kind", PlainChoice).box.nextInFocusChain() is button


def test_controls_have_accessible_names(form: PlainForm) -> None:
    assert form.editor("name", PlainLine).line.accessibleName() == "Name"
    assert form.editor("secret", PlainSecret).control.accessibleName() == "Secret"
    assert form.editor("kind", PlainChoice).box.accessibleName() == "Kind"
