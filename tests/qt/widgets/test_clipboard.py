"""Copying secrets: after a confirmation, and cleared after a minute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from inspector.qt.panels.login.step_parts import SecretValue
from inspector.qt.theme import Theme
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.inputs.clipboard import CLEAR_AFTER_SECONDS, SecretClipboard, secret_clipboard

ICONS = Path(__file__).parents[3] / "resources" / "icons"
SECRET = "hush-7c1f0a9b"


def on_clipboard() -> str:
    return QGuiApplication.clipboard().text()


@pytest.fixture
def board(qapp: object) -> Iterator[SecretClipboard]:
    """Yield the clipboard with other text on it."""
    QGuiApplication.clipboard().setText("before")
    yield secret_clipboard()
    secret_clipboard().clear()


@pytest.fixture
def value(qtbot: QtBot, board: SecretClipboard) -> SecretValue:
    value = SecretValue(Theme(ICONS), "access token", SECRET)
    qtbot.addWidget(value)
    value.show()
    return value


@pytest.fixture
def view(qtbot: QtBot, board: SecretClipboard) -> JsonView:
    view = JsonView(Theme(ICONS), "text")
    qtbot.addWidget(view)
    view.resize(400, 300)
    view.show()
    return view


def test_secret_is_copied_only_after_confirmation(value: SecretValue) -> None:
    value.copy_action.trigger()
    assert on_clipboard() == "before"
    assert value.copy_prompt.isVisible()
    assert "access token" in value.copy_prompt.alert.text("copy")
    value.copy_prompt.copy_action.trigger()
    assert on_clipboard() == SECRET
    assert not value.copy_prompt.isVisible()


def test_cancel_copies_nothing(value: SecretValue) -> None:
    value.copy_action.trigger()
    value.copy_prompt.cancel_action.trigger()
    assert not value.copy_prompt.isVisible()
    assert on_clipboard() == "before"
    value.copy_prompt.copy_action.trigger()
    assert on_clipboard() == "before"


def test_confirmation_is_dismissed_when_its_value_is_gone(value: SecretValue) -> None:
    value.copy_action.trigger()
    value.set_value("another")
    assert not value.copy_prompt.is_asking


def test_the_clipboard_is_cleared_after_a_minute(board: SecretClipboard, qtbot: QtBot) -> None:
    reported: list[tuple[str, int]] = []
    board.notified.connect(lambda message, seconds: reported.append((message, seconds)))
    board.put(SECRET)
    assert board.timer.isActive()
    assert board.timer.interval() == 60_000
    board.timer.timeout.emit()
    assert on_clipboard() == ""
    assert [message for message, _ in reported] == [
        f"Copied. The clipboard is cleared in {CLEAR_AFTER_SECONDS} seconds.",
        "The clipboard was cleared.",
    ]


def test_text_copied_after_the_secret_stays(board: SecretClipboard) -> None:
    reported: list[str] = []
    board.put(SECRET)
    board.notified.connect(lambda message, seconds: reported.append(message))
    QGuiApplication.clipboard().setText("mine")
    board.timer.timeout.emit()
    assert on_clipboard() == "mine"
    assert reported == []


def test_second_secret_gets_its_own_minute(board: SecretClipboard) -> None:
    board.put(SECRET)
    board.put("hush-2")
    assert board.clear()
    assert on_clipboard() == ""
    assert not board.clear()


def test_clipboard_managers_are_asked_to_skip_secrets(board: SecretClipboard) -> None:
    board.put(SECRET)
    data = QGuiApplication.clipboard().mimeData()
    assert bytes(data.data("x-kde-passwordManagerHint").data()) == b"secret"


def test_text_with_secrets_is_copied_after_confirmation_in_full_or_in_part(view: JsonView) -> None:
    view.set_secret(True)
    view.set_text(f"token: {SECRET}", "text")
    view.copy_action.trigger()
    assert on_clipboard() == "before"
    view.copy_prompt.copy_action.trigger()
    assert on_clipboard() == f"token: {SECRET}"
    secret_clipboard().clear()
    view._code.selectAll()
    QTest.keyClick(view._code, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert on_clipboard() == ""
    assert view.copy_prompt.is_asking
    view.copy_prompt.copy_action.trigger()
    assert on_clipboard() == f"token: {SECRET}"


def test_text_without_secrets_is_copied_immediately_and_stays(view: JsonView) -> None:
    view.set_text("hello", "text")
    view._code.selectAll()
    QTest.keyClick(view._code, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert on_clipboard() == "hello"
    assert not secret_clipboard().timer.isActive()


def test_changed_text_dismisses_the_confirmation(view: JsonView) -> None:
    view.set_secret(True)
    view.set_text(SECRET, "text")
    view.copy_action.trigger()
    view.set_text("another", "text")
    assert not view.copy_prompt.is_asking


def test_confirmation_is_scrolled_into_view(qtbot: QtBot, board: SecretClipboard) -> None:
    area, inside = QScrollArea(), QWidget()
    column = QVBoxLayout(inside)
    column.addSpacing(2_000)
    value = SecretValue(Theme(ICONS), "access token", SECRET)
    column.addWidget(value)
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.resize(300, 200)
    qtbot.addWidget(area)
    area.show()
    value.copy_action.trigger()
    qtbot.waitUntil(lambda: not value.copy_prompt.visibleRegion().isEmpty())
