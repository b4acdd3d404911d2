"""Dynamic client registration: request, response and findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.protocol.auth.client_registration import (
    ClientSource,
    Registration,
    client_document,
    fallback_body,
    read_registration,
    registration_body,
)
from inspector.protocol.auth.token_request import AuthMethod
from inspector.protocol.revisions import R5
from tests.unit.protocol.server_requests.request_samples import any_json

AS = "https://as.example"
IP, NAME = "http://127.0.0.1:5000/callback", "http://localhost:5000/callback"
NOW = 1_800_000_000.0
REQUESTED = registration_body(client_name="Lens", redirect_uris=[IP], method=AuthMethod.NONE)


def read(status: int, reply: JSON, requested: JSONObject = REQUESTED) -> Registration:
    return read_registration(status, to_wire(reply), requested=requested, issuer=AS, now=NOW, revision=R5)


def ids(registration: Registration) -> list[str]:
    return [one.id for one in registration.findings]


def echo(**changes: JSON) -> JSONObject:
    return {**REQUESTED, "client_id": "abc", **changes}


def test_we_register_as_a_native_app_that_refreshes() -> None:
    assert REQUESTED == {
        "client_name": "Lens",
        "redirect_uris": [IP],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
    }
    more = registration_body(
        client_name="Lens",
        redirect_uris=[IP, NAME],
        method=AuthMethod.POST,
        scope="a b",
        wants_refresh=False,
        is_bound=True,
    )
    assert (more["scope"], more["grant_types"]) == ("a b", ["authorization_code"])
    assert more["dpop_bound_access_tokens"] is True


def test_valid_response_gives_a_client_of_this_issuer_and_no_findings() -> None:
    registration = read(201, echo(issuer="https://evil.example"))
    client = registration.client
    assert client is not None
    assert (client.client_id, client.issuer, client.method) == ("abc", AS, "none")
    assert (client.source, client.redirect_uris) == (ClientSource.DYNAMIC, (IP,))
    assert (registration.findings, registration.differences, registration.problem) == ((), (), "")


def test_a_secret_comes_with_its_method_and_is_in_no_repr() -> None:
    registration = read(201, echo(client_secret="hush", token_endpoint_auth_method="client_secret_post"))
    client = registration.client
    assert client is not None
    assert (client.secret, client.method, client.secret_expires_at) == ("hush", "client_secret_post", None)
    assert "hush" not in repr(registration)


def test_secret_without_a_method_is_sent_with_the_default_method() -> None:
    reply = echo(client_secret="hush")
    del reply["token_endpoint_auth_method"]
    client = read(201, reply).client
    assert client is not None
    assert client.method == "client_secret_basic"


def test_differences_from_the_request_are_listed() -> None:
    reply = echo(client_name="Lens (beta)")
    del reply["response_types"]
    named = {one.name: (one.requested, one.registered) for one in read(201, reply).differences}
    assert named == {"client_name": ("Lens", "Lens (beta)"), "response_types": (["code"], None)}


@pytest.mark.parametrize(
    "reply",
    [
        {"error": "invalid_redirect_uri", "error_description": "https only"},
        {"error": "invalid_client_metadata", "error_description": "Redirect URI must be https"},
    ],
)
def test_reg_001_rejected_loopback_redirect_uri(reply: JSONObject) -> None:
    registration = read(400, reply)
    assert ids(registration) == ["REG-001"]
    assert registration.client is None
    assert "rejected" in registration.problem
    assert IP in registration.findings[0].seen


def test_reg_002_only_one_loopback_name_accepted() -> None:
    requested: JSONObject = {**REQUESTED, "redirect_uris": [IP, NAME]}
    registration = read(201, echo(redirect_uris=[NAME]), requested)
    assert ids(registration) == ["REG-002"]
    assert registration.client is not None
    assert registration.client.redirect_uris == (NAME,)


def test_reg_003_native_is_refused_or_ignored() -> None:
    refused = read(400, {"error": "invalid_client_metadata", "error_description": "application_type native?"})
    assert ids(refused) == ["REG-003"]
    assert ids(read(201, echo(application_type="web"))) == ["REG-003"]


def test_reg_004_response_status_200() -> None:
    registration = read(200, echo())
    assert ids(registration) == ["REG-004"]
    assert registration.client is not None


@pytest.mark.parametrize("client_id", [None, "", 7])
def test_reg_005_no_client_id(client_id: JSON) -> None:
    registration = read(201, echo(client_id=client_id))
    assert ids(registration) == ["REG-005"]
    assert registration.client is None
    assert "client_id" in registration.problem


@pytest.mark.parametrize("method", ["client_secret_basic", "tls_client_auth", "private_key_jwt"])
def test_reg_006_unusable_auth_method(method: str) -> None:
    registration = read(201, echo(token_endpoint_auth_method=method))
    assert ids(registration) == ["REG-006"]
    assert registration.client is None
    assert method in registration.problem


def test_reg_007_different_redirect_uris() -> None:
    registration = read(201, echo(redirect_uris=["https://elsewhere.example/cb"]))
    assert ids(registration) == ["REG-007"]
    assert "elsewhere" in registration.findings[0].seen


@pytest.mark.parametrize("listed", [None, [], "https://elsewhere.example/cb"])
def test_reg_007_missing_redirect_uris(listed: JSON) -> None:
    document = echo(redirect_uris=listed)
    if listed is None:
        del document["redirect_uris"]
    registration = read(201, document)
    assert ids(registration) == ["REG-007"]
    assert "lists none" in registration.findings[0].seen
    assert registration.client is not None


def test_reg_008_missing_refresh_grant() -> None:
    assert ids(read(201, echo(grant_types=["authorization_code"]))) == ["REG-008"]


@pytest.mark.parametrize(("end", "word"), [(NOW + 60, "2027"), (NOW - 60, "past")])
def test_reg_009_expiring_secret(end: float, word: str) -> None:
    secret: JSONObject = {"client_secret": "x", "token_endpoint_auth_method": "client_secret_basic"}
    registration = read(201, echo(**secret, client_secret_expires_at=end))
    assert ids(registration) == ["REG-009"]
    assert word in registration.findings[0].seen
    assert ids(read(201, echo(**secret, client_secret_expires_at=0))) == []
    assert ids(read(201, echo(**secret, client_secret_expires_at=NOW + 1e8))) == []


@pytest.mark.parametrize("status", [401, 403])
def test_reg_010_registration_is_not_open(status: int) -> None:
    registration = read(status, {"error": "invalid_token", "error_description": "initial access token"})
    assert ids(registration) == ["REG-010"]
    assert registration.error is not None
    assert "client ID" in registration.problem


def test_rejected_registration_is_retried_once_with_another_body() -> None:
    redirect = read(400, {"error": "invalid_redirect_uri"})
    second = fallback_body(REQUESTED, redirect)
    assert second is not None
    assert second["redirect_uris"] == [NAME]
    assert fallback_body(second, redirect) is None
    kind = read(400, {"error": "invalid_client_metadata", "error_description": "native not allowed"})
    web = fallback_body(REQUESTED, kind)
    assert web is not None
    assert web["application_type"] == "web"
    assert fallback_body(web, kind) is None
    assert fallback_body(REQUESTED, read(400, {"error": "invalid_client_metadata"})) is None


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"\xff\xfe", b'"x"'])
def test_non_object_response_is_a_described_problem(body: bytes) -> None:
    for status in (201, 400, 500):
        registration = read_registration(status, body, requested=REQUESTED, issuer=AS, now=NOW, revision=R5)
        assert registration.client is None
        assert registration.problem.endswith(".")


def test_server_text_is_shown_with_hidden_characters_escaped() -> None:
    registration = read(400, {"error": "invalid_redirect_uri", "error_description": "\u202e\x1b[31mhi"})
    assert "\x1b" not in registration.problem + registration.findings[0].evidence
    assert "\u202e" not in registration.problem + registration.findings[0].evidence


def test_client_metadata_document_contains_its_own_url() -> None:
    document = client_document("https://l/c.json", "Lens", [IP], "https://l/")
    assert (document["client_id"], document["redirect_uris"]) == ("https://l/c.json", [IP])
    assert document["token_endpoint_auth_method"] == "none"


_members = st.sampled_from([*REQUESTED, "client_id", "client_secret", "client_secret_expires_at", "error"])


@given(st.sampled_from([200, 201, 400, 401, 500]), st.dictionaries(_members, any_json))
def test_any_response_never_raises(status: int, reply: JSONObject) -> None:
    registration = read(status, reply)
    assert (registration.client is None) == bool(registration.problem)
