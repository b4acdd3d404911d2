"""Incremental writer: brings a capture file up to date with new and changed rows of a log."""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TypeAlias

from inspector.traffic.captures import file_format
from inspector.traffic.captures.file_format import CHUNK_BYTES, OWN_CHUNK_BYTES, SEGMENT_ROWS
from inspector.traffic.columns import ID_OTHER, NO_LENGTHS, Origin
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.at_rest import AtRestMasker
from inspector.traffic.records import HttpExchange

_MAX_ROWS = 16 * 1024  # per transaction, so that a slow or failed one does not hold too much
_MAX_BYTES = 32 * 1024 * 1024

# By segment and masked row: the number of bytes in the file.
_Lengths: TypeAlias = dict[int, dict[int, int]]


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive rows whose bytes form one chunk."""

    first: int
    last: int  # exclusive
    size: int
    is_masked: bool = False  # a single row, whose bytes in the file are masked


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What one transaction wrote to the file."""

    runs: tuple[Run, ...]
    exchanges: dict[int, HttpExchange]
    size: int  # bytes of bodies and columns


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of a log the file has. Rows and chunks are numbered as in the log."""

    rows: int = 0
    chunks: int = 0
    touched: int = 0
    strings: int = 1  # number 0 is in every log
    servers: int = 0
    revisions: int = 1
    resent: dict[int, int] = field(default_factory=dict)
    lengths: _Lengths = field(default_factory=dict)


class LogWriter:
    """Writes a log to a capture file, from the row and chunk `origin` on.

    Not a thread, and used by one thread at a time. Fills the log's columns `chunk` and `offset`.
    """

    def __init__(
        self,
        log: TrafficLog,
        connection: sqlite3.Connection,
        at: Progress = Progress(),  # noqa: B008
        at_rest: AtRestMasker | None = None,
        origin: Origin = Origin(),  # noqa: B008
    ) -> None:
        self.at = at
        self.origin = origin
        self._at_rest = at_rest or AtRestMasker(log.credentials)
        self._log = log
        self._connection = connection
        self._exchanges: dict[int, HttpExchange] = {}  # as they are in the file

    def is_behind(self) -> bool:
        """True if rows, or changes to rows, are not in the file yet."""
        return self.at.rows < len(self._log) or self.at.touched < len(self._log.touched)

    def write(self, noted_rows: Collection[int] = ()) -> WriteResult:
        """Run one transaction: a batch of new rows, all changes, and the notes on these rows.

        Raises sqlite3.Error, and then neither the file nor this writer has changed.
        """
        # In this order: a row that changes while we look is in `touched` the next time.
        touched, published = len(self._log.touched), len(self._log)
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            written, at = self._write(touched, published, noted_rows)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            self.roll_back()
            raise
        self.at = at
        self._exchanges |= written.exchanges
        return written

    def write_changes(
        self, connection: sqlite3.Connection, changed: Collection[int], noted_rows: Collection[int]
    ) -> dict[int, HttpExchange]:
        """Update rows of a file that is complete; return the exchanges that it has now.

        The rows' whole segments must be in memory. Raises sqlite3.Error, and then nothing has changed.
        """
        self._connection = connection
        connection.execute("BEGIN IMMEDIATE")
        try:
            numbers = sorted({self._segment(row) for row in changed})
            file_format.put_segments(connection, self._packed(numbers, self.at.rows, self.at.lengths))
            exchanges = self._write_exchanges(self.at.rows)
            self._write_notes(noted_rows)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise
        self._exchanges |= exchanges
        return exchanges

    def forget(self, row: int) -> None:
        """Forget an exchange that the log has released."""
        self._exchanges.pop(row, None)

    def roll_back(self) -> None:
        """Remove the column entries of rows that are in no file."""
        columns = self._log.columns
        columns.chunk.truncate(self.at.rows)
        columns.offset.truncate(self.at.rows)

    def _write(
        self, touched: int, published: int, noted_rows: Collection[int]
    ) -> tuple[WriteResult, Progress]:
        log, at, connection = self._log, self.at, self._connection
        stop = self._stop(min(published, at.rows + _MAX_ROWS))
        masked = self._at_rest.rows(log, at.rows, stop)
        runs = self._runs(stop, masked)
        rows = runs[-1].last if runs else at.rows
        chunks = [
            (number, masked[run.first] if run.is_masked else self._joined(run))
            for number, run in enumerate(runs, at.chunks - self.origin.chunk)
        ]
        self._set_positions(runs)
        file_format.put_chunks(connection, chunks)
        lengths = self._with_lengths(at.lengths, masked) if masked else at.lengths
        segments = self._segments(rows, touched, lengths)
        file_format.put_segments(connection, segments)
        exchanges = self._write_exchanges(rows)
        self._write_other_ids(rows)
        self._write_notes(noted_rows)
        size = sum(run.size for run in runs) + sum(len(packed) for _, _, packed in segments)
        at = self._write_texts(rows, at.chunks + len(runs), touched, lengths)
        return WriteResult(tuple(runs), exchanges, size), at

    def _stop(self, end: int) -> int:
        """Return the end of the rows that fit into one transaction."""
        first = self.at.rows
        kept = self._log.columns.kept[first:end]
        return first + max(bisect_right(list(accumulate(kept)), _MAX_BYTES), 1) if kept else first

    def _runs(self, end: int, masked: Collection[int]) -> list[Run]:
        """Split the unwritten rows into chunks; large rows and masked rows get their own."""
        first = self.at.rows
        kept = self._log.columns.kept[first:end]
        ends = list(accumulate(kept))
        alone = {index for index, size in enumerate(kept) if size > OWN_CHUNK_BYTES}
        alone.update(row - first for row in masked)
        runs, start, before = [], 0, 0
        for index in (*sorted(alone), len(kept)):
            while start < index:
                cut = max(bisect_right(ends, before + CHUNK_BYTES, start, index), start + 1)
                runs.append(Run(first + start, first + cut, ends[cut - 1] - before))
                start, before = cut, ends[cut - 1]
            if index < len(kept):
                row = first + index
                runs.append(Run(row, row + 1, kept[index], is_masked=row in masked))
                start, before = index + 1, ends[index]
        return runs

    def _joined(self, run: Run) -> bytes:
        # Nothing is released before it is written, so there is no None among them.
        raws: list[bytes] = self._log.in_memory(run.first, run.last)  # type: ignore[assignment]
        return raws[0] if len(raws) == 1 else b"".join(raws)

    def _set_positions(self, runs: list[Run]) -> None:
        columns = self._log.columns
        for number, run in enumerate(runs, self.at.chunks):
            columns.chunk.extend(array("I", [number]) * (run.last - run.first))
            columns.offset.extend(array("I", accumulate(columns.kept[run.first : run.last - 1], initial=0)))

    def _segment(self, row: int) -> int:
        return (row - self.origin.row) // SEGMENT_ROWS

    def _segments(self, rows: int, touched: int, lengths: _Lengths) -> list[tuple[int, int, bytes]]:
        """Return the segments with new rows, and those with changes to rows already in the file."""
        old, first = self.at.rows, self.origin.row
        changed = self._log.touched[self.at.touched : touched]
        numbers = {self._segment(row) for row in changed if first <= row < old}
        if rows > old:
            numbers.update(range(self._segment(old), self._segment(rows - 1) + 1))
        return self._packed(sorted(numbers), rows, lengths)

    def _packed(self, numbers: Collection[int], rows: int, lengths: _Lengths) -> list[tuple[int, int, bytes]]:
        pack, origin = self._log.columns.pack, self.origin
        bounds = ((number, origin.row + number * SEGMENT_ROWS) for number in numbers)
        ranges = ((number, first, min(first + SEGMENT_ROWS, rows)) for number, first in bounds)
        return [
            (number, last - first, pack(first, last, lengths.get(number, NO_LENGTHS), origin))
            for number, first, last in ranges
        ]

    def _write_notes(self, rows: Collection[int]) -> None:
        if rows:
            mask, notes = self._at_rest.text, {row: self._log.note(row) for row in rows}
            masked = {
                row - self.origin.row: note._replace(comment=mask(note.comment))
                for row, note in notes.items()
            }
            file_format.put_notes(self._connection, masked)

    def _write_exchanges(self, rows: int) -> dict[int, HttpExchange]:
        known, first = self._exchanges, self.origin.row
        new = {
            row: exchange
            for row, exchange in self._log.http_in_memory().items()
            if first <= row < rows and known.get(row) is not exchange
        }
        if new:
            masked = {row - first: self._at_rest.exchange(exchange) for row, exchange in new.items()}
            values = ((row, file_format.exchange_to_json(exchange)) for row, exchange in masked.items())
            file_format.put_values(self._connection, "http", values)
            bodies = {row: exchange.body for row, exchange in masked.items()}
            file_format.put_http_bodies(self._connection, bodies)
        return new

    def _write_other_ids(self, rows: int) -> None:
        first = self.at.rows
        kinds = self._log.columns.id_kind[first:rows]
        if ID_OTHER not in kinds.tobytes():
            return
        others = [row for row, kind in enumerate(kinds, first) if kind == ID_OTHER]
        ids = [self._log.id(row) for row in others]
        mask = self._at_rest.text
        texts = [mask(id) if isinstance(id, str) else id for id in ids if id is not None]
        file_format.put_other_ids(self._connection, [row - self.origin.row for row in others], texts)

    def _write_texts(self, rows: int, chunks: int, touched: int, lengths: _Lengths) -> Progress:
        log, at, connection = self._log, self.at, self._connection
        servers, strings, revisions, resent = (
            log.servers(),
            len(log.strings),
            len(log.revisions),
            log.resent(),
        )
        if servers[at.servers :]:
            file_format.put_texts(connection, "server", at.servers, servers[at.servers :])
        if strings > at.strings:
            new = range(at.strings, strings)
            texts = [self._at_rest.text(log.strings.text(number)) for number in new]
            file_format.put_texts(connection, "word", at.strings, texts)
        if revisions > at.revisions:
            texts = log.revisions[at.revisions : revisions]
            file_format.put_texts(connection, "revision", at.revisions, texts)
        if resent != at.resent:  # a rare user action: there are never many
            first = self.origin.row
            links = ((row - first, (old - first,)) for row, old in resent.items() if min(row, old) >= first)
            file_format.put_values(connection, "resent", links)
        return Progress(rows, chunks, touched, strings, len(servers), revisions, resent, lengths)

    def _with_lengths(self, lengths: _Lengths, masked: Mapping[int, bytes]) -> _Lengths:
        changed = {self._segment(row) for row in masked}
        merged = {number: dict(known) if number in changed else known for number, known in lengths.items()}
        for row, text in masked.items():
            merged.setdefault(self._segment(row), {})[row] = len(text)
        return merged
