"""The ways in which a value may stand in a text."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

from inspector.traffic.export.escapes import with_blanks

_TO_URL = bytes.maketrans(b"+/", b"-_")


def spellings(value: bytes) -> dict[bytes, None]:
    """Each once: as it is, percent-encoded, in base64."""
    spelled = (
        value,
        with_blanks(value),
        quote(value, safe="").encode(),
        quote(value).encode(),
        quote_plus(value).encode(),
        *in_base64(value),
    )
    return dict.fromkeys(spelled)


def in_base64(value: bytes) -> list[bytes]:
    """What of it can be seen in base64 of a text that it is in the middle of, in both alphabets.

    Base64 makes four letters of three bytes, so there are three ways, and the letters at both ends are made
    of its neighbours too.
    """
    found: list[bytes] = []
    for before, first in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + value)
        found.append(text[first : (before + len(value)) * 8 // 6])
    return [*found, *(each.translate(_TO_URL) for each in found)]


def in_json(value: bytes) -> list[bytes]:
    """As a string in JSON, and in JSON that is a string in JSON; with and without escaped slashes."""
    found: list[bytes] = []
    for text in (value, value.replace(b"/", b"\\/")):
        # Of bytes that are no text, there is no way to stand in JSON.
        once = json.dumps(text.decode(errors="replace").replace("\\/", "/"), ensure_ascii=False)[1:-1]
        once = once.replace("/", "\\/") if text != value else once
        found += (once.encode(), json.dumps(once, ensure_ascii=False)[1:-1].encode())
    return found
