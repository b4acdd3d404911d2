"""ID tokens: required claims, and those that end a login."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.base.json.values import to_wire
from inspector.protocol.auth.authorization_request import AuthorizationRequest, CheckResult, authorization_url
from inspector.protocol.auth.id_token import (
    IdTokenExpectation,
    check_id_jag,
    check_id_token,
    is_expired,
    provider_scope,
)
from inspector.protocol.auth.pkce import b64url
from inspector.protocol.auth.server_metadata import provider_metadata_urls
from inspector.protocol.revisions import R5

NOW = 1_800_000_000.0
EXPECTED = IdTokenExpectation("https://idp.example", "desktop-app", "the-nonce")
GOOD: dict[str, Any] = {
    "iss": "https://idp.example",
    "aud": "desktop-app",
    "sub": "ada",
    "nonce": "the-nonce",
    "iat": NOW - 5,
    "exp": NOW + 300,
}


def token(**changes: Any) -> str:
    claims = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return f"{b64url(to_wire({'alg': 'ES256'}))}.{b64url(to_wire(claims))}.c2ln"


def test_valid_token_gives_subject_and_expiry() -> None:
    checked = check_id_token(token(), EXPECTED, NOW, R5)
    assert (checked.problem, checked.subject, checked.expires_at) == ("", "ada", NOW + 300)
    assert [check.name for check in checked.checks] == ["alg", "iss", "aud", "exp", "iat", "nonce", "sub"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"iss": "https://idp.example/"}, "iss"),
        ({"iss": None}, "iss"),
        ({"aud": "another"}, "aud"),
        ({"aud": ["another", "third"]}, "aud"),
        ({"aud": ["desktop-app", "another"]}, "azp"),
        ({"aud": ["desktop-app", "another"], "azp": "another"}, "azp"),
        ({"azp": "another"}, "azp"),
        ({"exp": NOW - 61}, "exp"),
        ({"exp": None}, "exp"),
        ({"exp": "soon"}, "exp"),
        ({"iat": NOW + 3600}, "iat"),
        ({"iat": None}, "iat"),
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"nonce": 5}, "nonce"),
        ({"sub": None}, "sub"),
    ],
)
def test_invalid_token_names_the_wrong_claim(changes: dict[str, Any], name: str) -> None:
    checked = check_id_token(token(**changes), EXPECTED, NOW, R5)
    assert checked.checks[-1].name == name
    assert checked.checks[-1].result is CheckResult.FAILED
    assert f"{name}: " in checked.problem
    assert "the-nonce" not in checked.problem
    [found] = checked.findings
    assert found.stops
    assert "the-nonce" not in found.text


@pytest.mark.parametrize(
    "changes",
    [{"aud": ["desktop-app", "x"], "azp": "desktop-app"}, {"exp": NOW - 30}, {"azp": "desktop-app"}],
)
def test_several_audiences_and_small_clock_skew_are_accepted(changes: dict[str, Any]) -> None:
    assert check_id_token(token(**changes), EXPECTED, NOW, R5).problem == ""


def test_refreshed_token_needs_no_nonce_but_the_same_subject() -> None:
    renewed = IdTokenExpectation("https://idp.example", "desktop-app", subject="ada")
    assert check_id_token(token(nonce=None), renewed, NOW, R5).problem == ""
    assert "sub: " in check_id_token(token(nonce=None, sub="grace"), renewed, NOW, R5).problem


@pytest.mark.parametrize("algorithm", ["none", "ES256"])
def test_unsigned_token_is_rejected_before_it_is_parsed(algorithm: str) -> None:
    unsigned = f"{b64url(to_wire({'alg': algorithm}))}.{token().split('.')[1]}."
    checked = check_id_token(unsigned, EXPECTED, NOW, R5)
    assert [check.name for check in checked.checks] == ["alg"]
    assert [found.id for found in checked.findings] == ["IDT-010"]
    problem = "its algorithm is none" if algorithm == "none" else "it has no signature"
    assert checked.findings[0].seen == f"The ID token is not signed: {problem}."
    signed_with_none = f"{b64url(to_wire({'alg': 'none'}))}.{token().split('.')[1]}.c2ln"
    assert check_id_token(signed_with_none, EXPECTED, NOW, R5).problem


def test_without_a_sent_nonce_only_a_refreshed_token_is_accepted() -> None:
    nothing_known = IdTokenExpectation("https://idp.example", "desktop-app")
    assert "nonce: " in check_id_token(token(), nothing_known, NOW, R5).problem
    assert "nonce: " in check_id_token(token(nonce=None), nothing_known, NOW, R5).problem


AUTHORITY = "https://as.example"
ID_JAG: dict[str, Any] = {"iss": "https://idp.example", "aud": AUTHORITY, "client_id": "robot"}


@pytest.mark.parametrize(
    ("header", "changes", "ids"),
    [
        ({}, {}, []),
        ({"typ": "application/oauth-id-jag+jwt"}, {"aud": [f"{AUTHORITY}/", "x"]}, []),
        ({}, {"aud": "https://another.example"}, ["IDT-011"]),
        ({}, {"aud": None}, ["IDT-011"]),
        ({"typ": "JWT"}, {}, ["IDT-012"]),
        ({"typ": None}, {}, ["IDT-012"]),
        ({}, {"client_id": "another"}, ["IDT-013"]),
        ({}, {"client_id": None}, []),
    ],
)
def test_id_jag_audience_is_the_receiving_authorization_server(
    header: dict[str, Any], changes: dict[str, Any], ids: list[str]
) -> None:
    head = {"alg": "ES256", "typ": "oauth-id-jag+jwt", **header}
    text = f"{b64url(to_wire(head))}.{b64url(to_wire({**ID_JAG, **changes}))}.c2ln"
    assert [found.id for found in check_id_jag(text, AUTHORITY, "robot", R5)] == ids
    assert [found.id for found in check_id_jag("opaque", AUTHORITY, "robot", R5)] == ["IDT-012"]


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "e30.e30.", "é.é.é"])
def test_non_token_is_rejected_with_the_reason(text: str) -> None:
    assert check_id_token(text, EXPECTED, NOW, R5).problem == "The ID token is not a readable JWT."


def test_token_expires_a_margin_early_and_an_unreadable_one_never() -> None:
    assert not is_expired(token(), NOW, soon=True)
    assert is_expired(token(), NOW + 241, soon=True)
    assert not is_expired(token(), NOW + 241)
    assert is_expired(token(), NOW + 300)
    assert not is_expired(token(iat=NOW, exp=NOW + 40), NOW + 29, soon=True), "a quarter of a short life"
    assert is_expired(token(iat=NOW, exp=NOW + 40), NOW + 30, soon=True)
    assert is_expired(token(iat=None), NOW + 240, soon=True)
    assert not is_expired("opaque", NOW)


@pytest.mark.parametrize(
    ("offered", "typed", "expected"),
    [
        (None, None, "openid offline_access"),
        (("openid", "email"), None, "openid"),
        (("openid", "offline_access"), None, "openid offline_access"),
        (("openid",), "email  profile email", "openid email profile"),
        (None, "", "openid"),
    ],
)
def test_login_scope_depends_on_offered_and_typed_scopes(
    offered: tuple[str, ...] | None, typed: str | None, expected: str
) -> None:
    assert provider_scope(offered, typed) == expected


def test_login_nonce_cannot_be_overridden_manually() -> None:
    request = AuthorizationRequest("c", "http://127.0.0.1/cb", "s", "x" * 43, nonce="ours")
    extra = (("Nonce", "theirs"), ("login_hint", "ada"))
    built = authorization_url(
        "https://idp.example/a",
        AuthorizationRequest("c", request.redirect_uri, "s", "x" * 43, nonce="ours", extras=extra),
    )
    assert dict(built.parameters)["nonce"] == "ours"
    assert dict(built.parameters)["login_hint"] == "ada"
    assert "Nonce" not in dict(built.parameters)
    assert "Nonce" in built.notes[0]
    assert "nonce" not in dict(
        authorization_url("https://as.example/a", AuthorizationRequest("c", "r", "s", "x")).parameters
    )


def test_provider_metadata_is_looked_up_at_the_openid_path_first() -> None:
    urls = [location.url for location in provider_metadata_urls("https://idp.example/tenant")]
    assert urls == [
        "https://idp.example/tenant/.well-known/openid-configuration",
        "https://idp.example/.well-known/oauth-authorization-server/tenant",
        "https://idp.example/.well-known/openid-configuration/tenant",
    ]
