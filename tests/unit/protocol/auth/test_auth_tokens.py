"""Token responses: parsing, findings, and when to refresh."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.auth.pkce import b64url
from inspector.protocol.auth.token_request import ID_JAG, Grant
from inspector.protocol.auth.tokens import (
    Renewal,
    TokenExpectation,
    TokenResponse,
    TokenSet,
    decide_renewal,
    read_token_response,
)
from inspector.protocol.http_rules import Headers
from inspector.protocol.revisions import R5
from tests.unit.protocol.server_requests.request_samples import any_json

AS, RESOURCE = "https://as.example", "https://mcp.example/mcp"
NOW = 1_800_000_000.0
EXPECTED = TokenExpectation(Grant.CODE, AS, "me", RESOURCE, ("read", "write"))
GOOD: Headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"))
OLD = TokenSet("0ld", "Bearer", AS, "me", RESOURCE, ("read",), ("read", "write"), NOW - 3600, NOW, "r1")
REFRESH = replace(EXPECTED, grant=Grant.REFRESH, scopes=(), previous=OLD)


def reply(
    requested: TokenExpectation = EXPECTED, status: int = 200, headers: Headers = GOOD, /, **members: JSON
) -> TokenResponse:
    return read_token_response(status, headers, to_wire(members), requested, now=NOW, revision=R5)


def good(**changes: JSON) -> JSONObject:
    return {"access_token": "t0ken", "token_type": "bearer", "expires_in": 3600, **changes}


def ids(response: TokenResponse) -> list[str]:
    return [one.id for one in response.findings]


def jwt(**claims: JSON) -> str:
    return f"{b64url(to_wire({'alg': 'ES256'}))}.{b64url(to_wire(claims))}.c2ln"


def test_valid_response_gives_tokens_with_an_absolute_expiry_and_no_findings() -> None:
    response = reply(**good(refresh_token="r", id_token="i"))
    assert response.tokens == TokenSet(
        "t0ken",
        "Bearer",
        AS,
        "me",
        RESOURCE,
        ("read", "write"),
        ("read", "write"),
        NOW,
        NOW + 3600,
        "r",
        "i",
    )
    assert response.tokens.authorization == "Bearer t0ken"
    assert (response.findings, response.problem, response.error) == ((), "", None)


def test_tokens_are_in_no_repr() -> None:
    response = reply(**good(access_token="hush1", refresh_token="hush2", id_token="hush3"))
    assert "hush" not in repr(response)
    assert "r1" not in repr(REFRESH)


def test_refresh_keeps_what_the_response_omits() -> None:
    tokens = reply(replace(REFRESH, method="client_secret_basic"), **good()).tokens
    assert tokens is not None
    assert (tokens.access_token, tokens.refresh_token) == ("t0ken", "r1")
    assert (tokens.scopes, tokens.requested) == (("read",), ("read", "write"))


def test_refresh_adopts_what_the_response_replaces() -> None:
    tokens = reply(REFRESH, **good(refresh_token="r2", scope="read write")).tokens
    assert tokens is not None
    assert (tokens.refresh_token, tokens.scopes) == ("r2", ("read", "write"))


def test_bound_token_is_sent_with_the_dpop_scheme() -> None:
    requested = replace(EXPECTED, key_thumbprint="abc")
    response = reply(requested, **good(token_type="dpop"))
    assert response.tokens is not None
    assert response.tokens.authorization == "DPoP t0ken"
    assert ids(response) == []


def test_token_exchange_gives_an_assertion_and_not_an_access_token() -> None:
    requested = replace(EXPECTED, grant=Grant.EXCHANGE)
    jag = jwt(aud=AS, iss="https://idp.example")
    response = reply(requested, **good(access_token=jag, token_type="N_A", issued_token_type=ID_JAG))
    assert response.tokens is not None
    assert response.tokens.access_token == jag
    assert ids(response) == []
    wrong = reply(requested, **good(access_token=jag, token_type="N_A", issued_token_type="urn:x"))
    assert (wrong.tokens, ids(wrong)) == (None, ["TOK-003"])


@pytest.mark.parametrize("body", [b"access_token=t&token_type=bearer", b"<html>", b"", b"[]", b"\xff"])
def test_tok_001_not_json(body: bytes) -> None:
    response = read_token_response(
        200, (("content-type", "text/html"),), body, EXPECTED, now=NOW, revision=R5
    )
    assert (ids(response), response.tokens) == (["TOK-001"], None)
    assert "text/html" in response.problem


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"access_token": None}, "access_token"),
        ({"access_token": ""}, "access_token"),
        ({"access_token": "a\r\nX-Evil: 1"}, "access_token"),
        ({"access_token": "tök"}, "access_token"),
        ({"token_type": 7}, "token_type"),
    ],
)
def test_tok_002_missing_or_unsendable_token(changes: JSONObject, field: str) -> None:
    response = reply(**good(**changes))
    assert (ids(response), response.tokens) == (["TOK-002"], None)
    assert field in response.problem


@pytest.mark.parametrize("kind", ["mac", "DPoP", "N_A"])
def test_tok_003_unusable_token_type(kind: str) -> None:
    response = reply(**good(token_type=kind))
    assert (ids(response), response.tokens) == (["TOK-003"], None)


@pytest.mark.parametrize(
    ("value", "end"),
    [("3600", NOW + 3600), (-5, NOW), (0, NOW), ("soon", None), (None, None), (True, None), ([], None)],
)
def test_tok_004_invalid_lifetime(value: JSON, end: float | None) -> None:
    response = reply(**good(expires_in=value))
    assert ids(response) == ["TOK-004"]
    assert response.tokens is not None
    assert response.tokens.expires_at == end


def test_tok_004_missing_and_impossible_lifetimes() -> None:
    without = good()
    del without["expires_in"]
    response = reply(**without)
    assert ids(response) == ["TOK-004"]
    assert "absent" in response.findings[0].seen
    for text in ("NaN", "Infinity", "1e999", "9" * 400):
        body = b'{"access_token":"t","token_type":"bearer","expires_in":%s}' % text.encode()
        odd = read_token_response(200, GOOD, body, EXPECTED, now=NOW, revision=R5)
        assert odd.tokens is not None


def test_tok_005_cacheable_response() -> None:
    assert ids(reply(EXPECTED, 200, (("Cache-Control", "max-age=60"),), **good())) == ["TOK-005"]
    assert ids(reply(EXPECTED, 200, (("cache-control", "private, No-Store"),), **good())) == []


def test_tok_006_rejected_client() -> None:
    requested = replace(EXPECTED, method="client_secret_post", offered_methods=("client_secret_basic",))
    response = reply(requested, 401, error="invalid_client", error_description="bad\x1b secret")
    assert ids(response) == ["TOK-006"]
    assert "client_secret_post" in response.findings[0].seen
    assert "client_secret_basic" in response.findings[0].rule
    assert "\x1b" not in response.problem + response.findings[0].evidence


def test_tok_009_fewer_scopes_than_requested() -> None:
    response = reply(**good(scope="read"))
    assert ids(response) == ["TOK-009"]
    assert "write" in response.findings[0].rule
    assert response.tokens is not None
    assert response.tokens.scopes == ("read",)


def test_offline_access_need_not_be_in_the_granted_scopes() -> None:
    requested = replace(EXPECTED, scopes=("read", "offline_access"))
    assert ids(reply(requested, **good(scope="read"))) == []


@pytest.mark.parametrize("audience", ["https://other.example", ["https://other.example"], None])
def test_tok_010_wrong_audience(audience: JSON) -> None:
    assert ids(reply(**good(access_token=jwt(aud=audience)))) == ["TOK-010"]


def test_several_audiences_including_the_server_are_fine() -> None:
    assert ids(reply(**good(access_token=jwt(aud=["x", RESOURCE], iss=AS)))) == []
    no_resource = replace(EXPECTED, resource=None)
    assert ids(reply(no_resource, **good(access_token=jwt(aud="x")))) == []


def test_tok_011_wrong_issuer() -> None:
    assert ids(reply(**good(access_token=jwt(aud=RESOURCE, iss=AS + "/")))) == ["TOK-011"]


@pytest.mark.parametrize("claims", [{"exp": NOW + 7200}, {"iat": NOW + 300}, {"nbf": NOW + 61}])
def test_tok_012_wrong_times(claims: JSONObject) -> None:
    response = reply(**good(access_token=jwt(aud=RESOURCE, **claims)))
    assert ids(response) == ["TOK-012"]


def test_times_within_a_minute_are_fine() -> None:
    token = jwt(aud=RESOURCE, exp=NOW + 3630, iat=NOW + 30, nbf=NOW - 500)
    assert ids(reply(**good(access_token=token))) == []


def test_tok_013_long_lived_token() -> None:
    response = reply(**good(expires_in=90_000))
    assert ids(response) == ["TOK-013"]
    assert "25 hours" in response.findings[0].seen
    assert ids(reply(**good(expires_in=86_400))) == []


def test_tok_014_an_error_with_status_200() -> None:
    response = reply(error="invalid_grant", error_description="used")
    assert (ids(response), response.tokens) == (["TOK-014"], None)
    assert response.error is not None


@pytest.mark.parametrize(
    ("location", "word"),
    [("https://evil.example/t", "evil.example"), ("/t2", "same host"), ("http://[", "an invalid URL")],
)
def test_tok_015_a_redirect_is_not_followed(location: str, word: str) -> None:
    response = reply(EXPECTED, 307, (("Location", location),))
    assert (ids(response), response.tokens) == (["TOK-015"], None)
    assert word in response.problem


def test_tok_016_token_not_bound_to_our_key() -> None:
    requested = replace(EXPECTED, key_thumbprint="ours")
    assert ids(reply(requested, **good())) == ["TOK-016"]
    for token in (jwt(aud=RESOURCE, cnf={"jkt": "theirs"}), jwt(aud=RESOURCE)):
        assert ids(reply(requested, **good(access_token=token, token_type="DPoP"))) == ["TOK-016"]
    ours = jwt(aud=RESOURCE, cnf={"jkt": "ours"})
    assert ids(reply(requested, **good(access_token=ours, token_type="DPoP"))) == []


@pytest.mark.parametrize("changes", [{}, {"refresh_token": "r1"}])
def test_tok_017_refresh_token_not_rotated(changes: JSONObject) -> None:
    granted = {"scope": "read write", **changes}
    assert ids(reply(REFRESH, **good(**granted))) == ["TOK-017"]
    assert ids(reply(replace(REFRESH, method="client_secret_basic"), **good(**granted))) == []


def test_tok_017_is_not_reported_for_a_refresh_token_bound_by_dpop() -> None:
    bound = replace(REFRESH, key_thumbprint="ours")
    granted = good(scope="read write", refresh_token="r1")
    ours = {**granted, "access_token": jwt(aud=RESOURCE, cnf={"jkt": "ours"}), "token_type": "DPoP"}
    assert ids(reply(bound, **ours)) == []
    assert ids(reply(bound, **granted)) == ["TOK-016", "TOK-017"]


def test_tok_018_unusable_refresh_response() -> None:
    empty = reply(REFRESH, token_type="bearer")
    assert (ids(empty), empty.tokens, empty.ends_login) == (["TOK-018"], None, False)
    wants = reply(REFRESH, 400, error="invalid_request", error_description="missing scope")
    assert ids(wants) == ["TOK-018"]


def test_only_a_rejected_refresh_token_ends_the_login() -> None:
    assert reply(REFRESH, 400, error="invalid_grant").ends_login
    assert reply(REFRESH, 200, error="invalid_grant").ends_login
    assert not reply(REFRESH, 400, error="temporarily_unavailable").ends_login
    assert not reply(REFRESH, 503).ends_login
    assert not reply(EXPECTED, 400, error="invalid_grant").ends_login


def test_server_error_keeps_the_stored_tokens() -> None:
    response = reply(REFRESH, 503)
    assert "503" in response.problem
    assert "still saved" in response.problem


def test_nonce_demand_is_not_a_finding() -> None:
    response = reply(EXPECTED, 400, error="use_dpop_nonce")
    assert response.wants_nonce
    assert response.findings == ()


_members = st.sampled_from(
    ["access_token", "token_type", "expires_in", "scope", "refresh_token", "id_token", "error", "cnf"]
)
_odd = any_json | st.sampled_from(["bearer", "DPoP", "t0ken", jwt(exp="x", aud={}, cnf=[])])


@given(
    st.sampled_from([200, 201, 302, 400, 500]),
    st.dictionaries(_members, _odd),
    st.sampled_from(
        [EXPECTED, REFRESH, replace(EXPECTED, key_thumbprint="k"), replace(EXPECTED, grant=Grant.EXCHANGE)]
    ),
)
def test_any_response_gives_tokens_or_a_problem(
    status: int, members: JSONObject, requested: TokenExpectation
) -> None:
    response = read_token_response(status, GOOD, to_wire(members), requested, now=NOW, revision=R5)
    assert (response.tokens is None) == bool(response.problem)
    if response.tokens is not None:
        assert response.tokens.authorization.isascii()
        assert response.tokens.authorization.isprintable()


@pytest.mark.parametrize(
    ("left", "renewal"),
    [(3600, Renewal.NOT_NEEDED), (61, Renewal.NOT_NEEDED), (60, Renewal.REFRESH), (-5, Renewal.REFRESH)],
)
def test_token_is_refreshed_a_minute_before_it_expires(left: int, renewal: Renewal) -> None:
    tokens = replace(OLD, expires_at=NOW + left)
    assert decide_renewal(tokens, NOW).renewal is renewal


@pytest.mark.parametrize(
    ("life", "age", "renewal"),
    [
        (40, 0, Renewal.NOT_NEEDED),
        (40, 29, Renewal.NOT_NEEDED),
        (40, 30, Renewal.REFRESH),
        (120, 85, Renewal.NOT_NEEDED),
        (120, 90, Renewal.REFRESH),
        (300, 239, Renewal.NOT_NEEDED),
        (300, 240, Renewal.REFRESH),
        (0, 0, Renewal.REFRESH),
    ],
)
def test_short_lived_token_is_refreshed_in_its_last_quarter(life: int, age: int, renewal: Renewal) -> None:
    tokens = replace(OLD, received_at=NOW, expires_at=NOW + life)
    assert decide_renewal(tokens, NOW + age).renewal is renewal


@pytest.mark.parametrize(
    ("left", "renewal"), [(30, Renewal.NOT_NEEDED), (0, Renewal.LOG_IN), (-5, Renewal.LOG_IN)]
)
def test_without_a_refresh_token_it_is_used_until_it_expires(left: int, renewal: Renewal) -> None:
    tokens = replace(OLD, refresh_token="", expires_at=NOW + left)
    assert decide_renewal(tokens, NOW).renewal is renewal


def test_token_of_unknown_lifetime_is_used_until_rejected() -> None:
    assert decide_renewal(replace(OLD, expires_at=None), NOW + 1e9).renewal is Renewal.NOT_NEEDED
