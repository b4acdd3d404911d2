"""Widgets with timers: search field and spinner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from inspector.qt.theme import DARK, Scheme, Theme
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.notices.empty_state import EmptyState, Spinner

# The offscreen platform warns about raising windows and grabbing keys.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())


@pytest.fixture
def field(theme: Theme, qtbot: QtBot) -> SearchField:
    field = SearchField(theme, "Search tools", delay_ms=30)
    qtbot.addWidget(field)
    field.show()
    return field


def is_animated(spinner: Spinner) -> bool:
    timer = spinner.findChild(QTimer)
    assert timer is not None
    return bool(timer.isActive())


def settled(field: SearchField) -> list[str]:
    seen: list[str] = []
    field.text_settled.connect(seen.append)
    return seen


def test_typing_emits_once_with_the_last_text(field: SearchField, qtbot: QtBot) -> None:
    seen = settled(field)
    with qtbot.waitSignal(field.text_settled):
        QTest.keyClicks(field, "hello")
    assert seen == ["hello"]
    assert not field.is_waiting


def test_text_typed_and_deleted_emits_nothing(field: SearchField, qtbot: QtBot) -> None:
    seen = settled(field)
    field.setText("x")
    field.setText("")
    qtbot.waitUntil(lambda: not field.is_waiting)
    assert seen == []


def test_enter_emits_immediately(field: SearchField, qtbot: QtBot) -> None:
    seen = settled(field)
    field.setText("now")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert seen == ["now"]
    assert not field.is_waiting


def test_escape_clears_immediately(field: SearchField, qtbot: QtBot) -> None:
    field.setText("gone")
    field.settle()
    seen = settled(field)
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert seen == [""]


def test_hidden_field_does_not_wait_and_resumes_when_shown(field: SearchField, qtbot: QtBot) -> None:
    seen = settled(field)
    field.setText("later")
    field.hide()
    assert not field.is_waiting
    with qtbot.waitSignal(field.text_settled):
        field.show()
    assert seen == ["later"]


def test_clear_button_appears_only_next_to_text(field: SearchField) -> None:
    clear = field.actions()[-1]
    assert not clear.isVisible()
    field.setText("x")
    assert clear.isVisible()
    clear.trigger()
    assert field.text() == ""


def test_search_icon_follows_the_theme(field: SearchField, theme: Theme, qapp: QApplication) -> None:
    theme.apply(qapp, Scheme.DARK)
    image = field.actions()[0].icon().pixmap(16, 16).toImage()
    pixels = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
    assert max(pixels, key=lambda pixel: pixel.alpha()).name() == DARK.muted


def test_spinner_animates_only_while_visible(theme: Theme, qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    spinner = Spinner(theme, 24, window)
    animated = [is_animated(spinner)]
    for visible in (True, False):
        window.setVisible(visible)
        animated.append(is_animated(spinner))
    assert animated == [False, True, False]


def test_spinner_moves(theme: Theme, qtbot: QtBot) -> None:
    spinner = Spinner(theme)
    qtbot.addWidget(spinner)
    spinner.show()
    first = spinner.grab().toImage()
    qtbot.waitUntil(lambda: spinner.grab().toImage() != first)


def test_loading_state_animates_and_the_next_state_stops_it(theme: Theme, qtbot: QtBot) -> None:
    empty = EmptyState(theme)
    qtbot.addWidget(empty)
    empty.show_loading("Connecting…", "Waiting for initialize.")
    empty.show()
    spinner = empty.findChild(Spinner)
    assert spinner is not None
    animated = [is_animated(spinner)]
    empty.show_empty("server", "No servers", "Add one.")
    assert [*animated, is_animated(spinner)] == [True, False]
