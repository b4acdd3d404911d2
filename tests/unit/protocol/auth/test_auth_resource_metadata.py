"""Protected resource metadata: where it is, which server it is for, and its findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.auth.challenge import Challenge
from inspector.protocol.auth.findings.finding import Finding, Severity
from inspector.protocol.auth.resource_metadata import (
    Relation,
    ResourceMetadataResult,
    check_copies,
    check_metadata_response,
    check_migration,
    check_missing_metadata,
    check_scopes,
    check_search,
    choose_issuer,
    read_resource_metadata,
    relation_of,
    resource_metadata_urls,
)
from inspector.protocol.auth.responses import Document, LookupOutcome, MetadataResponse, read_document
from inspector.protocol.auth.url_guard import PUBLIC_ONLY
from inspector.protocol.revisions import R2, R3, R4, R5

SERVER = "https://example.com/public/mcp"
PATH_PLACE = "https://example.com/.well-known/oauth-protected-resource/public/mcp"
ROOT_PLACE = "https://example.com/.well-known/oauth-protected-resource"
GOOD: JSONObject = {"resource": SERVER, "authorization_servers": ["https://auth.example.com"]}


def ids(findings: tuple[Finding, ...]) -> list[str]:
    return [one.id for one in findings]


def locations(server: str = SERVER, named: str = "") -> list[str]:
    challenge = Challenge("Bearer", {"resource_metadata": named})
    return [one.url for one in resource_metadata_urls(server, challenge, PUBLIC_ONLY, R5).candidates]


def read(**members: JSON) -> ResourceMetadataResult:
    return read_resource_metadata(GOOD | members, SERVER, R5, PUBLIC_ONLY)


def found_in(**members: JSON) -> list[str]:
    return ids(read(**members).findings)


def test_without_a_challenge_url_the_path_comes_before_the_root() -> None:
    assert locations() == [PATH_PLACE, ROOT_PLACE]
    assert [
        one.url for one in resource_metadata_urls(SERVER, None, PUBLIC_ONLY, R5).candidates
    ] == locations()


@pytest.mark.parametrize("server", ["https://example.com", "https://example.com/"])
def test_server_at_the_root_has_one_metadata_url(server: str) -> None:
    assert locations(server) == [ROOT_PLACE]


def test_query_port_and_trailing_slash_of_the_server_are_kept() -> None:
    assert locations("http://localhost:3000/mcp/?a=b")[0] == (
        "http://localhost:3000/.well-known/oauth-protected-resource/mcp/?a=b"
    )


def test_metadata_url_from_the_challenge_comes_first_and_only_once() -> None:
    assert locations(named="https://example.com/custom.json") == [
        "https://example.com/custom.json",
        PATH_PLACE,
        ROOT_PLACE,
    ]
    assert locations(named=ROOT_PLACE) == [ROOT_PLACE, PATH_PLACE]


@pytest.mark.parametrize(
    "named",
    ["/relative", "ftp://example.com/x", "http://169.254.169.254/", "http://127.0.0.1/prm", "nonsense"],
)
def test_forbidden_metadata_url_is_found_and_skipped(named: str) -> None:
    found = resource_metadata_urls(SERVER, Challenge("Bearer", {"resource_metadata": named}), PUBLIC_ONLY, R5)

    assert [one.url for one in found.candidates] == [PATH_PLACE, ROOT_PLACE]
    assert ids(found.findings) == ["AUTH-006"]
    assert not found.from_challenge


def test_metadata_url_at_another_origin_is_found_and_tried() -> None:
    challenge = Challenge("Bearer", {"resource_metadata": "https://other.example:8443/prm"})
    found = resource_metadata_urls(SERVER, challenge, PUBLIC_ONLY, R5)

    assert ids(found.findings) == ["AUTH-007"]
    assert "other.example:8443" in found.findings[0].seen
    assert found.candidates[0].url == "https://other.example:8443/prm"


def reply(status: int = 200, body: bytes = b"{}", url: str = PATH_PLACE, **headers: str) -> MetadataResponse:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return MetadataResponse(
        url, status, pairs or (("Content-Type", "application/json; charset=utf-8"),), body
    )


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (reply(), LookupOutcome.FOUND),
        (reply(body=b"\xef\xbb\xbf{}"), LookupOutcome.FOUND),
        (reply(body=b""), LookupOutcome.NOTHING),
        (reply(body=b"<!doctype html>"), LookupOutcome.NOTHING),
        (reply(body=b"[1]"), LookupOutcome.NOTHING),
        (reply(body=b"\xff{}"), LookupOutcome.NOTHING),
        (reply(body=b"[" * 100_000), LookupOutcome.NOTHING),
        (reply(body=b"9" * 10_000), LookupOutcome.NOTHING),
        (reply(404), LookupOutcome.NOTHING),
        (reply(401), LookupOutcome.NOTHING),
        (reply(302), LookupOutcome.NOTHING),
        (reply(204), LookupOutcome.NOTHING),
        (reply(429), LookupOutcome.UNSURE),
        (reply(503), LookupOutcome.UNSURE),
        (MetadataResponse(PATH_PLACE, failure="The connection was refused."), LookupOutcome.UNSURE),
    ],
)
def test_response_is_classified_as_document_missing_or_failure(
    response: MetadataResponse, outcome: LookupOutcome
) -> None:
    assert read_document(response).outcome is outcome


def finding_ids(response: MetadataResponse) -> list[str]:
    return ids(check_metadata_response(response, read_document(response), R5))


def test_correct_response_gives_no_finding() -> None:
    assert finding_ids(reply()) == []
    assert finding_ids(reply(404)) == []
    assert finding_ids(reply(302, location="/there")) == []


def test_web_page_instead_of_a_document_is_found() -> None:
    page = reply(body=b"<html>", content_type="text/html")

    assert finding_ids(page) == ["PRM-008"]
    assert "text/html" in check_metadata_response(page, read_document(page), R5)[0].seen
    assert finding_ids(reply(content_type="text/plain")) == ["PRM-008"]
    assert check_metadata_response(page, Document(LookupOutcome.FOUND, {}), R5)


def test_protected_metadata_is_found() -> None:
    assert finding_ids(reply(401)) == ["PRM-011"]
    assert finding_ids(reply(403)) == ["PRM-011"]


def test_a_redirect_to_another_origin_is_found() -> None:
    away = reply(302, location="https://elsewhere.example/prm")

    assert finding_ids(away) == ["PRM-013"]
    assert "redirects to elsewhere.example." in check_metadata_response(away, read_document(away), R5)[0].seen
    assert finding_ids(reply(302, location="http://[")) == ["PRM-013"]


def test_challenge_url_that_fails_while_a_well_known_one_works_is_found() -> None:
    named = resource_metadata_urls(
        SERVER, Challenge("Bearer", {"resource_metadata": ROOT_PLACE}), PUBLIC_ONLY, R5
    )
    guessed = resource_metadata_urls(SERVER, None, PUBLIC_ONLY, R5)
    replies = [reply(404, url=ROOT_PLACE), reply()]

    assert ids(check_search(named, replies, R5)) == ["PRM-009"]
    assert check_search(guessed, replies, R5) == ()
    assert check_search(named, [reply(url=ROOT_PLACE)], R5) == ()
    assert check_search(named, [reply(404), reply(404)], R5) == ()


def test_missing_document_stops_except_in_versions_without_one() -> None:
    replies = [reply(404), reply(404, url=ROOT_PLACE)]
    for revision in (R3, R4, R5):
        result = check_missing_metadata(replies, revision)
        assert ids(result.findings) == ["AUTH-005"]
        assert result.findings[0].stops
    old = check_missing_metadata(replies, R2)

    assert old.may_fall_back
    assert old.findings[0].severity is Severity.INFO
    assert not old.findings[0].stops


def test_server_error_does_not_mean_missing_metadata() -> None:
    result = check_missing_metadata([reply(503), reply(404)], R2)

    assert not result.may_fall_back
    assert ids(result.findings) == ["PRM-015"]
    assert result.findings[0].stops


def test_two_documents_that_differ_are_found() -> None:
    other = GOOD | {"resource": "https://example.com", "scopes_supported": ["a"]}

    [found] = check_copies(GOOD, other, R5)
    assert found.id == "PRM-010"
    assert "differ in resource." in found.seen
    assert (
        check_copies(GOOD | {"scopes_supported": ["a", "b"]}, GOOD | {"scopes_supported": ["b", "a"]}, R5)
        == ()
    )


@pytest.mark.parametrize(
    ("resource", "relation"),
    [
        (SERVER, Relation.EXACT),
        ("https://EXAMPLE.com:443/public/mcp", Relation.EXACT),
        (SERVER + "/", Relation.SLASH),
        ("https://example.com/public", Relation.PARENT),
        ("https://example.com/public/", Relation.PARENT),
        ("https://example.com", Relation.PARENT),
        ("https://example.com/pub", Relation.OTHER_PATH),
        ("https://example.com/public/mcp2", Relation.OTHER_PATH),
        ("https://example.com/public/mcp/deeper", Relation.OTHER_PATH),
        ("https://example.com/public?x=1", Relation.OTHER_PATH),
        ("https://evil.example.com/public/mcp", Relation.OTHER_ORIGIN),
        ("https://example.com.evil.example/public/mcp", Relation.OTHER_ORIGIN),
        ("https://example.com:8443/public/mcp", Relation.OTHER_ORIGIN),
        ("http://example.com/public/mcp", Relation.OTHER_ORIGIN),
        ("https://example.com@evil.example/public/mcp", Relation.UNREADABLE),
        (SERVER + "#x", Relation.UNREADABLE),
        ("/public/mcp", Relation.UNREADABLE),
        ("", Relation.UNREADABLE),
    ],
)
def test_resource_is_compared_with_the_url_we_connect_to(resource: str, relation: Relation) -> None:
    assert relation_of(resource, SERVER) is relation
    assert read(resource=resource).metadata.relation is relation


def test_server_query_may_be_omitted_from_the_resource() -> None:
    assert relation_of(SERVER, SERVER + "?key=1") is Relation.PARENT


def test_a_missing_resource_is_found() -> None:
    found = read_resource_metadata({"authorization_servers": ["https://a.example"]}, SERVER, R5, PUBLIC_ONLY)

    assert ids(found.findings) == ["PRM-001"]
    assert found.metadata.relation is None


def test_document_about_another_host_stops_and_shows_the_difference() -> None:
    [found] = read(resource="https://evil.example.com/mcp").findings

    assert found.id == "PRM-002"
    assert found.stops
    assert "character 10 differs" in found.seen
    assert "not an absolute URL" in read(resource="mcp").findings[0].seen


def test_a_document_about_another_path_is_found() -> None:
    [found] = read(resource="https://example.com/api").findings

    assert (found.id, found.severity) == ("PRM-003", Severity.ERROR)
    assert "character 21 differs" in found.seen


def test_document_about_a_parent_url_is_noted() -> None:
    assert found_in(resource="https://example.com") == ["PRM-004"]
    assert found_in(resource=SERVER + "/") == ["PRM-004"]


def test_correct_document_gives_its_values_and_no_finding() -> None:
    reading = read(
        scopes_supported=["read", "write"],
        bearer_methods_supported=["header"],
        dpop_signing_alg_values_supported=["ES256"],
        dpop_bound_access_tokens_required=True,
        resource_name="Example",
    )
    metadata = reading.metadata

    assert reading.findings == ()
    assert reading.metadata.relation is Relation.EXACT
    assert metadata.issuers == ("https://auth.example.com",)
    assert metadata.scopes == ("read", "write")
    assert metadata.requires_dpop
    assert metadata.dpop_algorithms == ("ES256",)
    assert metadata.name == "Example"
    assert read().metadata.scopes is None


@pytest.mark.parametrize("listed", [[], None, "https://auth.example.com", [7], {}])
def test_a_document_without_an_authorization_server_is_found(listed: JSON) -> None:
    reading = read(authorization_servers=listed)

    assert "PRM-005" in ids(reading.findings)
    assert reading.metadata.issuers == ()


@pytest.mark.parametrize(
    "entry",
    [
        "auth.example.com",
        "http://auth.example.com",
        "https://a.example/?x=1",
        "https://a.example/#",
        "http://10.0.0.1",
    ],
)
def test_invalid_issuer_entry_is_found_and_skipped(entry: str) -> None:
    reading = read(authorization_servers=[entry, "https://auth.example.com"])

    assert ids(reading.findings) == ["PRM-006"]
    assert reading.metadata.issuers == ("https://auth.example.com",)


def test_blocked_issuers_are_named_with_the_reason_and_advice_that_helps() -> None:
    *others, last = read(authorization_servers=["https://169.254.169.254", "https://x.example/?a"]).findings

    assert ids(tuple(others)) == ["PRM-006", "PRM-006"]
    assert last.stops
    assert last.seen == (
        "The metadata lists no usable authorization server: “https://169.254.169.254”: 169.254.169.254 is a "
        "link-local address, as used by cloud metadata services, “https://x.example/?a”: it has a query."
    )
    assert "allow" not in last.fix
    assert "never contacts such addresses" in last.fix
    (_, private) = read(authorization_servers=["https://10.0.0.1"]).findings
    assert "allow private network addresses" in private.fix
    (empty,) = read(authorization_servers=[]).findings
    assert empty.seen.endswith(": authorization_servers is missing or empty.")


def test_issuers_are_kept_verbatim() -> None:
    issuers: list[JSON] = ["https://Auth.Example.com:443/", "https://auth.example.com"]

    assert list(read(authorization_servers=issuers).metadata.issuers) == issuers


def test_metadata_url_among_the_issuers_is_found() -> None:
    entry = "https://a.example/.well-known/oauth-authorization-server"

    assert found_in(authorization_servers=[entry]) == ["PRM-007"]


def test_bearer_methods_without_the_header_are_found() -> None:
    assert found_in(bearer_methods_supported=["query"]) == ["PRM-012"]
    assert found_in(bearer_methods_supported=[]) == ["PRM-012"]


def test_broad_scopes_are_noted() -> None:
    assert found_in(scopes_supported=["read", "*", "full-access"]) == ["PRM-014"]


def test_members_of_the_wrong_type_are_found_and_treated_as_absent() -> None:
    reading = read(
        scopes_supported="read write", dpop_bound_access_tokens_required="true", resource_name=None
    )

    assert ids(reading.findings) == ["PRM-016"] * 3
    assert "scopes_supported is a string, not an array of strings" in reading.findings[0].seen
    assert reading.metadata.scopes is None
    assert not reading.metadata.requires_dpop


def test_scopes_of_challenge_and_metadata_are_judged_together() -> None:
    none = Challenge("Bearer")
    offline = Challenge("Bearer", {"scope": "read offline_access"})

    assert ids(check_scopes(none, read().metadata, R5)) == ["AUTH-010"]
    assert ids(check_scopes(None, None, R5)) == ["AUTH-010"]
    assert check_scopes(none, read(scopes_supported=["a"]).metadata, R5) == ()
    assert (
        ids(check_scopes(offline, read(scopes_supported=["offline_access"]).metadata, R5)) == ["AUTH-011"] * 2
    )


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_NAMES = st.sampled_from(
    ["resource", "authorization_servers", "scopes_supported", "bearer_methods_supported", "resource_name"]
)


@given(st.dictionaries(_NAMES, _JSON | st.lists(st.text(max_size=30), max_size=3)))
def test_any_document_can_be_parsed(content: JSONObject) -> None:
    response = reply(body=to_wire(content))
    document = read_document(response)

    assert document.content is not None
    reading = read_resource_metadata(document.content, SERVER, R5, PUBLIC_ONLY)
    relation = reading.metadata.relation
    assert (relation is not None and relation.covers) or any(
        one.severity is Severity.ERROR for one in reading.findings
    )


TWO = ("https://one.example", "https://two.example")


def test_authorization_server_is_the_selected_the_known_or_the_first() -> None:
    def issuer(stored: tuple[str, ...] = (), picked: str | None = None) -> str:
        choice = choose_issuer(TWO, stored=stored, picked=picked)
        assert choice is not None
        return choice.issuer

    assert issuer() == TWO[0]
    assert issuer(stored=TWO[1:]) == TWO[1]
    assert issuer(stored=TWO[1:], picked=TWO[0]) == TWO[0]
    assert issuer(stored=("https://gone.example",), picked="https://gone.example") == TWO[0]
    assert choose_issuer(()) is None


def test_the_choice_is_explained() -> None:
    first, only = choose_issuer(TWO), choose_issuer(TWO[:1])

    assert first is not None
    assert only is not None
    assert first.reason == "It is the first one listed; the others are “https://two.example”."
    assert only.reason == "It is the only one listed."


def test_changed_authorization_server_is_noted() -> None:
    choice = choose_issuer(TWO)
    assert choice is not None

    [found] = check_migration("https://old.example", TWO, choice, R5)
    assert found.id == "RS-012"
    assert "from https://old.example to https://one.example" in found.seen
    assert check_migration(TWO[1], TWO, choice, R5) == ()
    assert check_migration(None, TWO, choice, R5) == ()
