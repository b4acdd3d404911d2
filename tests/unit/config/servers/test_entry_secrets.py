"""Headers and environment variables whose values are in the secret store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import (
    BearerSettings,
    Entry,
    EntryValue,
    HttpEntry,
    SecretRef,
    StdioEntry,
    WebSocketEntry,
)
from inspector.config.servers.entry_secrets import (
    check_header,
    check_header_value,
    named_secrets_of,
    own_secrets_of,
    resolve_secrets,
    secret_references,
    with_references,
)
from inspector.config.servers.server_list import ServerListFile

REF = SecretRef("header/a/X-Key")
ENTRIES: list[Entry] = [
    StdioEntry(name="a", command="x", env={"API_KEY": SecretRef("env/a/API_KEY"), "HOME": "/"}),
    HttpEntry(name="a", url="http://h/", headers={"Accept": "x", "X-Key": REF}),
    WebSocketEntry(name="a", url="ws://h/", headers={"X-Key": REF}),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.transport)
def test_references_are_read_as_they_were_written(tmp_path: Path, entry: Entry) -> None:
    server_list = ServerListFile(tmp_path / "servers.json")
    server_list.save(entry)
    assert server_list.load().entries == (entry,)


def test_reference_keeps_unknown_members(tmp_path: Path) -> None:
    path = tmp_path / "servers.json"
    headers = {"X-Key": {"ref": "header/a/X-Key", "note": "of Bob"}}
    path.write_text(json.dumps({"mcpServers": {"a": {"url": "http://h/", "headers": headers, "x": 1}}}))
    server_list = ServerListFile(path)
    server_list.save(server_list.find("a"))
    assert json.loads(path.read_text())["mcpServers"]["a"] == {"url": "http://h/", "headers": headers, "x": 1}


def test_plain_or_removed_value_leaves_no_reference_behind(tmp_path: Path) -> None:
    server_list = ServerListFile(tmp_path / "servers.json")
    server_list.save(HttpEntry(name="a", url="http://h/", headers={"X-Key": REF, "Y-Key": REF}))
    server_list.save(HttpEntry(name="a", url="http://h/", headers={"X-Key": "1"}))
    assert json.loads(server_list.path.read_text())["mcpServers"]["a"]["headers"] == {"X-Key": "1"}


@pytest.mark.parametrize("value", [{}, {"ref": ""}, {"ref": 5}, {"ref": "a//b"}, {"secret": "header/a/b"}])
def test_empty_reference_is_reported_with_its_path(tmp_path: Path, value: object) -> None:
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"a": {"command": "x", "env": {"KEY": value}}}}))
    loaded = ServerListFile(path).load()
    assert loaded.entries == ()
    assert "env.KEY: not a valid secret reference." in loaded.problems[0]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.transport)
def test_references_are_replaced_by_their_values(entry: Entry) -> None:
    (ref,) = (reference.ref for reference in secret_references(entry).values())
    resolved = resolve_secrets(entry, {ref: "hush"})
    assert secret_references(resolved) == {}
    values = resolved.env if isinstance(resolved, StdioEntry) else resolved.headers
    assert "hush" in values.values()
    assert secret_references(entry), "the entry itself stays as it is"


@pytest.mark.parametrize("values", [{}, {REF.ref: ""}, {"header/b/X-Key": "hush"}])
def test_a_secret_that_is_missing_is_named_with_what_to_do(values: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="“header › a › X-Key”, used by the header 'X-Key'") as caught:
        resolve_secrets(ENTRIES[1], values)
    assert "Server secrets" in caught.value.next_step


@pytest.mark.parametrize("value", ["hush\r\nX: y", "hüsh", "hush\0"])
def test_secret_invalid_in_a_header_is_rejected_without_repeating_it(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_secrets(ENTRIES[1], {REF.ref: value})
    with pytest.raises(ConfigError) as checked:
        check_header_value(value)
    assert value[:4] not in f"{caught.value} {checked.value}"


def test_variable_may_hold_more_characters_than_a_header() -> None:
    resolved = resolve_secrets(ENTRIES[0], {"env/a/API_KEY": "hüsh\nhush"})
    assert isinstance(resolved, StdioEntry)
    assert resolved.env["API_KEY"] == "hüsh\nhush"


def test_plain_values_under_secret_names_are_found_and_moved() -> None:
    headers: dict[str, EntryValue] = {
        "Authorization": "Bearer hush",
        "Accept": "x",
        "X-Api-Key": "",
        "X-Token": SecretRef("t"),
    }
    entry = HttpEntry(name="My server", url="http://h/", headers=headers)
    assert named_secrets_of(entry) == ("Authorization",)
    moved, values = with_references(entry, named_secrets_of(entry))
    assert isinstance(moved, HttpEntry)
    assert moved.headers == {**headers, "Authorization": SecretRef("header/My%20server/Authorization")}
    assert values == {"header/My%20server/Authorization": "Bearer hush"}
    assert list(moved.headers) == list(headers), "in the same order"


def test_server_owns_the_secrets_named_after_it() -> None:
    headers = {"A": SecretRef("header/a/A"), "B": SecretRef("header/ab/B"), "C": SecretRef("shared")}
    auth = BearerSettings(token=SecretRef("bearer/a"))
    entry = HttpEntry(name="a", url="http://h/", headers=headers, auth=auth)
    assert own_secrets_of(entry) == ("header/a/A", "bearer/a")


@pytest.mark.parametrize("name", ["", "X Key", "X:", "Ä", "X\n"])
def test_invalid_header_name_is_rejected(name: str) -> None:
    with pytest.raises(ConfigError, match="not a valid header name"):
        check_header(name)
