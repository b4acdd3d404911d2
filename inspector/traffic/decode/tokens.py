"""JSON Web Tokens (RFC 7519) in a text: header and claims, decoded. Signatures are not checked here."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse, pretty
from inspector.traffic.decode.decoding import DecodingKind, Found

# A token begins at the edge of a word: else a long word without a dot would be read again from each letter.
_TOKEN = re.compile(r"(?<![\w-])(eyJ[\w-]{5,4000})\.([\w-]{4,20000})\.([\w-]{0,4000})(?![\w-])", re.ASCII)
_TIMES = {"iat": "issued", "nbf": "not valid before", "exp": "expires", "auth_time": "logged in"}
_MOST = 5
_NOTE = "The signature was not checked."


def tokens(text: str) -> Iterator[Found]:
    """Every token in a text, a few at most."""
    if "eyJ" not in text:
        return
    for count, match in enumerate(_TOKEN.finditer(text)):
        header, claims = _part(match[1]), _part(match[2])
        if header is not None and claims is not None and ("alg" in header or "typ" in header):
            yield _token(header, claims, is_signed=bool(match[3]))
        if count + 1 == _MOST:
            return


def _token(header: JSONObject, claims: JSONObject, *, is_signed: bool) -> Found:
    pieces = ["Header", pretty(header), "", "Claims", pretty(claims)]
    times = [*_times(claims)]
    pieces += ["", "Times", *times] if times else []
    return Found(
        "JWT",
        DecodingKind.JWT,
        "JSON Web Token",
        "\n".join(pieces),
        mime_type="application/jwt",
        note=_NOTE if is_signed else "It has no signature: anybody could have written it.",
        is_secret=True,
        inside=claims,
    )


def _part(text: str) -> JSONObject | None:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        value: JSON = parse(raw.decode())
        pretty(value)  # what is read may still be nested too deeply to be written
    except (binascii.Error, ValueError, JSONProblem, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _times(claims: JSONObject) -> Iterator[str]:
    for name, word in _TIMES.items():
        value = claims.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{name}: {word} {_moment(value)}"


def _moment(seconds: int | float) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return "at no possible time"
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
