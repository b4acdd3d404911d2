"""Form fields of a server: read from a draft and written to it, without losing other members."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.config.servers.entry_fields import (
    FIELDS,
    PAGES,
    EntryField,
    Transport,
    content_of,
    field_at,
    fields_of,
    merge_drafts,
    pages_of,
    transport_of,
    with_content,
)
from inspector.config.servers.server_list import read_entry

STDIO: JSONObject = {"command": "npx", "args": ["-y", "server"], "x-ours": {"kept": 1}}
HTTP: JSONObject = {"url": "https://host/mcp", "network": {"verify": False, "x-theirs": 2}}
SOCKET: JSONObject = {"url": "wss://host/mcp"}


def named(member: str) -> EntryField:
    return next(field for field in FIELDS if field.member == member)


@pytest.mark.parametrize(
    ("draft", "transport"), [(STDIO, "stdio"), (HTTP, "http"), (SOCKET, "ws"), ({}, "stdio")]
)
def test_transport_is_inferred_from_the_draft(draft: JSONObject, transport: Transport) -> None:
    assert transport_of(draft) == transport


def test_every_field_has_a_label_and_a_page() -> None:
    for field in FIELDS:
        assert field.page in PAGES
        assert field.label
        assert field.description.endswith("."), field.member
    assert "Headers" not in pages_of("stdio")
    assert "Variables" not in pages_of("http")


def test_missing_member_has_its_default() -> None:
    entry = read_entry("a", {"command": "x"})
    assert content_of({"command": "x"}, named("enabled")) is entry.enabled
    assert content_of({"command": "x"}, named("autoConnect")) is entry.auto_connect
    assert content_of({"command": "x"}, named("era")) == entry.era
    assert content_of({"command": "x"}, named("timeouts.connect")) is entry.timeouts.connect
    web = read_entry("a", {"url": "https://host/"})
    assert isinstance(web, HttpEntry)
    assert content_of({"url": "https://host/"}, named("network.verify")) is web.network.verify
    assert content_of({"url": "https://host/"}, named("type")) == web.type


def test_defaults_are_not_written_and_empty_containers_are_removed() -> None:
    draft = with_content({"command": "x"}, named("timeouts.connect"), 5)
    assert draft == {"command": "x", "timeouts": {"connect": 5}}
    assert with_content(draft, named("timeouts.connect"), None) == {"command": "x"}
    assert with_content({"command": "x", "autoConnect": True}, named("autoConnect"), False) == {
        "command": "x"
    }


def test_nested_unknown_members_are_preserved() -> None:
    draft = with_content(HTTP, named("network.verify"), True)
    assert draft["network"] == {"x-theirs": 2}
    assert with_content(STDIO, named("cwd"), "/tmp")["x-ours"] == {"kept": 1}


def test_disabled_from_other_clients_is_shown_and_replaced() -> None:
    draft: JSONObject = {"command": "x", "disabled": True}
    assert content_of(draft, named("enabled")) is False
    assert with_content(draft, named("enabled"), True) == {"command": "x"}
    assert with_content(draft, named("enabled"), False) == {"command": "x", "enabled": False}


def test_errors_are_found_at_their_fields() -> None:
    at = {
        location: field_at(location, "stdio")
        for location in ("args.2", "timeouts.connect", "env.KEY", "url", "nothing")
    }
    assert {location: field.member if field else None for location, field in at.items()} == {
        "args.2": "args",
        "timeouts.connect": "timeouts.connect",
        "env.KEY": "env",
        "url": None,
        "nothing": None,
    }


_VALUES: dict[str, st.SearchStrategy[object]] = {
    "line": st.text(),
    "code": st.text(),
    "text": st.text(),
    "file": st.text(),
    "folder": st.text(),
    "lines": st.lists(st.text()),
    "switch": st.booleans(),
    "environment": st.booleans(),
    "seconds": st.none() | st.integers(1, 100),
    "named": st.dictionaries(st.text(min_size=1), st.text()),
}


@given(st.data())
def test_value_set_on_a_draft_is_read_back(data: st.DataObject) -> None:
    draft = data.draw(st.sampled_from([STDIO, HTTP, SOCKET, {}]))
    for field in data.draw(st.lists(st.sampled_from(fields_of(transport_of(draft))), max_size=6)):
        choices = [value for value, _ in field.choices]
        content = data.draw(st.sampled_from(choices) if choices else _VALUES[field.kind])
        draft = with_content(draft, field, content)  # type: ignore[arg-type]
        assert content_of(draft, field) == content


def test_draft_built_from_fields_is_a_server() -> None:
    draft: JSONObject = {}
    for member, content in {"command": "node", "args": ["a b"], "watch": ["*.py"], "color": "teal"}.items():
        draft = with_content(draft, named(member), content)  # type: ignore[arg-type]
    entry = read_entry("made", draft)
    assert isinstance(entry, StdioEntry)
    assert (entry.command, entry.args, entry.watch, entry.color) == ("node", ("a b",), ("*.py",), "teal")


@pytest.mark.parametrize(
    ("mine", "theirs", "merged", "conflicts"),
    [
        ({"a": 1, "b": {"c": 1, "d": 1}}, {"a": 2}, {"a": 2}, []),
        ({"a": 9, "b": {"c": 1, "d": 1}}, {"a": 1, "b": {"c": 1}}, {"a": 9, "b": {"c": 1}}, []),
        ({"a": 9}, {"a": 9, "b": {"c": 1, "d": 1}, "new": None}, {"a": 9, "new": None}, []),
        (
            {"a": 8, "b": {"c": 8, "d": 1}},
            {"a": 9, "b": {"c": 9, "d": 2}},
            {"a": 8, "b": {"c": 8, "d": 2}},
            ["a", "b.c"],
        ),
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": 7}, {"a": 1, "b": {"c": 1, "d": 2}}, ["b"]),
        ({"b": {"c": 1, "d": 1}}, {"a": 7, "b": {"c": 1, "d": 1}}, {"b": {"c": 1, "d": 1}}, ["a"]),
    ],
)
def test_drafts_are_merged(
    mine: JSONObject, theirs: JSONObject, merged: JSONObject, conflicts: list[str]
) -> None:
    before: JSONObject = {"a": 1, "b": {"c": 1, "d": 1}}
    assert merge_drafts(before, mine, theirs) == (merged, conflicts)
