"""Forms for the token endpoint, and DPoP claims and nonces."""

from __future__ import annotations

import hashlib

import pytest

from inspector.protocol.auth import dpop, token_request
from inspector.protocol.auth.pkce import b64url

RESOURCE = "https://mcp.example/mcp"
AS = "https://as.example"


def test_a_code_is_exchanged_with_its_verifier_and_redirect() -> None:
    assert dict(token_request.code_form("c", "http://127.0.0.1:1/cb", "v", RESOURCE)) == {
        "grant_type": "authorization_code",
        "code": "c",
        "redirect_uri": "http://127.0.0.1:1/cb",
        "code_verifier": "v",
        "resource": RESOURCE,
    }


def test_refresh_sends_the_resource_and_a_scope_only_when_given() -> None:
    assert dict(token_request.refresh_form("r", RESOURCE)) == {
        "grant_type": "refresh_token",
        "refresh_token": "r",
        "resource": RESOURCE,
    }
    assert dict(token_request.refresh_form("r", RESOURCE, "a b"))["scope"] == "a b"


def test_client_credentials_form_has_grant_type_resource_and_scope() -> None:
    assert dict(token_request.client_form(RESOURCE, "a")) == {
        "grant_type": "client_credentials",
        "resource": RESOURCE,
        "scope": "a",
    }


def test_id_token_is_exchanged_for_a_grant_to_the_server_issuer() -> None:
    assert dict(token_request.exchange_form("id", AS, RESOURCE, None)) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token": "id",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": AS,
        "resource": RESOURCE,
    }


def test_an_assertion_is_exchanged_for_a_token() -> None:
    assert dict(token_request.assertion_form("a.b.c", RESOURCE, None)) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "a.b.c",
        "resource": RESOURCE,
    }


@pytest.mark.parametrize(
    "form",
    [
        token_request.code_form("c", "r", "v", None),
        token_request.refresh_form("r", None),
        token_request.client_form(None, None),
        token_request.exchange_form("i", "a", None, None),
        token_request.assertion_form("a", None, None),
    ],
)
def test_unwanted_resource_is_not_sent(form: token_request.Form) -> None:
    assert "resource" not in dict(form)
    assert "scope" not in dict(form)


def test_token_is_revoked_with_a_hint() -> None:
    assert token_request.revocation_form("t", True) == (("token", "t"), ("token_type_hint", "refresh_token"))
    assert dict(token_request.revocation_form("t", False))["token_type_hint"] == "access_token"


def test_proof_names_the_request_url_without_its_query() -> None:
    claims = dpop.proof_claims("POST", "https://e:8443/mcp?a=b#c", 12.9, access_token="t", nonce="n")
    assert claims["htu"] == "https://e:8443/mcp"
    assert (claims["htm"], claims["iat"], claims["nonce"]) == ("POST", 12, "n")
    assert claims["ath"] == b64url(hashlib.sha256(b"t").digest())
    assert dpop.target_of("https://e") == "https://e/"


def test_nonce_demand_is_distinguished_from_a_failure() -> None:
    assert dpop.wants_nonce(400, "use_dpop_nonce")
    assert dpop.wants_nonce(401, "use_dpop_nonce")
    assert not dpop.wants_nonce(401, "invalid_token")
    assert not dpop.wants_nonce(200, "use_dpop_nonce")


def test_each_origin_has_its_own_newest_nonce() -> None:
    nonces = dpop.Nonces()
    assert nonces.update("https://as.example/token", "n1")
    assert nonces.get("https://as.example:443/other?x") == "n1"
    assert nonces.get("https://mcp.example/mcp") == ""
    assert nonces.get("http://as.example/token") == ""
    assert not nonces.update("https://as.example/token", "n1")
    assert nonces.update("https://as.example/token", "n2")
    assert nonces.get("https://as.example/") == "n2"
    nonces.clear()
    assert nonces.get("https://as.example/") == ""


@pytest.mark.parametrize("nonce", [None, "", 'a"b', "a b", "a\r\nX: y", "n" * 3000])
def test_invalid_nonce_is_not_stored(nonce: str | None) -> None:
    nonces = dpop.Nonces()
    assert not nonces.update("https://e/", nonce)
    assert nonces.get("https://e/") == ""
