"""The authorization URL: each parameter once, and the endpoint's own query."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.authorization_request import (
    RESERVED,
    AuthorizationRequest,
    authorization_url,
    extra_problem,
)

REQUEST = AuthorizationRequest(
    client_id="https://lens.example/client.json",
    redirect_uri="http://127.0.0.1:5000/callback",
    state="st&te",
    code_challenge="ch",
    resource="https://mcp.example/mcp?a=b",
    scope="read write",
)


def query_of(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(url).query, keep_blank_values=True, strict_parsing=True)


def test_url_contains_everything_a_login_needs() -> None:
    built = authorization_url("https://as.example/authorize", REQUEST)
    assert query_of(built.url) == {
        "response_type": ["code"],
        "client_id": [REQUEST.client_id],
        "redirect_uri": [REQUEST.redirect_uri],
        "state": ["st&te"],
        "code_challenge": ["ch"],
        "code_challenge_method": ["S256"],
        "resource": [REQUEST.resource],
        "scope": ["read write"],
    }
    assert "scope=read%20write" in built.url
    assert built.notes == ()


def test_unset_parameters_are_not_sent() -> None:
    built = authorization_url("https://as.example/authorize", replace(REQUEST, resource=None, scope=None))
    assert not {"resource", "scope", "prompt", "dpop_jkt"} & set(query_of(built.url))


def test_existing_query_of_the_endpoint_is_kept() -> None:
    built = authorization_url("https://as.example/authorize?tenant=a%20b&empty=#frag", REQUEST)
    query = query_of(built.url)
    assert (query["tenant"], query["empty"]) == (["a b"], [""])
    assert "#" not in built.url


def test_endpoint_cannot_inject_login_parameters() -> None:
    built = authorization_url("https://as.example/authorize?client_id=evil&state=known", REQUEST)
    query = query_of(built.url)
    assert (query["client_id"], query["state"]) == ([REQUEST.client_id], ["st&te"])
    assert "client_id" in built.notes[0]


def test_offline_access_requests_consent_unless_the_user_overrides_it() -> None:
    server_request = replace(REQUEST, wants_consent=True)
    assert query_of(authorization_url("https://a/", server_request).url)["prompt"] == ["consent"]
    login = replace(server_request, extras=(("prompt", "login"), ("login_hint", "me@example.com")))
    query = query_of(authorization_url("https://a/", login).url)
    assert (query["prompt"], query["login_hint"]) == (["login"], ["me@example.com"])


@pytest.mark.parametrize("name", [*sorted(RESERVED), " State ", "CLIENT_ID", "", " "])
def test_parameters_set_by_the_login_cannot_be_added_manually(name: str) -> None:
    assert extra_problem(name)
    built = authorization_url("https://a/", replace(REQUEST, extras=((name, "evil"),)))
    assert "evil" not in built.url
    assert built.notes


def test_a_bound_login_names_its_key() -> None:
    built = authorization_url("https://a/", replace(REQUEST, key_thumbprint="abc"))
    assert query_of(built.url)["dpop_jkt"] == ["abc"]


_pairs = st.tuples(st.text(st.characters(codec="utf-8"), max_size=5), st.text(st.characters(codec="utf-8")))


@given(st.lists(_pairs, max_size=4), st.text(st.characters(codec="utf-8")))
def test_url_round_trips_whatever_is_added(extras: list[tuple[str, str]], state: str) -> None:
    request = replace(REQUEST, extras=tuple(extras), state=state or "s")
    built = authorization_url("https://as.example/authorize", request)
    assert query_of(built.url) == {name: [value] for name, value in built.parameters}
    assert built.url.isascii()
