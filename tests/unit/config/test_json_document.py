"""Files of MCP Lens that users edit too: exact round trips, and no lost concurrent writes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Barrier
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject, to_wire
from inspector.config.json_file import JsonDocument
from inspector.config.paths import Files
from inspector.config.servers.entries import StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.config.servers.trust import TrustStore, content_of
from inspector.engine.login.logins import LoginOptions
from inspector.engine.settings import SettingsStore
from inspector.oauth.login.steps import Overrides
from tests.helpers.platforms import IS_WINDOWS
from tests.unit.config.test_json_file import json_values


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file.json"


def test_numbers_keep_their_spelling(path: Path) -> None:
    path.write_text('{"a": 1.10, "b": [1E3, -0, 0.1234567890123456789], "c": 123456789012345678901234567890}')
    file = JsonDocument(path)
    file.write({**file.read(), "d": 2})
    for spelling in ("1.10", "1E3", "-0", "0.1234567890123456789", "123456789012345678901234567890"):
        assert spelling in path.read_text()


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(max_size=9), json_values, max_size=4))
def test_written_document_round_trips_exactly(document: JSONObject) -> None:
    with TemporaryDirectory() as name:
        file = JsonDocument(Path(name) / "x.json")
        file.write(document)
        assert to_wire(file.read()) == to_wire(document)


def test_layout_is_preserved(path: Path) -> None:
    document: JSONObject = {"a": {}, "b": [], "c": [1, {"d": None}], "e": "ü"}
    JsonDocument(path).write(document)
    assert path.read_text("utf-8") == json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def test_last_duplicate_key_wins(path: Path) -> None:
    path.write_text('{"a": 1, "a": 2}')
    assert JsonDocument(path).read() == {"a": 2}


@pytest.mark.parametrize("text", ["{", "[]", "{" * 100_000, '{"a": ' * 100_000])
def test_parse_error_is_one_sentence(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"file\.json"):
        JsonDocument(path).read()


def test_declared_capabilities_are_saved_digit_for_digit(path: Path) -> None:
    capabilities = '{"experimental": {"x": {"share": 1.10}}}'
    path.write_text(f'{{"mcpServers": {{"s": {{"command": "x", "capabilities": {capabilities}}}}}}}')
    server_list = ServerListFile(path)
    (entry,) = server_list.load().entries
    assert isinstance(entry, StdioEntry)
    server_list.save(entry)
    assert "1.10" in path.read_text()


def test_concurrent_writers_on_several_threads_lose_nothing(path: Path, tmp_path: Path) -> None:
    """One of them opens the file through a symlink, or on Windows by another spelling of its path."""
    link = tmp_path / "link.json"
    if IS_WINDOWS:
        link = Path(str(path).upper())
    else:
        link.symlink_to(path)
    files = [JsonDocument(path), JsonDocument(path), JsonDocument(link)]
    start = Barrier(len(files))

    def write(number: int) -> None:
        start.wait()
        for turn in range(20):
            with files[number].locked():
                files[number].write({**files[number].read(), f"{number}.{turn}": turn})

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, range(len(files))))
    assert len(JsonDocument(path).read()) == len(files) * 20


def test_settings_of_several_processes_are_all_saved(path: Path) -> None:
    """Each process has a store; each change reads and writes the whole file."""

    def open_store() -> SettingsStore:
        return SettingsStore(Files(preferences=path))

    async def save_options(turn: int) -> None:
        await LoginOptions(open_store()).save("s", Overrides(scope=f"s{turn}"))

    async def save_filter(turn: int) -> None:
        await open_store().update("filters", lambda filters: {**filters, f"f{turn}": "dur>1s"})

    writers: list[Callable[[int], Coroutine[Any, Any, None]]] = [
        lambda turn: open_store().set("connections.connectTimeout", turn + 1),
        lambda turn: open_store().set("captures.keepDays", turn + 1),
        lambda turn: open_store().set("calls.environment", [f"V{turn}"]),
        lambda turn: open_store().set("inbox.timeout", turn + 1),
        save_filter,
        save_options,
    ]
    start, last = Barrier(len(writers)), 14

    def write(save: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        start.wait()
        for turn in range(last + 1):
            asyncio.run(save(turn))

    with ThreadPoolExecutor() as threads:
        list(threads.map(write, writers))
    settings = open_store()
    settings.load()
    assert settings.get("connections.connectTimeout") == last + 1
    assert settings.get("captures.keepDays") == last + 1
    assert settings.get("calls.environment") == [f"V{last}"]
    assert settings.get("inbox.timeout") == last + 1
    assert list(settings.get("filters")) == [f"f{turn}" for turn in range(last + 1)]
    assert asyncio.run(LoginOptions(settings).of("s")).scope == f"s{last}"


def test_simultaneous_approvals_are_all_saved(path: Path) -> None:
    store = TrustStore(path)
    start = Barrier(4)

    def approve(number: int) -> None:
        start.wait()
        for turn in range(5):
            store.approve(content_of(StdioEntry(name=f"{number}.{turn}", command="x"), "/f", "/"))

    with ThreadPoolExecutor() as threads:
        list(threads.map(approve, range(4)))
    assert len(store.approvals()) == 20
    assert all(
        store.covers(each, content_of(StdioEntry(name=each.name, command="x"), "/f", "/"))
        for each in store.approvals()
    )


_WRITER = """
import sys
from pathlib import Path
from inspector.config.servers.server_list import ServerListFile
from inspector.config.servers.entries import StdioEntry

server_list = ServerListFile(Path(sys.argv[1]))
for number in range(40):
    server_list.add(StdioEntry(name=f"{sys.argv[2]}{number}", command="x"))
"""


def test_two_processes_writing_servers_concurrently_lose_none(path: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert len(ServerListFile(path).load().entries) == 80


def test_nested_change_does_not_deadlock(path: Path) -> None:
    file = JsonDocument(path)
    with file.locked(), file.locked():
        file.write({"a": 1})
    assert file.read() == {"a": 1}


def test_concurrently_written_server_is_not_overwritten(path: Path) -> None:
    path.write_text('{"mcpServers": {"broken": {"command": 5}}}')
    with pytest.raises(ConfigError, match="A server named 'broken' already exists"):
        ServerListFile(path).add(StdioEntry(name="broken", command="x"))
    assert '"command": 5' in path.read_text()
