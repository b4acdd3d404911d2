"""Signing and checking JWTs with PyJWT: ES256 only, with keys that live as long as the process."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

Claims = dict[str, Any]
ALGORITHMS = ("ES256", "RS256")


class Key:
    """A signing key pair with its key id."""

    def __init__(self) -> None:
        self._private = ec.generate_private_key(ec.SECP256R1())
        self.kid = secrets.token_hex(4)

    def sign(self, claims: Mapping[str, Any], typ: str = "JWT") -> str:
        return jwt.encode(dict(claims), self._private, "ES256", headers={"typ": typ, "kid": self.kid})

    def public(self) -> dict[str, Any]:
        """Return the public key as a JWK."""
        jwk: dict[str, Any] = jwt.algorithms.ECAlgorithm.to_jwk(self._private.public_key(), as_dict=True)
        return {**jwk, "kid": self.kid, "use": "sig", "alg": "ES256"}

    def pem(self) -> str:
        """Return the private key, for the page that shows it to a demo client."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()

    def check(self, token: str, *, audience: str | Sequence[str] | None, issuer: str | None) -> Claims | None:
        """Return the claims of a token signed with this key, or None if it is invalid."""
        return check(token, [self.public()], audience=audience, issuer=issuer)


def check(
    token: str,
    keys: Sequence[Mapping[str, Any]],
    *,
    audience: str | Sequence[str] | None,
    issuer: str | None,
    dated: bool = True,
) -> Claims | None:
    """Return the claims of a JWT that one of these JWKs signed, if `audience` and expiry match.

    `dated=False` is for DPoP proofs, which have no expiry and whose date is checked elsewhere.
    """
    for key in keys:
        try:
            return jwt.decode(
                token,
                jwt.PyJWK(dict(key)),
                algorithms=ALGORITHMS,
                audience=audience,
                issuer=issuer,
                options={
                    "verify_aud": audience is not None,
                    "verify_iat": dated,
                    "require": ["exp", "iat"] if dated else [],
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):  # Keys may be anything.
            continue
    return None


def header(token: str) -> Mapping[str, Any]:
    """Return a JWT's header, unverified; empty for other text."""
    try:
        return jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        return {}


def unchecked(token: str) -> Claims:
    """Return a JWT's claims, unverified; empty for other text."""
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return {}


class Seen:
    """Replay cache: remembers each one-time `jti` until it expires."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def is_new(self, jti: str, until: float) -> bool:
        now = time.time()
        self._until = {known: end for known, end in self._until.items() if end > now}
        if jti in self._until:
            return False
        self._until[jti] = until
        return True
