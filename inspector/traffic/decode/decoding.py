"""One thing found inside a text, decoded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from inspector.base.jsonvalue import JSON


class DecodingKind(Enum):
    JSON = "json"
    TEXT = "text"
    JWT = "jwt"
    URL = "url"
    IMAGE = "image"
    AUDIO = "audio"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Decoding:
    """`text` is for reading, as it came: untrusted. `data` holds the bytes of a picture or another file."""

    path: str  # where the text stands, then the ways through what was found in it: `a[0].data › base64`
    kind: DecodingKind
    title: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    note: str = ""  # a sentence about what to know: not checked, cut, said to be something else
    is_secret: bool = False  # to be shown only when asked for


@dataclass(frozen=True, slots=True)
class Found:
    """A decoding by a decoder: not placed yet, and what may hold more of its own."""

    step: str  # for the path: `base64`
    kind: DecodingKind
    title: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    note: str = ""
    is_secret: bool = False
    inside: JSON = None  # to be looked into further


def placed(found: Found, path: str) -> Decoding:
    return Decoding(
        path, found.kind, found.title, found.text, found.data, found.mime_type, found.note, found.is_secret
    )
