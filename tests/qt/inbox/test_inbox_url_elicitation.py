"""URL elicitations: opened on a click only, with warnings about suspicious URLs."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication

from inspector.protocol.server_requests.request import RequestEnd
from tests.qt.inbox.inbox_stage import InboxStage, form, page, requesting_server
from tests.qt.lens_driver import Lens, visible_text


def test_url_is_opened_on_click_and_consent_is_sent_immediately(lens: Lens) -> None:
    """T31: an elicitation opens a phishing page without consent."""
    stage = InboxStage(lens)
    call = stage.call(ask=[page()])
    stage.wait_for(1)
    assert stage.opened == []
    assert stage.page().url.text() == "https://pages.test/a?b=c"
    assert "Goes to pages.test" in stage.text()
    stage.press("Open in browser")
    assert stage.opened == ["https://pages.test/a?b=c"]
    assert stage.replies(call) == [{"action": "accept"}]
    lens.until(lambda: stage.view.inbox_request.awaits_completion)
    assert "waiting for the browser" in stage.text()
    stage.press("Open again")
    assert len(stage.opened) == 2
    stage.call(tool="complete", ids=["e1"])
    stage.wait_for(0)
    assert stage.earlier()[0].end is RequestEnd.ANSWERED


def test_user_can_continue_before_the_server_reports_completion(lens: Lens) -> None:
    stage = InboxStage(lens)
    for label, note in (("Continue", ""), ("Dismiss", "Dismissed before")):
        stage.call(ask=[page()])
        stage.wait_for(1)
        stage.press("Open in browser")
        lens.until(lambda: stage.view.inbox_request.awaits_completion)
        stage.press(label)
        stage.wait_for(0)
        assert stage.earlier()[0].note.startswith(note)


def test_url_elicitation_is_declined_and_cancelled_without_opening_it(lens: Lens) -> None:
    stage = InboxStage(lens)
    for label, action in (("Decline", "decline"), ("Cancel", "cancel")):
        call = stage.call(ask=[page()])
        stage.wait_for(1)
        stage.press("Copy URL")
        assert QGuiApplication.clipboard().text() == "https://pages.test/a?b=c"
        stage.press(label)
        assert stage.replies(call) == [{"action": action}]
        stage.wait_for(0)
    assert stage.opened == []


def test_lookalike_host_is_shown_in_both_forms_and_warned_about(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.call(ask=[page("https://good.test@xn--80ak6aa92e.com:8443/")])
    stage.wait_for(1)
    text = stage.text()
    assert "xn--80ak6aa92e.com" in text
    assert "аррӏе.com" in text
    assert "user name" in visible_text(stage.page().warnings)
    assert "unusual port" in visible_text(stage.page().warnings)
    stage.press("Decline")


def test_non_web_url_cannot_be_opened(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(ask=[page("file:///etc/passwd")])
    stage.wait_for(1)
    assert not stage.page().open_action.isEnabled()
    assert "only http and https" in visible_text(stage.page().warnings)
    stage.page().open_page()
    assert stage.opened == []
    assert not call.done()
    stage.press("Decline")
    assert stage.replies(call) == [{"action": "decline"}]


def test_without_a_browser_nothing_is_sent_until_the_user_confirms(lens: Lens) -> None:
    stage = InboxStage(lens)
    stage.browser_works = False
    call = stage.call(ask=[page()])
    stage.wait_for(1)
    stage.press("Open in browser")
    assert "Could not open a browser" in stage.page().bar.alert.text("opening")
    lens.settle()
    assert not call.done()
    stage.press("I opened it myself")
    assert stage.replies(call) == [{"action": "accept"}]


def test_call_that_needs_url_elicitations_is_retried_when_they_complete(lens: Lens) -> None:
    stage = InboxStage(lens)
    pages = [page(f"https://pages.test/{id}", id)["params"] for id in ("e1", "e2")]
    call = stage.call(required=pages)
    stage.wait_for(1)
    assert "2 × URL elicitation from asking" in stage.text()
    lens.press("Open in browser", stage.section("e1"))
    lens.until(lambda: stage.view.sections["e1"].input_request.reply is not None)
    lens.press("Open in browser", stage.section("e2"))
    assert stage.opened == ["https://pages.test/e1", "https://pages.test/e2"]
    stage.press("Send replies")
    lens.until(lambda: stage.view.inbox_request.awaits_completion)
    assert not call.done()
    stage.press("Continue")
    assert stage.replies(call) == "visited"
    assert len(lens.sent("tools/call")) == 2


def test_declined_url_elicitation_leaves_the_call_with_its_error(lens: Lens) -> None:
    stage = InboxStage(lens)
    call = stage.call(required=[page()["params"]])
    stage.wait_for(1)
    stage.press("Decline")
    lens.until(call.done)
    assert b"-32042" in call.result().response
    assert len(lens.sent("tools/call")) == 1


def test_stateless_url_elicitation_needs_no_notification(lens: Lens) -> None:
    stage = InboxStage(lens, requesting_server(era="2026-07-28"))
    call = stage.call(rounds=[{"visit": page(), "who": form()}])
    stage.wait_for(1)
    lens.press("Open in browser", stage.section("visit"))
    lens.until(lambda: stage.section("visit").input_request.reply is not None)
    lens.press("Decline", stage.section("who"))
    stage.press("Send replies")
    assert stage.replies(call) == [{"visit": {"action": "accept"}, "who": {"action": "decline"}}]
    stage.wait_for(0)
