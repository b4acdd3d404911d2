"""Secret text field: pasted or read from a file, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.errors import UserError
from inspector.oauth.signing import new_key, read_key
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.secret_fields import SecretText
from tests.qt.lens_driver import visible_text

ICONS = Path(__file__).parents[3] / "resources" / "icons"
PEM = new_key().pem().strip()


@pytest.fixture
def field(qtbot: QtBot) -> SecretText:
    field = SecretText(Theme(ICONS), "Private key", read_key)
    qtbot.addWidget(field)
    field.show()
    return field


def on_screen(field: SecretText) -> str:
    names = [each.accessibleName() for each in field.findChildren(QWidget)]
    return "\n".join([visible_text(field), field.line.text(), field.line.placeholderText(), *names])


def test_pasted_key_keeps_its_line_breaks_and_is_hidden(field: SecretText) -> None:
    QGuiApplication.clipboard().setText(f"\n{PEM}\n")
    QTest.keyClick(field.line, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    assert field.text() == PEM
    assert "characters" in field.line.text()
    assert not any(line in on_screen(field) for line in PEM.splitlines())


def test_nothing_can_be_typed_into_or_copied_out_of_the_field(field: SecretText) -> None:
    field.set_text(PEM)
    QGuiApplication.clipboard().setText("before")
    QTest.keyClicks(field.line, "abc")
    field.line.selectAll()
    QTest.keyClick(field.line, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert field.text() == PEM
    assert "PRIVATE" not in QGuiApplication.clipboard().text()


def test_a_key_is_read_from_a_file(field: SecretText, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text(PEM)
    field.open_action.trigger()
    dialog = field.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(path))
    assert field.text() == PEM
    assert not field.error_label.isVisible()
    dialog.close()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"hush-1 is no key", "not a readable private key"),
        (b"\xff\xfe\x00hush-1", "is not a text file"),
        (b"hush-1" * 20_000, "is larger than 64 KiB"),
        (b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nhush-1", "protected by a password"),
    ],
)
def test_a_file_without_a_key_says_why_and_quotes_nothing(
    field: SecretText, tmp_path: Path, content: bytes, message: str
) -> None:
    field.set_text(PEM)
    path = tmp_path / "other"
    path.write_bytes(content)
    field.read_file(path)
    assert message in field.error_label.text()
    assert "hush-1" not in on_screen(field)
    assert field.text() == PEM


def test_missing_file_is_reported(field: SecretText, tmp_path: Path) -> None:
    field.read_file(tmp_path / "gone")
    assert "gone is not a file" in field.error_label.text()
    field.read_file(tmp_path)
    assert "is not a file" in field.error_label.text()


def test_empty_clipboard_is_reported(field: SecretText) -> None:
    QGuiApplication.clipboard().clear()
    field.paste_action.trigger()
    assert "The clipboard contains no text" in field.error_label.text()


def test_field_can_be_cleared(field: SecretText, qtbot: QtBot) -> None:
    field.set_text(PEM)
    with qtbot.waitSignal(field.changed):
        field.clear_action.trigger()
    assert (field.text(), field.line.text()) == ("", "")
    assert not field.clear_action.isEnabled()


def test_without_validation_any_text_is_accepted(qtbot: QtBot) -> None:
    field = SecretText(Theme(ICONS), "Secret")
    qtbot.addWidget(field)
    field.set_text("any")
    assert field.text() == "any"


def test_validation_may_reject_the_text(qtbot: QtBot) -> None:
    def refuse(text: str) -> None:
        raise UserError("Not this one.", "Choose another.")

    field = SecretText(Theme(ICONS), "Secret", refuse)
    qtbot.addWidget(field)
    field.set_text("any")
    assert field.text() == ""
    assert field.error_label.text() == "Not this one. Choose another."
