"""Masking of secrets in capture files, reversible only in the process that recorded them.

Files are copied, sent and forgotten, so nothing in them may grant access. Secrets of logins and HTTP
exchanges are masked where their name or format identifies them, and our credentials in use wherever they
occur. Everything else is written byte for byte, because messages are what a debugger is for.

Each spelling of a secret has its own placeholder, such as `~secret-1-Authorization~`, so that an exchange
released from memory can be restored exactly. The mapping is kept only here, in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from inspector.base.redaction import Secrecy, secrecy
from inspector.traffic.credentials import Credentials
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.literals import Literals
from inspector.traffic.masking.masker import decoded, encoded, slug
from inspector.traffic.masking.secret_scan import (
    WINDOW,
    Hit,
    header_hits,
    hits,
    in_json,
    is_distinctive,
    levels,
    spellings,
)
from inspector.traffic.records import HttpExchange, RecordKind

_Find: TypeAlias = Callable[[bytes, int, int], Iterable[Hit]]

# Rows that MCP Lens wrote itself, and what logins send.
_OURS = re.compile(
    b"[%s]" % bytes((RecordKind.LOGIN, RecordKind.PROCESS, RecordKind.STATE, RecordKind.LOCAL))
)
_MARK = "~secret-"
_PLACEHOLDER = re.compile(rb"~secret-\d+-[\w-]*~")
_SEARCHED_BYTES = 256 * 1024  # bytes searched at a time, holding the GIL
_MAX_RESTORABLE = 20_000  # secrets: DPoP proofs differ every time
_MAX_CACHED_HEADERS = 4096
_MAX_CACHED_LENGTH = 16 * 1024


class AtRestMasker:
    """Masks secrets in one recording.

    Only one thread may mask at a time; any thread may restore.
    """

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._version = -1
        self._spellings: dict[bytes, tuple[bytes, ...]] = {}  # by value
        self._spelled: dict[bytes, tuple[bytes, str]] = {}  # by spelling: value and name
        self._literals = Literals({})
        self._max_length = 0
        self._numbers: dict[bytes, int] = {}
        self._placeholders: dict[bytes, bytes] = {}  # by original
        self._originals: dict[bytes, bytes] = {}
        self._masked_headers: dict[tuple[str, str], str] = {}  # headers recur with every exchange

    def rows(self, log: TrafficLog, first: int, last: int) -> dict[int, bytes]:
        """Return the rows of this range (in memory) that need masking, with their masked bytes."""
        self._update_credentials()
        masked: dict[int, bytes] = {}
        for match in _OURS.finditer(log.columns.kind[first:last].tobytes()):
            row = first + match.start()
            raw = _raw(log, row)
            if (text := self._masked(raw, hits)) != raw:
                masked[row] = text
        if self._spelled:
            for row in self._rows_with_credentials(log, first, last):
                if row not in masked:
                    masked[row] = self._without_credentials(_raw(log, row))
        return masked

    def _rows_with_credentials(self, log: TrafficLog, first: int, last: int) -> Iterator[int]:
        """Yield rows with credentials.

        Rows are searched in blocks: most have none, and one large search is far cheaper than many.
        """
        start, size = first, 0
        for row, kept in enumerate(log.columns.kept[first:last], first):
            size += kept
            if size < _SEARCHED_BYTES and row + 1 < last:
                continue
            raws: list[bytes] = log.in_memory(start, row + 1)  # type: ignore[assignment]
            if len(raws) == 1 or self._has_credential(b"".join(raws)):
                yield from (each for each, raw in enumerate(raws, start) if self._has_credential(raw))
            start, size = row + 1, 0

    def _has_credential(self, data: bytes) -> bool:
        if len(data) <= 2 * _SEARCHED_BYTES:
            return bool(self._literals.found_in(data))
        return any(
            self._has_credential(data[start : start + _SEARCHED_BYTES + self._max_length])
            for start in range(0, len(data), _SEARCHED_BYTES)
        )

    def _without_credentials(self, raw: bytes) -> bytes:
        if not self._spelled:
            return raw
        return self._replaced(raw, self._known(raw, 0, len(raw)))

    def exchange(self, exchange: HttpExchange) -> HttpExchange:
        """Return an exchange as it is to be written."""
        self._update_credentials()
        return exchange._replace(
            url=self._text("", exchange.url),
            request_headers=tuple(
                (name, self._text(name, value)) for name, value in exchange.request_headers
            ),
            response_headers=tuple(
                (name, self._text(name, value)) for name, value in exchange.response_headers
            ),
            error=self._text("", exchange.error),
            body=self._masked(exchange.body, hits) if exchange.body else b"",
        )

    def text(self, text: str) -> str:
        """Mask our credentials, and nothing else, in strings of messages that rows refer to."""
        self._update_credentials()
        return decoded(self._without_credentials(encoded(text))) if self._spelled else text

    def any_text(self, raw: bytes) -> bytes:
        """Mask text that is not part of a message: everything recognizable as a secret."""
        self._update_credentials()
        return self._masked(raw, hits)

    def _text(self, header: str, text: str) -> str:
        """Mask a header value; without a header name, a URL or a sentence."""
        if (
            text.isdigit()
            and secrecy(header) is Secrecy.NONE
            and not self._credentials.is_secret_header(header)
        ):
            return text  # a length, different in every exchange
        known = self._masked_headers.get((header, text))
        if known is None:
            raw = encoded(text)
            is_secret = self._credentials.is_secret_header(header)

            def find(data: bytes, start: int, stop: int) -> Iterator[Hit]:
                if is_secret and data is raw:
                    yield Hit(0, len(raw), raw, header, "")
                yield from header_hits(header, data) if header and data is raw else hits(data, start, stop)

            known = decoded(self._masked(raw, find))
            if len(text) <= _MAX_CACHED_LENGTH:
                if len(self._masked_headers) >= _MAX_CACHED_HEADERS:
                    self._masked_headers.clear()
                self._masked_headers[header, text] = known
        return known

    def can_restore(self, exchange: HttpExchange) -> bool:
        """True if an exchange can be restored: it holds no text that looks like a placeholder."""
        headers = (*exchange.request_headers, *exchange.response_headers)
        texts = (exchange.url, exchange.error, *(value for _, value in headers))
        return not any(_MARK in text for text in texts) and _MARK.encode() not in exchange.body

    def restored(self, exchange: HttpExchange) -> HttpExchange:
        """Return an exchange as it was before it was written."""
        return exchange._replace(
            url=self._restored_text(exchange.url),
            request_headers=tuple(
                (name, self._restored_text(text)) for name, text in exchange.request_headers
            ),
            response_headers=tuple(
                (name, self._restored_text(text)) for name, text in exchange.response_headers
            ),
            error=self._restored_text(exchange.error),
            body=self._restored(exchange.body),
        )

    def _restored_text(self, text: str) -> str:
        return decoded(self._restored(encoded(text))) if _MARK in text else text

    def _restored(self, raw: bytes) -> bytes:
        return _PLACEHOLDER.sub(lambda found: self._originals.get(found[0], found[0]), raw)

    def _update_credentials(self) -> None:
        version = self._credentials.version
        if version == self._version:
            return
        self._version = version
        self._masked_headers.clear()
        # An everyday word is no less secret, but masking it would make messages unreadable.
        known = {
            value: name for value, name in self._credentials.names_by_value().items() if is_distinctive(value)
        }
        self._spellings = {
            value: self._spellings.get(value) or (*spellings(value), *in_json(value)) for value in known
        }
        self._spelled = {
            spelled: (value, name) for value, name in known.items() for spelled in self._spellings[value]
        }
        self._literals = Literals(dict.fromkeys(self._spelled, ""))
        self._max_length = max(map(len, self._spelled), default=0)

    def _masked(self, raw: bytes, find: _Find) -> bytes:
        """Mask everything that is a secret by its name, its format, or because it is known."""
        found = list(self._known(raw, 0, len(raw)))
        for start in range(0, len(raw), WINDOW):
            for data, first, last, origin in levels(raw, start, min(start + WINDOW, len(raw))):
                for hit in find(data, first, last):
                    found.append((origin(hit.start), origin(hit.end), hit.value, hit.name))
        return self._replaced(raw, found)

    def _known(self, raw: bytes, start: int, stop: int) -> Iterator[tuple[int, int, bytes, str]]:
        for begin, end, _ in self._literals.spans(raw, start, stop):
            yield begin, end, *self._spelled[raw[begin:end]]

    def _replaced(self, raw: bytes, found: Iterable[tuple[int, int, bytes, str]]) -> bytes:
        pieces: list[bytes] = []
        done = 0
        for begin, end, value, name in _without_overlaps(found):
            pieces += (raw[done:begin], self._placeholder(raw[begin:end], value, name))
            done = end
        return b"".join((*pieces, raw[done:])) if pieces else raw

    def _placeholder(self, spelled: bytes, value: bytes, name: str) -> bytes:
        known = self._placeholders.get(spelled)
        if known is not None:
            return known
        if len(self._placeholders) >= _MAX_RESTORABLE:
            return b"~secret-0-%s~" % slug(name).encode()
        number = self._numbers.setdefault(value, len(self._numbers) + 1)
        made = b"~secret-%d-%s~" % (number, slug(name).encode())
        spelling = 2
        while made in self._originals:  # the same secret in another spelling
            made = b"~secret-%d-%s-as-%d~" % (number, slug(name).encode(), spelling)
            spelling += 1
        self._placeholders[spelled] = made
        self._originals[made] = spelled
        return made


def without_secrets(text: bytes, credentials: Credentials | None = None) -> bytes:
    """Mask any text that is written to a file, such as an error report."""
    return AtRestMasker(credentials or Credentials()).any_text(text)


def _raw(log: TrafficLog, row: int) -> bytes:
    return log.in_memory(row, row + 1)[0] or b""


def _without_overlaps(found: Iterable[tuple[int, int, bytes, str]]) -> Iterator[tuple[int, int, bytes, str]]:
    """Yield the spans in order; overlapping ones as one, under the first one's name."""
    current: tuple[int, int, bytes, str] | None = None
    for begin, end, value, name in sorted(found, key=lambda span: (span[0], -span[1])):
        if current is None or begin >= current[1]:
            if current is not None:
                yield current
            current = begin, end, value, name
        elif end > current[1]:
            current = current[0], end, *current[2:]
    if current is not None:
        yield current
