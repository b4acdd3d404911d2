"""External edits of the server list: applied field by field, connections unaffected."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.json.values import JSON
from inspector.config.servers.entries import StdioEntry
from inspector.config.servers.entry_diff import EntryChange, FieldChange, ServerListDiff
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.engine import Engine
from inspector.engine.servers import server_list_watch
from inspector.engine.views import ServerStatus
from tests.helpers.servers import ARGV, Lab, fault_entry, server_views


class Harness:
    """An engine whose server list is edited externally."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.server_list = ServerListFile(path)
        self.engine = Engine(self.server_list)
        self.lab = Lab(engine=self.engine)
        self.diffs: asyncio.Queue[ServerListDiff] = asyncio.Queue()
        self.problems: asyncio.Queue[str] = asyncio.Queue()
        self.engine.server_list_watch.changed.connect(self.diffs.put_nowait)
        self.engine.server_list_watch.problem_found.connect(self.problems.put_nowait)

    def write(self, **servers: JSON) -> None:
        self.path.write_text(json.dumps({"mcpServers": servers}))

    def names(self) -> list[str]:
        return [view.name for view in server_views(self.engine)]


@pytest.fixture
async def harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Harness]:
    monkeypatch.setattr(server_list_watch, "_POLL_INTERVAL", 0.01)
    harness = Harness(tmp_path / "servers.json")
    yield harness
    await harness.engine.close()


def fault(**members: JSON) -> JSON:
    return {"command": ARGV[0], "args": list(ARGV[1:]), **members}


async def test_manual_edit_is_reported_field_by_field_and_applied(harness: Harness) -> None:
    harness.write(a={"command": "x", "env": {"K": "1"}}, b={"command": "y"})
    harness.engine.servers.load()
    harness.engine.server_list_watch.start()
    harness.write(a={"command": "x", "args": ["-v"], "env": {"K": "2"}}, c={"url": "http://localhost:1/mcp"})
    diff = await harness.diffs.get()
    assert (diff.added, diff.removed, diff.is_reordered) == (("c",), ("b",), False)
    assert diff.changed == (
        EntryChange(
            "a",
            (
                FieldChange("args", "[]", None),
                FieldChange("env.K", "1", "2"),
                FieldChange("args[0]", None, "-v"),
            ),
        ),
    )
    assert harness.names() == ["a", "c"]
    entry = harness.engine.servers.entry("a")
    assert isinstance(entry, StdioEntry)
    assert entry.args == ("-v",)


async def test_unchanged_connections_are_left_alone(harness: Harness) -> None:
    harness.write(same=fault(), other=fault(), gone=fault())
    harness.engine.servers.load()
    harness.engine.server_list_watch.start()
    for name in ("same", "other", "gone"):
        await harness.engine.servers.connector.connect(name)
    pids = {name: harness.lab.view(name).pid for name in ("same", "other")}
    harness.write(new=fault(), same=fault(notes="seen"), other=fault(env={"K": "v"}))
    await harness.diffs.get()
    assert harness.names() == ["new", "same", "other"]
    assert harness.lab.view("new").status is ServerStatus.IDLE
    same, other = harness.lab.view("same"), harness.lab.view("other")
    assert (same.status, same.pid, same.is_outdated) == (ServerStatus.CONNECTED, pids["same"], False)
    assert (other.status, other.pid, other.is_outdated) == (ServerStatus.CONNECTED, pids["other"], True)


async def test_our_own_writes_are_not_changes(harness: Harness) -> None:
    harness.write(a={"command": "x"})
    harness.engine.servers.load()
    harness.engine.server_list_watch.start()
    harness.engine.servers.save(fault_entry(name="b"))
    await harness.engine.servers.update("a", replace(harness.engine.servers.entry("a"), name="c"))
    await harness.engine.servers.duplicate("c")
    await harness.engine.servers.set_enabled("b", False)
    await harness.engine.servers.remove("c 2")
    assert not await harness.engine.server_list_watch.reload()
    harness.path.write_text(harness.path.read_text().replace('"x"', '"y"'))
    diff = await harness.diffs.get()  # the first reported change is the external one
    assert [change.name for change in diff.changed] == ["c"]
    assert harness.names() == ["c", "b"]


async def test_external_write_just_before_ours_is_applied_too(harness: Harness) -> None:
    harness.write(a={"command": "x"})
    harness.engine.servers.load()
    harness.write(a={"command": "x"}, theirs={"command": "y"})
    harness.engine.servers.save(fault_entry(name="ours"))
    diff = await harness.engine.server_list_watch.reload()
    assert diff.added == ("theirs",)
    assert harness.names() == ["a", "theirs", "ours"]


async def test_broken_file_keeps_the_loaded_servers_and_says_where(harness: Harness) -> None:
    harness.write(a={"command": "x"}, b={"command": "y"})
    harness.engine.servers.load()
    harness.engine.server_list_watch.start()
    harness.path.write_text('{"mcpServers": {\n  "a": }')
    assert "line 2, column 8" in await harness.problems.get()
    assert harness.names() == ["a", "b"]
    harness.write(a={"command": "x"}, b=5)
    assert "server 'b'" in await harness.problems.get()
    assert harness.names() == ["a", "b"]
    harness.write(a={"command": "z"}, b={"command": "y"})
    diff = await harness.diffs.get()
    assert [change.name for change in diff.changed] == ["a"]
    assert harness.problems.empty()


async def test_deleted_file_removes_no_server(harness: Harness) -> None:
    harness.write(a={"command": "x"})
    harness.engine.servers.load()
    harness.engine.server_list_watch.start()
    harness.path.unlink()
    assert "no longer exists" in await harness.problems.get()
    assert harness.names() == ["a"]
    harness.write(a={"command": "x"}, b={"command": "y"})
    assert (await harness.diffs.get()).added == ("b",)


async def test_server_disabled_in_the_file_is_disconnected(harness: Harness) -> None:
    harness.write(a=fault())
    harness.engine.servers.load()
    await harness.engine.servers.connector.connect("a")
    harness.write(a=fault(disabled=True))
    await harness.engine.server_list_watch.reload()
    assert harness.lab.view("a").status is ServerStatus.DISABLED


async def test_server_renamed_in_the_file_keeps_its_identity(harness: Harness) -> None:
    harness.write(a={"command": "x"}, old=fault(), z={"command": "x"})
    harness.engine.servers.load()
    await harness.engine.servers.connector.connect("old")
    await harness.engine.secrets.put("oauth/https%3A%2F%2Fissuer/old/tokens", "t")
    renamed: list[tuple[str, str]] = []
    harness.engine.servers.renamed.connect(lambda old, new: renamed.append((old.name, new.name)))
    harness.write(a={"command": "x"}, new=fault(), z={"command": "x"})
    diff = await harness.engine.server_list_watch.reload()
    assert (diff.added, diff.removed, diff.renamed) == ((), (), (("old", "new"),))
    assert (harness.names(), renamed) == (["a", "new", "z"], [("old", "new")])
    await harness.lab.until(ServerStatus.CONNECTED, "new")
    assert await harness.engine.secrets.get("oauth/https%3A%2F%2Fissuer/new/tokens") == "t"


async def test_rename_to_a_taken_name_is_reported(harness: Harness) -> None:
    harness.write(old={"command": "x"})
    harness.engine.servers.load()
    harness.engine.servers.add(StdioEntry(name="mine", command="y"))
    harness.write(mine={"command": "x"})
    await harness.engine.server_list_watch.reload()
    assert "A server named 'mine' already exists" in await harness.problems.get()
    assert harness.names() == ["mine"]


async def test_ambiguous_rename_is_not_treated_as_a_rename(harness: Harness) -> None:
    harness.write(a={"command": "x"}, b={"command": "x"})
    harness.engine.servers.load()
    harness.write(c={"command": "x"}, d={"command": "x"})
    diff = await harness.engine.server_list_watch.reload()
    assert (diff.added, diff.removed, diff.renamed) == (("c", "d"), ("a", "b"), ())


async def test_changed_order_is_shown(harness: Harness) -> None:
    harness.write(a={"command": "x"}, b={"command": "y"})
    harness.engine.servers.load()
    harness.engine.servers.add(fault_entry(name="passing"))
    orders: list[tuple[str, ...]] = []
    harness.engine.servers.order_changed.connect(orders.append)
    harness.write(b={"command": "y"}, a={"command": "x"})
    diff = await harness.engine.server_list_watch.reload()
    assert diff == ServerListDiff(is_reordered=True)
    assert orders == [("b", "a", "passing")]


async def test_secret_changed_in_the_file_is_not_shown(harness: Harness) -> None:
    harness.write(a={"url": "http://x/?token=t0p", "headers": {"Authorization": "Bearer one"}})
    harness.engine.servers.load()
    harness.write(a={"url": "http://x/?token=0ther", "headers": {"Authorization": "Bearer two"}})
    (change,) = (await harness.engine.server_list_watch.reload()).changed
    assert [each.field for each in change.fields] == ["url", "headers.Authorization"]
    for word in ("t0p", "0ther", "one", "two"):
        assert word not in repr(change)


async def test_name_conflict_with_an_unsaved_server_is_reported(harness: Harness) -> None:
    harness.engine.servers.load()
    harness.engine.servers.add(fault_entry(name="a"))
    problems: list[str] = []
    harness.engine.servers.problem_found.connect(problems.append)
    harness.write(a={"command": "x"}, b={"command": "y"})
    await harness.engine.server_list_watch.reload()
    assert harness.names() == ["b", "a"]
    assert "A server named 'a' already exists" in problems[0]
