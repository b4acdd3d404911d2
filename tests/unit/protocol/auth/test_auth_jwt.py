"""Decoding of JWTs; an opaque token is no error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.auth.jwt import read_jwt, times_of, utc_datetime
from inspector.protocol.auth.pkce import b64url
from tests.unit.protocol.server_requests.request_samples import any_json


def jwt(claims: JSON, header: JSON = None, signature: str = "c2ln") -> str:
    head: JSON = {"alg": "ES256", "typ": "at+jwt"} if header is None else header
    return f"{b64url(to_wire(head))}.{b64url(to_wire(claims))}.{signature}"


def test_header_and_claims_are_read() -> None:
    claims: JSONObject = {
        "iss": "https://as",
        "aud": ["https://a", 7, "https://b"],
        "scope": "read write",
        "cnf": {"jkt": "abc"},
        "exp": 100,
    }
    view = read_jwt(jwt(claims))
    assert view is not None
    assert (view.issuer, view.audiences, view.scopes) == (
        "https://as",
        ("https://a", "https://b"),
        ("read", "write"),
    )
    assert (view.key_thumbprint, view.time_of("exp"), view.time_of("nbf")) == ("abc", 100.0, None)
    assert view.is_signed


def test_scopes_may_be_a_list_under_another_name() -> None:
    view = read_jwt(jwt({"scp": ["a", "b c"], "aud": "x"}))
    assert view is not None
    assert (view.scopes, view.audiences) == (("a", "b", "c"), ("x",))


@pytest.mark.parametrize(("header", "signature"), [({"alg": "none"}, "c2ln"), ({"alg": "ES256"}, "")])
def test_unsigned_token_is_recognized(header: JSONObject, signature: str) -> None:
    view = read_jwt(jwt({}, header, signature))
    assert view is not None
    assert not view.is_signed


@pytest.mark.parametrize(
    "text",
    ["", "opaque", "a.b.c", "eyJh.eyJh.x", jwt([1]), jwt({}, {"no": "alg"}), "x" * 300_000 + ".aa.", "é.é.é"],
)
def test_text_that_is_not_a_jwt_gives_none(text: str) -> None:
    assert read_jwt(text) is None


def test_token_nested_too_deeply_gives_none() -> None:
    deep = b64url(b'{"a":' + b"[" * 60_000 + b"]" * 60_000 + b"}")
    assert read_jwt(f"{b64url(to_wire({'alg': 'x'}))}.{deep}.x") is None


def test_times_are_parsed_and_impossible_ones_are_none() -> None:
    times = {name: moment for name, _, moment in times_of({"exp": 0, "iat": 1e300, "nbf": True})}
    exp = times["exp"]
    assert exp is not None
    assert exp.year == 1970
    assert times["iat"] is None
    assert "nbf" not in times
    assert utc_datetime(float("nan")) is None
    assert utc_datetime(10**400) is None


@given(any_json, any_json)
def test_any_token_content_never_raises(header: JSON, claims: JSON) -> None:
    head: JSONObject = {"alg": "x", **(header if isinstance(header, dict) else {})}
    view = read_jwt(jwt(claims, head))
    if view is not None:
        assert isinstance(view.audiences + view.scopes, tuple)
        assert view.time_of("exp") is None or view.claims["exp"] is not None
        assert isinstance(view.key_thumbprint + view.issuer, str)


@given(st.text())
def test_any_text_never_raises(text: str) -> None:
    read_jwt(text)
