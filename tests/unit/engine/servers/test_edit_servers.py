"""Servers edited, renamed, duplicated, removed and restored; connecting all of them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.servers.entries import (
    BearerSettings,
    HttpEntry,
    OAuthSettings,
    SecretRef,
    StdioEntry,
    Timeouts,
)
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.calls.library import CallLibrary
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.servers import lifecycle
from inspector.engine.views import ServerStatus
from tests.helpers.httpfaults import FaultServer
from tests.helpers.servers import Lab, fault_entry, gone, server_views, shell_entry, timeouts


@pytest.fixture
def server_list(tmp_path: Path) -> ServerListFile:
    return ServerListFile(tmp_path / "servers.json")


@pytest.fixture
async def lab(server_list: ServerListFile) -> AsyncIterator[Lab]:
    lab = Lab(engine=Engine(server_list, timeouts(10, 10)))
    yield lab
    await lab.engine.close()


def names(lab: Lab) -> list[str]:
    return [view.name for view in server_views(lab.engine)]


def in_file(server_list: ServerListFile) -> list[str]:
    return [entry.name for entry in server_list.load().entries]


async def test_edit_keeps_the_connection_and_marks_it_outdated(lab: Lab, server_list: ServerListFile) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    pid = lab.view().pid
    entry = fault_entry(env={"NEW": "1"})
    view = await lab.engine.servers.update("srv", entry)
    assert (view.status, view.pid, view.is_outdated) == (ServerStatus.CONNECTED, pid, True)
    assert server_list.find("srv") == entry
    await lab.engine.servers.connector.connect("srv")
    assert not lab.view().is_outdated
    assert lab.view().pid != pid


async def test_notes_and_color_do_not_outdate_a_connection(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    entry = replace(
        lab.engine.servers.entry("srv"),
        notes="mine",
        color="red",
        auto_connect=True,
        watch=("*.py",),
        roots=("/x",),
    )
    view = await lab.engine.servers.update("srv", entry)
    assert (view.is_outdated, view.notes, view.color, view.auto_connect) == (False, "mine", "red", True)


async def test_server_enabled_by_editing_is_connected(lab: Lab) -> None:
    lab.engine.servers.save(replace(fault_entry(), enabled=False))
    await lab.engine.servers.update("srv", fault_entry())
    await lab.until(ServerStatus.CONNECTED)


async def test_new_timeouts_apply_at_the_next_connection(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry("silent"))
    entry = replace(lab.engine.servers.entry("srv"), timeouts=Timeouts(connect=0.2))
    await lab.engine.servers.update("srv", entry)
    lab.engine.servers.connector.connect_soon("srv")
    view = await lab.until(ServerStatus.FAILED)
    assert re.search(r"Timed out after 0\.\d s", view.reason)


async def test_disabling_by_an_edit_disconnects(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    await lab.engine.servers.update("srv", replace(lab.engine.servers.entry("srv"), enabled=False))
    assert lab.view().status is ServerStatus.DISABLED


async def test_edit_can_change_the_server_type(lab: Lab, server_list: ServerListFile) -> None:
    lab.engine.servers.save(shell_entry("exit 3"))
    view = await lab.engine.servers.update("srv", HttpEntry(name="srv", url="http://localhost:1/mcp"))
    assert view.transport == "http"
    assert server_list.find("srv") == HttpEntry(name="srv", url="http://localhost:1/mcp")


async def test_edit_that_cannot_be_saved_changes_nothing(lab: Lab, server_list: ServerListFile) -> None:
    entry = fault_entry()
    lab.engine.servers.save(entry)
    server_list.path.write_text("{broken")
    with pytest.raises(ConfigError, match="is not valid JSON"):
        await lab.engine.servers.update("srv", replace(entry, notes="x"))
    assert lab.engine.servers.entry("srv") == entry


async def test_an_edit_that_could_never_connect_is_refused(lab: Lab, server_list: ServerListFile) -> None:
    entry = HttpEntry(name="srv", url="http://x/sse", type="sse")
    lab.engine.servers.save(entry)
    with pytest.raises(ConfigError, match="over HTTP\\+SSE"):
        await lab.engine.servers.update("srv", replace(entry, era="2026-07-28"))
    with pytest.raises(ConfigError, match="no name"):
        await lab.engine.servers.update("srv", replace(entry, name=" "))
    assert (lab.engine.servers.entry("srv"), server_list.find("srv")) == (entry, entry)


async def test_secrets_dropped_by_an_edit_are_deleted(lab: Lab) -> None:
    entry = HttpEntry(name="srv", url="http://x", headers={"K": SecretRef("header/srv/K")})
    await lab.engine.servers.save_with_secrets(entry, {"header/srv/K": "v"})
    edited = replace(entry, headers={"L": SecretRef("header/srv/L")})
    await lab.engine.servers.update("srv", edited, {"header/srv/L": "w"})
    assert await lab.engine.secrets.get("header/srv/K") is None
    assert await lab.engine.secrets.get("header/srv/L") == "w"


async def test_renamed_server_keeps_its_position_secrets_and_unknown_members(
    lab: Lab, server_list: ServerListFile
) -> None:
    server_list.path.write_text(
        '{"mcpServers": {"a": {"command": "x"}, "old": {"url": "http://x", "mine": 1,'
        ' "headers": {"K": {"ref": "header/old/K"}}}, "z": {"command": "x"}}}'
    )
    await lab.engine.secrets.put("header/old/K", "v")
    await lab.engine.secrets.put("oauth/https%3A%2F%2Fissuer/old/tokens", "t")
    lab.engine.servers.load()
    orders: list[tuple[str, ...]] = []
    removed: list[str] = []
    lab.engine.servers.order_changed.connect(orders.append)
    lab.engine.servers.removed.connect(removed.append)
    await lab.engine.servers.update("old", replace(lab.engine.servers.entry("old"), name="new"))
    assert (names(lab), orders, removed) == (["a", "new", "z"], [("a", "new", "z")], ["old"])
    assert in_file(server_list) == ["a", "new", "z"]
    assert '"mine": 1' in server_list.path.read_text()
    entry = lab.engine.servers.entry("new")
    assert isinstance(entry, HttpEntry)
    assert entry.headers == {"K": SecretRef("header/new/K")}
    stored = {each.name for each in await lab.engine.secrets.stored()}
    assert stored == {"header/new/K", "oauth/https%3A%2F%2Fissuer/new/tokens"}
    assert await lab.engine.secrets.get("header/new/K") == "v"


async def test_renamed_connected_server_is_reconnected(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    pid = lab.view().pid
    assert pid is not None
    await lab.engine.servers.update("srv", replace(lab.engine.servers.entry("srv"), name="other"))
    await lab.until(ServerStatus.CONNECTED, "other")
    await gone(pid)


async def test_calls_and_exits_follow_a_renamed_server(tmp_path: Path) -> None:
    lab = Lab(engine=Engine(calls=CallLibrary(tmp_path / "history", tmp_path / "calls")))
    calls = lab.engine.calls
    try:
        lab.engine.servers.add(fault_entry())
        call = await calls.save(SavedCall("Mine", "echo", "srv", is_regression=True))
        await calls.save(SavedCall("Another's", "echo", "another"))
        await lab.engine.servers.connector.connect("srv")
        await lab.engine.tool_caller.call("srv", ToolCall("echo", {"n": 1}))
        calls.history.add("srv", "echo", {"n": 1}, outcome="result", elapsed_ns=5)
        pid = lab.view().pid
        await lab.engine.servers.update("srv", replace(lab.engine.servers.entry("srv"), name="other"))
        (folder,) = await calls.saved()
        assert {(each.name, each.server) for each in folder.loaded.calls} == {
            ("Mine", "other"),
            ("Another's", "another"),
        }
        view = await lab.engine.regression_calls.view("other")
        assert [each.call.path for each in view.results] == [call.path]
        assert (await calls.history_of("other", "echo")).last_arguments() == {"n": 1}
        assert (await calls.history_of("srv", "echo")).calls == ()
        assert [each.pid for each in (await lab.engine.processes.scan("other")).ended] == [pid]
    finally:
        await lab.engine.close()


async def test_calls_in_a_shared_folder_are_reported_and_not_changed(tmp_path: Path) -> None:
    lab = Lab(engine=Engine(calls=CallLibrary(saved=tmp_path / "calls")))
    calls, shared, problems = lab.engine.calls, tmp_path / "shared", list[str]()
    shared.mkdir()
    calls.problem_found.connect(problems.append)
    try:
        await calls.add_folder(shared)
        call = await calls.save(SavedCall("Theirs", "echo", "srv"), shared)
        assert call.path is not None
        before = call.path.read_bytes()
        lab.engine.servers.add(shell_entry("exit 3"))
        await lab.engine.servers.update("srv", replace(lab.engine.servers.entry("srv"), name="other"))
        assert call.path.read_bytes() == before
        assert problems == [
            f"1 saved call in {shared} is still assigned to 'srv': files in that folder are not changed."
        ]
    finally:
        await lab.engine.close()


async def test_taken_name_is_rejected_and_nothing_changes(lab: Lab, server_list: ServerListFile) -> None:
    lab.engine.servers.save(StdioEntry(name="a", command="x"))
    lab.engine.servers.save(StdioEntry(name="b", command="y"))
    with pytest.raises(ConfigError, match="A server named 'b' already exists"):
        await lab.engine.servers.update("a", StdioEntry(name="b", command="x"))
    assert (names(lab), in_file(server_list)) == (["a", "b"], ["a", "b"])


async def test_duplicate_follows_the_original_with_its_own_secrets(
    lab: Lab, server_list: ServerListFile
) -> None:
    entry = HttpEntry(
        name="a",
        url="http://x",
        headers={"K": SecretRef("header/a/K"), "S": SecretRef("shared/one")},
        auth=OAuthSettings(client_id="c", client_secret=SecretRef("login/a/clientSecret")),
    )
    await lab.engine.servers.save_with_secrets(
        entry, {"header/a/K": "v", "login/a/clientSecret": "s", "shared/one": "w"}
    )
    lab.engine.servers.save(StdioEntry(name="b", command="x"))
    view = await lab.engine.servers.duplicate("a")
    assert (view.name, names(lab), in_file(server_list)) == ("a 2", ["a", "a 2", "b"], ["a", "a 2", "b"])
    copy = lab.engine.servers.entry("a 2")
    assert isinstance(copy, HttpEntry)
    assert copy.headers == {"K": SecretRef("header/a%202/K"), "S": SecretRef("shared/one")}
    assert copy.auth == OAuthSettings(client_id="c", client_secret=SecretRef("login/a%202/clientSecret"))
    await lab.engine.servers.remove("a 2")
    assert await lab.engine.secrets.get("header/a/K") == "v"
    assert await lab.engine.secrets.get("header/a%202/K") is None


async def test_a_bearer_token_is_copied_too(lab: Lab) -> None:
    entry = HttpEntry(name="a", url="http://x", auth=BearerSettings(token=SecretRef("bearer/a")))
    await lab.engine.servers.save_with_secrets(entry, {"bearer/a": "v"})
    await lab.engine.servers.duplicate("a", "b")
    copy = lab.engine.servers.entry("b")
    assert isinstance(copy, HttpEntry)
    assert copy.auth == BearerSettings(token=SecretRef("bearer/b"))
    assert await lab.engine.secrets.get("bearer/b") == "v"


async def test_removed_server_can_be_restored_in_place(lab: Lab, server_list: ServerListFile) -> None:
    server_list.path.write_text(
        '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y", "mine": [1.50]},'
        ' "c": {"command": "z"}}}'
    )
    lab.engine.servers.load()
    await lab.engine.secrets.put("env/b/K", "v")
    removed = await lab.engine.servers.removals.remove("b")
    assert (names(lab), in_file(server_list), removed.name) == (["a", "c"], ["a", "c"], "b")
    await lab.engine.servers.removals.undo(removed.id)
    assert (names(lab), in_file(server_list)) == (["a", "b", "c"], ["a", "b", "c"])
    assert '"mine": [' in server_list.path.read_text()
    assert "1.50" in server_list.path.read_text()
    with pytest.raises(ConfigError, match="too late"):
        await lab.engine.servers.removals.undo(removed.id)


async def test_server_that_was_connected_is_reconnected_when_restored(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    removed = await lab.engine.servers.removals.remove("srv")
    await lab.engine.servers.removals.undo(removed.id)
    await lab.until(ServerStatus.CONNECTED)


async def test_server_that_was_connecting_resumes_connecting_when_restored(lab: Lab) -> None:
    lab.engine.servers.save(fault_entry("silent"))
    lab.engine.servers.connector.connect_soon("srv")
    await lab.until(ServerStatus.CONNECTING)
    removed = await lab.engine.servers.removals.remove("srv")
    lab.views.clear()
    await lab.engine.servers.removals.undo(removed.id)
    await lab.until(ServerStatus.CONNECTING)


async def test_server_is_not_disabled_when_its_file_cannot_be_written(
    lab: Lab, server_list: ServerListFile
) -> None:
    lab.engine.servers.save(fault_entry())
    await lab.engine.servers.connector.connect("srv")
    server_list.path.write_text("{broken")
    with pytest.raises(ConfigError, match="is not valid JSON"):
        await lab.engine.servers.set_enabled("srv", False)
    assert (lab.view().status, lab.engine.servers.entry("srv").enabled) == (ServerStatus.CONNECTED, True)


async def test_secrets_are_deleted_only_when_undo_has_expired(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = HttpEntry(name="srv", url="http://x", headers={"K": SecretRef("header/srv/K")})
    await lab.engine.servers.save_with_secrets(entry, {"header/srv/K": "v"})
    removed = await lab.engine.servers.removals.remove("srv")
    assert await lab.engine.secrets.get("header/srv/K") == "v"
    await lab.engine.servers.removals.end(removed.id)
    assert await lab.engine.secrets.get("header/srv/K") is None

    monkeypatch.setattr(lifecycle, "UNDO_TIMEOUT", 0.01)
    await lab.engine.servers.save_with_secrets(entry, {"header/srv/K": "v"})
    removed = await lab.engine.servers.removals.remove("srv")
    async with asyncio.timeout(5):
        while await lab.engine.secrets.get("header/srv/K") is not None:
            pass  # each call takes a turn of the store's thread
    with pytest.raises(ConfigError, match="too late"):
        await lab.engine.servers.removals.undo(removed.id)


async def test_new_server_with_the_same_name_does_not_get_the_old_secrets(lab: Lab) -> None:
    entry = HttpEntry(name="srv", url="http://x", headers={"K": SecretRef("header/srv/K")})
    await lab.engine.servers.save_with_secrets(entry, {"header/srv/K": "v"})
    removed = await lab.engine.servers.removals.remove("srv")
    await lab.engine.servers.save_with_secrets(entry, {})
    assert await lab.engine.secrets.get("header/srv/K") is None
    with pytest.raises(ConfigError, match="too late"):
        await lab.engine.servers.removals.undo(removed.id)
    assert names(lab) == ["srv"]


async def test_server_is_not_removed_when_its_file_cannot_be_written(
    lab: Lab, server_list: ServerListFile
) -> None:
    lab.engine.servers.save(StdioEntry(name="a", command="x"))
    server_list.path.write_text("{broken")
    with pytest.raises(ConfigError, match="is not valid JSON"):
        await lab.engine.servers.removals.remove("a")
    assert names(lab) == ["a"]


async def test_references_are_shown_and_expanded_only_on_connect(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_WORD", "hello")
    lab.engine.servers.save(fault_entry(env={"SEEN": "${LENS_WORD} ${input:who}"}))
    assert lab.view().expands == ("LENS_WORD", "input:who")
    lab.engine.servers.connector.connect_soon("srv")
    view = await lab.until(ServerStatus.FAILED)
    assert view.reason == "variable SEEN: the input “who” has no value."
    await lab.engine.servers.set_inputs("srv", {"who": "you"})
    await lab.engine.servers.connector.connect("srv")
    assert json.loads(await lab.text("environment"))["SEEN"] == "hello you"
    entry = lab.engine.servers.entry("srv")
    assert isinstance(entry, StdioEntry)
    assert entry.env == {"SEEN": "${LENS_WORD} ${input:who}"}


async def test_the_value_of_a_secret_variable_is_written_nowhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_TOKEN", "s3cr3t-enough")
    lab.engine.servers.save(fault_entry(env={"SEEN": "${LENS_TOKEN}"}))
    await lab.engine.servers.connector.connect("srv")
    assert lab.engine.log.credentials.names_by_value()[b"s3cr3t-enough"] == "LENS_TOKEN"


async def test_only_auto_connect_servers_are_connected_at_startup(lab: Lab) -> None:
    lab.engine.servers.save(replace(fault_entry(name="one"), auto_connect=True))
    lab.engine.servers.save(replace(fault_entry("silent", name="slow"), auto_connect=True))
    lab.engine.servers.save(replace(fault_entry(name="off"), auto_connect=True, enabled=False))
    lab.engine.servers.save(replace(shell_entry("exit 3", name="bad"), auto_connect=True))
    lab.engine.servers.save(fault_entry(name="other"))
    assert lab.engine.servers.connector.connect_at_start() == ("one", "slow", "bad")
    await lab.until(ServerStatus.CONNECTED, "one")
    await lab.until(ServerStatus.FAILED, "bad")
    assert lab.view("slow").status is ServerStatus.CONNECTING
    await lab.engine.servers.connector.disconnect("slow")
    assert lab.view("slow").status is ServerStatus.IDLE
    assert lab.view("off").status is ServerStatus.DISABLED
    assert lab.view("other").status is ServerStatus.IDLE
    assert lab.engine.servers.connector.connect_all() == ("slow", "bad", "other")
    await lab.until(ServerStatus.CONNECTED, "other")


async def test_login_belongs_to_the_expanded_url_and_survives_a_reconnect(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FaultServer() as server:
        monkeypatch.setenv("LENS_PORT", str(server.port))
        entry = HttpEntry(
            name="srv",
            url="http://127.0.0.1:${LENS_PORT}/mcp",
            headers={"X-Key": SecretRef("header/srv/X-Key")},
        )
        await lab.engine.servers.save_with_secrets(entry, {"header/srv/X-Key": "s3cr3t"})
        await lab.engine.servers.connector.connect("srv")
        assert server.calls[0].headers["x-key"] == "s3cr3t"
        known = lab.engine.logins._entries["srv"]
        assert known.url == server.url()
        assert known.headers == entry.headers  # not sent to the authorization server
        account = lab.engine.logins._account("srv")
        await lab.engine.servers.connector.connect("srv")
        assert lab.engine.logins._account("srv") is account
        assert lab.view().address == "http://127.0.0.1:${LENS_PORT}/mcp"
        await lab.engine.servers.connector.disconnect("srv")
