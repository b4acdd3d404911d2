"""Placeholders in server settings: listed by name, and expanded once without a shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.config.servers.entries import Entry, HttpEntry, SecretRef, StdioEntry, WebSocketEntry
from inspector.config.servers.placeholders import Values, expand, names_in, needs_expansion
from inspector.config.servers.server_list import read_entry

STDIO = StdioEntry(
    name="a",
    command="${userHome}/bin/x",
    args=("--key=${input:api-key}", "${PORT:-80}", "$HOME", "${x%y}", "$${HOME}"),
    env={"A": "${env:TOKEN}", "B": "plain", "C": SecretRef("env/a/C")},
    cwd="${workspaceFolder}/sub",
)
VALUES = Values(
    environment={"TOKEN": "t0p", "HOME": "/h"},
    inputs={"api-key": "k"},
    known={"userHome": "/home/me", "workspaceFolder": "/project"},
)


def test_all_names_are_listed_before_any_lookup() -> None:
    names = names_in(STDIO)
    assert names.variables == ("PORT", "TOKEN")
    assert names.inputs == ("api-key",)
    assert names.known == ("userHome", "workspaceFolder")
    assert names.shown == ("PORT", "TOKEN", "input:api-key", "userHome", "workspaceFolder")


def test_references_are_substituted_in_place_and_the_rest_is_unchanged() -> None:
    assert expand(STDIO, VALUES) == StdioEntry(
        name="a",
        command="/home/me/bin/x",
        args=("--key=k", "80", "$HOME", "${x%y}", "${HOME}"),
        env={"A": "t0p", "B": "plain", "C": SecretRef("env/a/C")},
        cwd="/project/sub",
    )


@pytest.mark.parametrize("kind", [HttpEntry, WebSocketEntry])
def test_a_url_and_its_headers_are_expanded(kind: type[HttpEntry] | type[WebSocketEntry]) -> None:
    entry = kind(name="a", url="https://${HOST:-localhost}:${PORT}/mcp", headers={"X-Key": "Bearer ${env:K}"})
    expanded = expand(entry, Values({"PORT": "8443", "K": "v"}))
    assert expanded == kind(name="a", url="https://localhost:8443/mcp", headers={"X-Key": "Bearer v"})


def test_values_are_not_expanded_recursively() -> None:
    entry = StdioEntry(name="a", command="x", args=("${A}",))
    (arg,) = expand(entry, Values({"A": "${B} $(id) `id`", "B": "no"})).args  # type: ignore[union-attr]
    assert arg == "${B} $(id) `id`"


def test_default_replaces_an_empty_or_missing_variable() -> None:
    entry = StdioEntry(name="a", command="x", args=("${A:-one}", "${B:-two}", "${C:-}", "${D}"))
    assert expand(entry, Values({"A": "", "B": "b", "D": ""})).args == ("one", "b", "", "")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            StdioEntry(name="a", command="x", args=("y", "${NOPE}")),
            "argument 2: the environment variable NOPE is not set",
        ),
        (
            StdioEntry(name="a", command="x", env={"K": "${NOPE}"}),
            "variable K: the environment variable NOPE is not set",
        ),
        (StdioEntry(name="a", command="x", cwd="${cwd}"), "cwd: \\$\\{cwd\\} is not available here"),
        (HttpEntry(name="a", url="${NOPE}/mcp"), "url: the environment variable NOPE is not set"),
        (
            HttpEntry(name="a", url="http://x", headers={"K": "${input:pw}"}),
            "header K: the input “pw” has no",
        ),
    ],
)
def test_name_without_a_value_is_reported_with_its_location(entry: Entry, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        expand(entry, Values())


def test_unapproved_variable_is_not_substituted_even_if_it_is_set() -> None:
    entry = HttpEntry(name="a", url="https://x/?k=${AWS_SECRET}", headers={"K": "${OTHER:-safe}"})
    with pytest.raises(ConfigError, match="not approved the environment variable AWS_SECRET"):
        expand(entry, Values(unapproved=frozenset({"AWS_SECRET", "OTHER"})))


def test_expanded_url_and_headers_must_be_valid() -> None:
    with pytest.raises(ConfigError, match="file"):
        expand(HttpEntry(name="a", url="${U}"), Values({"U": "file://x/etc/passwd"}))
    with pytest.raises(ConfigError, match="not allowed in a header"):
        expand(HttpEntry(name="a", url="http://x", headers={"K": "${U}"}), Values({"U": "a\r\nHost: evil"}))


def test_url_with_references_may_be_in_the_file() -> None:
    entry = read_entry("a", {"url": "${BASE}:${PORT}/mcp"})
    assert needs_expansion(entry)
    assert expand(entry, Values({"BASE": "http://localhost", "PORT": "1"})).url == "http://localhost:1/mcp"  # type: ignore[union-attr]


@given(st.text(), st.text())
def test_text_without_references_is_unchanged(text: str, value: str) -> None:
    entry = StdioEntry(name="a", command="x", args=(text.replace("${", "$ {"),))
    assert not needs_expansion(entry)
    assert expand(entry, Values({"A": value})) == entry


@given(st.text())
def test_escaped_references_stay_literal(text: str) -> None:
    entry = StdioEntry(name="a", command="x", args=(text.replace("$", "").replace("", "${A}"),))
    escaped = StdioEntry(name="a", command="x", args=tuple(arg.replace("${", "$${") for arg in entry.args))
    assert expand(escaped, Values({"A": "wrong"})) == entry
    assert not names_in(escaped)
