"""The server list file: tolerant reading, atomic writing."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.config.servers.server_list import ServerListFile
from tests.helpers.platforms import needs_links, needs_permissions


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "servers.json"


@pytest.fixture
def server_list(path: Path) -> ServerListFile:
    return ServerListFile(path)


def write(path: Path, content: JSON | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def read(path: Path) -> JSON:
    value: JSON = json.loads(path.read_text())
    return value


STDIO = StdioEntry(
    name="a", command="python", args=("-m", "srv"), env={"K": "v"}, cwd="/tmp", roots=("/data",)
)
HTTP = HttpEntry(name="b", url="https://example.com/mcp", headers={"Authorization": "x"}, enabled=False)


def test_missing_file_is_an_empty_server_list(server_list: ServerListFile) -> None:
    loaded = server_list.load()
    assert (loaded.entries, loaded.problems) == ((), ())


def test_saved_servers_are_loaded_in_order(server_list: ServerListFile) -> None:
    server_list.save(STDIO)
    server_list.save(HTTP)
    assert server_list.load().entries == (STDIO, HTTP)
    assert server_list.find("b") == HTTP


def test_saved_server_has_the_format_of_other_clients(server_list: ServerListFile, path: Path) -> None:
    server_list.save(StdioEntry(name="a", command="python", args=("x",)))
    assert read(path) == {"mcpServers": {"a": {"command": "python", "args": ["x"]}}}


def test_notes_color_and_auto_connect_round_trip(server_list: ServerListFile, path: Path) -> None:
    entry = replace(STDIO, notes="two\nlines", color="teal", auto_connect=True, watch=("src/**/*.py", "*.js"))
    server_list.save(entry)
    assert server_list.find("a") == entry
    written = read(path)["mcpServers"]["a"]  # type: ignore[index,call-overload]
    assert {name: written[name] for name in ("notes", "color", "autoConnect", "watch")} == {  # type: ignore[index,call-overload]
        "notes": "two\nlines",
        "color": "teal",
        "autoConnect": True,
        "watch": ["src/**/*.py", "*.js"],
    }


def test_color_under_its_earlier_name_is_read_and_rewritten(server_list: ServerListFile, path: Path) -> None:
    write(path, {"mcpServers": {"a": {"command": "python", "colour": "teal", "other": 1}}})
    entry = server_list.find("a")
    assert entry.color == "teal"
    server_list.save(entry)
    assert read(path) == {"mcpServers": {"a": {"command": "python", "color": "teal", "other": 1, "args": []}}}


def test_unknown_members_are_preserved(server_list: ServerListFile, path: Path) -> None:
    server: JSON = {"type": "stdio", "command": "old", "env": {"K": "v"}, "alwaysAllow": ["x"], "cwd": "/tmp"}
    write(path, {"$schema": "x", "mcpServers": {"z": 5, "a": server}, "other": [1, {"deep": None}]})
    server_list.save(StdioEntry(name="a", command="new"))
    server_list.remove("nobody")
    assert read(path) == {
        "$schema": "x",
        "mcpServers": {
            "z": 5,
            "a": {"type": "stdio", "command": "new", "args": [], "env": {}, "alwaysAllow": ["x"], "cwd": ""},
        },
        "other": [1, {"deep": None}],
    }


@pytest.mark.parametrize(("first", "then"), [(STDIO, HTTP), (HTTP, STDIO)])
def test_server_with_a_changed_transport_loads_with_the_new_one(
    server_list: ServerListFile, first: StdioEntry | HttpEntry, then: StdioEntry | HttpEntry
) -> None:
    server_list.save(replace(first, name="same"))
    server_list.save(replace(then, name="same"))
    assert server_list.load().entries == (replace(then, name="same"),)


def test_disabled_is_read_and_written_as_enabled(server_list: ServerListFile, path: Path) -> None:
    write(path, {"mcpServers": {"a": {"command": "x", "disabled": True}}})
    (entry,) = server_list.load().entries
    assert not entry.enabled
    server_list.set_enabled(entry, True)
    assert server_list.load().entries[0].enabled
    assert read(path) == {"mcpServers": {"a": {"command": "x", "args": []}}}


def test_a_server_can_be_removed(server_list: ServerListFile) -> None:
    server_list.save(STDIO)
    server_list.save(HTTP)
    server_list.remove("a")
    assert server_list.load().entries == (HTTP,)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"mcpServers": {\n  "a": tru}}', "is not valid JSON: Expecting value at line 2, column 8."),
        (b'{"mcpServers": {}', "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON: nested too deeply"),
        (b"\xff\xfe{\x00}\x00", "servers.json: 'utf-8' codec"),
        (b"[]", "must contain a JSON object."),
        (b'{"mcpServers": []}', '"mcpServers" must be an object.'),
    ],
)
def test_broken_file_is_reported_with_the_position_and_left_alone(
    server_list: ServerListFile, path: Path, content: bytes, problem: str
) -> None:
    write(path, content)
    loaded = server_list.load()
    assert loaded.entries == ()
    (sentence,) = loaded.problems
    assert problem in sentence
    with pytest.raises(ConfigError):
        server_list.save(STDIO)
    assert path.read_bytes() == content


def test_byte_order_mark_is_skipped(server_list: ServerListFile, path: Path) -> None:
    write(path, b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "x"}}}')
    assert server_list.load().entries == (StdioEntry(name="a", command="x"),)


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (5, "it must be an object."),
        ({}, "command: field required."),
        ({"command": 5}, "command: must be a string."),
        ({"command": "x", "args": "y"}, "args: must be an array."),
        ({"command": "x", "args": ["y", 5]}, "args.1: must be a string."),
        ({"command": "x", "env": {"PORT": 80}}, "env.PORT: must be a string."),
        ({"command": "x", "disabled": "no"}, "disabled: "),
        ({"url": "ftp://x"}, "MCP Lens cannot connect to ftp URLs."),
        ({"url": 5}, "url: must be a string."),
        ({"url": "http://x", "headers": []}, "headers: must be an object."),
    ],
)
def test_unusable_server_is_named_and_the_others_load(
    server_list: ServerListFile, path: Path, server: JSON, problem: str
) -> None:
    write(path, {"mcpServers": {"bad": server, "good": {"command": "x"}}})
    loaded = server_list.load()
    assert [entry.name for entry in loaded.entries] == ["good"]
    (sentence,) = loaded.problems
    assert sentence.startswith("servers.json, server 'bad': ")
    assert problem in sentence


def test_unknown_server_error_lists_the_existing_ones(server_list: ServerListFile) -> None:
    with pytest.raises(ConfigError, match="It contains: none"):
        server_list.find("x")
    server_list.save(STDIO)
    server_list.save(HTTP)
    with pytest.raises(ConfigError, match=r"No server named 'x' in .*servers.json. It contains: a, b."):
        server_list.find("x")


def test_broken_server_error_says_what_is_wrong(server_list: ServerListFile, path: Path) -> None:
    write(path, {"mcpServers": {"a": {"command": 5}, "b": {}}})
    with pytest.raises(ConfigError, match="server 'b': command: field required"):
        server_list.find("b")


def test_failed_write_leaves_the_file_and_no_temp_files(
    server_list: ServerListFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server_list.save(STDIO)
    before = path.read_bytes()

    def fail(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(ConfigError, match=r"Could not write .*servers\.json: No space left on device\."):
        server_list.save(HTTP)
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == [".servers.json.lock", "servers.json"]


def test_lone_surrogate_is_written_as_an_escape_and_round_trips(
    server_list: ServerListFile, path: Path
) -> None:
    entry = replace(STDIO, capabilities={"experimental": {"x": "\ud800"}})
    server_list.save(entry)
    assert server_list.load().entries == (entry,)
    assert sorted(os.listdir(path.parent)) == [".servers.json.lock", "servers.json"]


@needs_links
def test_symlinked_file_stays_a_symlink(server_list: ServerListFile, path: Path, tmp_path: Path) -> None:
    """Users keep such files in a repository and link to them."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    path.parent.mkdir()
    path.symlink_to(real)
    server_list.save(STDIO)
    assert path.is_symlink()
    assert ServerListFile(real).load().entries == (STDIO,)


@needs_permissions
def test_file_that_may_hold_secrets_is_readable_only_by_its_owner(
    server_list: ServerListFile, path: Path
) -> None:
    server_list.save(STDIO)
    assert path.stat().st_mode & 0o077 == 0
