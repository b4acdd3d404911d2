"""Differences between two versions of a server: complete, by path, with secrets masked."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, NetworkSettings, StdioEntry, Timeouts
from inspector.config.servers.entry_diff import (
    EntryChange,
    FieldChange,
    ServerListDiff,
    compare_content,
    compare_entries,
    is_same_connection,
    masked,
)

STDIO = StdioEntry(name="a", command="x", args=("1", "2"), env={"K": "v"})
NAMES = st.text("abcK", min_size=1, max_size=2)
VALUES: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "1", "{}", "null", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=5,
)
CONTENTS = st.dictionaries(NAMES, VALUES, max_size=3)


@given(CONTENTS)
def test_the_same_content_has_no_changes(content: JSONObject) -> None:
    assert compare_content(content, content) == ()


@given(CONTENTS, CONTENTS)
def test_different_content_has_symmetric_changes(one: JSONObject, other: JSONObject) -> None:
    there, back = compare_content(one, other), compare_content(other, one)
    assert bool(there) == (json.dumps(one, sort_keys=True) != json.dumps(other, sort_keys=True))
    assert {(c.field, c.before, c.after) for c in there} == {(c.field, c.after, c.before) for c in back}


def test_added_removed_and_changed_servers_are_distinguished() -> None:
    other = replace(STDIO, name="b")
    before = (STDIO, other)
    after = (replace(STDIO, args=("1", "3"), cwd="/tmp"), replace(STDIO, name="c", command="y"))
    assert compare_entries(before, after) == ServerListDiff(
        ("c",),
        ("b",),
        (EntryChange("a", (FieldChange("args[1]", "2", "3"), FieldChange("cwd", None, "/tmp"))),),
    )
    assert not compare_entries(before, before)
    assert compare_entries(before, (other, STDIO)) == ServerListDiff(is_reordered=True)


def test_only_connection_settings_affect_the_connection() -> None:
    assert is_same_connection(
        STDIO,
        replace(
            STDIO,
            name="b",
            enabled=False,
            notes="n",
            color="red",
            watch=("*",),
            roots=("/",),
            auto_connect=True,
            auto_restart=True,
            capabilities={},
            exact_capabilities=True,
        ),
    )
    http = HttpEntry(name="a", url="http://x")
    others: list[tuple[Entry, Entry]] = [
        (STDIO, replace(STDIO, command="y")),
        (STDIO, replace(STDIO, args=())),
        (STDIO, replace(STDIO, env={})),
        (STDIO, replace(STDIO, cwd="/")),
        (STDIO, replace(STDIO, era="2025-11-25")),
        (STDIO, replace(STDIO, timeouts=Timeouts(connect=1))),
        (STDIO, http),
        (http, replace(http, url="http://y")),
        (http, replace(http, headers={"A": "1"})),
        (http, replace(http, type="sse")),
        (http, replace(http, network=NetworkSettings(verify=False))),
    ]
    for one, other in others:
        assert not is_same_connection(one, other)
    assert not is_same_connection(None, STDIO)


def test_secrets_are_masked_everywhere_and_nothing_else_is() -> None:
    content: JSONObject = {
        "command": "x",
        "args": ["--port", "80", "--token", "t0p", "--api-key=k3y", "https://u:pw@h/?token=t0p"],
        "env": {"API_KEY": "k3y", "MODE": "fast", "OTHER": "sk-abcdef123456"},
        "headers": {"Authorization": "Bearer t0p", "X-Trace": "1"},
        "url": "https://h/?api_key=k3y&page=2",
    }
    shown = masked(content)
    for secret in ("t0p", "k3y", "pw@", "sk-abcdef"):
        assert secret not in repr(shown)
    for plain in ("--port", "80", "fast", "X-Trace", "page=2"):
        assert plain in repr(shown)


def test_secret_reference_name_is_shown() -> None:
    """The name shows which variable goes where."""
    headers: JSONObject = {
        "Authorization": "Bearer ${GITHUB_TOKEN}",
        "X-Api-Key": "${input:key}",
        "X-Token": "${KEY:-s3cret}",
        "X-Secret": "s3cret${KEY}",
    }
    assert masked({"headers": headers})["headers"] == {**headers, "X-Token": "•••", "X-Secret": "•••"}
