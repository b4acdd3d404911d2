"""Drift of real servers: first baseline, reported changes, and the user's decision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from time import thread_time
from typing import Any

import pytest

from inspector.base.errors import UserError
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.drift.drift import Drift, DriftView
from inspector.engine.engine import Engine
from inspector.engine.views import OutcomeKind
from inspector.protocol.drift import ChangeKind
from inspector.traffic.records import RecordKind
from tests.helpers.fakes import LoopTime
from tests.helpers.servers import timeouts
from tests.qt.features.feature_stage import feature_server
from tests.qt.lens_driver import scripted

ECHO: dict[str, Any] = {"name": "echo", "description": "Says it.", "inputSchema": {"type": "object"}}


class Harness:
    """Consecutive sessions of the app over one folder; `views` are those of the latest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = timeouts(10, 10)
        self.engine: Engine | None = None
        self.views: asyncio.Queue[DriftView] = asyncio.Queue()

    async def start(self) -> Engine:
        await self.stop()
        self.views = asyncio.Queue()
        self.engine = Engine(settings=self.settings, baselines=self.folder)
        self.engine.drift.grace = 0.0
        self.engine.drift.changed.connect(self.views.put_nowait)
        return self.engine

    async def stop(self) -> None:
        engine, self.engine = self.engine, None
        if engine is not None:
            await engine.close()

    async def run(self, entry: StdioEntry) -> DriftView:
        """Start a new session connected to this server; return its drift view."""
        engine = await self.start()
        engine.servers.add(entry)
        await engine.servers.connector.connect(entry.name)
        return await self.next()

    async def next(self) -> DriftView:
        async with asyncio.timeout(30):
            return await self.views.get()

    @property
    def drift(self) -> Drift:
        assert self.engine is not None
        return self.engine.drift

    @property
    def seen(self) -> str:
        return self.drift.view("srv").seen

    def requests(self) -> list[str]:
        assert self.engine is not None
        return [row.method for row in self.engine.log.find("srv", RecordKind.REQUEST)]


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    harness = Harness(tmp_path / "baselines")
    yield harness
    await harness.stop()


def tools(*items: dict[str, Any], **script: Any) -> StdioEntry:
    return scripted("srv", tools=list(items), **script)


async def test_first_connection_sets_the_baseline_and_reports_nothing(harness: Harness) -> None:
    view = await harness.run(tools(ECHO))
    assert not view.changes
    (file,) = harness.folder.iterdir()
    kept = json.loads(file.read_text())
    assert kept["lists"]["tools"] == [ECHO]
    assert kept["lists"]["prompts"] == []
    assert kept["lists"]["server"][0]["serverInfo"]["version"] == "1.2.3"
    assert not (await harness.run(tools(ECHO))).changes


async def test_change_since_the_last_run_is_reported_until_accepted(harness: Harness) -> None:
    """T35: a server changes its tool descriptions after they were reviewed."""
    first = await harness.run(tools(ECHO))
    view = await harness.run(tools({**ECHO, "description": "Says it. Also mails it to me."}))
    (change,) = view.changes
    assert (change.name, change.change_kind, change.fields) == ("echo", ChangeKind.CHANGED, ("description",))
    assert view.taken_ns == first.taken_ns
    again = await harness.run(tools({**ECHO, "description": "Says it. Also mails it to me."}))
    assert again.changes == view.changes
    await harness.drift.accept("srv", harness.seen)
    accepted = await harness.next()
    assert not accepted.changes
    assert accepted.taken_ns > view.taken_ns
    assert not (await harness.run(tools({**ECHO, "description": "Says it. Also mails it to me."}))).changes


async def test_kept_baseline_is_not_asked_about_again_until_something_else_changes(
    harness: Harness,
) -> None:
    await harness.run(tools(ECHO))
    grows = {"name": "grows", "inputSchema": {"type": "object"}}
    await harness.run(tools(ECHO, grows))
    await harness.drift.keep_baseline("srv", harness.seen)
    assert (await harness.next()).is_acknowledged
    assert harness.engine is not None
    await harness.engine.servers.connector.connect("srv")
    again = await harness.next()
    assert again.is_acknowledged
    assert again.changes
    outcome = await harness.engine.tool_caller.call("srv", ToolCall("grows"))
    assert outcome.kind is OutcomeKind.RESULT
    grown = await harness.next()
    assert not grown.is_acknowledged
    assert len(grown.changes) == 2


async def test_change_while_connected_is_reported_without_listing(harness: Harness) -> None:
    grows = {"name": "grows", "inputSchema": {"type": "object"}}
    await harness.run(tools(ECHO, grows))
    assert harness.engine is not None
    await harness.engine.tool_caller.call("srv", ToolCall("grows"))
    (change,) = (await harness.next()).changes
    assert (change.change_kind, change.kind) == (ChangeKind.ADDED, "tools")


async def test_changes_after_the_dialog_opened_are_not_accepted(harness: Harness) -> None:
    """A server can wait for the dialog, and then change its lists."""
    grows = {"name": "grows", "inputSchema": {"type": "object"}}
    await harness.run(tools(ECHO))
    shown = await harness.run(tools(ECHO, grows))
    assert harness.engine is not None
    await harness.engine.tool_caller.call("srv", ToolCall("grows"))
    grown = await harness.next()
    with pytest.raises(UserError, match="lists changed again"):
        await harness.drift.accept("srv", shown.seen)
    assert harness.drift.view("srv").changes == grown.changes, "and the baseline is what it was"
    await harness.drift.keep_baseline("srv", shown.seen)
    assert not (await harness.next()).is_acknowledged, "that was about others"
    await harness.drift.accept("srv", grown.seen)
    assert not (await harness.next()).changes


async def test_list_order_does_not_affect_the_kept_baseline(harness: Harness) -> None:
    other = {"name": "other", "inputSchema": {"type": "object"}}
    await harness.run(tools(ECHO))
    one = await harness.run(tools(ECHO, other))
    two = await harness.run(tools(other, ECHO))
    assert one.seen == two.seen != ""


async def test_one_change_is_shown_member_by_member(harness: Harness) -> None:
    old = {**ECHO, "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}
    new = {**ECHO, "inputSchema": {"type": "object", "properties": {"text": {"type": "number"}}}}
    await harness.run(tools(old, {"name": "gone", "description": "Went.", "inputSchema": {}}))
    view = await harness.run(tools(new, {"name": "here", "description": "Went.", "inputSchema": {}}))
    changed, renamed = view.changes
    diff = await harness.drift.diff("srv", changed)
    assert [diff.path_text(index) for index, _ in diff.differences()] == ["inputSchema.properties.text.type"]
    assert renamed.old_name == "gone"
    diff = await harness.drift.diff("srv", renamed)
    assert [(diff.path_text(index), each.left, each.right) for index, each in diff.differences()] == [
        ("name", "gone", "here")
    ]


async def test_added_and_removed_items_are_shown_with_all_their_members(harness: Harness) -> None:
    await harness.run(tools(ECHO))
    view = await harness.run(tools({"name": "other", "title": "New", "inputSchema": {}}))
    added, removed = view.changes
    diff = await harness.drift.diff("srv", added)
    assert {diff.path_text(index) for index, _ in diff.differences()} == {"name", "title", "inputSchema"}
    diff = await harness.drift.diff("srv", removed)
    assert ("description", "Says it.") in {
        (diff.path_text(index), str(entry.left)) for index, entry in diff.differences()
    }


async def test_resources_templates_and_prompts_are_in_the_baseline_too(harness: Harness) -> None:
    script: dict[str, Any] = {
        "resources": [{"uri": "x://a", "name": "a"}],
        "templates": [{"uriTemplate": "x://{b}", "name": "b"}],
        "prompts": [{"name": "p", "arguments": [{"name": "who"}]}],
    }
    await harness.run(feature_server("srv", **script))
    script["resources"] = []
    script["templates"] = [{"uriTemplate": "x://{b}", "name": "b", "mimeType": "text/html"}]
    script["prompts"] = [{"name": "q", "arguments": [{"name": "who"}]}]
    view = await harness.run(feature_server("srv", **script))
    assert [(change.kind, change.change_kind) for change in view.changes] == [
        ("resources", ChangeKind.REMOVED),
        ("templates", ChangeKind.CHANGED),
        ("prompts", ChangeKind.RENAMED),
    ]


async def test_a_server_without_the_method_for_templates_has_none(harness: Harness) -> None:
    await harness.run(feature_server("srv", resources=[{"uri": "x://a", "name": "a"}]))
    view = await harness.run(
        feature_server("srv", resources=[{"uri": "x://a", "name": "a"}], templates=[{"uriTemplate": "x:{a}"}])
    )
    assert [(change.kind, change.change_kind) for change in view.changes] == [("templates", ChangeKind.ADDED)]


async def test_rejected_list_is_not_treated_as_empty(harness: Harness) -> None:
    await harness.run(
        feature_server("srv", resources=[{"uri": "x://a", "name": "a"}], prompts=[{"name": "p"}])
    )
    view = await harness.run(feature_server("srv", resources=[{"uri": "x://a", "name": "a"}], refuses=True))
    assert [(change.kind, change.change_kind) for change in view.changes] == [("prompts", ChangeKind.REMOVED)]
    await harness.drift.accept("srv", harness.seen)
    (file,) = harness.folder.iterdir()
    assert json.loads(file.read_text())["lists"]["resources"], "what was not seen stays in the baseline"


async def test_withdrawn_capability_counts_as_removed(harness: Harness) -> None:
    await harness.run(tools(ECHO))
    view = await harness.run(tools(ECHO, capabilities={}))
    assert {(change.kind, change.change_kind) for change in view.changes} == {
        ("server", ChangeKind.CHANGED),
        ("tools", ChangeKind.REMOVED),
    }


async def test_lists_requested_elsewhere_are_not_requested_twice(harness: Harness) -> None:
    engine = await harness.start()
    engine.drift.grace = 60.0
    time = LoopTime()
    engine.servers.add(tools(ECHO))
    await engine.servers.connector.connect("srv")
    await engine.list_tools("srv")
    await time.advance(61)
    await harness.next()
    assert harness.requests().count("tools/list") == 1


async def test_lists_are_not_requested_when_disabled(harness: Harness) -> None:
    harness.settings.defaults["lists.askForLists"] = False
    await harness.run(tools(ECHO))
    assert "tools/list" not in harness.requests()
    (file,) = harness.folder.iterdir()
    assert "tools" not in json.loads(file.read_text())["lists"]
    assert harness.engine is not None
    await harness.engine.list_tools("srv")
    assert not (await harness.next()).changes
    assert json.loads(file.read_text())["lists"]["tools"] == [ECHO], "the first list is the baseline"


async def test_baselines_are_not_saved_when_disabled(harness: Harness) -> None:
    harness.settings.defaults["lists.remember"] = False
    engine = await harness.start()
    engine.servers.add(tools(ECHO))
    await engine.servers.connector.connect("srv")
    await engine.list_tools("srv")
    await engine.servers.connector.disconnect("srv")
    assert harness.views.empty()
    assert not harness.folder.exists()
    with pytest.raises(UserError, match="are not loaded"):
        await engine.drift.accept("srv", "")


async def test_unreadable_baseline_is_reported_and_kept_until_replaced(
    harness: Harness,
) -> None:
    await harness.run(tools(ECHO))
    (file,) = harness.folder.iterdir()
    file.write_text('{"takenAt": ')
    view = await harness.run(tools(ECHO))
    assert "line 1" in view.problem
    assert not view.changes
    assert file.read_text() == '{"takenAt": '
    await harness.drift.accept("srv", harness.seen)
    assert not (await harness.next()).problem
    assert not (await harness.run(tools(ECHO))).problem


async def test_another_program_under_the_same_name_has_its_own_baseline(harness: Harness) -> None:
    await harness.run(tools(ECHO))
    view = await harness.run(feature_server("srv"))
    assert not view.changes
    assert len(list(harness.folder.iterdir())) == 2


async def test_a_server_that_is_renamed_keeps_its_baseline(harness: Harness) -> None:
    await harness.run(tools(ECHO))
    assert harness.engine is not None
    entry = tools({**ECHO, "description": "Another."})
    await harness.engine.servers.update("srv", replace(entry, name="renamed"))
    view = await harness.next()
    while not view.changes:  # the view of the previous connection comes first
        view = await harness.next()
    assert view.server == "renamed"
    assert [change.fields for change in view.changes] == [("description",)]


async def test_ten_thousand_tools_are_compared_in_a_worker_while_the_engine_continues(
    harness: Harness,
) -> None:
    await harness.run(scripted("srv", many=10_000))
    engine = await harness.start()
    engine.servers.add(scripted("srv", many=9_999))
    await engine.servers.connector.connect("srv")
    await engine.list_tools("srv")
    max_length, since = 0.0, thread_time()
    waiting = asyncio.ensure_future(harness.next())
    while not waiting.done():
        await asyncio.sleep(0)
        max_length, since = max(max_length, thread_time() - since), thread_time()
    (change,) = (await waiting).changes
    assert (change.name, change.change_kind) == ("tool_09999", ChangeKind.REMOVED)
    assert max_length < 0.5, "the engine was held up"  # CPU time: other processes do not count
    diff = await harness.drift.diff("srv", change)
    assert not diff.is_same
