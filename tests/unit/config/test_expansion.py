"""`${name}` in a server's settings: found, shown by name, put in once, and never by a shell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.config.auth import SecretRef
from inspector.config.catalogue import read_entry
from inspector.config.entries import Entry, HttpEntry, StdioEntry, WebSocketEntry
from inspector.config.expansion import Values, expand, names_in, needs_expansion

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


def test_all_names_are_told_before_anything_is_looked_up() -> None:
    names = names_in(STDIO)
    assert names.variables == ("PORT", "TOKEN")
    assert names.inputs == ("api-key",)
    assert names.known == ("userHome", "workspaceFolder")
    assert names.shown == ("PORT", "TOKEN", "input:api-key", "userHome", "workspaceFolder")


def test_everything_is_put_in_where_it_stands_and_the_rest_stays_as_it_is() -> None:
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


def test_a_value_is_never_expanded_itself() -> None:
    entry = StdioEntry(name="a", command="x", args=("${A}",))
    (arg,) = expand(entry, Values({"A": "${B} $(id) `id`", "B": "no"})).args  # type: ignore[union-attr]
    assert arg == "${B} $(id) `id`"


def test_a_default_stands_for_a_variable_that_is_empty_or_not_there() -> None:
    entry = StdioEntry(name="a", command="x", args=("${A:-one}", "${B:-two}", "${C:-}", "${D}"))
    assert expand(entry, Values({"A": "", "B": "b", "D": ""})).args == ("one", "b", "", "")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (StdioEntry(name="a", command="x", args=("y", "${NOPE}")), "argument 2: the environment has no"),
        (StdioEntry(name="a", command="x", env={"K": "${NOPE}"}), "variable K: the environment has no"),
        (StdioEntry(name="a", command="x", cwd="${cwd}"), "cwd: nothing is known of"),
        (HttpEntry(name="a", url="${NOPE}/mcp"), "url: the environment has no variable NOPE"),
        (
            HttpEntry(name="a", url="http://x", headers={"K": "${input:pw}"}),
            "header K: the input “pw” has no",
        ),
    ],
)
def test_a_name_without_a_value_is_named_with_its_place(entry: Entry, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        expand(entry, Values())


def test_a_variable_that_was_not_agreed_to_is_not_put_in_though_it_is_there() -> None:
    entry = HttpEntry(name="a", url="https://x/?k=${AWS_SECRET}", headers={"K": "${OTHER:-safe}"})
    with pytest.raises(ConfigError, match="AWS_SECRET is not for this server"):
        expand(entry, Values(withheld=frozenset({"AWS_SECRET", "OTHER"})))


def test_what_comes_out_must_be_a_url_and_a_header_that_can_be_sent() -> None:
    with pytest.raises(ConfigError, match="file"):
        expand(HttpEntry(name="a", url="${U}"), Values({"U": "file://x/etc/passwd"}))
    with pytest.raises(ConfigError, match="no header can have"):
        expand(HttpEntry(name="a", url="http://x", headers={"K": "${U}"}), Values({"U": "a\r\nHost: evil"}))


def test_a_url_with_names_in_it_can_be_in_the_file() -> None:
    entry = read_entry("a", {"url": "${BASE}:${PORT}/mcp"})
    assert needs_expansion(entry)
    assert expand(entry, Values({"BASE": "http://localhost", "PORT": "1"})).url == "http://localhost:1/mcp"  # type: ignore[union-attr]


@given(st.text(), st.text())
def test_a_text_without_names_is_sent_as_it_is(text: str, value: str) -> None:
    entry = StdioEntry(name="a", command="x", args=(text.replace("${", "$ {"),))
    assert not needs_expansion(entry)
    assert expand(entry, Values({"A": value})) == entry


@given(st.text())
def test_what_was_escaped_comes_out_as_it_was(text: str) -> None:
    entry = StdioEntry(name="a", command="x", args=(text.replace("$", "").replace("", "${A}"),))
    escaped = StdioEntry(name="a", command="x", args=tuple(arg.replace("${", "$${") for arg in entry.args))
    assert expand(escaped, Values({"A": "wrong"})) == entry
    assert not names_in(escaped)
