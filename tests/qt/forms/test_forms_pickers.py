"""Date, time and file editors, and accessible names."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from PySide6.QtCore import QDate, Qt, QTime
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from inspector.base.json.values import JSONObject
from inspector.qt.forms.schema.choice_editors import ChoiceEditor, DateTimeEditor, FileEditor
from tests.qt.forms.form_driver import LEFT, TARGET, FormDriver, editor

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")


@pytest.fixture(autouse=True)
def _application(qapp: QApplication) -> None:
    """Create the application: a theme needs it."""


@pytest.mark.parametrize(
    ("format_name", "typed", "picked"),
    [
        ("date", "2024-02-28", "2025-12-31"),
        ("date-time", "2024-02-28T10:00:00+02:00", "2025-12-31T01:02:03Z"),
        ("time", "10:00:00Z", "01:02:03Z"),
    ],
)
def test_date_time_can_be_typed_or_picked(qtbot: QtBot, format_name: str, typed: str, picked: str) -> None:
    driver = FormDriver(qtbot, {"m": {"type": "string", "format": format_name}})
    moment = editor(driver, "m", DateTimeEditor)
    driver.type(moment.line, typed)
    assert driver.form.value() == {"m": typed}
    picker = moment.open_picker()
    if format_name != "time":
        assert picker.calendar.selectedDate() == QDate(2024, 2, 28)
    picker.calendar.setSelectedDate(QDate(2025, 12, 31))
    picker.clock.setTime(QTime(1, 2, 3))
    QTest.mouseClick(picker.set_button, LEFT)
    assert driver.form.value() == {"m": picked}
    driver.type(moment.line, " or so")
    assert driver.form.value() == {"m": f"{picked} or so"}


def test_a_file_is_sent_in_base64_with_its_size_shown(qtbot: QtBot, tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    (tmp_path / "data.bin").write_bytes(content)
    driver = FormDriver(qtbot, {"f": {"type": "string", "contentEncoding": "base64"}})
    file = editor(driver, "f", FileEditor)
    driver.type(file.line, "aGk=")
    assert file.size_label.text() == "2 B in 4 characters of base64"
    file.load_file(str(tmp_path / "data.bin"))
    assert driver.form.value() == {"f": base64.b64encode(content).decode()}
    assert file.size_label.text() == "data.bin, 10 KiB"
    file.load_file(str(tmp_path / "missing"))
    assert "missing: No such file" in file.size_label.text()
    assert driver.form.value() == {"f": base64.b64encode(content).decode()}


def test_every_focusable_widget_has_an_accessible_name(qtbot: QtBot) -> None:
    properties: JSONObject = {
        "text": {"type": "string"}, "long": {"type": "string"}, "n": {"type": "number"},
        "b": {"type": "boolean"},
        "enum": {"enum": ["a", "b"]}, "const": {"const": 1}, "day": {"type": "string", "format": "date"},
        "file": {"type": "string", "contentEncoding": "base64"}, "any": {}, "target": TARGET,
        "list": {"type": "array", "items": {"type": "string"}}, "map": {"type": "object"},
        "checks": {"type": "array", "uniqueItems": True, "items": {"enum": ["x", "y"]}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}]}, "odd": {"type": "mystery"},
    }  # fmt: skip
    driver = FormDriver(qtbot, properties)
    driver.form.set_value(
        {
            "long": "x" * 50_000,
            "any": 1,
            "target": {"kind": "web"},
            "list": ["a"],
            "map": {"k": "v"},
            "pair": [],
        }
    )
    driver.form.rows()
    controls = (QAbstractButton, QComboBox, QLineEdit, QPlainTextEdit)
    nameless = [
        f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
        for widget in driver.form.findChildren(QWidget)
        if isinstance(widget, controls)
        and not widget.objectName().startswith("qt_")
        and not QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)
    ]
    assert nameless == []


def test_a_long_list_of_choices_is_searched_by_typing_and_takes_only_its_values(qtbot: QtBot) -> None:
    driver = FormDriver(qtbot, {"zone": {"enum": [f"Region/City {n}" for n in range(400)]}})
    choice = editor(driver, "zone", ChoiceEditor)
    line = choice.box.lineEdit()
    assert line is not None
    choice.box.setFocus()
    QTest.keyClicks(choice.box, "city 39")
    completer = choice.box.completer()
    assert completer is not None
    assert completer.completionCount() == 11  # 39 and 390 to 399
    popup = completer.popup()
    assert popup is not None
    qtbot.waitUntil(popup.isVisible)
    QTest.keyClick(popup, Qt.Key.Key_Down)
    QTest.keyClick(popup, Qt.Key.Key_Return)
    assert driver.form.value() == {"zone": "Region/City 39"}
    line.selectAll()
    QTest.keyClicks(choice.box, "nowhere")
    QTest.keyClick(choice.box, Qt.Key.Key_Return)
    assert (driver.form.value(), line.text()) == ({"zone": "Region/City 39"}, "Region/City 39")
