"""The file of servers, changed by hand: applied field by field, connections left alone, nothing lost."""

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
from tests.helpers.servers import ARGV, Lab, fault_entry


class Desk:
    """An engine whose file somebody else changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.catalogue = ServerListFile(path)
        self.engine = Engine(self.catalogue)
        self.lab = Lab(engine=self.engine)
        self.diffs: asyncio.Queue[ServerListDiff] = asyncio.Queue()
        self.problems: asyncio.Queue[str] = asyncio.Queue()
        self.engine.catalogue_watch.changed.connect(self.diffs.put_nowait)
        self.engine.catalogue_watch.problem_found.connect(self.problems.put_nowait)

    def write(self, **servers: JSON) -> None:
        self.path.write_text(json.dumps({"mcpServers": servers}))

    def names(self) -> list[str]:
        return [view.name for view in self.engine.views()]


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(server_list_watch, "_PACE", 0.01)
    desk = Desk(tmp_path / "servers.json")
    yield desk
    await desk.engine.close()


def fault(**members: JSON) -> JSON:
    return {"command": ARGV[0], "args": list(ARGV[1:]), **members}


async def test_manual_edit_is_reported_field_by_field_and_applied(desk: Desk) -> None:
    desk.write(a={"command": "x", "env": {"K": "1"}}, b={"command": "y"})
    desk.engine.load()
    desk.engine.catalogue_watch.start()
    desk.write(a={"command": "x", "args": ["-v"], "env": {"K": "2"}}, c={"url": "http://localhost:1/mcp"})
    diff = await desk.diffs.get()
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
    assert desk.names() == ["a", "c"]
    entry = desk.engine.entry("a")
    assert isinstance(entry, StdioEntry)
    assert entry.args == ("-v",)


async def test_unchanged_connections_are_left_alone(desk: Desk) -> None:
    desk.write(same=fault(), other=fault(), gone=fault())
    desk.engine.load()
    desk.engine.catalogue_watch.start()
    for name in ("same", "other", "gone"):
        await desk.engine.connect(name)
    pids = {name: desk.lab.view(name).pid for name in ("same", "other")}
    desk.write(new=fault(), same=fault(notes="seen"), other=fault(env={"K": "v"}))
    await desk.diffs.get()
    assert desk.names() == ["new", "same", "other"]
    assert desk.lab.view("new").status is ServerStatus.IDLE
    same, other = desk.lab.view("same"), desk.lab.view("other")
    assert (same.status, same.pid, same.is_outdated) == (ServerStatus.CONNECTED, pids["same"], False)
    assert (other.status, other.pid, other.is_outdated) == (ServerStatus.CONNECTED, pids["other"], True)


async def test_our_own_writes_are_not_changes(desk: Desk) -> None:
    desk.write(a={"command": "x"})
    desk.engine.load()
    desk.engine.catalogue_watch.start()
    desk.engine.save(fault_entry(name="b"))
    await desk.engine.servers.update("a", replace(desk.engine.entry("a"), name="c"))
    await desk.engine.servers.duplicate("c")
    await desk.engine.set_enabled("b", False)
    await desk.engine.remove("c 2")
    assert not await desk.engine.catalogue_watch.look()
    desk.path.write_text(desk.path.read_text().replace('"x"', '"y"'))
    diff = await desk.diffs.get()  # the first that is told is the one by hand
    assert [change.name for change in diff.changed] == ["c"]
    assert desk.names() == ["c", "b"]


async def test_external_write_just_before_ours_is_applied_too(desk: Desk) -> None:
    desk.write(a={"command": "x"})
    desk.engine.load()
    desk.write(a={"command": "x"}, theirs={"command": "y"})
    desk.engine.save(fault_entry(name="ours"))
    diff = await desk.engine.catalogue_watch.look()
    assert diff.added == ("theirs",)
    assert desk.names() == ["a", "theirs", "ours"]


async def test_broken_file_keeps_the_loaded_servers_and_says_where(desk: Desk) -> None:
    desk.write(a={"command": "x"}, b={"command": "y"})
    desk.engine.load()
    desk.engine.catalogue_watch.start()
    desk.path.write_text('{"mcpServers": {\n  "a": }')
    assert "line 2, column 8" in await desk.problems.get()
    assert desk.names() == ["a", "b"]
    desk.write(a={"command": "x"}, b=5)
    assert "server 'b'" in await desk.problems.get()
    assert desk.names() == ["a", "b"]
    desk.write(a={"command": "z"}, b={"command": "y"})
    diff = await desk.diffs.get()
    assert [change.name for change in diff.changed] == ["a"]
    assert desk.problems.empty()


async def test_deleted_file_removes_no_server(desk: Desk) -> None:
    desk.write(a={"command": "x"})
    desk.engine.load()
    desk.engine.catalogue_watch.start()
    desk.path.unlink()
    assert "is gone" in await desk.problems.get()
    assert desk.names() == ["a"]
    desk.write(a={"command": "x"}, b={"command": "y"})
    assert (await desk.diffs.get()).added == ("b",)


async def test_server_disabled_in_the_file_is_disconnected(desk: Desk) -> None:
    desk.write(a=fault())
    desk.engine.load()
    await desk.engine.connect("a")
    desk.write(a=fault(disabled=True))
    await desk.engine.catalogue_watch.look()
    assert desk.lab.view("a").status is ServerStatus.DISABLED


async def test_server_renamed_in_the_file_keeps_its_identity(desk: Desk) -> None:
    desk.write(a={"command": "x"}, old=fault(), z={"command": "x"})
    desk.engine.load()
    await desk.engine.connect("old")
    await desk.engine.secrets.put("oauth/https%3A%2F%2Fissuer/old/tokens", "t")
    renamed: list[tuple[str, str]] = []
    desk.engine.servers.renamed.connect(lambda old, new: renamed.append((old.name, new.name)))
    desk.write(a={"command": "x"}, new=fault(), z={"command": "x"})
    diff = await desk.engine.catalogue_watch.look()
    assert (diff.added, diff.removed, diff.renamed) == ((), (), (("old", "new"),))
    assert (desk.names(), renamed) == (["a", "new", "z"], [("old", "new")])
    await desk.lab.until(ServerStatus.CONNECTED, "new")
    assert await desk.engine.secrets.get("oauth/https%3A%2F%2Fissuer/new/tokens") == "t"


async def test_rename_to_a_taken_name_is_reported(desk: Desk) -> None:
    desk.write(old={"command": "x"})
    desk.engine.load()
    desk.engine.add(StdioEntry(name="mine", command="y"))
    desk.write(mine={"command": "x"})
    await desk.engine.catalogue_watch.look()
    assert "There is a server 'mine' already" in await desk.problems.get()
    assert desk.names() == ["mine"]


async def test_ambiguous_rename_is_not_treated_as_a_rename(desk: Desk) -> None:
    desk.write(a={"command": "x"}, b={"command": "x"})
    desk.engine.load()
    desk.write(c={"command": "x"}, d={"command": "x"})
    diff = await desk.engine.catalogue_watch.look()
    assert (diff.added, diff.removed, diff.renamed) == (("c", "d"), ("a", "b"), ())


async def test_changed_order_is_shown(desk: Desk) -> None:
    desk.write(a={"command": "x"}, b={"command": "y"})
    desk.engine.load()
    desk.engine.add(fault_entry(name="passing"))
    orders: list[tuple[str, ...]] = []
    desk.engine.servers.order_changed.connect(orders.append)
    desk.write(b={"command": "y"}, a={"command": "x"})
    diff = await desk.engine.catalogue_watch.look()
    assert diff == ServerListDiff(is_reordered=True)
    assert orders == [("b", "a", "passing")]


async def test_secret_changed_in_the_file_is_not_shown(desk: Desk) -> None:
    desk.write(a={"url": "http://x/?token=t0p", "headers": {"Authorization": "Bearer one"}})
    desk.engine.load()
    desk.write(a={"url": "http://x/?token=0ther", "headers": {"Authorization": "Bearer two"}})
    (change,) = (await desk.engine.catalogue_watch.look()).changed
    assert [each.field for each in change.fields] == ["url", "headers.Authorization"]
    for word in ("t0p", "0ther", "one", "two"):
        assert word not in repr(change)


async def test_name_conflict_with_an_unsaved_server_is_reported(desk: Desk) -> None:
    desk.engine.load()
    desk.engine.add(fault_entry(name="a"))
    problems: list[str] = []
    desk.engine.problem_found.connect(problems.append)
    desk.write(a={"command": "x"}, b={"command": "y"})
    await desk.engine.catalogue_watch.look()
    assert desk.names() == ["b", "a"]
    assert "There is a server 'a' already" in problems[0]
