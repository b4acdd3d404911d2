"""The login panel with views made by hand: what it shows, and the actions it calls."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from inspector.base.errors import UserError
from inspector.engine.views import ServerStatus
from inspector.oauth.http import LoginRequest, get_document
from inspector.oauth.login.steps import LoginPrompt, LoginPromptKind, Overrides, StepId, StepState
from inspector.protocol.auth.client_registration import Strategy
from inspector.protocol.revisions import R3
from inspector.qt.forms.schema.plain_editors import PlainChoice, PlainLine, PlainNumber, PlainSwitch
from inspector.qt.panels.login.panel import VIEWS, LoginPanel
from inspector.qt.panels.login.step_list import LoginControls
from inspector.qt.panels.login.step_parts import SecretValue
from inspector.qt.panels.login.tokens import expiry_text
from inspector.qt.widgets.inputs.clipboard import secret_clipboard
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.transport.peer import CertificateInfo, Peer
from tests.qt.lens_driver import visible_text
from tests.qt.login.login_stage import (
    ACCESS,
    CODE,
    REFRESH,
    STATE,
    VERIFIER,
    LoginStage,
    exchange,
    login,
    server_view,
    token,
    waiting,
    with_step,
)

SECRETS = (CODE, VERIFIER, STATE, ACCESS, REFRESH)


@pytest.fixture
def stage(qtbot: QtBot) -> LoginStage:
    stage = LoginStage()
    qtbot.addWidget(stage.panel)
    stage.panel.resize(1200, 700)
    stage.panel.show()
    return stage


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def all_text(widget: QWidget) -> str:
    return "\n".join(
        [visible_text(widget), *(each.accessibleName() for each in widget.findChildren(QWidget))]
    )


def buttons(controls: LoginControls) -> list[ActionButton]:
    """Return the visible buttons."""
    return [each for each in controls.findChildren(ActionButton) if each.isVisibleTo(controls)]


def secret_of(panel: LoginPanel, name: str) -> SecretValue:
    found = [each for each in panel.card.findChildren(SecretValue) if each.label.accessibleName() == name]
    return found[-1]


def test_login_can_be_started_before_there_is_one(stage: LoginStage) -> None:
    assert "No login yet" in visible_text(stage.panel)
    stage.panel.controls.begin.trigger()
    stage.panel.controls.log_in.trigger()
    assert stage.actions.calls == [("start", Overrides()), ("start", Overrides()), ("run",)]


def test_server_that_needs_a_login_says_so_with_the_reason(stage: LoginStage) -> None:
    stage.panel.set_view(server_view(status=ServerStatus.NEEDS_LOGIN, reason="HTTP 401."))
    assert "Login required" in visible_text(stage.panel)
    assert "HTTP 401." in visible_text(stage.panel)


def test_local_server_shows_an_explanation_instead_of_a_login(stage: LoginStage) -> None:
    stage.panel.set_view(server_view("stdio"))
    assert "environment" in visible_text(stage.panel)
    assert not stage.panel.controls.isVisible()


def test_all_steps_are_listed_and_the_next_one_is_shown(stage: LoginStage) -> None:
    stage.panel.show_login(login(2))
    assert stage.panel.steps.count() == 17
    assert stage.panel.steps.chosen() is StepId.RESOURCE_LOOKUP
    assert stage.panel.card.title.text() == "3  Find resource metadata"
    assert (
        stage.panel.steps.item(1).data(Qt.ItemDataRole.AccessibleTextRole)
        == "Read challenge, done, 1 finding"
    )


def test_step_list_follows_the_login_until_the_user_selects_another_step(stage: LoginStage) -> None:
    stage.panel.show_login(login(2))
    stage.panel.show_login(login(3))
    assert stage.panel.steps.chosen() is StepId.RESOURCE_CHECK
    stage.panel.steps.choose(StepId.PROBE)
    stage.panel.show_login(login(4))
    assert stage.panel.steps.chosen() is StepId.PROBE
    stage.panel.show_login(login(0, flow_id=2))
    stage.panel.show_login(login(1, flow_id=2))
    assert stage.panel.steps.chosen() is StepId.CHALLENGE


def test_card_shows_reason_decision_findings_and_differences_between_versions(
    stage: LoginStage,
) -> None:
    stage.panel.show_login(login(2))
    stage.panel.steps.choose(StepId.PROBE)
    text = visible_text(stage.panel.card)
    assert "A request without a token shows whether the server requires one." in text
    assert "The server returned 401: a login is required." in text
    assert "2025-11-25 and before probe with initialize." in text
    stage.panel.steps.choose(StepId.CHALLENGE)
    text = visible_text(stage.panel.card)
    assert "AUTH-004" in text
    assert "add resource_metadata to the challenge" in text
    assert "notes:read" in text  # of its table


def test_values_show_their_origin_and_secrets_are_revealed_one_by_one(stage: LoginStage) -> None:
    stage.panel.show_login(login(10))
    stage.panel.steps.choose(StepId.PREPARE)
    text = visible_text(stage.panel.card)
    assert "from WWW-Authenticate" in text
    assert VERIFIER not in text
    secret_of(stage.panel, "code_verifier").show_action.trigger()
    text = visible_text(stage.panel.card)
    assert VERIFIER in text
    assert STATE not in text
    stage.panel.show_login(with_step(login(10), StepId.PREPARE, why="Changed."))
    assert VERIFIER in visible_text(stage.panel.card), "revealed values stay revealed in this login"
    stage.panel.show_login(login(10, flow_id=2))
    stage.panel.steps.choose(StepId.PREPARE)
    assert VERIFIER not in visible_text(stage.panel.card)


def test_panel_shows_no_secret_until_revealed(stage: LoginStage) -> None:
    view = login(17, StepState.DONE, is_over=True, result=token(), waiting=waiting())
    stage.set_token(token())
    stage.panel.show_login(view)
    for step in view.steps:
        stage.panel.steps.choose(step.id)
        shown = all_text(stage.panel) + stage.panel.http.text.shown_text()
        assert [secret for secret in SECRETS if secret in shown] == [], step.id
    for name in VIEWS:
        stage.panel.show_view(name)
        assert [secret for secret in SECRETS if secret in all_text(stage.panel)] == [], name


def test_failed_step_says_why_and_can_be_retried(stage: LoginStage) -> None:
    view = with_step(login(5, StepState.FAILED), StepId.SERVER_LOOKUP, problem="No metadata anywhere.")
    stage.panel.show_login(replace(view, failure="No metadata anywhere.", next_step="Ask the operator."))
    assert stage.panel.card.error.text("error") == "No metadata anywhere."
    assert "Ask the operator." in stage.panel.alert.text("failure")
    stage.panel.controls.retry.trigger()
    assert stage.actions.calls == [("retry",)]


def test_server_text_stays_plain_text(stage: LoginStage) -> None:
    evil = '<img src="file:///etc/passwd"><b>x</b>'
    stage.panel.show_login(with_step(login(1), StepId.CHALLENGE, why=evil, problem=evil))
    shown = [each for each in stage.panel.findChildren(QLabel) if evil in each.text()]
    assert shown
    assert all(each.textFormat() is Qt.TextFormat.PlainText for each in shown)


def test_buttons_request_what_their_labels_say(stage: LoginStage) -> None:
    stage.panel.show_login(login(2))
    stage.panel.controls.next.trigger()
    stage.panel.controls.run.trigger()
    stage.panel.steps.choose(StepId.PREPARE)
    stage.panel.controls.run_to.trigger()
    stage.panel.steps.choose(StepId.PROBE)
    stage.panel.controls.back.trigger()
    stage.panel.controls.cancel.trigger()
    assert stage.actions.calls == [
        ("next",),
        ("run",),
        ("run_to", StepId.PREPARE),
        ("back", StepId.PROBE),
        ("cancel",),
    ]


def test_ctrl_return_runs_the_next_step(stage: LoginStage) -> None:
    stage.panel.show_login(login(2))
    stage.panel.steps.setFocus()
    QTest.keyClick(stage.panel.steps, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert stage.actions.calls == [("next",)]


def test_while_a_step_runs_only_cancel_is_enabled(stage: LoginStage) -> None:
    stage.panel.show_login(login(2, StepState.RUNNING, is_running=True))
    controls = stage.panel.controls
    usable = [button.text() for button in buttons(controls) if button.isEnabled()]
    assert usable == ["Cancel"]


def test_finished_login_can_go_back_or_start_over(stage: LoginStage) -> None:
    stage.panel.show_login(login(17, StepState.DONE, is_over=True, result=token()))
    controls = stage.panel.controls
    shown = [button.text() for button in buttons(controls)]
    assert shown == ["Log in again", "Log in step by step", "Go back to here"]
    stage.panel.steps.choose(StepId.IDENTITY)
    controls.back.trigger()
    assert stage.actions.calls == [("back", StepId.IDENTITY)]


def test_error_of_an_action_is_shown_in_the_panel(stage: LoginStage) -> None:
    stage.panel.show_login(login(2))
    stage.actions.error = UserError("The login is busy.", "Wait for it.")
    stage.panel.controls.next.trigger()
    assert stage.panel.alert.text("command") == "The login is busy. Wait for it."
    stage.actions.error = None
    stage.panel.controls.next.trigger()
    assert stage.panel.alert.text("command") == ""


PREVIEW = LoginRequest(
    "POST", "https://login.example.com/token", (("Accept", "*/*"),), b"code=" + CODE.encode()
)


def test_request_is_shown_before_it_is_sent_and_can_be_edited(stage: LoginStage) -> None:
    stage.panel.show_login(with_step(login(12), StepId.TOKEN_REQUEST, preview=PREVIEW, exchanges=()))
    preview = stage.panel.card.preview
    assert "POST https://login.example.com/token" in preview.text.text()
    assert CODE not in preview.text.text()
    assert "not sent yet" in stage.panel.http.about.text()
    preview.edit_action.trigger()
    assert preview.body.toPlainText() == f"code={CODE}"
    preview.body.setPlainText("code=other")
    preview.headers.setPlainText("Accept: text/plain\nX-More: 1")
    preview.apply_action.trigger()
    sent = replace(PREVIEW, headers=(("Accept", "text/plain"), ("X-More", "1")), body=b"code=other")
    assert stage.actions.calls == [("edit", sent)]
    assert preview.body.toPlainText() == "", "no secret stays in a hidden field"


def test_text_copied_from_the_editor_does_not_stay_on_the_clipboard(stage: LoginStage) -> None:
    stage.panel.show_login(with_step(login(12), StepId.TOKEN_REQUEST, preview=PREVIEW))
    preview = stage.panel.card.preview
    preview.edit_action.trigger()
    preview.body.selectAll()
    preview.body.copy()
    assert clipboard() == f"code={CODE}"
    assert secret_clipboard().timer.isActive()
    secret_clipboard().timer.timeout.emit()
    assert clipboard() == ""
    preview.discard_action.trigger()
    QGuiApplication.clipboard().setText(f"code={CODE}")
    assert not secret_clipboard().timer.isActive(), "editing has ended"


def test_invalid_header_is_not_used(stage: LoginStage) -> None:
    stage.panel.show_login(with_step(login(12), StepId.TOKEN_REQUEST, preview=PREVIEW))
    preview = stage.panel.card.preview
    preview.edit_action.trigger()
    preview.headers.setPlainText("Accept: a\nno header at all")
    preview.apply_action.trigger()
    assert "Line 2 of the headers" in preview.alert.text("request")
    assert stage.actions.calls == []


def test_unsaved_edits_survive_login_updates(stage: LoginStage) -> None:
    view = with_step(login(12), StepId.TOKEN_REQUEST, preview=PREVIEW)
    stage.panel.show_login(view)
    preview = stage.panel.card.preview
    preview.edit_action.trigger()
    preview.body.setPlainText("mine")
    stage.panel.show_login(with_step(view, StepId.TOKEN_REQUEST, why="Changed."))
    assert preview.is_editing
    assert preview.body.toPlainText() == "mine"


def test_each_request_of_a_step_can_be_viewed_with_its_response(stage: LoginStage) -> None:
    stage.panel.show_login(login(3))
    stage.panel.steps.choose(StepId.RESOURCE_LOOKUP)
    assert "HTTP 200" in stage.panel.http.text.shown_text()
    stage.panel.http.choose(0)
    assert "HTTP 404" in stage.panel.http.text.shown_text()


def test_request_secrets_are_shown_on_demand_and_hidden_again_for_the_next_request(stage: LoginStage) -> None:
    stage.panel.show_login(login(17, StepState.DONE))
    stage.panel.steps.choose(StepId.TOKEN_REQUEST)
    http = stage.panel.http
    assert http.secrets.isVisible()
    http.secrets.setChecked(True)
    assert VERIFIER in http.text.shown_text()
    stage.panel.steps.choose(StepId.PROBE)
    assert not http.secrets.isVisible()
    stage.panel.steps.choose(StepId.TOKEN_REQUEST)
    assert VERIFIER not in http.text.shown_text()


def test_request_links_to_its_traffic_row(stage: LoginStage, qtbot: QtBot) -> None:
    stage.panel.show_login(login(3))
    stage.panel.steps.choose(StepId.PROBE)
    with qtbot.waitSignal(stage.context.row_requested) as requested:
        stage.panel.http.row_action.trigger()
    assert requested.args == [7]


def test_card_and_http_view_alternate_when_space_is_limited(stage: LoginStage) -> None:
    stage.panel.show_login(login(3))
    stage.panel.steps.choose(StepId.PROBE)
    assert stage.panel.card.isVisible()
    assert stage.panel.http.isVisible()
    stage.panel.resize(640, 380)
    assert stage.panel.width() == 640
    assert stage.panel.card.isVisible()
    assert not stage.panel.http.isVisible()
    stage.panel.card.exchange_chosen.emit(0)
    assert stage.panel.http.isVisible()
    assert not stage.panel.card.isVisible()


def test_while_waiting_for_the_browser_host_time_and_callbacks_are_shown(stage: LoginStage) -> None:
    ends_at = time.monotonic_ns() + 252 * 10**9
    stage.panel.show_login(login(10, StepState.RUNNING, waiting=waiting(ends_at=ends_at), is_running=True))
    box = stage.panel.browser_wait
    assert box.host.text() == "login.example.com"
    assert box.time_left.text() in ("4 min 12 s left", "4 min 11 s left")
    assert "Its state does not match." in box.hits.text()
    box.open_action.trigger()
    assert len(stage.opened) == 1
    assert stage.opened[0].startswith("https://login.example.com/authorize")
    box.copy_action.trigger()
    assert clipboard() == waiting().authorization_url


def test_forbidden_url_cannot_be_opened(stage: LoginStage) -> None:
    bad = waiting(authorization_url="file:///etc/passwd")
    stage.panel.show_login(login(10, StepState.RUNNING, waiting=bad, is_running=True))
    assert not stage.panel.browser_wait.open_action.isEnabled()
    assert "MCP Lens blocked this URL" in stage.panel.browser_wait.warnings.text("url")


def test_callback_url_can_be_pasted(stage: LoginStage) -> None:
    stage.panel.show_login(login(10, StepState.RUNNING, waiting=waiting(), is_running=True))
    field = stage.panel.browser_wait.paste_field
    field.setText(" http://127.0.0.1:43210/callback?code=x&state=y ")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert stage.actions.calls == [("submit callback URL", "http://127.0.0.1:43210/callback?code=x&state=y")]
    stage.panel.show_login(login(11))
    assert not stage.panel.browser_wait.isVisible()
    assert field.text() == "", "it contains the code"


def test_other_hosts_are_contacted_only_with_the_users_consent(stage: LoginStage) -> None:
    prompt = LoginPrompt(
        LoginPromptKind.HOSTS, "These hosts are different.", "https://i", ("a.example", "b.example")
    )
    stage.panel.show_login(login(7, prompt=prompt))
    assert "a.example\nb.example" in visible_text(stage.panel.prompt)
    assert not stage.panel.controls.next.isEnabled()
    stage.panel.prompt.block_action.trigger()
    stage.panel.prompt.allow_action.trigger()
    assert stage.actions.calls == [("allow_hosts", False, prompt), ("allow_hosts", True, prompt)]


def test_client_is_requested_and_its_secret_does_not_stay_in_the_field(stage: LoginStage) -> None:
    prompt = LoginPrompt(LoginPromptKind.CLIENT, "Which client should be used?", "https://i")
    stage.panel.show_login(login(7, prompt=prompt))
    box = stage.panel.prompt
    assert not box.use_client_action.isEnabled()
    box.client_id.setText("abc")
    box.secret.setText("s3cret")
    box.use_client_action.trigger()
    assert stage.actions.calls == [("set_client", "abc", "s3cret", prompt)]
    assert box.secret.text() == ""


def test_options_become_overrides_of_the_next_login(stage: LoginStage) -> None:
    options = stage.panel.options
    options.form.editor("revision", PlainChoice).box.setCurrentText(str(R3))
    options.form.editor("is_strict", PlainChoice).box.setCurrentText("Strict")
    options.form.editor("strategy", PlainChoice).box.setCurrentText("Dynamic client registration")
    options.form.editor("client_id", PlainLine).line.setText("abc")
    options.form.editor("no_resource", PlainSwitch).box.setChecked(True)
    options.form.editor("scope", PlainLine).line.setText("a b")
    options.form.editor("redirect_port", PlainNumber).box.setValue(4321)
    options.form.editor("extras", PlainLine).line.setText("prompt=login&audience=x")
    stage.panel.show_view("Options")
    stage.panel.controls.begin.trigger()
    expected = Overrides(
        revision=R3,
        is_strict=True,
        strategy=Strategy.DYNAMIC,
        client_id="abc",
        resource="",
        scope="a b",
        redirect_port=4321,
        extras=(("prompt", "login"), ("audience", "x")),
    )
    assert stage.actions.calls == [("start", expected)]
    options.reset_action.trigger()
    assert options.overrides() == Overrides()


@pytest.mark.parametrize(
    ("field", "text", "error"),
    [
        ("extras", "nonsense", "Could not parse"),
        ("extras", "state=x", "state"),
        ("redirect_path", "callback", "must start with /"),
    ],
)
def test_login_does_not_start_with_invalid_options(
    stage: LoginStage, field: str, text: str, error: str
) -> None:
    stage.panel.options.form.editor(field, PlainLine).line.setText(text)
    stage.panel.controls.log_in.trigger()
    assert stage.actions.calls == []
    assert error in stage.panel.alert.text("command")
    assert stage.panel.options.isVisible()


def test_new_login_is_brought_into_view(stage: LoginStage) -> None:
    stage.panel.show_view("Options")
    stage.panel.show_login(login(0))
    assert stage.panel.steps.isVisible()


def test_diagram_fills_in_and_a_click_selects_the_step(stage: LoginStage) -> None:
    stage.panel.show_login(login(3))
    stage.panel.show_view("Diagram")
    canvas = stage.panel.diagram.canvas
    assert [each.text for each in canvas.arrows][:2] == ["POST /notes/mcp", "401"]
    position = next(at for at, each in enumerate(canvas.arrows) if each.step is StepId.RESOURCE_LOOKUP)
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=QPoint(50, canvas.row_box(position).center().y()))
    assert stage.panel.steps.chosen() is StepId.RESOURCE_LOOKUP
    assert stage.panel.card.isVisible()
    stage.panel.diagram.copy_action.trigger()
    assert clipboard().startswith("sequenceDiagram")


def test_diagram_can_be_navigated_with_the_keyboard(stage: LoginStage) -> None:
    stage.panel.show_login(login(3))
    stage.panel.show_view("Diagram")
    canvas = stage.panel.diagram.canvas
    stage.panel.steps.choose(StepId.PROBE)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(canvas, key)
    assert stage.panel.steps.chosen() is StepId.CHALLENGE


def test_all_findings_are_listed_and_link_to_their_steps(stage: LoginStage) -> None:
    stage.panel.show_login(login(3))
    assert stage.panel.views.button(VIEWS.index("Findings")).text() == "Findings 1"
    stage.panel.show_view("Findings")
    assert stage.panel.findings.title.text() == "1 warning"
    stage.panel.findings.copy_action.trigger()
    assert "AUTH-004" in clipboard()
    stage.panel.findings.step_requested.emit(StepId.CHALLENGE)
    assert stage.panel.steps.chosen() is StepId.CHALLENGE


def test_login_is_copied_and_exported_without_secrets(stage: LoginStage, tmp_path: Path) -> None:
    stage.panel.show_login(login(17, StepState.DONE, is_over=True, result=token()))
    stage.panel.copy_action.trigger()
    assert "Request token: done" in clipboard()
    stage.panel.export_action.trigger()
    dialog = stage.panel.findChild(QFileDialog)
    assert isinstance(dialog, QFileDialog)
    dialog.fileSelected.emit(str(tmp_path / "login.json"))
    dialog.close()
    edited_request = (tmp_path / "login.json").read_text()
    assert json.loads(edited_request)["revision"] == "2026-07-28"
    assert [each for each in SECRETS if each in clipboard() or each in edited_request] == []


def test_token_is_shown_with_its_claims_and_working_buttons(stage: LoginStage) -> None:
    stage.set_token(token())
    stage.panel.show_view("Token")
    text = visible_text(stage.panel.token)
    assert "Its signature was not verified." in text
    assert "exp: expires" in text
    assert "Not granted" in text
    for action in ("refresh_action", "log_out_action", "delete_action"):
        getattr(stage.panel.token, action).trigger()
    assert stage.actions.calls == [("refresh",), ("log_out",), ("delete_tokens",)]


def test_logout_reports_its_result_and_leaves_no_token(stage: LoginStage) -> None:
    stage.set_token(token())
    stage.panel.show_view("Token")
    stage.panel.token.log_out_action.trigger()
    stage.set_token(None)
    assert stage.panel.alert.text("command") == "The tokens were revoked."
    assert "No token" in visible_text(stage.panel.token)


def test_logins_of_other_servers_are_not_shown_here(stage: LoginStage) -> None:
    stage.bridge.login_changed.emit(login(2, server="other"))
    assert "No login yet" in visible_text(stage.panel)
    stage.bridge.login_changed.emit(login(2))
    assert stage.panel.card.isVisible()


def test_without_a_refresh_token_there_is_nothing_to_refresh(stage: LoginStage) -> None:
    stage.set_token(token(refresh_token="", access_token="opaque"))
    stage.panel.show_view("Token")
    assert not stage.panel.token.refresh_action.isEnabled()
    assert "Opaque" in visible_text(stage.panel.token)


@pytest.mark.parametrize(
    ("expires_at", "text", "tone"),
    [
        (None, "not specified", "muted"),
        (1_000_045.0, "in 45 s (", "warn"),
        (1_000_185.0, "in 3 min 05 s (", "text"),
        (1_007_200.0, "in 2 h 00 min (", "text"),
        (999_990.0, "10 s ago (", "error"),
    ],
)
def test_expiry_countdown_is_shown(expires_at: float | None, text: str, tone: str) -> None:
    shown, shown_tone = expiry_text(expires_at, 1_000_000.0)
    assert shown.startswith(text)
    assert shown_tone == tone


def test_responding_host_is_named_on_the_card_with_its_certificate(stage: LoginStage) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    certificate = CertificateInfo("CN=as", "CN=ca", ("as.example",), at, at, "AB:CD", False, False, "")
    response = replace(
        exchange(get_document("https://as.example/x"), 200),
        peer=Peer("203.0.113.5", 443, "TLSv1.3", certificate),
    )
    view = with_step(login(6), StepId.SERVER_LOOKUP, exchanges=(response,))
    stage.panel.show_login(view)
    stage.panel.show_step(StepId.SERVER_LOOKUP)
    text = visible_text(stage.panel.card)
    assert "from 203.0.113.5 port 443, TLSv1.3" in text
    assert "CN=as, signed by CN=ca" in text
    assert "2026-01-02" in text


def test_trust_decision_has_its_own_buttons(stage: LoginStage) -> None:
    prompt = LoginPrompt(LoginPromptKind.ISSUER, "May it get the JWT?", "https://as.example")
    stage.panel.show_login(login(5, prompt=prompt))
    assert stage.panel.prompt.allow_action.text() == "Trust issuer"
    stage.panel.prompt.block_action.trigger()
    assert stage.actions.calls == [("allow_hosts", False, prompt)]
    hosts = LoginPrompt(LoginPromptKind.HOSTS, "Do they belong to it?", "https://as.example", ("b.example",))
    stage.panel.show_login(login(5, prompt=hosts))
    assert stage.panel.prompt.allow_action.text() == "Allow hosts"


def test_failed_step_is_not_counted_as_done(stage: LoginStage) -> None:
    view = login(5, StepState.FAILED, failure="Not found.")
    stage.panel.show_login(view)
    assert f"{5} of {len(view.steps)} steps done" in visible_text(stage.panel.controls)
