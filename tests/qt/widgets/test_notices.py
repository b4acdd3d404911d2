"""Messages in place, and the errors of a block of code shown in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import shiboken6
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QPushButton

from inspector.base.errors import UserError
from inspector.qt.theme import Theme
from inspector.qt.widgets.notices.notices import Alert, reported
from tests.qt.panel_stage import ICONS


@pytest.fixture
def alert(qapp: QApplication) -> Iterator[Alert]:
    alert = Alert(Theme(ICONS))
    yield alert
    if shiboken6.isValid(alert):
        alert.deleteLater()


def fail() -> None:
    raise UserError("The disk is full.", "Make room.")


def test_error_of_a_block_is_shown_until_the_block_succeeds(alert: Alert) -> None:
    with reported(alert, "save"):
        fail()
    assert alert.text("save") == "The disk is full. Make room."
    with reported(alert, "save"):
        pass
    assert alert.text("save") == ""
    assert alert.isHidden()


def test_message_shown_by_a_successful_block_stays(alert: Alert) -> None:
    with reported(alert, "save"):
        alert.show_message("save", "Saved.", tone="ok")
    assert alert.text("save") == "Saved."


def test_errors_that_are_not_for_the_user_are_passed_on(alert: Alert) -> None:
    with pytest.raises(ZeroDivisionError), reported(alert, "save"):
        raise ZeroDivisionError
    assert alert.text("save") == ""


def test_error_is_passed_on_if_its_alert_was_closed(alert: Alert) -> None:
    def save() -> None:
        with reported(alert, "save"):
            shiboken6.delete(alert)
            raise UserError("The disk is full.")

    with pytest.raises(UserError):
        save()


def test_button_of_a_compact_message_survives_a_new_text(alert: Alert) -> None:
    strips = Alert(Theme(ICONS), alert, is_compact=True)
    resume, dismiss = QAction("Resume", alert), QAction("Dismiss", alert)
    strips.show_message("pause", "Paused, 1 new.", actions=[resume])
    button = strips.findChild(QPushButton)
    strips.show_message("pause", "Paused, 2 new.", actions=[resume])
    assert strips.findChild(QPushButton) is button
    assert strips.text("pause") == "Paused, 2 new."
    strips.show_message("pause", "Paused, 2 new.", actions=[dismiss])
    assert [each.text() for each in strips.findChildren(QPushButton)] == ["Dismiss"]
