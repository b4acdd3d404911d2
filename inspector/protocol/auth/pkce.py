"""PKCE (RFC 7636), S256 only, and the `state` of a login."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets

METHOD = "S256"

_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_VERIFIER = re.compile(r"[A-Za-z0-9\-._~]{43,128}")
_LENGTH = 64


def new_verifier() -> str:
    """Create a code verifier for one login."""
    return "".join(secrets.choice(_UNRESERVED) for _ in range(_LENGTH))


def new_state() -> str:
    """Create a `state` that ties the callback to the login."""
    return secrets.token_urlsafe(32)


def is_verifier(text: str) -> bool:
    """True if length and characters conform to RFC 7636, section 4.1."""
    return _VERIFIER.fullmatch(text) is not None


def challenge_of(verifier: str) -> str:
    """Return the code challenge (S256) for the authorization URL."""
    if not is_verifier(verifier):
        raise ValueError("A code verifier must have 43 to 128 characters: letters, digits or any of -._~")
    return b64url(hashlib.sha256(verifier.encode("ascii")).digest())


def is_same(one: str, other: str) -> bool:
    """Compare two secrets in constant time."""
    return secrets.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def b64url(data: bytes) -> str:
    """Encode as base64url without padding, as JOSE and OAuth do."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
