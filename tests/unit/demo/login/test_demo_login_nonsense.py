"""The `login` server rejects requests that no client would send, without crashing."""

from __future__ import annotations

from typing import Any

import jwt
import pytest

from tests.unit.demo.login.login_client import LoginDemo
from tests.unit.demo.login.test_demo_login import error, form_of

NOT_JSON = ["", "[]", "{", "null", "[" * 100_000, '"\\ud800"', "\x00"]
NOT_CLIENTS: list[dict[str, Any]] = [
    {"redirect_uris": "x"},
    {"redirect_uris": [1, None, {}]},
    {"redirect_uris": ["http://[::1/callback"]},
    {"redirect_uris": ["http://127.0.0.1:99999/callback"]},
    {"redirect_uris": ["http://127.0.0.1:80;script-src *//x"]},
    {"grant_types": [[], {}]},
    {"grant_types": ["client_credentials"]},
    {"token_endpoint_auth_method": {"a": 1}},
    {"token_endpoint_auth_method": "private_key_jwt"},
    {"token_endpoint_auth_method": "private_key_jwt", "jwks": [1]},
]


@pytest.mark.parametrize("body", NOT_JSON)
def test_malformed_registration_is_rejected(demo: LoginDemo, body: str) -> None:
    assert demo.http.post("/register", content=body).status_code == 400


@pytest.mark.parametrize("metadata", NOT_CLIENTS)
def test_registration_of_an_impossible_client_is_refused(demo: LoginDemo, metadata: dict[str, Any]) -> None:
    assert demo.registration(**metadata).status_code == 400


@pytest.mark.parametrize(
    "key", [{}, {"kty": "EC"}, {"kty": "EC", "crv": 1, "x": [], "y": {}}, {"kty": "oct", "k": "a"}]
)
def test_client_with_an_invalid_key_cannot_authenticate(demo: LoginDemo, key: dict[str, Any]) -> None:
    client = demo.register(token_endpoint_auth_method="private_key_jwt", jwks={"keys": [key]})
    signed = jwt.encode({"iss": client["client_id"], "sub": client["client_id"]}, "k" * 32, "HS256")
    form = form_of(demo, client["client_id"], client_assertion=signed)
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert error(demo.token(**form, client_assertion_type=kind)) == (401, "invalid_client")


@pytest.mark.parametrize("header", ["Basic", "Basic !!!", "Basic Zm9v", "Bearer x", "Basic //8="])
def test_unparsable_credentials_are_rejected(demo: LoginDemo, header: str) -> None:
    response = demo.token(grant_type="client_credentials", headers={"Authorization": header})
    assert error(response) == (401, "invalid_client")


@pytest.mark.parametrize("proof", ["", "x", "a.b.c", "eyJhbGciOiJub25lIn0.e30."])
def test_invalid_dpop_proof_is_rejected(demo: LoginDemo, proof: str) -> None:
    demo.only("dpop")
    code = demo.come_back("demo-app")["code"]
    response = demo.exchange({"client_id": "demo-app"}, code, headers={"DPoP": proof})
    assert error(response) == (400, "invalid_dpop_proof")


def test_request_body_may_be_anything_but_large_ones_are_rejected(demo: LoginDemo) -> None:
    headers = {"Authorization": f"Bearer {demo.log_in().token}", "Content-Type": "application/json"}
    for body in NOT_JSON:
        assert 400 <= demo.http.post("/mcp", content=body, headers=headers).status_code < 500
    assert demo.http.post("/mcp", content=b"x" * (1 << 21), headers=headers).status_code == 413


def test_switches_of_the_command_line_are_on_from_the_start() -> None:
    with LoginDemo("no_challenge") as demo:
        assert "www-authenticate" not in demo.challenge().headers
