"""Access and refresh tokens, JWT signing keys, and DPoP proofs (RFC 9449). All in memory.

Signing uses PyJWT with ES256, and keys that last as long as the process. Both the authorization server
and the notes server verify DPoP proofs with `verify`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from inspector.demo.login.fault_switches import FaultSwitches

Claims = dict[str, Any]

ALGORITHMS = ("ES256", "RS256")
_LIFETIME = 3600
_SHORT_LIFETIME = 65
_YEAR = 365 * 24 * 3600
_ELSEWHERE = "https://elsewhere.example"
_REQUIRED = {"EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}
_TOLERANCE = 300  # seconds


class Tokens:
    """The tokens issued by one authorization server."""

    def __init__(self, issuer: Callable[[], str], key: Key, faults: FaultSwitches) -> None:
        self._issuer = issuer
        self._key = key
        self._bench = faults
        self._access: dict[str, tuple[Grant, str]] = {}
        self._refresh: dict[str, _Refresh] = {}

    def forget(self) -> None:
        self._access.clear()
        self._refresh.clear()

    def issue(self, grant: Grant, *, refreshable: bool, family: str = "", token: str = "") -> dict[str, Any]:
        """Build a token response. `token` is the refresh token to return instead of a new one."""
        family = family or secrets.token_hex(8)
        lifetime = self._lifetime()
        access = self._access_token(grant, lifetime, family)
        reply: dict[str, Any] = {
            "access_token": access,
            "token_type": "DPoP" if grant.jkt else "Bearer",
            "expires_in": lifetime,
            "scope": grant.scope,
        }
        if refreshable and not self._bench.on("no_refresh"):
            reply["refresh_token"] = token or self._refresh_token(grant, family)
        return reply

    def _lifetime(self) -> int:
        if self._bench.on("long_life"):
            return _YEAR
        return _SHORT_LIFETIME if self._bench.on("short_tokens") else _LIFETIME

    def _access_token(self, grant: Grant, lifetime: int, family: str) -> str:
        faults, now = self._bench, int(time.time())
        expires = now - 1 if faults.on("expired_at_once") else now + lifetime
        held = replace(grant, expires_at=expires)
        if faults.on("wrong_audience"):
            held = replace(held, resource=_ELSEWHERE)
        token = secrets.token_urlsafe(32)
        if not faults.on("opaque_tokens"):
            shift = 3600 if faults.on("clock_ahead") else 0
            token = self._key.sign(self._claims(held, now + shift, int(expires) + shift), "at+jwt")
        self._access[token] = held, family
        return token

    def _claims(self, grant: Grant, issued: int, expires: int) -> dict[str, Any]:
        claims = {
            "iss": _ELSEWHERE if self._bench.on("wrong_token_issuer") else self._issuer(),
            "sub": grant.subject,
            "aud": grant.resource,
            "client_id": grant.client_id,
            "scope": grant.scope,
            "iat": issued,
            "exp": expires,
            "jti": secrets.token_hex(8),
        }
        return {**claims, "cnf": {"jkt": grant.jkt}} if grant.jkt else claims

    def _refresh_token(self, grant: Grant, family: str) -> str:
        token = secrets.token_urlsafe(32)
        from_refresh = any(known.family == family for known in self._refresh.values())
        self._refresh[token] = _Refresh(grant, family, from_refresh=from_refresh)
        return token

    def check(self, token: str, audiences: Sequence[str]) -> Grant | None:
        """Return the grant of a valid access token for one of these resources, or None."""
        held, _ = self._access.get(token, (None, ""))
        if held is None or held.resource not in audiences or held.expires_at < time.time():
            return None
        if "." in token and not self._bench.on("clock_ahead"):
            claims = self._key.check(token, audience=audiences, issuer=self._issuer())
            return held if claims is not None else None
        return held

    def refresh(self, token: str, client_id: str) -> tuple[Grant, str] | None:
        """Return the grant and family of a usable refresh token; call `spend` once it was exchanged.

        A reused token was stolen from one of its two users, so its whole family is revoked.
        """
        held = self._refresh.get(token)
        if held is None or held.grant.client_id != client_id:
            return None
        if held.used and not self._bench.on("old_refresh_works"):
            self._end(held.family)
            return None
        if held.from_refresh and self._bench.on("rotated_refused"):
            return None
        return held.grant, held.family

    def spend(self, token: str) -> None:
        self._refresh[token].used = not self._bench.on("not_rotated")

    def revoke(self, token: str, client_id: str) -> None:
        """Revoke a token and what belongs to it; unknown tokens are ignored (RFC 7009, section 2.2)."""
        if token in self._refresh and self._refresh[token].grant.client_id == client_id:
            self._end(self._refresh[token].family)
        elif token in self._access and self._access[token][0].client_id == client_id:
            del self._access[token]

    def _end(self, family: str) -> None:
        self._access = {token: held for token, held in self._access.items() if held[1] != family}
        self._refresh = {token: held for token, held in self._refresh.items() if held.family != family}


@dataclass(frozen=True)
class Grant:
    """What a token was issued for: the subject, client, scopes, resource and expiry."""

    client_id: str
    subject: str
    scopes: tuple[str, ...]
    resource: str
    jkt: str = ""
    expires_at: float = 0

    @property
    def scope(self) -> str:
        return " ".join(self.scopes)


@dataclass
class _Refresh:
    grant: Grant
    family: str
    used: bool = False
    from_refresh: bool = False


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


class InvalidProof(Exception):
    """A DPoP proof is invalid; the message says why."""


class NonceRequired(Exception):
    """The proof is valid except for the missing nonce."""


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the JWK thumbprint (RFC 7638)."""
    names = _REQUIRED.get(str(jwk.get("kty")), ())
    text = json.dumps({name: jwk.get(name) for name in names}, separators=(",", ":"), sort_keys=True)
    return _b64(hashlib.sha256(text.encode()).digest())


def verify(
    proofs: list[str],
    method: str,
    url: str,
    *,
    replay_cache: ReplayCache,
    nonce: str = "",
    access_token: str = "",
) -> str:
    """Verify a request's one DPoP proof; return its key's thumbprint.

    Raises InvalidProof, NonceRequired.
    """
    if len(proofs) != 1:
        raise InvalidProof("Exactly one DPoP header is required.")
    head = header(proofs[0])
    jwk = head.get("jwk")
    if head.get("typ") != "dpop+jwt" or not isinstance(jwk, dict) or "d" in jwk:
        raise InvalidProof("The DPoP proof's header must have typ dpop+jwt and a public jwk.")
    if jwk.get("kty") not in _REQUIRED:
        raise InvalidProof("The DPoP proof uses an unsupported key type.")
    claims = _claims(proofs[0], jwk)
    target = str(claims.get("htu")).replace("//localhost:", "//127.0.0.1:")  # a switch sends clients there
    if claims.get("htm") != method or target != url:
        raise InvalidProof("The DPoP proof is for another request (htm or htu).")
    if access_token and claims.get("ath") != _b64(hashlib.sha256(access_token.encode()).digest()):
        raise InvalidProof("The DPoP proof is for another access token (ath).")
    issued, now = claims.get("iat"), time.time()
    if not isinstance(issued, int | float) or abs(now - issued) > _TOLERANCE:
        raise InvalidProof("The DPoP proof's iat is too far in the past or future.")
    if not replay_cache.is_new(f"proof {claims.get('jti')}", now + 2 * _TOLERANCE):
        raise InvalidProof("The DPoP proof was already used.")
    if nonce and claims.get("nonce") != nonce:
        raise NonceRequired
    return thumbprint(jwk)


def _claims(proof: str, jwk: Mapping[str, Any]) -> Mapping[str, Any]:
    claims = check(proof, [jwk], audience=None, issuer=None, dated=False)
    if claims is None:
        raise InvalidProof("The DPoP proof's signature is invalid.")
    return claims


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class ReplayCache:
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
