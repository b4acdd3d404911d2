"""Puts placeholders where secrets stand; all other bytes stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from inspector.base.redact import MASK
from inspector.traffic.export.finding import Hit, header_hits, hits, is_distinctive
from inspector.traffic.export.levels import WINDOW, levels
from inspector.traffic.export.literals import Literals
from inspector.traffic.export.secrets import SecretsFound, decoded, encoded
from inspector.traffic.export.spelling import spellings
from inspector.traffic.records import HttpExchange

_Headers: TypeAlias = tuple[tuple[str, str], ...]
_Span: TypeAlias = tuple[int, int, str]  # start, end, placeholder
_Find: TypeAlias = Callable[[bytes, int, int], Iterable[Hit]]

_SHORT = 200
_REMEMBERED = 4096


class Masking:
    """Replaces secrets with placeholders, except for those that the user excluded."""

    def __init__(self, found: SecretsFound, kept_out: Collection[str] = ()) -> None:
        self._placeholders = {
            value: placeholder for value, placeholder in found.values().items() if placeholder not in kept_out
        }
        self.items = tuple(item for item in found.items if item.placeholder not in kept_out)
        everywhere = {value: name for value, name in self._placeholders.items() if is_distinctive(value)}
        # A value with a quote in it could span two JSON strings: it is only searched where quotes are
        # distinguishable, which is after resolving escapes, and in what is not JSON.
        self._plain = Literals(_spellings({v: name for v, name in everywhere.items() if b'"' not in v}))
        self._texts: dict[str, str] = {}  # method and server names recur in every row
        self._quoted = Literals(_spellings({v: name for v, name in everywhere.items() if b'"' in v}))

    def text(self, text: str) -> str:
        if not self._placeholders or not text:
            return text
        known = self._texts.get(text)
        if known is None:
            known = decoded(self.body(encoded(text)))
            if len(text) <= _SHORT and len(self._texts) < _REMEMBERED:
                self._texts[text] = known
        return known

    def body(self, raw: bytes) -> bytes:
        return b"".join(self.pieces(raw))

    def pieces(self, raw: bytes) -> Iterator[bytes]:
        """Yield the masked text window by window, so that the caller can do other work in between."""
        if not self._placeholders:
            yield raw
            return
        done = 0
        for start in range(0, len(raw), WINDOW):
            stop = min(start + WINDOW, len(raw))
            spans = self._spans(raw, start, stop, hits)
            piece, done = _replaced(raw, done, stop, spans)
            yield piece

    def headers(self, headers: _Headers) -> _Headers:
        return tuple((name, self._header(name, value)) for name, value in headers)

    def exchange(self, exchange: HttpExchange) -> HttpExchange:
        return replace(
            exchange,
            url=self.text(exchange.url),
            request_headers=self.headers(exchange.request_headers),
            response_headers=self.headers(exchange.response_headers),
            error=self.text(exchange.error),
            body=self.body(exchange.body),
        )

    def _header(self, name: str, value: str) -> str:
        raw = encoded(value)

        def find(data: bytes, start: int, stop: int) -> Iterator[Hit]:
            return header_hits(name, data)

        return decoded(_replaced(raw, 0, len(raw), self._spans(raw, 0, len(raw), find))[0])

    def _spans(self, raw: bytes, start: int, stop: int, find: _Find) -> list[_Span]:
        is_json = raw[:64].lstrip()[:1] in (b"{", b"[", b'"')
        spans: list[_Span] = []
        for data, first, last, origin in levels(raw, start, stop):
            is_raw = data is raw
            found = (
                (hit.start, hit.end, self._placeholders[hit.value])
                for hit in (find if is_raw else hits)(data, first, last)
                if hit.value in self._placeholders
            )
            quoted = () if is_raw and is_json else self._quoted.spans(data, first, last)
            for begin, end, name in chain(found, self._plain.spans(data, first, last), quoted):
                spans.append((origin(begin), origin(end), name))
        return sorted(spans, key=lambda span: (span[0], -span[1]))


def masked_alone(raw: bytes) -> bytes:
    """Mask a short text for display: what is recognizable as a secret on its own."""
    spans = [
        (origin(hit.start), origin(hit.end), MASK)
        for data, first, last, origin in levels(raw, 0, len(raw))
        for hit in hits(data, first, last)
    ]
    return _replaced(raw, 0, len(raw), sorted(spans, key=lambda span: (span[0], -span[1])))[0]


def _replaced(raw: bytes, done: int, stop: int, spans: list[_Span]) -> tuple[bytes, int]:
    """Replace spans between `done` and `stop`; return the text and where to continue.

    A secret may reach beyond `stop`.
    """
    pieces: list[bytes] = []
    for begin, end, placeholder in spans:
        if begin >= done:
            pieces += (raw[done:begin], placeholder.encode())
        # A span that overlaps another is covered by the first one's placeholder.
        done = max(done, end)
    if done < stop:
        pieces.append(raw[done:stop])
        done = stop
    return b"".join(pieces), done


def _spellings(secrets: dict[bytes, str]) -> dict[bytes, str]:
    spelled: dict[bytes, str] = {}
    for value, placeholder in secrets.items():
        for spelling in spellings(value):
            spelled.setdefault(spelling, placeholder)
    return spelled


NO_MASKING = Masking(SecretsFound())
