"""The bytes of a row, read as far as they are needed."""

from __future__ import annotations

from inspector.base.jsonvalue import JSONProblem, parse
from inspector.traffic.export.masking import masked_alone
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

# Read and parsed immediately, without a noticeable delay. Larger ones are done elsewhere.
SMALL = 32 * 1024
_SLICE = 1024 * 1024


class RowBody:
    """A row's bytes as a `Body`, read on demand from memory or disk."""

    def __init__(self, log: TrafficLog, row: int) -> None:
        self._log = log
        self._row = row
        self._length = log.kept(row)

    def __len__(self) -> int:
        return self._length

    def part(self, start: int, length: int) -> bytes:
        return self._log.part(self._row, start, length)

    @property
    def is_small(self) -> bool:
        return self._length <= SMALL

    async def read(self) -> bytes:
        """Read everything, yielding to the window in between: it may come from disk."""
        import asyncio

        pieces: list[bytes] = []
        for start in range(0, self._length, _SLICE):
            pieces.append(self.part(start, _SLICE))
            await asyncio.sleep(0)
        return b"".join(pieces)


class MaskedBody(RowBody):
    """A login's request without its secrets: the log has them, but screens are often shared."""

    def __init__(self, log: TrafficLog, row: int) -> None:
        super().__init__(log, row)
        raw = log.raw(row)  # a form, which is always short
        self._masked = masked_alone(raw)
        self._length = len(self._masked)
        self.has_secrets = self._masked != raw

    def part(self, start: int, length: int) -> bytes:
        return self._masked[start : start + length]


def holds_json(log: TrafficLog, row: int, body: RowBody) -> bool:
    """Return whether to offer JSON. Of frames that are no messages, only small ones are parsed."""
    kind = log.kind(row)
    if kind < RecordKind.INVALID:
        return True
    if kind > RecordKind.TEXT or body.part(0, 64).lstrip()[:1] not in (b"{", b"[", b'"'):
        return False
    if not body.is_small:
        return kind == RecordKind.INVALID
    try:
        parse(body.part(0, len(body)).decode(errors="replace").removeprefix("\ufeff"))
    except JSONProblem as exc:
        return exc.is_too_deep
    return True
