"""Proofs of possession (RFC 9449), as both the authorization server and the notes server check them."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any

from inspector.demo.login.keys import Seen, check, header

_REQUIRED = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}
_TOLERANCE = 300


class BadProof(Exception):
    """A DPoP proof is invalid; the message says why."""


class WantsNonce(Exception):
    """The proof is valid except for the missing nonce."""


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the JWK thumbprint (RFC 7638)."""
    names = _REQUIRED.get(str(jwk.get("kty")), ())
    text = json.dumps({name: jwk.get(name) for name in names}, separators=(",", ":"), sort_keys=True)
    return _b64(hashlib.sha256(text.encode()).digest())


def verify(
    proofs: list[str], method: str, url: str, *, seen: Seen, nonce: str = "", access_token: str = ""
) -> str:
    """Verify a request's one DPoP proof; return its key's thumbprint.

    Raises BadProof, WantsNonce.
    """
    if len(proofs) != 1:
        raise BadProof("There must be exactly one DPoP header.")
    head = header(proofs[0])
    jwk = head.get("jwk")
    if head.get("typ") != "dpop+jwt" or not isinstance(jwk, dict) or "d" in jwk:
        raise BadProof("The proof's header must have typ dpop+jwt and a public jwk.")
    if jwk.get("kty") not in _REQUIRED:
        raise BadProof("The proof's key is of an unknown kind.")
    claims = _claims(proofs[0], jwk)
    aimed_at = str(claims.get("htu")).replace("//localhost:", "//127.0.0.1:")  # a switch sends clients there
    if claims.get("htm") != method or aimed_at != url:
        raise BadProof("The proof is for another request.")
    if access_token and claims.get("ath") != _b64(hashlib.sha256(access_token.encode()).digest()):
        raise BadProof("The proof is for another token.")
    issued, now = claims.get("iat"), time.time()
    if not isinstance(issued, int | float) or abs(now - issued) > _TOLERANCE:
        raise BadProof("The proof is too old, or from the future.")
    if not seen.is_new(f"proof {claims.get('jti')}", now + 2 * _TOLERANCE):
        raise BadProof("The proof was used before.")
    if nonce and claims.get("nonce") != nonce:
        raise WantsNonce
    return thumbprint(jwk)


def _claims(proof: str, jwk: Mapping[str, Any]) -> Mapping[str, Any]:
    claims = check(proof, [jwk], audience=None, issuer=None, dated=False)
    if claims is None:
        raise BadProof("The proof's signature does not hold.")
    return claims


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
