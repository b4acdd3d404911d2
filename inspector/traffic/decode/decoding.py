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
    """A decoded part of a message.

    `text` is for display, unmodified: untrusted. `data` holds the bytes of an image or another file.
    """

    path: str  # of the text, then the steps through what was found in it: `a[0].data › base64`
    kind: DecodingKind
    title: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    note: str = ""  # a sentence: not verified, truncated, declared as something else
    is_secret: bool = False  # shown only on request


@dataclass(frozen=True, slots=True)
class Found:
    """A decoder's result: without a path yet, and perhaps with more inside."""

    step: str  # for the path: `base64`
    kind: DecodingKind
    title: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    note: str = ""
    is_secret: bool = False
    inside: JSON = None  # to be searched further


def placed(found: Found, path: str) -> Decoding:
    return Decoding(
        path, found.kind, found.title, found.text, found.data, found.mime_type, found.note, found.is_secret
    )
