"""JSON inside a text, bare or in a Markdown code fence; URLs and percent-encoded texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import parse_qsl, unquote, unquote_to_bytes, urlsplit

from inspector.base.jsonpretty import reindent
from inspector.base.jsonvalue import JSON, JSONProblem, parse
from inspector.base.redact import is_secret_name
from inspector.traffic.decode.decoding import DecodingKind, Found
from inspector.traffic.decode.files import MOST_TEXT, readable

_FENCE = re.compile(r"^ {0,3}```[ \t]*[\w+-]{0,20}[ \t]*\n", re.MULTILINE)
_FENCE_END = re.compile(r"^ {0,3}```[ \t]*$", re.MULTILINE)
_MOST_FENCES = 5
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}:[^\s<>\"]{1,8000}", re.ASCII)
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_LONGEST_URL = 8_000
_MOST_PARAMETERS = 200


def json_in(text: str) -> Iterator[Found]:
    """Yield the object or array that a text is, or those in its code fences."""
    bare = _json(text, "JSON")
    if bare is not None:
        yield bare
        return
    for block in islice(_fenced(text), _MOST_FENCES):
        found = _json(block, "code block › JSON")
        if found is not None:
            yield found


def _fenced(text: str) -> Iterator[str]:
    place = 0
    while (begin := _FENCE.search(text, place)) is not None:
        end = _FENCE_END.search(text, begin.end())
        if end is None:
            return
        yield text[begin.end() : end.start()]
        place = end.end()


def _json(text: str, step: str) -> Found | None:
    bare = text.strip()
    if not bare or bare[0] + bare[-1] not in ("{}", "[]") or len(bare) < 4:
        return None
    try:
        value: JSON = parse(bare)
    except JSONProblem:
        return None
    if not value:
        return None
    shown = reindent(bare, MOST_TEXT)
    cut = f"Only the first {MOST_TEXT:,} characters are shown." if len(shown) > MOST_TEXT else ""
    title = "JSON object" if isinstance(value, dict) else "JSON array"
    return Found(
        step,
        DecodingKind.JSON,
        title,
        shown[:MOST_TEXT],
        mime_type="application/json",
        note=cut,
        inside=value,
    )


def url_in(text: str) -> Found | None:
    """Decode a URL's query, one parameter per line, or a percent-encoded text."""
    if len(text) > _LONGEST_URL or ("%" not in text and "?" not in text):
        return None
    if _URL.fullmatch(text) and "?" in text:
        return _query(text)
    if len(_PERCENT.findall(text)) < 2 or " " in text:
        return None
    plain = readable(unquote_to_bytes(text))
    return Found("percent", DecodingKind.TEXT, "Percent-encoded text", plain, inside=plain) if plain else None


def _query(text: str) -> Found | None:
    try:
        parts = urlsplit(text)
        parameters = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        return None
    if not any(value for _, value in parameters):
        return None
    address = unquote(f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else parts.path)
    lines = [address, *(f"  {name} = {value}" for name, value in parameters)]
    if parts.fragment:
        lines.append(f"  # {unquote(parts.fragment)}")
    return Found(
        "URL",
        DecodingKind.URL,
        "URL with its parameters",
        "\n".join(lines),
        is_secret=any(is_secret_name(name) and bool(value) for name, value in parameters),
        inside=dict(parameters),
    )
