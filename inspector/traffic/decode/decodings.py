"""`Decoding`: one decoded part of a message; and recognition of file types by their content.

A type is determined by the first bytes, never by a declared MIME type.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace
from enum import Enum

from inspector.base.json.values import JSON
from inspector.base.units import size


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
class DecoderResult:
    """What a decoder found: without a path yet, and perhaps with more inside."""

    step: str  # for the path: `base64`
    kind: DecodingKind
    title: str
    text: str = ""
    data: bytes = b""
    mime_type: str = ""
    note: str = ""
    is_secret: bool = False
    inside: JSON = None  # to be searched further

    def at(self, path: str) -> Decoding:
        return Decoding(
            path, self.kind, self.title, self.text, self.data, self.mime_type, self.note, self.is_secret
        )


MAX_TEXT_SIZE = 256 * 1024  # characters of one decoding
MAX_UNPACKED = 1024 * 1024
_IMAGE, _AUDIO, _BINARY = DecodingKind.IMAGE, DecodingKind.AUDIO, DecodingKind.BINARY
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", _IMAGE, "PNG image", "image/png"),
    (b"\xff\xd8\xff", _IMAGE, "JPEG image", "image/jpeg"),
    (b"GIF87a", _IMAGE, "GIF image", "image/gif"),
    (b"GIF89a", _IMAGE, "GIF image", "image/gif"),
    (b"ID3", _AUDIO, "MP3 audio", "audio/mpeg"),
    (b"\xff\xfb", _AUDIO, "MP3 audio", "audio/mpeg"),
    (b"\xff\xf3", _AUDIO, "MP3 audio", "audio/mpeg"),
    (b"\xff\xf2", _AUDIO, "MP3 audio", "audio/mpeg"),
    (b"OggS", _AUDIO, "Ogg audio", "audio/ogg"),
    (b"fLaC", _AUDIO, "FLAC audio", "audio/flac"),
    (b"%PDF-", _BINARY, "PDF document", "application/pdf"),
    (b"PK\x03\x04", _BINARY, "Zip archive", "application/zip"),
)
_RIFF = {b"WEBP": (_IMAGE, "WebP image", "image/webp"), b"WAVE": (_AUDIO, "WAV audio", "audio/wav")}
# MIME types whose magic bytes we know.
KNOWN_TYPES = frozenset(mime_type for _, _, _, mime_type in _MAGIC) | {"image/webp", "audio/wav", "audio/mp4"}
_GZIP = b"\x1f\x8b\x08"
_SVG = re.compile(
    r"\s*(?:<\?xml[^>]{0,300}>\s*)?(?:<!--.{0,2000}?-->\s*)?(?:<!DOCTYPE[^>]{0,300}>\s*)?<svg\b", re.DOTALL
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


def recognized(data: bytes, step: str) -> DecoderResult | None:
    """Recognize a known file type or readable text; None for anything else."""
    return _known_file(data, step) or _unpacked(data, step) or _text(data, step)


def described(data: bytes, step: str) -> DecoderResult:
    """Describe bytes that are declared as a file, whatever they are."""
    known = recognized(data, step)
    return known or DecoderResult(step, _BINARY, f"Binary data, {size(len(data))}", data=data)


def _known_file(data: bytes, step: str) -> DecoderResult | None:
    if data[:4] == b"RIFF" and data[8:12] in _RIFF:
        kind, name, mime_type = _RIFF[data[8:12]]
        return _file(data, step, kind, name, mime_type)
    if data[4:11] == b"ftypM4A":
        return _file(data, step, _AUDIO, "MPEG-4 audio", "audio/mp4")
    for magic, kind, name, mime_type in _MAGIC:
        if data.startswith(magic) and len(data) > len(magic) + 8:
            return _file(data, step, kind, name, mime_type)
    return None


def _file(data: bytes, step: str, kind: DecodingKind, name: str, mime_type: str) -> DecoderResult:
    return DecoderResult(step, kind, f"{name}, {size(len(data))}", data=data, mime_type=mime_type)


def _unpacked(data: bytes, step: str) -> DecoderResult | None:
    """Decompress the start of a gzip file: a small one may expand to terabytes."""
    if not data.startswith(_GZIP):
        return None
    reader = zlib.decompressobj(wbits=31)
    try:
        inside = reader.decompress(data, MAX_UNPACKED)
    except zlib.error:
        return None
    cut = "" if reader.eof else f"Only the first {size(len(inside))} were unpacked."
    known = _known_file(inside, f"{step} › gzip") or _text(inside, f"{step} › gzip")
    if known is None:
        return DecoderResult(step, _BINARY, f"Gzip data, {size(len(data))}", data=data, note=cut)
    return replace(known, note=cut or known.note, inside=None if cut else known.inside)


def _text(data: bytes, step: str) -> DecoderResult | None:
    text = readable(data)
    if text is None:
        return None
    if is_svg(text):
        return svg_as_text(text, step)
    shown, cut = clipped(text)
    return DecoderResult(step, DecodingKind.TEXT, "Text", shown, note=cut, inside=text)


def readable(data: bytes) -> str | None:
    """Return the bytes as text, if they look like text that a human wrote."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if not text.strip() or _UNPRINTABLE.search(text) else text


def is_svg(text: str) -> bool:
    return _SVG.match(text[:5_000]) is not None


def svg_as_text(text: str, step: str) -> DecoderResult:
    """Return an SVG as text and without its bytes, so that it is never rendered.

    It may hold scripts and links.
    """
    shown, cut = clipped(text)
    note = f"An SVG can contain scripts and links, so it is shown only as text. {cut}".strip()
    return DecoderResult(
        step, DecodingKind.TEXT, "SVG image, as text", shown, mime_type="image/svg+xml", note=note
    )


def clipped(text: str) -> tuple[str, str]:
    """Return the start of a text, and a note if it was truncated."""
    if len(text) <= MAX_TEXT_SIZE:
        return text, ""
    return text[:MAX_TEXT_SIZE], f"Only the first {MAX_TEXT_SIZE:,} of {len(text):,} characters are shown."
