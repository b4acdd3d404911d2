"""Login options in the Auth tab: saved for the server, except secrets."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from inspector.oauth.login.steps import Overrides
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.revisions import R3
from inspector.qt.forms.schema.plain_editors import PlainChoice, PlainLine, PlainSwitch
from inspector.qt.panels.login.options import OptionsForm
from tests.qt.login.login_stage import LoginStage, RecordedActions

CHOSEN = Overrides(
    revision=R3,
    strategy=Strategy.DYNAMIC,
    issuer="https://as.example",
    client_id="me",
    client_document="https://me.example/client.json",
    method="none",
    scope="",
    resource="https://mcp.example/",
    redirect_host="localhost",
    redirect_port=4711,
    redirect_path="/back",
    extras=(("prompt", "login"), ("audience", "a b")),
    uses_dpop=False,
    is_strict=True,
    tolerates_slash=True,
)


@pytest.fixture
def stage(qtbot: QtBot) -> LoginStage:
    return opened(qtbot, RecordedActions())


def opened(qtbot: QtBot, actions: RecordedActions) -> LoginStage:
    stage = LoginStage(actions=actions)
    qtbot.addWidget(stage.panel)
    stage.panel.resize(1200, 700)
    stage.panel.show()
    stage.panel.show_view("Options")
    return stage


def line(options: OptionsForm, name: str) -> QLineEdit:
    return options.form.editor(name, PlainLine).line


def test_previous_choices_are_restored(qtbot: QtBot) -> None:
    actions = RecordedActions()
    actions.saved_options = CHOSEN
    stage = opened(qtbot, actions)
    assert stage.panel.options.overrides() == CHOSEN
    assert stage.actions.calls == []
    stage.panel.controls.begin.trigger()
    assert stage.actions.calls == [("start", CHOSEN)]


def test_text_is_saved_when_editing_finishes_and_not_while_typing(stage: LoginStage) -> None:
    scope = line(stage.panel.options, "scope")
    scope.setFocus()
    QTest.keyClicks(scope, "read")
    assert stage.actions.calls == []
    QTest.keyClick(scope, Qt.Key.Key_Return)
    assert stage.actions.calls == [("save_options", Overrides(scope="read"))]
    QTest.keyClick(scope, Qt.Key.Key_Return)
    assert len(stage.actions.calls) == 1


def test_choices_and_switches_are_saved_immediately(stage: LoginStage) -> None:
    options = stage.panel.options
    QTest.keyClick(options.form.editor("is_strict", PlainChoice).box, Qt.Key.Key_Down)
    options.form.editor("tolerates_slash", PlainSwitch).box.click()
    assert stage.actions.calls == [
        ("save_options", Overrides(is_strict=True)),
        ("save_options", Overrides(is_strict=True, tolerates_slash=True)),
    ]


def test_restored_defaults_are_saved_too(qtbot: QtBot) -> None:
    actions = RecordedActions()
    actions.saved_options = CHOSEN
    stage = opened(qtbot, actions)
    stage.panel.options.reset_action.trigger()
    assert stage.actions.calls == [("save_options", Overrides())]


def test_incomplete_input_is_not_saved(stage: LoginStage) -> None:
    path = line(stage.panel.options, "redirect_path")
    path.setText("no slash")
    QTest.keyClick(path, Qt.Key.Key_Return)
    assert stage.actions.calls == []
