"""Masking of secrets in exports: scan, the list shown to the user, and replacement.

Each distinct secret has one placeholder, such as `~secret-1-Authorization~`, of characters that are valid
in JSON, headers and URLs. A secret is masked where it was recognized and, if it is distinctive enough,
wherever else it occurs: in an argument, a URL or an echo in a result, also percent-encoded, in base64 or
escaped. All other bytes stay unchanged.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias
from urllib.parse import unquote_to_bytes

from inspector.base.redaction import MASK
from inspector.traffic.export.writer import CarriedMessages, Numbering, carried_by_exchange
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.literals import Literals
from inspector.traffic.masking.secret_scan import (
    WINDOW,
    Hit,
    header_hits,
    hits,
    hits_at_all_levels,
    in_json,
    is_distinctive,
    levels,
    spellings,
)
from inspector.traffic.records import HttpExchange

_OVERLAP = 16 * 1024  # how far a credential may reach into the next window
_SLUG = re.compile(r"[^A-Za-z0-9]+")

_MAX_CACHED_LENGTH = 200
_MAX_CACHED_TEXTS = 4096

_Headers: TypeAlias = tuple[tuple[str, str], ...]
_Span: TypeAlias = tuple[int, int, str]  # start, end, placeholder
_Find: TypeAlias = Callable[[bytes, int, int], Iterable[Hit]]


class Masker:
    """Replaces secrets with placeholders, except for those that the user excluded."""

    def __init__(self, found: FoundSecrets, excluded: Collection[str] = ()) -> None:
        self._placeholders = {
            value: placeholder for value, placeholder in found.values().items() if placeholder not in excluded
        }
        self.items = tuple(item for item in found.items if item.placeholder not in excluded)
        distinctive = {value: name for value, name in self._placeholders.items() if is_distinctive(value)}
        # A value with a quote in it could span two JSON strings: it is only searched where quotes are
        # distinguishable, which is after resolving escapes, and in what is not JSON.
        self._plain = Literals(_spellings({v: name for v, name in distinctive.items() if b'"' not in v}))
        self._texts: dict[str, str] = {}  # method and server names recur in every row
        self._quoted = Literals(_spellings({v: name for v, name in distinctive.items() if b'"' in v}))

    def text(self, text: str) -> str:
        if not self._placeholders or not text:
            return text
        known = self._texts.get(text)
        if known is None:
            known = decoded(self.body(encoded(text)))
            if len(text) <= _MAX_CACHED_LENGTH and len(self._texts) < _MAX_CACHED_TEXTS:
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
        return exchange._replace(
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


def masked_excerpt(raw: bytes) -> bytes:
    """Mask a short text for display: what is recognizable as a secret on its own."""
    spans = [
        (origin(hit.start), origin(hit.end), MASK)
        for data, first, last, origin in levels(raw, 0, len(raw))
        for hit in hits(data, first, last)
    ]
    return _replaced(raw, 0, len(raw), sorted(spans, key=lambda span: (span[0], -span[1])))[0]


def find_secrets(log: TrafficLog, rows: Iterable[int]) -> FoundSecrets:
    """Scan a few rows at once."""
    scan = SecretScan(log, rows)
    for _ in scan.steps():
        pass
    return scan.found


class SecretScan:
    """Scans rows, and everything carried by their HTTP exchanges, for secrets.

    A HAR contains each exchange whole. `steps` does the work; `found` grows with it.
    """

    def __init__(self, log: TrafficLog, rows: Iterable[int]) -> None:
        self.found = FoundSecrets()
        self._log = log
        self._numbering = Numbering(rows)
        self._exchanges: set[int] = set()
        self._carried: dict[int, CarriedMessages] | None = None  # computed for the first exchange
        self._credentials = _spelled_credentials(log)
        self._spellings = Literals(dict.fromkeys(self._credentials, ""))

    def steps(self) -> Iterator[int]:
        """Do the work; yield the number of rows scanned, once per row and per window of a long one."""
        for done, row in enumerate(self._numbering.rows, 1):
            for _ in chain(self._body(self._log.readable_raw(row) or b""), self._exchange(row)):
                yield done - 1
            yield done

    def _body(self, raw: bytes) -> Iterator[None]:
        for start in range(0, len(raw) or 1, WINDOW):
            for hit in hits_at_all_levels(raw, start, start + WINDOW):
                self.found.add(hit)
            self._credentials_in(raw[start : start + WINDOW + _OVERLAP])
            yield

    def _credentials_in(self, text: bytes) -> None:
        for spelled in self._spellings.found_in(text):
            hit = self._credentials[spelled]
            if not self.found.knows(hit.value):
                self.found.add(hit)

    def _text(self, text: str) -> None:
        for hit in hits_at_all_levels(encoded(text), 0, len(text) * 4):
            self.found.add(hit)

    def _exchange(self, row: int) -> Iterator[None]:
        number, exchange = self._log.exchange(row), self._log.readable_http(row)
        number = row if number is None else number
        if exchange is None or number in self._exchanges:
            return
        self._exchanges.add(number)
        self._head(exchange)
        yield from self._body(exchange.body)
        for carried in self._carried_outside(number):
            yield from self._body(self._log.readable_raw(carried) or b"")

    def _head(self, exchange: HttpExchange) -> None:
        for name, value in chain(exchange.request_headers, exchange.response_headers):
            for hit in _distinct(header_hits(name, encoded(value))):
                self.found.add(hit)
        self._text(exchange.url)
        self._text(exchange.error)
        headers = chain(exchange.request_headers, exchange.response_headers)
        for text in (exchange.url, exchange.error, *(value for _, value in headers)):
            self._credentials_in(encoded(text))

    def _carried_outside(self, exchange: int) -> list[int]:
        """Return the rows carried by an exchange that are not scanned anyway."""
        if self._carried is None:
            self._carried = carried_by_exchange(self._log)
        carried = self._carried.get(exchange, CarriedMessages())
        return [row for row in (*carried.sent, *carried.received) if self._numbering.of(row) is None]


def _spelled_credentials(log: TrafficLog) -> dict[bytes, Hit]:
    """Return the credentials in use, in every spelling."""
    return {
        spelled: Hit(0, 0, value, name, "credential in use")
        for value, name in log.credentials.names_by_value().items()
        if is_distinctive(value)
        for spelled in (*spellings(value), *in_json(value))
    }


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Remove duplicates: a place may match by the header's name and by its format."""
    positions: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        positions.setdefault((hit.start, hit.end), hit)
    return list(positions.values())


class FoundSecrets:
    """All distinct secrets that a scan found, in order of first occurrence."""

    def __init__(self) -> None:
        self._placeholders: dict[bytes, str] = {}
        self._locations: dict[bytes, str] = {}
        self._counts: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._placeholders)

    @property
    def items(self) -> tuple[SecretItem, ...]:
        return tuple(
            SecretItem(placeholder, self._locations[value], self._counts[value], _hint(value))
            for value, placeholder in self._placeholders.items()
        )

    def values(self) -> dict[bytes, str]:
        """Return each secret with its placeholder."""
        return dict(self._placeholders)

    def knows(self, value: bytes) -> bool:
        return value in self._placeholders

    def add(self, hit: Hit) -> None:
        if hit.value not in self._placeholders:
            self._placeholders[hit.value] = f"~secret-{len(self._placeholders) + 1}-{slug(hit.name)}~"
            self._locations[hit.value] = hit.location
            self._counts[hit.value] = 0
        self._counts[hit.value] += 1
        for password in _basic_passwords(hit):
            self.add(Hit(0, 0, password, "password", f"password in {hit.location}"))


@dataclass(frozen=True, slots=True)
class SecretItem:
    """A secret in the list shown before an export."""

    placeholder: str
    where: str
    count: int
    hint: str  # its first characters and its length


def _basic_passwords(hit: Hit) -> set[bytes]:
    """Return the passwords in `Authorization: Basic`, also form-decoded, as OAuth encodes them."""
    if hit.name.lower() not in ("authorization", "proxy-authorization"):
        return set()
    try:
        password = base64.b64decode(hit.value, validate=True).partition(b":")[2]
    except binascii.Error:
        return set()
    return {password, unquote_to_bytes(password.replace(b"+", b" "))} - {b""}


def slug(name: str) -> str:
    """Return the name of a secret as used in its placeholder."""
    return _SLUG.sub("-", name).strip("-")[:40] or "value"


def _hint(value: bytes) -> str:
    text = value.decode(errors="replace")
    return f"{text[: min(3, len(text) // 4)]}… ({len(text)} characters)"


def encoded(text: str) -> bytes:
    """Encode any text, including lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def decoded(raw: bytes) -> str:
    """Inverse of `encoded`. Masker a binary secret may have split a character."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode(errors="replace")


NO_MASKING = Masker(FoundSecrets())
