"""The ways in which a value may stand in a text."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

from inspector.traffic.export.escapes import with_blanks

_TO_URL = bytes.maketrans(b"+/", b"-_")


def spellings(value: bytes) -> dict[bytes, None]:
    """Return the spellings of a value, each once: plain, percent-encoded, base64."""
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
    """Return the parts of a value that appear in the base64 of a surrounding text.

    In both alphabets. Base64 makes four characters of three bytes, so there are three alignments, and the
    characters at both ends also depend on the neighbors.
    """
    found: list[bytes] = []
    for before, first in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + value)
        found.append(text[first : (before + len(value)) * 8 // 6])
    return [*found, *(each.translate(_TO_URL) for each in found)]


def in_json(value: bytes) -> list[bytes]:
    """Return a value as a JSON string, once and twice encoded, with plain or escaped slashes."""
    found: list[bytes] = []
    for text in (value, value.replace(b"/", b"\\/")):
        # Bytes that are not text cannot occur in JSON.
        once = json.dumps(text.decode(errors="replace").replace("\\/", "/"), ensure_ascii=False)[1:-1]
        once = once.replace("/", "\\/") if text != value else once
        found += (once.encode(), json.dumps(once, ensure_ascii=False)[1:-1].encode())
    return found
