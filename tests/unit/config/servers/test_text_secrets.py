"""Secrets in arguments, URLs and proxies: found, moved to the store, and sent as before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.config.foreign.export import without_secrets
from inspector.config.servers.entries import (
    Entry,
    HttpEntry,
    NetworkSettings,
    SecretRef,
    StdioEntry,
    WebSocketEntry,
)
from inspector.config.servers.placeholders import (
    Values,
    expand,
    moved_to_store,
    plain_secrets_of,
    stored_secrets_of,
    text_secrets_of,
    with_inputs,
)


def program(*args: str) -> StdioEntry:
    return StdioEntry(name="My server", command="run", args=args)


def web(url: str = "http://h/mcp", proxy: str = "") -> HttpEntry:
    return HttpEntry(name="My server", url=url, network=NetworkSettings(proxy=proxy))


@pytest.mark.parametrize(
    ("entry", "labels", "values"),
    [
        (program("-v", "--token", "hush"), ["argument --token"], {"token": "hush"}),
        (program("--api-key=hush=="), ["argument --api-key"], {"api-key": "hush=="}),
        (program("API_KEY=hush"), ["argument API_KEY"], {"api_key": "hush"}),
        (program("x", "ghp_hush1234"), ["argument 2"], {"argument-2": "ghp_hush1234"}),
        (
            program("postgres://ann:hu%40sh@db/x?sslmode=on&password=p%20w"),
            ["argument 1 password", "argument 1 parameter password"],
            {"argument-1-password": "hu%40sh", "password": "p%20w"},
        ),
        (program("--header", "Authorization: Bearer hush"), ["argument Authorization"],
         {"authorization": "hush"}),
        (program("--header=X-Api-Key:hush"), ["argument X-Api-Key"], {"x-api-key": "hush"}),
        (program("--dsn=postgres://ann:hush@db/x"), ["argument 1 password"], {"argument-1-password": "hush"}),
        (program("https://ghp_hush1234@h/x"), ["argument 1 user"], {"argument-1-user": "ghp_hush1234"}),
        (program("--token", "a", "--token", "b"), ["argument --token", "argument --token 2"],
         {"token": "a", "token-2": "b"}),
        (web("http://h/mcp?x=1&api_key=hush&sig=s#key=no"),
         ["URL parameter api_key", "URL parameter sig"], {"api_key": "hush", "sig": "s"}),
        (WebSocketEntry(name="My server", url="wss://h/?token=hush"), ["URL parameter token"],
         {"token": "hush"}),
        (web(proxy="http://ann:hush@proxy:8080"), ["proxy password"], {"proxy-password": "hush"}),
    ],
)  # fmt: skip
def test_secrets_are_moved_to_inputs_and_sent_unchanged(
    entry: Entry, labels: list[str], values: dict[str, str]
) -> None:
    assert [each.label for each in text_secrets_of(entry)] == labels
    assert plain_secrets_of(entry) == tuple(labels)
    moved, stored = with_inputs(entry, labels)
    assert stored == {f"input/My%20server/{id}": value for id, value in values.items()}
    assert text_secrets_of(moved) == ()
    assert "hush" not in repr(moved)
    assert expand(moved, Values(inputs=values)) == entry
    assert stored_secrets_of(moved) == {f"input:{id}": f"input/My%20server/{id}" for id in values}


@pytest.mark.parametrize(
    "entry",
    [
        program("--token"),
        program("--token", "--verbose"),
        program("--token="),
        program("--token", "${input:token}"),
        program("--token=${TOKEN}"),
        program("--header", "Authorization: Bearer ${TOKEN}"),
        program("--header", "Accept: text/html"),
        program("--token-endpoint", "https://as.example/token"),
        program("https://h/?page=1"),
        web("http://h/mcp?page=1&api_key="),
        web("http://h/mcp?api_key=${env:KEY}"),
        web(proxy="http://proxy:8080"),
        web(proxy="http://ann@proxy:8080"),
        web(proxy="http://ann:${PASSWORD}@proxy:8080"),
    ],
)
def test_non_secrets_and_already_moved_secrets_are_not_offered(entry: Entry) -> None:
    assert plain_secrets_of(entry) == ()
    assert with_inputs(entry, ["argument --token"]) == (entry, {})


def test_only_selected_secrets_are_moved() -> None:
    entry = program("--token", "a", "--password=b")
    moved, stored = with_inputs(entry, ["argument --password"])
    assert moved == program("--token", "a", "--password=${input:password}")
    assert stored == {"input/My%20server/password": "b"}


def test_existing_input_is_left_alone() -> None:
    entry = program("--key=${input:token}", "--token", "a")
    moved, _ = with_inputs(entry, ["argument --token"])
    assert moved == program("--key=${input:token}", "--token", "${input:token-2}")


def test_text_next_to_a_secret_keeps_its_references_and_escapes() -> None:
    entry = program("--token", "a", "$${HOME}", "${HOME}")
    moved, _ = with_inputs(entry, ["argument --token"])
    values = Values(environment={"HOME": "/me"}, inputs={"token": "a"})
    assert expand(moved, values) == program("--token", "a", "${HOME}", "/me")


def test_headers_and_texts_are_moved_together() -> None:
    entry = replace(web("http://h/?token=a"), headers={"X-Api-Key": "b", "Authorization": "Bearer ${TOKEN}"})
    assert plain_secrets_of(entry) == ("X-Api-Key", "URL parameter token")
    moved, stored = moved_to_store(entry, plain_secrets_of(entry))
    reference = SecretRef("header/My%20server/X-Api-Key")
    assert moved == replace(
        web("http://h/?token=${input:token}"),
        headers={"X-Api-Key": reference, "Authorization": "Bearer ${TOKEN}"},
    )
    assert stored == {reference.ref: "b", "input/My%20server/token": "a"}
    assert stored_secrets_of(moved) == {
        "X-Api-Key": reference.ref,
        "input:token": "input/My%20server/token",
    }


def test_proxy_password_may_be_an_input() -> None:
    entry = web(proxy="http://ann:${input:p}@proxy:1")
    assert expand(entry, Values(inputs={"p": "hush"})) == web(proxy="http://ann:hush@proxy:1")


def test_a_header_among_the_arguments_is_not_exported() -> None:
    shown, names = without_secrets(program("https://h/mcp", "--header", "Authorization: Bearer hush"))
    assert isinstance(shown, StdioEntry)
    assert names == ("MY_SERVER_AUTHORIZATION",)
    assert shown.args[-1] == "Authorization: Bearer ${MY_SERVER_AUTHORIZATION}"
