"""Filter bar: suggestions, typing pauses, error marks, recent and saved filters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QPushButton
from pytestqt.qtbot import QtBot

from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.completion import Suggestion
from inspector.qt.widgets.inputs.filter_bar import FilterBar, TextError
from inspector.qt.widgets.inputs.popups import NotePopup
from inspector.qt.widgets.text.labels import PlainLabel

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
FIELDS = ("method:", "mark", "status")


def complete(text: str, cursor: int) -> Sequence[Suggestion]:
    """Complete a language with three fields."""
    start = text.rfind(" ", 0, cursor) + 1
    typed = text[start:cursor]
    found = [word for word in FIELDS if typed and word.startswith(typed) and word != typed]
    return [Suggestion(word, start, cursor, f"about {word}") for word in found]


def check(text: str) -> TextError | None:
    return TextError(text.index("!"), "That is no word.") if "!" in text else None


@pytest.fixture
def bar(qapp: QApplication, qtbot: QtBot) -> FilterBar:
    bar = FilterBar(Theme(ICONS), "Filter", complete, check)
    qtbot.addWidget(bar)
    bar.resize(500, 30)
    bar.show()
    bar.activateWindow()
    bar.field.setFocus()
    qtbot.waitUntil(bar.field.hasFocus)
    return bar


@pytest.fixture
def applied(bar: FilterBar) -> list[str]:
    """Return the filters that the bar applied, as they are applied."""
    texts: list[str] = []
    bar.filter_changed.connect(texts.append)
    return texts


def press(bar: FilterBar, *keys: Qt.Key) -> None:
    for key in keys:
        QTest.keyClick(bar.field, key)


def error(bar: FilterBar) -> TextError | None:
    return bar.field.error


def suggested(bar: FilterBar) -> list[str]:
    return [each.text for each in bar.field.suggestions()]


def test_typing_opens_suggestions_and_tab_accepts_the_first(bar: FilterBar) -> None:
    QTest.keyClicks(bar.field, "m")
    assert suggested(bar) == ["method:", "mark"]
    press(bar, Qt.Key.Key_Tab)
    assert bar.field.text() == "method:"
    assert bar.field.hasFocus()
    assert suggested(bar) == []


def test_arrows_select_a_suggestion_and_enter_inserts_it_mid_text(bar: FilterBar) -> None:
    bar.field.setText("a  b")
    bar.field.setCursorPosition(2)
    QTest.keyClicks(bar.field, "m")
    press(bar, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Return)
    assert bar.field.text() == "a mark b"
    assert bar.field.cursorPosition() == len("a mark")


def test_up_begins_at_the_last_suggestion(bar: FilterBar) -> None:
    QTest.keyClicks(bar.field, "m")
    press(bar, Qt.Key.Key_Up, Qt.Key.Key_Enter)
    assert bar.field.text() == "mark"


def test_enter_applies_the_typed_filter_unless_a_suggestion_is_selected(
    bar: FilterBar, applied: list[str]
) -> None:
    QTest.keyClicks(bar.field, "m")
    press(bar, Qt.Key.Key_Return)
    assert applied == ["m"]
    assert suggested(bar) == []


def test_escape_closes_the_suggestions_then_clears_the_text(bar: FilterBar, applied: list[str]) -> None:
    QTest.keyClicks(bar.field, "m")
    press(bar, Qt.Key.Key_Escape)
    assert (suggested(bar), bar.field.text()) == ([], "m")
    press(bar, Qt.Key.Key_Escape)
    assert bar.field.text() == ""


@pytest.mark.parametrize("modifier", [Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.MetaModifier])
def test_control_space_requests_suggestions(bar: FilterBar, modifier: Qt.KeyboardModifier) -> None:
    """Meta is the Control key of macOS."""
    bar.field.setText("s")
    QTest.keyClick(bar.field, Qt.Key.Key_Space, modifier)
    assert suggested(bar) == ["status"]


def test_tab_leaves_the_bar_when_there_are_no_suggestions(bar: FilterBar) -> None:
    QTest.keyClicks(bar.field, "xyz")
    press(bar, Qt.Key.Key_Tab)
    assert not bar.field.hasFocus()


def test_filter_applies_when_typing_pauses(bar: FilterBar, applied: list[str], qtbot: QtBot) -> None:
    QTest.keyClicks(bar.field, "xyz ")
    assert applied == []
    qtbot.waitUntil(lambda: applied == ["xyz"])
    QTest.keyClicks(bar.field, "  ")
    bar.field.settle()
    assert applied == ["xyz"], "blanks do not change the filter"


def test_error_is_pointed_at_and_the_old_filter_stays(bar: FilterBar, applied: list[str]) -> None:
    bar.set_text("good")
    bar.set_text("good and !bad")
    assert applied == ["good"]
    assert bar.applied == "good"
    assert error(bar) == TextError(9, "That is no word.")
    assert bar.field.property("state") == "error"
    assert "no word" in bar.field.accessibleDescription()
    note = next(each for each in bar.field.findChildren(PlainLabel) if each.isVisible())
    assert note.text() == "Column 10: That is no word."
    bar.grab()  # paints the underline, also in scrolled text
    bar.set_text("good again")
    assert note.isHidden()
    assert error(bar) is None
    assert applied == ["good", "good again"]


def test_search_progress_can_be_stopped(bar: FilterBar, qtbot: QtBot) -> None:
    stop = next(action for action in bar.field.actions() if action.text() == "Stop searching")
    assert not stop.isVisible()
    bar.field.set_progress(0.5)
    bar.grab()
    assert stop.isVisible()
    with qtbot.waitSignal(bar.field.stop_requested):
        stop.trigger()
    bar.field.set_progress(None)
    assert not stop.isVisible()


def test_filter_history_is_newest_first_without_duplicates(bar: FilterBar) -> None:
    histories: list[Sequence[str]] = []
    bar.history_changed.connect(histories.append)
    for text in ("one", "two", "one", ""):
        bar.set_text(text)
    assert list(histories[-1]) == ["one", "two"]
    texts = [action.text() for action in bar.menu().actions()]
    assert texts.index("one") < texts.index("two")


def test_filter_applied_by_a_typing_pause_is_not_added_to_the_history(bar: FilterBar) -> None:
    for typed in ("x", "xy", "xyz"):
        bar.field.setText(typed)
        bar.field.settle()
    QTest.keyClick(bar.field, Qt.Key.Key_Return)
    bar.set_text("")
    texts = [action.text() for action in bar.menu().actions()]
    assert "xyz" in texts
    assert "xy" not in texts


def test_filter_is_saved_under_a_name_reused_from_the_menu_and_deleted(bar: FilterBar, qtbot: QtBot) -> None:
    bar.set_text("status")
    bar.ask_for_name()
    popup = bar.findChild(NotePopup)
    assert popup is not None
    popup.line.setText(" mine & yours ")
    with qtbot.waitSignal(bar.saving_requested) as saving:
        QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert saving.args == ["mine & yours", "status"]
    bar.set_saved({"mine & yours": "status"})
    bar.set_text("")
    menu = bar.menu()
    next(action for action in menu.actions() if action.text() == "mine && yours").trigger()
    assert bar.applied == "status"
    delete = next(each for each in menu.findChildren(QMenu) if each.title() == "Delete")
    with qtbot.waitSignal(bar.saving_requested) as saving:
        delete.actions()[0].trigger()
    assert saving.args == ["mine & yours", ""]


def test_invalid_filter_cannot_be_saved(bar: FilterBar) -> None:
    bar.set_text("!")
    save = next(action for action in bar.menu().actions() if action.text() == "Save filter…")
    assert not save.isEnabled()
    bar.ask_for_name()
    assert bar.findChild(NotePopup) is None


def test_chip_shows_an_additional_condition_and_removes_it_on_click(bar: FilterBar, qtbot: QtBot) -> None:
    chip = bar.findChild(QPushButton)
    assert chip is not None
    assert not chip.isVisible()
    bar.set_chip("14:03 – 14:05")
    assert chip.isVisible()
    with qtbot.waitSignal(bar.chip_closed):
        chip.click()


def test_error_is_shown_elsewhere_after_the_bar_loses_focus(bar: FilterBar, qtbot: QtBot) -> None:
    reported: list[str] = []
    bar.field.unfocused_error_changed.connect(reported.append)
    QTest.keyClicks(bar.field, "good")
    bar.field.settle()
    QTest.keyClicks(bar.field, "!")
    bar.field.settle()
    assert reported == [], "while the field has the focus, it shows the error itself"
    bar.field.clearFocus()
    assert reported == ["Column 5: That is no word."]
    bar.discard()
    assert (bar.field.text(), reported[-1]) == ("good", "")


def test_error_is_shown_when_the_suggestions_covering_it_close(bar: FilterBar) -> None:
    for key in (Qt.Key.Key_Escape, Qt.Key.Key_Return):
        bar.set_text("")
        QTest.keyClicks(bar.field, "! m")
        bar.field.settle()
        assert bar.field.suggestions()
        press(bar, key)
        notes = [label for label in bar.field.findChildren(PlainLabel) if label.isVisible()]
        assert [note.text() for note in notes] == ["Column 1: That is no word."]


def test_buttons_of_the_filter_field_have_their_icons_when_they_appear(bar: FilterBar) -> None:
    bar.field.setText("method:")
    bar.field.set_progress(0.5)
    bar.set_chip("10:00 – 11:00")
    assert [action.icon().isNull() for action in bar.field.actions() if action.isVisible()] == [False] * 3
    assert [chip.icon().isNull() for chip in bar.findChildren(QPushButton) if chip.isVisible()] == [False]
