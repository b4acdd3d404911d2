"""The secrets in traffic: found before an export, shown to the person, and masked alike everywhere.

Each different secret has one placeholder, such as `~secret-1-Authorization~`: only letters that may stand
anywhere in JSON, in a header and in a URL. A secret is masked where it was recognised, and, when it is
distinctive enough to be no coincidence, wherever else it turns up: an argument, a URL, an echo in a result,
also percent-encoded, in base64 or spelled with escapes. All other bytes stay as they are.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from urllib.parse import unquote_to_bytes

from inspector.traffic.export.bodies import Riders, riders_of_all
from inspector.traffic.export.finding import Hit, header_hits, is_distinctive
from inspector.traffic.export.levels import WINDOW, hits_at_all_levels
from inspector.traffic.export.spelling import in_json, spellings
from inspector.traffic.export.writing import Numbering
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import HttpExchange

_OVERLAP = 16 * 1024  # how far a credential may reach into the next window
_SLUG = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class SecretItem:
    """A secret in the list shown before an export."""

    placeholder: str
    where: str
    count: int
    hint: str  # its first characters and its length


class SecretsFound:
    """All distinct secrets, in order of first occurrence."""

    def __init__(self) -> None:
        self._placeholders: dict[bytes, str] = {}
        self._places: dict[bytes, str] = {}
        self._counts: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._placeholders)

    @property
    def items(self) -> tuple[SecretItem, ...]:
        return tuple(
            SecretItem(placeholder, self._places[value], self._counts[value], _hint(value))
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
            self._places[hit.value] = hit.place
            self._counts[hit.value] = 0
        self._counts[hit.value] += 1
        for password in _basic_passwords(hit):
            self.add(Hit(0, 0, password, "password", f"password in {hit.place}"))


class SecretScan:
    """Scans rows, and everything carried by their HTTP exchanges, for secrets.

    A HAR contains each exchange whole. `steps` does the work; `found` grows with it.
    """

    def __init__(self, log: TrafficLog, rows: Iterable[int]) -> None:
        self.found = SecretsFound()
        self._log = log
        self._numbering = Numbering(rows)
        self._exchanges: set[int] = set()
        self._riders: dict[int, Riders] | None = None  # computed for the first exchange
        self._credentials = _spelled_credentials(log)

    def steps(self) -> Iterator[int]:
        """Do the work; yield the number of rows scanned, once per row and per window of a long one."""
        for done, row in enumerate(self._numbering.rows, 1):
            for _ in chain(self._body(self._log.raw(row)), self._exchange(row)):
                yield done - 1
            yield done

    def _body(self, raw: bytes) -> Iterator[None]:
        for start in range(0, len(raw) or 1, WINDOW):
            for hit in hits_at_all_levels(raw, start, start + WINDOW):
                self.found.add(hit)
            self._credentials_in(raw[start : start + WINDOW + _OVERLAP])
            yield

    def _credentials_in(self, text: bytes) -> None:
        for spelled, hit in self._credentials.items():
            if spelled in text and not self.found.knows(hit.value):
                self.found.add(hit)

    def _text(self, text: str) -> None:
        for hit in hits_at_all_levels(encoded(text), 0, len(text) * 4):
            self.found.add(hit)

    def _exchange(self, row: int) -> Iterator[None]:
        number, exchange = self._log.exchange(row), self._log.http(row)
        number = row if number is None else number
        if exchange is None or number in self._exchanges:
            return
        self._exchanges.add(number)
        self._head(exchange)
        yield from self._body(exchange.body)
        for rider in self._unasked_riders(number):
            yield from self._body(self._log.raw(rider))

    def _head(self, exchange: HttpExchange) -> None:
        for name, value in chain(exchange.request_headers, exchange.response_headers):
            for hit in _distinct(header_hits(name, encoded(value))):
                self.found.add(hit)
        self._text(exchange.url)
        self._text(exchange.error)
        headers = chain(exchange.request_headers, exchange.response_headers)
        for text in (exchange.url, exchange.error, *(value for _, value in headers)):
            self._credentials_in(encoded(text))

    def _unasked_riders(self, exchange: int) -> list[int]:
        """Return the rows carried by an exchange that are not scanned anyway."""
        if self._riders is None:
            self._riders = riders_of_all(self._log)
        riders = self._riders.get(exchange, Riders())
        return [row for row in (*riders.sent, *riders.received) if self._numbering.of(row) is None]


def _spelled_credentials(log: TrafficLog) -> dict[bytes, Hit]:
    """Return the credentials in use, in every spelling."""
    return {
        spelled: Hit(0, 0, value, name, "credential in use")
        for value, name in log.credentials.names().items()
        if is_distinctive(value)
        for spelled in (*spellings(value), *in_json(value))
    }


def find_secrets(log: TrafficLog, rows: Iterable[int]) -> SecretsFound:
    """Scan a few rows at once."""
    scan = SecretScan(log, rows)
    for _ in scan.steps():
        pass
    return scan.found


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Remove duplicates: a place may match by the header's name and by its format."""
    places: dict[tuple[int, int], Hit] = {}
    for hit in hits:
        places.setdefault((hit.start, hit.end), hit)
    return list(places.values())


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
    """Inverse of `encoded`. Masking a binary secret may have split a character."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode(errors="replace")
