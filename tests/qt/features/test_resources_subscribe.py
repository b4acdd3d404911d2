"""Resource subscriptions, with and without sessions."""

from __future__ import annotations

import sys

from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.qt.models.compare.diff_rows import DiffColumn
from inspector.qt.panels.resources.panel import ResourcesPanel
from tests.qt.features.feature_stage import open_resources
from tests.qt.features.resources_stage import read, read_aside, resource_server
from tests.qt.lens_driver import TIMEOUT, Lens, visible_text


def test_change_of_a_subscribed_resource_is_marked_and_the_diff_shown(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    read(lens, panel, "counter://it")
    lens.do("resource.subscribe")
    lens.until(lambda: panel.is_subscribed)
    assert lens.actions["resource.subscribe"].text() == "Unsubscribe"
    assert panel.lists.resources.mark_of("counter://it") == "subscribed"
    read_aside(lens, "do://touch")
    lens.until(lambda: panel.lists.resources.mark_of("counter://it") == "changed")
    assert "This resource has changed since you read it." in visible_text(panel.contents)
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT):
        lens.press("Read again", panel.contents)
    assert panel.lists.resources.mark_of("counter://it") == "subscribed"
    assert "changed since" in visible_text(panel)
    lens.press("Changes", panel.contents)
    model = panel.contents.changes.model
    lens.until(lambda: model.rowCount())
    changed = model.changes()[0]
    cells = [model.index(changed, column).data().split() for column in (DiffColumn.LEFT, DiffColumn.RIGHT)]
    assert cells == [["2", "0"], ["2", "1"]], "the second line, before and now"
    lens.do("resource.subscribe")
    lens.until(lambda: not panel.is_subscribed)
    assert lens.sent("resources/unsubscribe") == [{"uri": "counter://it"}]
    assert panel.lists.resources.mark_of("counter://it") == ""


def test_subscribing_works_on_a_stateless_server(lens: Lens) -> None:
    args = ("-m", "inspector.demo", "everything")
    _subscribe(lens, StdioEntry(name="demo", command=sys.executable, args=args, era="2026-07-28"))


def test_subscribing_works_on_a_stateless_http_server(lens: Lens, http_demo: HttpEntry) -> None:
    panel = _subscribe(lens, http_demo)
    view = lens.ask(lambda engine: engine.servers.get("demo").view)
    assert view.negotiated is not None
    assert (view.transport, view.negotiated.revision.date) == ("http", "2026-07-28")
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT):
        lens.press("Read again", panel.contents)
    assert panel.contents.content.text.shown_text() == "1"
    assert panel.lists.resources.mark_of("demo://counter") == "subscribed"
    lens.do("resource.subscribe")
    lens.until(lambda: not panel.is_subscribed)
    lens.until(lambda: "demo://counter" not in _acknowledged(lens))


def _subscribe(lens: Lens, entry: Entry) -> ResourcesPanel:
    """Subscribe to the counter and wait for a change."""
    panel = open_resources(lens, entry)
    read(lens, panel, "demo://counter")
    lens.do("resource.subscribe")
    lens.until(lambda: panel.is_subscribed)
    wanted = {"resourceSubscriptions": ["demo://counter"]}
    lens.until(lambda: wanted.items() <= lens.sent("subscriptions/listen")[-1]["notifications"].items())  # type: ignore[union-attr]
    lens.until(lambda: "demo://counter" in _acknowledged(lens))
    lens.ask(lambda engine: engine.tool_caller.call("demo", ToolCall("bump_counter", {})))
    lens.until(lambda: panel.lists.resources.mark_of("demo://counter") == "changed")
    return panel


def _acknowledged(lens: Lens) -> str:
    acks = [each for each in lens.records() if each.method == "notifications/subscriptions/acknowledged"]
    return acks[-1].raw.decode()


def test_refused_subscription_says_why(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(resources=[{"uri": "x://stubborn", "name": "stubborn"}]))
    lens.do("resource.subscribe")
    lens.until(lambda: "Not subscribable" in visible_text(panel))
    assert not panel.is_subscribed
    lens.press("Dismiss", panel.alert)
    assert "Not subscribable" not in visible_text(panel)


def test_subscribing_is_not_offered_without_the_capability(lens: Lens) -> None:
    open_resources(lens, resource_server(capabilities={"resources": {}}))
    assert lens.actions["resource.read"].isEnabled()
    assert not lens.actions["resource.subscribe"].isEnabled()
