"""JSON Web Tokens (RFC 7519), decoded for display. No signature is verified.

An access token is opaque to a client: one that is no JWT is no error, and claims are shown and compared,
never trusted.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from inspector.base.json.values import JSON, JSONError, JSONObject, is_number, parse, pretty, text_of

_PARTS = re.compile(r"([\w-]{5,200000})\.([\w-]{2,200000})\.([\w-]{0,20000})", re.ASCII)
TIMES = {"iat": "issued", "nbf": "not valid before", "exp": "expires", "auth_time": "logged in"}


@dataclass(frozen=True, slots=True)
class JwtView:
    """A token's header and claims, verbatim."""

    header: JSONObject
    claims: JSONObject
    is_signed: bool

    @property
    def issuer(self) -> str:
        return text_of(self.claims, "iss")

    @property
    def audiences(self) -> tuple[str, ...]:
        """The `aud` claim, a string or a list, as a tuple."""
        value = self.claims.get("aud")
        values = value if isinstance(value, list) else [value]
        return tuple(one for one in values if isinstance(one, str))

    @property
    def scopes(self) -> tuple[str, ...]:
        """The `scope` claim (RFC 9068), or `scp` as some servers write it; a string or a list."""
        value = self.claims.get("scope", self.claims.get("scp"))
        values = value if isinstance(value, list) else [value]
        return tuple(word for one in values if isinstance(one, str) for word in one.split())

    @property
    def key_thumbprint(self) -> str:
        """The `cnf.jkt` claim (RFC 9449): the key that the token is bound to, "" if none."""
        confirmation = self.claims.get("cnf")
        return text_of(confirmation, "jkt") if isinstance(confirmation, dict) else ""

    def time_of(self, name: str) -> float | None:
        """Return a time claim in seconds since 1970, None if absent."""
        value = self.claims.get(name)
        return float(value) if is_number(value) and utc_datetime(value) is not None else None


def read_jwt(text: str) -> JwtView | None:
    """Decode a token; None if it is no JWT, e.g. opaque or encrypted."""
    match = _PARTS.fullmatch(text.strip())
    if match is None:
        return None
    header, claims = read_part(match[1]), read_part(match[2])
    if header is None or claims is None or not ("alg" in header or "typ" in header):
        return None
    return JwtView(header, claims, is_signed=bool(match[3]) and header.get("alg") != "none")


def read_part(text: str) -> JSONObject | None:
    """Decode one part of a token; None if it is no JSON object."""
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        value: JSON = parse(raw.decode())
        pretty(value)  # parseable values may still be nested too deeply to be written
    except (binascii.Error, ValueError, JSONError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def times_of(claims: JSONObject) -> Iterator[tuple[str, str, datetime | None]]:
    """Yield the time claims: name, meaning, and time (None if out of range)."""
    for name, meaning in TIMES.items():
        value = claims.get(name)
        if is_number(value):
            yield name, meaning, utc_datetime(value)


def utc_datetime(seconds: int | float) -> datetime | None:
    """Convert seconds since 1970 to a UTC datetime; None if out of range."""
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None
