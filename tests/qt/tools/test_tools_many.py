"""Repeated calls: many times, and at an interval."""

from __future__ import annotations

from inspector.engine.calls.repetition import PollPlan, RepeatPlan
from inspector.qt.views.result_view import ResultView
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text


def tab_labels(view: ResultView) -> list[str]:
    return [
        view.tabs.tabText(position)
        for position in range(view.tabs.count())
        if view.tabs.isTabVisible(position)
    ]


def test_call_is_repeated_as_requested_with_metrics_and_the_latest_result(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("echo")
    panel.call_view.arguments.set_arguments({"text": "again"})
    lens.do("call.repeat")
    strip = panel.call_view.drawer.repeat_bar
    assert strip.isVisibleTo(panel)
    strip.times.setValue(25)
    strip.in_flight.setValue(5)
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        lens.press("Run", strip)
    assert [call["arguments"] for call in lens.sent("tools/call")] == [{"text": "again"}] * 25
    assert strip.report_shown().startswith("25 of 25 calls in ")
    assert "no errors" in strip.report_shown()
    assert "median" in strip.report_shown()
    assert "again" in panel.call_view.result.content.shown_text()


def test_first_error_ends_the_repetition_and_can_be_viewed(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("fails")
    panel.call_view.toggle_repeat_bar()
    strip = panel.call_view.drawer.repeat_bar
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        panel.call_view.repeat(RepeatPlan(10))
    assert "1 of 10 calls" in strip.report_shown()
    assert "Stopped early: Call 1 returned no result." in strip.report_shown()
    with lens.bot.waitSignal(panel.call_view.result.shown, timeout=TIMEOUT):
        lens.press("Show first error", strip)
    assert panel.call_view.result.badge.text == "tool error"


def test_repetition_can_be_cancelled(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("waits")
    panel.call_view.repeat(RepeatPlan(10))
    lens.until(lambda: lens.sent("tools/call"))
    assert not lens.actions["tool.call"].isEnabled()
    lens.do("tool.cancel")
    lens.until(lambda: lens.actions["tool.call"].isEnabled())
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert len(lens.sent("tools/call")) == 1


def test_repeat_at_interval_shows_changes_since_the_previous_call_until_stopped(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[{"name": "counts", "inputSchema": {"type": "object"}}]))
    view = panel.call_view
    lens.do("call.watch")
    strip = view.drawer.interval_bar
    assert strip.plan().interval == 5
    strip.interval.setValue(0.1)
    assert strip.plan().interval == 1, "the minimum interval is one second"
    lens.press("Repeat", strip)
    lens.until(lambda: view.result.change_badge.text == "changed")
    assert "Changed since the previous call: 1 change." in view.result.alert.text("change")
    lens.until(lambda: "Changes" in tab_labels(view.result))
    assert "1 change" in strip.text()
    view.result.tabs.setCurrentWidget(view.result.changes)
    shown = view.result.changes.rows
    assert "Number 1" in shown.as_text()
    assert "Number 2" in shown.as_text()
    lens.do("tool.cancel")
    lens.until(lambda: "Stopped." in strip.text())
    assert lens.actions["tool.call"].isEnabled()


def test_repeat_at_interval_ends_with_the_connection_and_says_why(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("echo")
    panel.call_view.arguments.set_arguments({"text": "still"})
    panel.call_view.poll(PollPlan(1))
    lens.until(lambda: "1 call" in panel.call_view.drawer.interval_bar.text())
    lens.do("server.disconnect")
    lens.until(lambda: "The server is" in panel.call_view.drawer.interval_bar.text())
    assert not panel.call_view.is_running


def test_drawer_has_one_strip_open_at_a_time(lens: Lens) -> None:
    panel = lens.connect(scripted())
    for command in ("call.options", "call.repeat", "call.watch"):
        lens.do(command)
    view = panel.call_view
    strips = (view.drawer.options, view.drawer.repeat_bar, view.drawer.interval_bar)
    assert [strip.isVisibleTo(view) for strip in strips] == [False, False, True]
    lens.do("call.watch")
    assert not view.drawer.isVisibleTo(view)
    assert "Every" not in visible_text(view)
