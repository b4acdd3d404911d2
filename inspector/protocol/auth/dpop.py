"""DPoP (RFC 9449) without cryptography: claims of a proof, and nonces per origin.

`oauth.signing` signs the claims.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

from inspector.base.json.values import JSONObject
from inspector.protocol.auth.pkce import b64url

SCHEME = "DPoP"  # authentication scheme, token type and header name
PROOF_TYPE = "dpop+jwt"
USE_NONCE = "use_dpop_nonce"
ALGORITHM = "ES256"

_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,2000}")  # RFC 9449, section 8.1: NQCHAR
_DEFAULT_PORTS = {"http": 80, "https": 443}


def proof_claims(
    method: str, url: str, now: float, *, access_token: str = "", nonce: str = "", jti: str = ""
) -> JSONObject:
    """Return the claims of a proof; each request has its own `jti`, retries included."""
    claims: JSONObject = {"jti": jti or str(uuid4()), "htm": method, "htu": target_of(url), "iat": int(now)}
    if access_token:
        claims["ath"] = token_hash(access_token)
    if nonce:
        claims["nonce"] = nonce
    return claims


def target_of(url: str) -> str:
    """Return `htu`: the request URL without query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path or "/", "", ""))


def token_hash(access_token: str) -> str:
    """Return `ath`, which ties a proof to one access token."""
    return b64url(hashlib.sha256(access_token.encode("utf-8")).digest())


def wants_nonce(status: int, error: str) -> bool:
    """True if a token endpoint (400) or MCP server (401) demands a nonce.

    The same request is then repeated with a proof that contains the nonce; the login has not failed.
    """
    return status in (400, 401) and error == USE_NONCE


@dataclass(slots=True)
class Nonces:
    """The latest nonce per origin: the authorization server's does not apply to the MCP server."""

    _by_origin: dict[str, str] = field(default_factory=dict)

    def update(self, url: str, nonce: str | None) -> bool:
        """Save the `DPoP-Nonce` of a response of any status; return whether it is new and valid."""
        origin = _origin(url)
        if nonce is None or not _NONCE.fullmatch(nonce) or self._by_origin.get(origin) == nonce:
            return False
        self._by_origin[origin] = nonce
        return True

    def get(self, url: str) -> str:
        """Return the nonce for a request to this URL; "" if none."""
        return self._by_origin.get(_origin(url), "")

    def clear(self) -> None:
        self._by_origin.clear()


def _origin(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"
