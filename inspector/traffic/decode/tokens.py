"""JSON Web Tokens (RFC 7519) in a text: header and claims, decoded. Signatures are not checked here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspector.base.jsonvalue import JSONObject, pretty
from inspector.protocol.auth.jwtview import read_part, times_of
from inspector.traffic.decode.decoding import DecodingKind, Found

# A token starts at a word boundary: otherwise a long word without a dot would be scanned from every letter.
_TOKEN = re.compile(r"(?<![\w-])(eyJ[\w-]{5,4000})\.([\w-]{4,20000})\.([\w-]{0,4000})(?![\w-])", re.ASCII)
_MOST = 5
_NOTE = "The signature was not checked."


def tokens(text: str) -> Iterator[Found]:
    """Yield the tokens in a text, a few at most."""
    if "eyJ" not in text:
        return
    for count, match in enumerate(_TOKEN.finditer(text)):
        header, claims = read_part(match[1]), read_part(match[2])
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


def _times(claims: JSONObject) -> Iterator[str]:
    for name, meaning, moment in times_of(claims):
        when = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment is not None else "at no possible time"
        yield f"{name}: {meaning} {when}"
