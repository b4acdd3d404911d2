"""Traffic as a Markdown report for an issue: a summary, then the exchanges.

Wire data appears only in code spans and blocks whose fences it cannot close, with hidden characters made
visible, so that it can neither format the report nor @-mention anyone. Long bodies are truncated, with a
note.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from inspector.base.json.scanner import reindent
from inspector.base.plain_text import one_line, visible
from inspector.base.units import duration, full_time, plural, size, time_of_day
from inspector.traffic.export.writer import APP, APP_VERSION, Dropped, ExportSteps, Numbering, Sink, noun
from inspector.traffic.filter.row_values import error_text
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import NO_MASKING, Masker
from inspector.traffic.records import STATUS_LABELS, Direction, RecordKind, Status

_MAX_SHOWN = 4000  # characters of a body
_MAX_READ = 64 * 1024  # bytes of a body that are formatted for that
_TICKS = re.compile("`+")
_ARROWS = {Direction.OUT: "→", Direction.IN: "←", Direction.NONE: "·"}


def write_markdown(
    log: TrafficLog, rows: Iterable[int], sink: Sink, masker: Masker = NO_MASKING
) -> ExportSteps:
    """Write a report of these rows.

    Dropped: server-sent events, whose messages are included anyway.
    """
    report = _Report(log, Numbering(rows), masker)
    for part in report.head():
        sink.write(part.encode())
    for done, row in enumerate(report.rows, 1):
        for part in report.row(row):
            sink.write(part.encode(errors="replace"))
        yield done
    return Dropped(report.dropped)


@dataclass(slots=True)
class _Count:
    messages: int = 0
    requests: int = 0
    errors: int = 0
    findings: int = 0
    bytes: int = 0


class _Report:
    def __init__(self, log: TrafficLog, numbering: Numbering, masker: Masker) -> None:
        self.rows = numbering.rows
        self.dropped: Counter[str] = Counter()
        self._log = log
        self._numbering = numbering
        self._masker = masker
        self._reported: set[int] = set()
        # Exchanges are summarized in one line with the messages that they carried.
        self._carriers = {log.columns.exchange[row] for row in numbering.rows}

    def head(self) -> Iterator[str]:
        yield "# MCP traffic\n\n"
        yield f"{_entries(len(self.rows))}, {self._span()}exported by {APP} {APP_VERSION}.\n"
        if self._masker.items:
            yield f"{plural(len(self._masker.items), 'secret')} masked: "
            yield ", ".join(code(item.placeholder) for item in self._masker.items) + ".\n"
        yield "\n| Server | Messages | Requests | Errors | Findings | Bytes |\n|---|--:|--:|--:|--:|--:|\n"
        for name, count in self._counts().items():
            server = code(one_line(self._masker.text(name))).replace("|", "\\|")
            numbers = (count.messages, count.requests, count.errors, count.findings)
            yield f"| {server} | {' | '.join(f'{n:,}' for n in numbers)} | {size(count.bytes)} |\n"
        yield "\n"

    def _span(self) -> str:
        if not self.rows:
            return ""
        first, last = self._log.wall_ns(self.rows[0]), self._log.wall_ns(self.rows[-1])
        start = full_time(first)
        return f"{start[:19]}{start[-7:]}, {duration(max(last - first, 0))}, "  # without the fraction

    def _counts(self) -> dict[str, _Count]:
        log, counts = self._log, dict[str, _Count]()
        for row in self.rows:
            count = counts.setdefault(log.server_name(row), _Count())
            is_request = log.kind(row) == RecordKind.REQUEST
            count.messages += log.kind(row) <= RecordKind.TEXT
            count.requests += is_request
            count.errors += is_request and log.status(row) in (Status.ERROR, Status.TOOL_ERROR)
            count.findings += bool(log.problem(row))
            count.bytes += log.size(row)
        return counts

    def row(self, row: int) -> Iterator[str]:
        """Yield the report of a row that is not covered by another."""
        kind, partner = self._log.kind(row), self._log.partner(row)
        if row in self._reported or row in self._carriers:
            return
        if kind == RecordKind.SSE:
            self.dropped[noun(self._log, row)] += 1
            return
        yield self._heading(row)
        yield from self._facts(row)
        yield from self._body(row)
        if kind == RecordKind.REQUEST and partner is not None and self._numbering.of(partner) is not None:
            self._reported.add(partner)
            yield "Response"
            yield from self._facts(partner)
            yield from self._body(partner)

    def _heading(self, row: int) -> str:
        log = self._log
        kind = RecordKind(log.kind(row))
        what = self._masker.text(f"{log.method(row)} {log.subject(row)}".strip())
        # 1-based, as in the table and in filters.
        parts = [f"## {row + 1} {_ARROWS[Direction(log.direction(row))]} {kind.name.lower()}"]
        parts += [code(one_line(what))] if what else []
        taken = log.duration_ns(row)
        status = STATUS_LABELS[log.status(row)] if kind is RecordKind.REQUEST else ""
        if status:
            parts.append(f"({status}, {duration(taken)})" if taken is not None else f"({status})")
        return f"{' '.join(parts)}\n\n{code(one_line(self._masker.text(log.server_name(row))))}"

    def _facts(self, row: int) -> Iterator[str]:
        log = self._log
        yield f" at {time_of_day(log.wall_ns(row))}, {size(log.size(row))}"
        if error := error_text(log, row):
            yield f", error {error}"
        exchange = log.http(row)
        if exchange is not None:
            url = self._masker.text(exchange.url)
            yield f", HTTP {code(one_line(f'{exchange.method} {url}'))} → {exchange.status or 'no response'}"
        if log.problem(row):
            yield f"\n\n**Finding:** {code(one_line(self._masker.text(log.problem(row))))}"
        note = log.note(row).comment
        if note:
            yield f"\n\n**Comment:** {code(one_line(self._masker.text(note)))}"
        yield "\n\n"

    def _body(self, row: int) -> Iterator[str]:
        raw = self._raw_body(row)
        # The first piece is enough, and a secret that reaches beyond it is masked as a whole.
        masked = next(self._masker.pieces(raw), b"")[:_MAX_READ]
        text = masked.decode(errors="replace")
        is_cut = len(raw) > _MAX_READ or self._log.size(row) > self._log.kept(row)
        is_json = text.lstrip()[:1] in ("{", "[")
        shown = reindent(text, _MAX_SHOWN) if is_json else text
        is_short = not is_cut and len(shown) <= _MAX_SHOWN
        if not text:
            return
        yield fenced(visible(shown if is_short else shown[:_MAX_SHOWN]), "json" if is_json else "text")
        if not is_short:
            yield f"… truncated ({size(self._log.size(row))} in total)\n"
        yield "\n"

    def _raw_body(self, row: int) -> bytes:
        """Return a message's bytes; for an exchange without a message, the response body."""
        exchange = self._log.http(row) if self._log.kind(row) == RecordKind.HTTP else None
        return exchange.body if exchange is not None else self._log.raw(row)


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def fenced(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any run of backticks in the text."""
    fence = "`" * max(3, 1 + _max_run(text))
    return f"{fence}{language}\n{text}\n{fence}\n"


def code(text: str) -> str:
    """Return inline code, fenced by the same rule."""
    fence = "`" * (1 + _max_run(text))
    padding = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{padding}{text or ' '}{padding}{fence}"


def _max_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
