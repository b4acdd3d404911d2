"""What the company says about a person: ID tokens and ID-JAGs, right or spoilt by a switch."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable
from typing import Any

from inspector.demo.login.realm import Realm

Claims = dict[str, Any]
_ELSEWHERE = "https://elsewhere.example"
_HOUR = 3600

_SPOILT: dict[str, Callable[[Claims], Claims]] = {
    "idp_other_issuer": lambda claims: {"iss": _ELSEWHERE},
    "idp_other_audience": lambda claims: {"aud": "another-client"},
    "idp_other_party": lambda claims: {"azp": "another-client"},
    "idp_expired": lambda claims: {"iat": claims["iat"] - _HOUR, "exp": claims["iat"] - _HOUR // 2},
    "idp_clock_ahead": lambda claims: {"iat": claims["iat"] + _HOUR, "exp": claims["exp"] + _HOUR},
    "idp_other_nonce": lambda claims: {"nonce": secrets.token_urlsafe(16)},
    "idp_no_nonce": lambda claims: {"nonce": None},
    "idp_no_subject": lambda claims: {"sub": None},
}


def id_token_reply(claims: Claims, realm: Realm) -> dict[str, Any]:
    """Return the member of a token response that says who logged in."""
    bench = realm.bench
    if bench.on("idp_no_id_token"):
        return {}
    if bench.on("idp_opaque_id_token"):
        return {"id_token": secrets.token_urlsafe(32)}
    for name, spoil in _SPOILT.items():
        if bench.on(name):
            claims = {**claims, **spoil(claims)}
    said = {name: value for name, value in claims.items() if value is not None}
    if bench.on("idp_alg_none"):
        return {"id_token": f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(said)}."}
    signed = realm.key.sign(said)
    return {"id_token": f"{signed.rpartition('.')[0]}." if bench.on("idp_no_signature") else signed}


def signed_id_jag(claims: Claims, realm: Realm, kind: str) -> str:
    bench = realm.bench
    if bench.on("idp_jag_elsewhere"):
        claims = {**claims, "aud": _ELSEWHERE}
    if bench.on("idp_jag_other_client"):
        claims = {**claims, "client_id": "another-client"}
    return realm.key.sign(claims, "JWT" if bench.on("idp_jag_untyped") else kind)


def _part(value: Claims) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
