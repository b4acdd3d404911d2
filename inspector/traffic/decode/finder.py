"""Finds encoded data in the strings of a message: three levels deep, with bounded work.

`find_decodings` takes bytes and returns plain values, so that large messages can go to the worker
process: `worker.run(find_decodings, raw)`. Formats: base64 (both alphabets), `data:` URLs, JSON in a
string or in a Markdown code fence, JWTs (RFC 7519; signatures are not verified), URLs and percent-encoded
text. Any plain word is valid base64; so it counts only if it is long enough and decodes to a known file
type or readable text, or if it is in a member that MCP uses for files.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from urllib.parse import parse_qsl, unquote, unquote_to_bytes, urlsplit

from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSON, JSONError, JSONObject, parse, pretty
from inspector.base.redaction import is_secret_name
from inspector.protocol.auth.jwt import read_part, times_of
from inspector.traffic.compare.diff import Key, Path, path_text
from inspector.traffic.decode.decodings import (
    MAX_TEXT_SIZE,
    DecoderResult,
    Decoding,
    DecodingKind,
    described,
    is_svg,
    readable,
    recognized,
    svg_as_text,
)

MAX_DEPTH = 3
MAX_DECODINGS = 100
_MAX_TEXTS = 2_000  # to search
_MAX_CHARACTERS = 16 * 1024 * 1024  # in all texts together
_MAX_VALUES = 200_000  # visited to find the texts
_MIN_TEXT_LENGTH = 4  # characters of a text worth searching
_MAX_PATH_DEPTH = 200  # paths are written out: their length would grow with the square of the depth
_FILE_MEMBERS = frozenset({"data", "blob"})

_MIN_BASE64_LENGTH = 16
_SPACE = re.compile(r"[\r\n\t ]+")
_STANDARD = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_URL_SAFE = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_DATA_URL = re.compile(r"data:([\w.+/-]{0,100})(?:;[\w=.-]{1,60}){0,5}?;base64,", re.ASCII)

_ALIASES = (
    {"image/jpeg", "image/jpg"},
    {"audio/wav", "audio/x-wav"},
    {"audio/wav", "audio/wave"},
    {"audio/mpeg", "audio/mp3"},
)

_FENCE = re.compile(r"^ {0,3}```[ \t]*[\w+-]{0,20}[ \t]*\n", re.MULTILINE)
_FENCE_END = re.compile(r"^ {0,3}```[ \t]*$", re.MULTILINE)
_MAX_FENCES = 5
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}:[^\s<>\"]{1,8000}", re.ASCII)
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_MAX_URL_LENGTH = 8_000
_MAX_PARAMETERS = 200

# A token starts at a word boundary: otherwise a long word without a dot would be scanned from every letter.
_TOKEN = re.compile(r"(?<![\w-])(eyJ[\w-]{5,4000})\.([\w-]{4,20000})\.([\w-]{0,4000})(?![\w-])", re.ASCII)
_MAX_TOKENS = 5
_NOT_VERIFIED = "The signature was not verified."


def find_decodings(value: JSON | bytes) -> tuple[Decoding, ...]:
    """Find decodings in document order, nested ones after their container.

    Never raises; bounded in number and size.
    """
    return tuple(_Search().run(value))


class _Search:
    def __init__(self) -> None:
        self._budget = _Budget()
        self._waiting: deque[_Text] = deque()
        self._found: list[Decoding] = []

    def run(self, value: JSON | bytes) -> list[Decoding]:
        if isinstance(value, bytes):
            self._start_with_bytes(value)
        else:
            self._waiting.extend(self._texts(value, "", 0))
        while self._waiting and len(self._found) < MAX_DECODINGS and self._has_budget():
            self._search(self._waiting.popleft())
        return self._found

    def _has_budget(self) -> bool:
        return self._budget.texts > 0 and self._budget.characters > 0

    def _start_with_bytes(self, raw: bytes) -> None:
        """Start with a message, or a body that is not JSON: a text or a file."""
        text = readable(raw)
        if text is None:
            found = recognized(raw, "bytes")
            if found is not None:
                self._add(found, _Text("", "", 0))
            return
        try:
            self._waiting.extend(self._texts(parse(text.removeprefix("\ufeff")), "", 0))
        except JSONError:
            self._waiting.append(_Text("", text, 0))

    def _search(self, item: _Text) -> None:
        self._budget.texts -= 1
        self._budget.characters -= len(item.text)
        inner: list[_Text] = []
        for found in _decodings_of(item):
            inner += self._add(found, item)
        self._waiting.extendleft(reversed(inner))  # before its neighbors: document order

    def _add(self, found: DecoderResult, item: _Text) -> list[_Text]:
        path = f"{item.path} › {found.step}" if item.path else found.step
        self._found.append(found.at(path))
        depth = item.depth + 1
        if found.inside is None or depth >= MAX_DEPTH:
            return []
        return [*self._texts(found.inside, path, depth)]

    def _texts(self, value: JSON, outer: str, depth: int) -> Iterator[_Text]:
        """Yield the texts in a value in document order, within the remaining budget."""
        if isinstance(value, str):
            return iter([_Text(outer, value, depth)])
        return islice(self._walk(value, outer, depth), max(0, self._budget.texts))

    def _walk(self, value: JSON, outer: str, depth: int) -> Iterator[_Text]:
        stack = [_Level((), value)]
        while stack and self._budget.values > 0:
            level = stack[-1]
            for key, child in level.children:
                self._budget.values -= 1
                if isinstance(child, str) and len(child) >= _MIN_TEXT_LENGTH:
                    position = path_text((*level.path, key))
                    where = f"{outer} › {position}" if outer else position
                    yield _Text(where, child, depth, level.declared_type if key in _FILE_MEMBERS else None)
                elif isinstance(child, dict | list) and child and len(stack) < _MAX_PATH_DEPTH:
                    stack.append(_Level((*level.path, key), child))
                    break
            else:
                stack.pop()


@dataclass(slots=True)
class _Budget:
    texts: int = _MAX_TEXTS
    characters: int = _MAX_CHARACTERS
    values: int = _MAX_VALUES


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to search. `declared_type` is the declared MIME type, if it is in a member for files."""

    path: str
    text: str
    depth: int
    declared_type: str | None = None


class _Level:
    """A container on the walk, with its remaining members."""

    def __init__(self, path: Path, value: JSON) -> None:
        self.path = path
        self.children: Iterator[tuple[Key, JSON]] = iter(())
        self.declared_type: str | None = None  # MIME type that an object declares for its file
        if isinstance(value, dict):
            self.children = iter(value.items())
            declared = value.get("mimeType")
            self.declared_type = declared if isinstance(declared, str) else None
        elif isinstance(value, list):
            self.children = iter(enumerate(value))


def _decodings_of(item: _Text) -> Iterator[DecoderResult]:
    """Yield what a text holds, by the first format that matches."""
    text = item.text
    if text.startswith("data:") and (file := _data_url(text)) is not None:
        yield file
    elif is_svg(text):
        yield svg_as_text(text, "SVG")
    elif structured := [*_json_parts(text)]:
        yield from structured
    elif found := [*_tokens(text)]:
        yield from found
    elif (other := _base64(text, item.declared_type) or _url(text)) is not None:
        yield other


def _base64(text: str, declared_type: str | None = None) -> DecoderResult | None:
    """Decode a text as base64.

    `declared_type` is the declared MIME type, if the text is in a member for files.
    """
    data = _bytes(text)
    if data is None:
        return None
    if declared_type is not None:
        return _checked(described(data, "base64"), declared_type)
    return recognized(data, "base64") if len(text) >= _MIN_BASE64_LENGTH else None


def _data_url(text: str) -> DecoderResult | None:
    head = _DATA_URL.match(text)
    data = _bytes(text[head.end() :]) if head is not None else None
    return None if head is None or data is None else _checked(described(data, "data URL"), head[1])


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


def _checked(found: DecoderResult, declared_type: str) -> DecoderResult:
    """Add a note if the bytes are of another type than declared."""
    declared = declared_type.partition(";")[0].strip().lower()
    if not declared or not found.mime_type:
        return replace(found, mime_type=found.mime_type or declared)
    if found.mime_type == declared or {found.mime_type, declared} in _ALIASES:
        return found
    note = f"It is declared as {declared}, but its bytes are {found.mime_type}."
    return replace(found, note=f"{note} {found.note}".strip())


def _json_parts(text: str) -> Iterator[DecoderResult]:
    """Yield the object or array that a text is, or those in its code fences."""
    bare = _json(text, "JSON")
    if bare is not None:
        yield bare
        return
    for block in islice(_fenced(text), _MAX_FENCES):
        found = _json(block, "code block › JSON")
        if found is not None:
            yield found


def _fenced(text: str) -> Iterator[str]:
    position = 0
    while (begin := _FENCE.search(text, position)) is not None:
        end = _FENCE_END.search(text, begin.end())
        if end is None:
            return
        yield text[begin.end() : end.start()]
        position = end.end()


def _json(text: str, step: str) -> DecoderResult | None:
    bare = text.strip()
    if not bare or bare[0] + bare[-1] not in ("{}", "[]") or len(bare) < 4:
        return None
    try:
        value: JSON = parse(bare)
    except JSONError:
        return None
    if not value:
        return None
    shown = reindent(bare, MAX_TEXT_SIZE)
    cut = f"Only the first {MAX_TEXT_SIZE:,} characters are shown." if len(shown) > MAX_TEXT_SIZE else ""
    title = "JSON object" if isinstance(value, dict) else "JSON array"
    return DecoderResult(
        step,
        DecodingKind.JSON,
        title,
        shown[:MAX_TEXT_SIZE],
        mime_type="application/json",
        note=cut,
        inside=value,
    )


def _tokens(text: str) -> Iterator[DecoderResult]:
    """Yield the tokens in a text, a few at most."""
    if "eyJ" not in text:
        return
    for count, match in enumerate(_TOKEN.finditer(text)):
        header, claims = read_part(match[1]), read_part(match[2])
        if header is not None and claims is not None and ("alg" in header or "typ" in header):
            yield _token(header, claims, is_signed=bool(match[3]))
        if count + 1 == _MAX_TOKENS:
            return


def _token(header: JSONObject, claims: JSONObject, *, is_signed: bool) -> DecoderResult:
    pieces = ["Header", pretty(header), "", "Claims", pretty(claims)]
    times = [*_times(claims)]
    pieces += ["", "Times", *times] if times else []
    return DecoderResult(
        "JWT",
        DecodingKind.JWT,
        "JSON Web Token",
        "\n".join(pieces),
        mime_type="application/jwt",
        note=_NOT_VERIFIED if is_signed else "It is not signed: anyone could have written it.",
        is_secret=True,
        inside=claims,
    )


def _times(claims: JSONObject) -> Iterator[str]:
    for name, meaning, moment in times_of(claims):
        when = f"{moment:%Y-%m-%d %H:%M:%S} UTC" if moment is not None else "at an invalid time"
        yield f"{name}: {meaning} {when}"


def _url(text: str) -> DecoderResult | None:
    """Decode a URL's query, one parameter per line, or a percent-encoded text."""
    if len(text) > _MAX_URL_LENGTH or ("%" not in text and "?" not in text):
        return None
    if _URL.fullmatch(text) and "?" in text:
        return _query(text)
    if len(_PERCENT.findall(text)) < 2 or " " in text:
        return None
    plain = readable(unquote_to_bytes(text))
    return (
        DecoderResult("percent", DecodingKind.TEXT, "Percent-encoded text", plain, inside=plain)
        if plain
        else None
    )


def _query(text: str) -> DecoderResult | None:
    try:
        parts = urlsplit(text)
        parameters = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return None
    if not any(value for _, value in parameters):
        return None
    base = unquote(f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else parts.path)
    lines = [base, *(f"  {name} = {value}" for name, value in parameters)]
    if parts.fragment:
        lines.append(f"  # {unquote(parts.fragment)}")
    return DecoderResult(
        "URL",
        DecodingKind.URL,
        "URL with parameters",
        "\n".join(lines),
        is_secret=any(is_secret_name(name) and bool(value) for name, value in parameters),
        inside=dict(parameters),
    )
