"""Extensions of the `login` server: machines, workloads, enterprise login, DPoP."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import uuid
from typing import Any

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.unit.demo.login.login_client import VERIFIER, LoginDemo, payload

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"


def error(response: httpx2.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_machine_client_gets_a_token_with_its_secret_and_no_refresh_token(demo: LoginDemo) -> None:
    reply = demo.token(
        grant_type="client_credentials",
        resource=demo.url,
        scope="notes:read",
        auth=("demo-machine", "demo-machine-secret"),
    ).json()
    assert "refresh_token" not in reply
    assert demo.call(reply["access_token"], "read_notes").status_code == 200


def assertion(demo: LoginDemo, **changes: Any) -> str:
    now = int(time.time())
    claims = {
        "iss": "demo-robot",
        "sub": "demo-robot",
        "aud": demo.origin,
        "iat": now,
        "exp": now + 60,
        "jti": str(uuid.uuid4()),
        **changes,
    }
    key = demo.http.get("/demo-robot.pem").text
    return jwt.encode(claims, key, "ES256")


def robot(demo: LoginDemo, signed: str) -> httpx2.Response:
    return demo.token(
        grant_type="client_credentials",
        client_assertion_type=ASSERTION_TYPE,
        client_assertion=signed,
        resource=demo.url,
    )


def test_signed_client_assertion_is_accepted_once(demo: LoginDemo) -> None:
    signed = assertion(demo)
    assert robot(demo, signed).status_code == 200
    assert error(robot(demo, signed)) == (401, "invalid_client")


@pytest.mark.parametrize(
    "changes",
    [{"aud": "https://elsewhere.example"}, {"exp": 1}, {"iss": "demo-machine"}, {"sub": "demo-machine"}],
)
def test_invalid_assertion_is_rejected(demo: LoginDemo, changes: dict[str, Any]) -> None:
    assert error(robot(demo, assertion(demo, **changes))) == (401, "invalid_client")


def test_shared_secret_algorithm_is_refused(demo: LoginDemo) -> None:
    forged = jwt.encode(payload(assertion(demo)), "k" * 32, "HS256")
    assert error(robot(demo, forged)) == (401, "invalid_client")


def test_client_may_only_use_the_grants_it_has(demo: LoginDemo) -> None:
    response = demo.token(grant_type="client_credentials", client_id="demo-app")
    assert error(response) == (400, "unauthorized_client")
    response = demo.token(grant_type="password", client_id="demo-app")
    assert error(response) == (400, "unsupported_grant_type")


def test_workload_gets_a_token_for_its_jwt_without_being_a_client(demo: LoginDemo) -> None:
    signed = demo.http.get("/workload/token").text
    reply = demo.token(grant_type=JWT_BEARER, assertion=signed, resource=demo.url).json()
    reported = demo.call(reply["access_token"], "whoami").json()["result"]["structuredContent"]
    assert reported["person"] == "workload:backup"


def test_foreign_jwt_is_rejected(demo: LoginDemo) -> None:
    forged = jwt.encode(
        payload(demo.http.get("/workload/token").text), ec.generate_private_key(ec.SECP256R1()), "ES256"
    )
    assert error(demo.token(grant_type=JWT_BEARER, assertion=forged)) == (400, "invalid_grant")


def id_token(demo: LoginDemo) -> str:
    came = demo.come_back("demo-sso", realm="/idp", scope="openid email", resource=None, nonce="n-1")
    assert came["iss"] == f"{demo.origin}/idp"
    reply = demo.token(
        realm="/idp",
        grant_type="authorization_code",
        code=came["code"],
        client_id="demo-sso",
        redirect_uri="http://127.0.0.1:49152/callback",
        code_verifier=VERIFIER,
    ).json()
    return str(reply["id_token"])


def id_jag(demo: LoginDemo, **changes: str) -> httpx2.Response:
    form = {
        "grant_type": EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": id_token(demo),
        "subject_token_type": ID_TOKEN,
        "audience": demo.origin,
        "resource": demo.url,
        "scope": "notes:read",
        "client_id": "demo-sso",
        **changes,
    }
    return demo.token(realm="/idp", **form)


def present(demo: LoginDemo, signed: str, secret: str = "demo-desk-secret") -> httpx2.Response:
    return demo.token(grant_type=JWT_BEARER, assertion=signed, auth=("demo-desk", secret))


def test_enterprise_login_gives_a_notes_token_without_another_page(demo: LoginDemo) -> None:
    exchanged = id_jag(demo).json()
    assert (exchanged["issued_token_type"], exchanged["token_type"]) == (ID_JAG, "N_A")
    signed = exchanged["access_token"]
    assert jwt.get_unverified_header(signed)["typ"] == "oauth-id-jag+jwt"
    assert (payload(signed)["client_id"], payload(signed)["resource"]) == ("demo-desk", demo.url)
    reply = present(demo, signed).json()
    reported = demo.call(reply["access_token"], "whoami").json()["result"]["structuredContent"]
    assert (reported["person"], reported["client"], reported["scopes"]) == (
        "ada",
        "demo-desk",
        ["notes:read"],
    )
    assert error(present(demo, signed)) == (400, "invalid_grant"), "an assertion is used once"


def test_enterprise_idp_refreshes_an_id_token_and_revokes_its_refresh_token(demo: LoginDemo) -> None:
    came = demo.come_back("demo-sso", realm="/idp", scope="openid offline_access", resource=None, nonce="n-1")
    first = demo.token(
        realm="/idp",
        grant_type="authorization_code",
        code=came["code"],
        client_id="demo-sso",
        redirect_uri="http://127.0.0.1:49152/callback",
        code_verifier=VERIFIER,
    ).json()
    renew = {"realm": "/idp", "grant_type": "refresh_token", "client_id": "demo-sso"}
    second = demo.token(**renew, refresh_token=first["refresh_token"]).json()
    claims = payload(second["id_token"])
    assert (claims["sub"], claims["aud"], "nonce" in claims) == ("ada", "demo-sso", False)
    response = demo.http.post("/idp/revoke", data={"token": second["refresh_token"], "client_id": "demo-sso"})
    assert response.status_code == 200
    again = demo.token(**renew, refresh_token=second["refresh_token"])
    assert error(again) == (400, "invalid_grant")


def test_id_token_has_the_nonce_and_the_requesting_client_as_audience(demo: LoginDemo) -> None:
    claims = payload(id_token(demo))
    assert (claims["nonce"], claims["aud"], claims["iss"]) == ("n-1", "demo-sso", f"{demo.origin}/idp")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"requested_token_type": ID_TOKEN}, "invalid_request"),
        ({"subject_token": "x.y.z"}, "invalid_grant"),
        ({"audience": "https://elsewhere.example"}, "invalid_target"),
    ],
)
def test_invalid_exchange_at_the_enterprise_idp_is_rejected(
    demo: LoginDemo, changes: dict[str, str], expected: str
) -> None:
    assert error(id_jag(demo, **changes)) == (400, expected)


def test_assertion_for_another_issuer_or_client_is_rejected(demo: LoginDemo) -> None:
    alternative = id_jag(demo, audience=f"{demo.origin}/other").json()["access_token"]
    assert error(present(demo, alternative)) == (400, "invalid_grant")
    assert error(present(demo, id_jag(demo).json()["access_token"], "guess")) == (401, "invalid_client")


def test_id_token_is_not_accepted_as_an_assertion(demo: LoginDemo) -> None:
    assert error(present(demo, id_token(demo))) == (400, "invalid_grant")


class Prover:
    """A key, and DPoP proofs made with it by PyJWT."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.jwk: dict[str, Any] = jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key(), as_dict=True)

    def proof(self, url: str, token: str = "", **claims: Any) -> dict[str, str]:
        body = {"jti": str(uuid.uuid4()), "htm": "POST", "htu": url, "iat": int(time.time()), **claims}
        if token:
            body["ath"] = b64(hashlib.sha256(token.encode()).digest())
        return {"DPoP": jwt.encode(body, self._key, "ES256", headers={"typ": "dpop+jwt", "jwk": self.jwk})}

    @property
    def thumbprint(self) -> str:
        names = {name: self.jwk[name] for name in ("crv", "kty", "x", "y")}
        return b64(hashlib.sha256(json.dumps(names, separators=(",", ":")).encode()).digest())

    def log_in(self, demo: LoginDemo, **claims: Any) -> httpx2.Response:
        code = demo.come_back("demo-app")["code"]
        headers = self.proof(f"{demo.origin}/token", **claims)
        return demo.exchange({"client_id": "demo-app"}, code, headers=headers)

    def call(self, demo: LoginDemo, token: str, proof: dict[str, str]) -> httpx2.Response:
        return demo.call(token, "whoami", headers={"Authorization": f"DPoP {token}", **proof})


def test_bound_token_works_with_a_fresh_dpop_proof_each_time(demo: LoginDemo) -> None:
    demo.only("dpop")
    prover = Prover()
    reply = prover.log_in(demo).json()
    token = reply["access_token"]
    assert (reply["token_type"], payload(token)["cnf"]) == ("DPoP", {"jkt": prover.thumbprint})
    proof = prover.proof(demo.url, token)
    assert prover.call(demo, token, proof).status_code == 200
    replayed = prover.call(demo, token, proof)
    assert (replayed.status_code, "invalid_dpop_proof" in replayed.headers["www-authenticate"]) == (401, True)
    assert prover.call(demo, token, prover.proof(demo.url, token)).status_code == 200


def test_bound_token_is_useless_to_others(demo: LoginDemo) -> None:
    demo.only("dpop")
    prover, thief = Prover(), Prover()
    token = prover.log_in(demo).json()["access_token"]
    assert demo.call(token, "whoami").status_code == 401
    assert thief.call(demo, token, thief.proof(demo.url, token)).status_code == 401
    assert prover.call(demo, token, prover.proof(f"{demo.origin}/other", token)).status_code == 401
    assert prover.call(demo, token, prover.proof(demo.url, "another")).status_code == 401
    assert prover.call(demo, token, prover.proof(demo.url, token, iat=1)).status_code == 401


def test_both_servers_require_their_nonce_when_configured(demo: LoginDemo) -> None:
    demo.only("dpop_nonce")
    prover = Prover()
    refused = prover.log_in(demo)
    assert error(refused) == (400, "use_dpop_nonce")
    token = prover.log_in(demo, nonce=refused.headers["dpop-nonce"]).json()["access_token"]
    again = prover.call(demo, token, prover.proof(demo.url, token))
    assert again.status_code == 401
    assert 'error="use_dpop_nonce"' in again.headers["www-authenticate"]
    proof = prover.proof(demo.url, token, nonce=again.headers["dpop-nonce"])
    assert prover.call(demo, token, proof).status_code == 200


def test_refresh_needs_the_same_key(demo: LoginDemo) -> None:
    demo.only("dpop")
    prover, thief = Prover(), Prover()
    refresh = prover.log_in(demo).json()["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": refresh, "client_id": "demo-app"}
    stolen = demo.token(**form, headers=thief.proof(f"{demo.origin}/token"))
    assert error(stolen) == (400, "invalid_dpop_proof")
    assert demo.token(**form, headers=prover.proof(f"{demo.origin}/token")).status_code == 200
