"""Authorization server metadata: location, issuer, endpoints and supported features."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.auth.findings.finding import Finding, Severity
from inspector.protocol.auth.responses import MetadataResponse
from inspector.protocol.auth.server_metadata import (
    MetadataSource,
    Pkce,
    ServerMetadataResult,
    check_cors,
    check_server_copies,
    default_content,
    legacy_issuer,
    legacy_metadata_url,
    no_server_metadata,
    read_server_metadata,
    server_metadata_urls,
)
from inspector.protocol.auth.server_support import check_support, support_traits
from inspector.protocol.auth.url_guard import PUBLIC_ONLY, Allowance
from inspector.protocol.revisions import R2, R3, R4, R5, Revision

ISSUER = "https://auth.example.com"
GOOD: JSONObject = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
    "authorization_response_iss_parameter_supported": True,
    "client_id_metadata_document_supported": True,
}


def ids(findings: tuple[Finding, ...]) -> list[str]:
    return [one.id for one in findings]


def without(*names: str) -> JSONObject:
    return {name: value for name, value in GOOD.items() if name not in names}


def read(content: JSONObject | None = None, /, **members: JSON) -> ServerMetadataResult:
    return read_server_metadata((GOOD if content is None else content) | members, ISSUER, R5, PUBLIC_ONLY)


def found_in(content: JSONObject | None = None, /, **members: JSON) -> list[str]:
    return ids(read(content, **members).findings)


def offers(content: JSONObject | None = None, /, *, has_secret: bool = False, **members: JSON) -> list[str]:
    return ids(check_support(read(content, **members).metadata, R5, has_secret=has_secret))


@pytest.mark.parametrize("issuer", ["https://auth.example.com", "https://auth.example.com/"])
def test_issuer_without_a_path_has_two_metadata_urls(issuer: str) -> None:
    assert [location.url for location in server_metadata_urls(issuer)] == [
        "https://auth.example.com/.well-known/oauth-authorization-server",
        "https://auth.example.com/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize(
    "issuer", ["https://auth.example.com:8443/a/tenant1", "https://auth.example.com:8443/a/tenant1/"]
)
def test_issuer_with_a_path_has_three_metadata_urls_and_never_the_root(issuer: str) -> None:
    assert [location.url for location in server_metadata_urls(issuer)] == [
        "https://auth.example.com:8443/.well-known/oauth-authorization-server/a/tenant1",
        "https://auth.example.com:8443/.well-known/openid-configuration/a/tenant1",
        "https://auth.example.com:8443/a/tenant1/.well-known/openid-configuration",
    ]


def test_missing_document_stops_with_what_was_tried() -> None:
    replies = [
        MetadataResponse(f"{ISSUER}/1", 404),
        MetadataResponse(f"{ISSUER}/2", failure="The connection was refused."),
    ]
    found = no_server_metadata(ISSUER, replies, R5)

    assert found.id == "ASM-001"
    assert found.stops
    assert "/1 (404), https://auth.example.com/2 (The connection was refused)." in found.seen


def test_missing_cors_headers_are_noted_when_the_request_had_an_origin() -> None:
    sent = (("Origin", "https://app.example"),)
    assert ids(check_cors(MetadataResponse(ISSUER, 200), sent, R5)) == ["ASM-024"]
    assert check_cors(MetadataResponse(ISSUER, 200, (("Access-Control-Allow-Origin", "*"),)), sent, R5) == ()
    assert check_cors(MetadataResponse(ISSUER, 200), (("Accept", "application/json"),), R5) == ()


def test_two_documents_that_disagree_are_found() -> None:
    other = GOOD | {"token_endpoint": f"{ISSUER}/oidc/token", "jwks_uri": f"{ISSUER}/jwks"}

    [found] = check_server_copies(GOOD, other, R5)
    assert found.id == "ASM-021"
    assert "differ in token_endpoint." in found.seen
    assert check_server_copies(GOOD, GOOD, R5) == ()


def test_correct_document_gives_its_values_and_no_finding() -> None:
    reading = read(revocation_endpoint=f"{ISSUER}/revoke", scopes_supported=["a"])
    metadata = reading.metadata

    assert reading.findings == ()
    assert check_support(metadata, R5) == ()
    assert reading.foreign_hosts == ()
    assert str(metadata.authorization_endpoint) == f"{ISSUER}/authorize"
    assert str(metadata.token_endpoint) == f"{ISSUER}/token"
    assert str(metadata.registration_endpoint) == f"{ISSUER}/register"
    assert str(metadata.revocation_endpoint) == f"{ISSUER}/revoke"
    assert metadata.expected_iss == ISSUER
    assert metadata.pkce is Pkce.S256
    assert metadata.advertises_iss
    assert metadata.supports_client_id_metadata
    assert metadata.scopes == ("a",)


@pytest.mark.parametrize("revision", [R3, R4, R5], ids=str)
def test_different_issuer_stops_and_shows_the_difference(revision: Revision) -> None:
    content = GOOD | {"issuer": "https://attacker.example.com"}
    [found] = read_server_metadata(content, ISSUER, revision, PUBLIC_ONLY).findings

    assert found.id == "ASM-002"
    assert found.stops
    assert "character 10 differs" in found.seen


@pytest.mark.parametrize(
    ("stated", "difference"),
    [
        (ISSUER + "/", "a trailing slash"),
        ("https://Auth.example.com", "letter case"),
        (ISSUER + ":443", "an explicit default port"),
    ],
)
def test_small_issuer_difference_stops_too_and_is_explained(stated: str, difference: str) -> None:
    wrong, small = read(GOOD | {"issuer": stated}).findings

    assert (wrong.id, small.id) == ("ASM-002", "ASM-003")
    assert difference in small.seen


def test_trailing_slash_is_tolerated_only_at_the_root_and_only_on_request() -> None:
    def found(issuer: str, stated: str) -> list[str]:
        content = GOOD | {"issuer": stated}
        return ids(read_server_metadata(content, issuer, R5, PUBLIC_ONLY, tolerates_slash=True).findings)

    assert found(ISSUER, ISSUER + "/") == ["ASM-003"]
    assert found(ISSUER + "/", ISSUER) == ["ASM-003"]
    assert found(ISSUER + "/a", ISSUER + "/a/") == ["ASM-002", "ASM-003"]
    assert found(ISSUER, "https://evil.example/") == ["ASM-002"]


@pytest.mark.parametrize("issuer", [None, 7, ""])
def test_a_missing_issuer_stops(issuer: JSON) -> None:
    reading = read(GOOD | {"issuer": issuer})

    assert "ASM-004" in ids(reading.findings)
    assert any(one.stops for one in reading.findings)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint"])
def test_a_missing_endpoint_stops(name: str) -> None:
    [found] = read(without(name)).findings

    assert found.id == "ASM-009"
    assert found.stops
    assert name in found.seen
    assert found_in(GOOD | {name: ""}) == ["ASM-009"]


def test_a_login_without_a_browser_needs_no_authorization_endpoint() -> None:
    content = without(
        "authorization_endpoint", "response_types_supported", "code_challenge_methods_supported"
    )
    reading = read_server_metadata(content, ISSUER, R5, PUBLIC_ONLY, needs_code=False)

    assert reading.findings == ()
    assert check_support(reading.metadata, R5, needs_code=False, has_secret=True) == ()


def test_unencrypted_endpoint_stops() -> None:
    reading = read(token_endpoint="http://auth.example.com/token")

    assert ids(reading.findings) == ["ASM-011"]
    assert reading.findings[0].stops
    assert reading.metadata.token_endpoint is None


def test_allowed_unencrypted_endpoint_stays_a_warning() -> None:
    content = GOOD | {"token_endpoint": "http://auth.example.com/token"}
    reading = read_server_metadata(content, ISSUER, R5, Allowance(plain_http=True))

    assert [(one.id, one.severity, one.stops) for one in reading.findings] == [
        ("ASM-011", Severity.WARNING, False)
    ]
    assert reading.metadata.token_endpoint is not None


def test_http_is_fine_on_loopback() -> None:
    issuer = "http://127.0.0.1:9000"
    content: JSONObject = {
        name: value.replace(ISSUER, issuer) if isinstance(value, str) else value
        for name, value in GOOD.items()
    }
    reading = read_server_metadata(content, issuer, R5, Allowance(loopback=True))

    assert reading.findings == ()
    assert len(read_server_metadata(content, issuer, R5, PUBLIC_ONLY).metadata.endpoints) == 0


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://u:p@auth.example.com/",
        "https://169.254.169.254/",
        "https://10.0.0.1/",
        "file:///x",
    ],
)
def test_forbidden_endpoint_stops(url: str) -> None:
    reading = read(authorization_endpoint=url)

    assert ids(reading.findings) == ["ASM-012"]
    assert reading.findings[0].stops
    assert reading.metadata.authorization_endpoint is None


@pytest.mark.parametrize(
    ("url", "allows"),
    [("https://169.254.169.254/t", False), ("https://127.0.0.1/t", False), ("https://10.0.0.1/t", True)],
)
def test_private_addresses_are_suggested_only_where_that_helps(url: str, allows: bool) -> None:
    (found,) = read(token_endpoint=url).findings

    assert ("allow private network addresses" in found.fix) is allows
    assert found.fix.startswith("Authorization server: correct the URL.")


def test_advice_about_a_blocked_metadata_url_replaces_the_usual_one() -> None:
    usual = no_server_metadata("https://a.example", [MetadataResponse("https://a.example/x", 404)], R5)
    response = MetadataResponse("https://a.example/x", failure="Blocked.", advice="Check DNS.")

    assert usual.fix == "Authorization server: publish one of them at these URLs."
    assert no_server_metadata("https://a.example", [response], R5).fix == "Check DNS."


def test_unneeded_forbidden_endpoint_is_skipped_and_does_not_stop() -> None:
    reading = read(revocation_endpoint="https://127.0.0.1/", jwks_uri="http://auth.example.com/jwks")

    assert ids(reading.findings) == ["ASM-012", "ASM-011"]
    assert not any(one.stops for one in reading.findings)
    assert reading.metadata.revocation_endpoint is None


def test_endpoints_on_another_host_are_found_and_need_confirmation() -> None:
    reading = read(
        token_endpoint="https://tokens.evil.example/t", registration_endpoint="https://tokens.evil.example/r"
    )

    assert ids(reading.findings) == ["ASM-013"]
    assert "token_endpoint, registration_endpoint are on tokens.evil.example" in reading.findings[0].seen
    assert reading.foreign_hosts == ("tokens.evil.example",)
    assert [(one.field, one.is_issuer_host) for one in reading.hosts] == [
        ("authorization_endpoint", True),
        ("token_endpoint", False),
        ("registration_endpoint", False),
    ]


def test_host_allowed_by_the_user_needs_no_confirmation() -> None:
    content = GOOD | {"token_endpoint": "https://tokens.example/t"}
    reading = read_server_metadata(content, ISSUER, R5, PUBLIC_ONLY, allowed_hosts={"tokens.example"})

    assert reading.findings == ()
    assert reading.foreign_hosts == ()
    assert not reading.hosts[1].is_issuer_host


def test_hosts_are_compared_in_normalized_form() -> None:
    assert read(token_endpoint="https://AUTH.example.com.:8443/t").foreign_hosts == ()
    for host in ("auth.example.com.evil.example", "login.example.com", "example.com"):
        assert read(token_endpoint=f"https://{host}/t").foreign_hosts == (host,)


def test_members_of_the_wrong_type_are_found_and_treated_as_absent() -> None:
    reading = read(
        scopes_supported="a b",
        client_id_metadata_document_supported="true",
        grant_types_supported=["a", 1],
        jwks_uri=7,
    )

    assert ids(reading.findings) == ["ASM-020"] * 4
    assert reading.metadata.scopes is None
    assert not reading.metadata.supports_client_id_metadata
    assert reading.metadata.grant_types == ("a",)
    assert any("is an array that contains non-strings" in one.seen for one in reading.findings)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.just("https://x@127.1:0/#"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "dpop_signing_alg_values_supported", "jwks_uri"]), _JSON))
def test_any_document_can_be_parsed(odd: JSONObject) -> None:
    reading = read(GOOD | odd)
    metadata = reading.metadata

    check_support(metadata, R5)
    support_traits(metadata)
    assert all(url.scheme == "https" for url in metadata.endpoints.values())
    assert metadata.stated_issuer == ISSUER or any(one.stops for one in reading.findings)


def test_undeclared_pkce_is_rejected_since_2025_11_25() -> None:
    content = without("code_challenge_methods_supported")

    assert offers(content) == ["ASM-006"]
    for revision, severity in ((R3, Severity.INFO), (R4, Severity.ERROR), (R5, Severity.ERROR)):
        [found] = check_support(read(content).metadata, revision)
        assert found.severity is severity
    assert read(content).metadata.pkce is Pkce.NOT_DECLARED


@pytest.mark.parametrize("methods", [["plain"], [], ["s256"]])
def test_pkce_without_s256_is_found(methods: list[JSON]) -> None:
    assert offers(code_challenge_methods_supported=methods) == ["ASM-007"]
    assert read(code_challenge_methods_supported=methods).metadata.pkce is Pkce.NOT_OFFERED


def test_plain_pkce_beside_s256_is_found() -> None:
    assert offers(code_challenge_methods_supported=["plain", "S256"]) == ["ASM-008"]


def test_server_without_the_code_flow_is_found() -> None:
    assert offers(without("response_types_supported")) == ["ASM-010"]
    assert offers(response_types_supported=["token"]) == ["ASM-010"]
    assert offers(grant_types_supported=["client_credentials", "refresh_token"]) == ["ASM-014"]


def test_registration_methods_are_judged() -> None:
    assert offers(without("client_id_metadata_document_supported", "registration_endpoint")) == ["ASM-015"]
    assert offers(without("client_id_metadata_document_supported")) == ["ASM-016"]
    assert offers(without("registration_endpoint")) == []
    neither = without("client_id_metadata_document_supported", "registration_endpoint")
    assert offers(neither, has_secret=True) == []


def test_client_authentication_methods_are_judged() -> None:
    assert offers(token_endpoint_auth_methods_supported=["client_secret_post"]) == ["ASM-017"]
    assert offers(token_endpoint_auth_methods_supported=["client_secret_post"], has_secret=True) == []
    assert offers(without("token_endpoint_auth_methods_supported")) == ["ASM-018"]


def test_unadvertised_iss_parameter_is_found() -> None:
    content = without("authorization_response_iss_parameter_supported")

    assert offers(content) == ["ASM-019"]
    assert check_support(read(content).metadata, R5)[0].severity is Severity.WARNING
    assert check_support(read(content).metadata, R4)[0].severity is Severity.INFO


def test_a_server_without_refresh_tokens_is_found() -> None:
    assert offers(without("grant_types_supported")) == ["ASM-022"]
    assert offers(without("grant_types_supported"), scopes_supported=["offline_access"]) == []


@pytest.mark.parametrize("algorithms", [[], ["none"], ["ES256", "HS256"]])
def test_unusable_dpop_algorithms_are_found(algorithms: list[JSON]) -> None:
    assert offers(dpop_signing_alg_values_supported=algorithms) == ["ASM-023"]
    assert offers(dpop_signing_alg_values_supported=["ES256"]) == []


def test_absent_lists_have_their_defaults() -> None:
    metadata = read(without("grant_types_supported", "token_endpoint_auth_methods_supported")).metadata

    assert metadata.grant_types is None
    assert metadata.effective_grants == ("authorization_code", "implicit")
    assert metadata.effective_auth_methods == ("client_secret_basic",)
    assert metadata.effective_response_modes == ("query", "fragment")


def test_traits_show_what_was_declared_and_what_absence_means() -> None:
    content = without("client_id_metadata_document_supported", "token_endpoint_auth_methods_supported")
    traits = {
        trait.name: trait
        for trait in support_traits(read(content, dpop_signing_alg_values_supported=["ES256"]).metadata)
    }

    assert (traits["PKCE"].value, traits["PKCE"].is_stated) == ("S256", True)
    documents = traits["Client ID metadata documents"]
    assert (documents.value, documents.is_stated) == ("no (not stated)", False)
    assert traits["Dynamic client registration"].meaning == f"At {ISSUER}/register."
    assert traits["iss in the authorization response"].value == "yes"
    assert traits["Client authentication methods"].value == "“client_secret_basic”"
    assert not traits["Client authentication methods"].is_stated
    assert traits["DPoP"].meaning == "Tokens can be bound to a key: “ES256”."
    assert traits["offline_access"].value == "no"


SERVER = "https://example.com:8443/deep/mcp?x=1"


def test_2025_03_26_uses_the_server_host() -> None:
    assert legacy_issuer(SERVER) == "https://example.com:8443"
    assert (
        legacy_metadata_url(SERVER).url == "https://example.com:8443/.well-known/oauth-authorization-server"
    )


def legacy(issuer: str) -> list[str]:
    content = GOOD | {"issuer": issuer}
    origin = legacy_issuer(SERVER)
    reading = read_server_metadata(
        content,
        origin,
        R2,
        PUBLIC_ONLY,
        source=MetadataSource.LEGACY,
        allowed_hosts={"auth.example.com"},
    )
    return ids(reading.findings)


def test_2025_03_26_requires_the_origin_as_issuer() -> None:
    assert legacy("https://example.com:8443") == []
    assert legacy("https://example.com:8443/") == []
    assert legacy("https://example.com") == ["ASM-025"]


def test_2025_03_26_without_a_document_has_three_default_endpoints_at_the_origin() -> None:
    origin = legacy_issuer(SERVER)
    reading = read_server_metadata(
        default_content(SERVER), origin, R2, PUBLIC_ONLY, source=MetadataSource.DEFAULTS
    )
    metadata = reading.metadata

    assert reading.findings == ()
    assert check_support(metadata, R2) == ()
    assert [url.url for url in metadata.endpoints.values()] == [
        f"{origin}/authorize",
        f"{origin}/token",
        f"{origin}/register",
    ]
    assert metadata.pkce is Pkce.UNKNOWN
    assert {trait.name: trait.value for trait in support_traits(metadata)}["PKCE"] == "unknown"
