"""Base64 in a text, in both of its alphabets, and `data:` URLs.

A plain word is base64, too, in form. So it counts only when it is long enough and what comes out is a
known kind of file or a readable text, or when the member it stands in is one that MCP keeps files in.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace

from inspector.traffic.decode.decoding import Found
from inspector.traffic.decode.files import any_bytes, recognised

_SHORTEST = 16
_SPACE = re.compile(r"[\r\n\t ]+")
_STANDARD = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_URL_SAFE = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_DATA_URL = re.compile(r"data:([\w.+/-]{0,100})(?:;[\w=.-]{1,60}){0,5}?;base64,", re.ASCII)


def decoded(text: str, said_type: str | None = None) -> Found | None:
    """Decode a text as base64.

    `said_type` is the declared MIME type, if the text is in a member for files.
    """
    data = _bytes(text)
    if data is None:
        return None
    if said_type is not None:
        return _checked(any_bytes(data, "base64"), said_type)
    return recognised(data, "base64") if len(text) >= _SHORTEST else None


def data_url(text: str) -> Found | None:
    head = _DATA_URL.match(text)
    data = _bytes(text[head.end() :]) if head is not None else None
    return None if head is None or data is None else _checked(any_bytes(data, "data URL"), head[1])


def _bytes(text: str) -> bytes | None:
    """Return the bytes, if the whole text is base64."""
    packed = _SPACE.sub("", text) if "\n" in text else text
    is_url_safe = "-" in packed or "_" in packed
    if not packed or not (_URL_SAFE if is_url_safe else _STANDARD).fullmatch(packed):
        return None
    bare = packed.rstrip("=")
    padded = bare + "=" * (-len(bare) % 4)
    try:
        data = base64.b64decode(padded, altchars=b"-_" if is_url_safe else None, validate=True)
    except (binascii.Error, ValueError):
        return None
    # Non-zero leftover bits: no encoder writes them, but ordinary words often have them.
    again = base64.b64encode(data, altchars=b"-_" if is_url_safe else None)
    return data if again.decode() == padded else None


def _checked(found: Found, said_type: str) -> Found:
    """Add a note if the bytes are of another type than declared."""
    said = said_type.partition(";")[0].strip().lower()
    if not said or not found.mime_type:
        return replace(found, mime_type=found.mime_type or said)
    if found.mime_type == said or {found.mime_type, said} in _ALIASES:
        return found
    note = f"It is said to be {said}, but its bytes are those of {found.mime_type}."
    return replace(found, note=f"{note} {found.note}".strip())


_ALIASES = (
    {"image/jpeg", "image/jpg"},
    {"audio/wav", "audio/x-wav"},
    {"audio/wav", "audio/wave"},
    {"audio/mpeg", "audio/mp3"},
)
