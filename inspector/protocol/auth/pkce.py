"""Proof key for code exchange (RFC 7636), S256 only, and the `state` of a login."""

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
    """A fresh secret for one login."""
    return "".join(secrets.choice(_UNRESERVED) for _ in range(_LENGTH))


def new_state() -> str:
    """A fresh value that ties the browser's answer to the login that asked."""
    return secrets.token_urlsafe(32)


def is_verifier(text: str) -> bool:
    """Is this of the length and the letters of RFC 7636, section 4.1?"""
    return _VERIFIER.fullmatch(text) is not None


def challenge_of(verifier: str) -> str:
    """What goes into the authorize URL instead of the verifier."""
    if not is_verifier(verifier):
        raise ValueError("A code verifier has 43 to 128 letters, digits or any of -._~")
    return b64url(hashlib.sha256(verifier.encode("ascii")).digest())


def is_same(one: str, other: str) -> bool:
    """Compare two secrets in a time that says nothing about where they differ."""
    return secrets.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )


def b64url(data: bytes) -> str:
    """Base64 for URLs without padding, as every JOSE and OAuth value is written."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
