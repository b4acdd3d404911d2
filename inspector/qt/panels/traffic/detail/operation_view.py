"""Operation of a row: its related messages in order, and a waterfall of their timing.

The waterfall shows requests, their HTTP phases and waits for the user; facts about the row are below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QModelIndex, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QMenu,
    QScrollArea,
    QSizePolicy,
    QTableView,
    QToolTip,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural
from inspector.qt.models.traffic.columns import Column
from inspector.qt.models.traffic.related import RelatedColumn, RelatedMessagesModel
from inspector.qt.panels.traffic.row_commands import FilterTerm, add_terms, terms_of
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import STRETCH, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import Heading, MutedLabel, plain_tooltip
from inspector.traffic.analysis.related import RelatedMessages, Role, Step, elapsed_ns
from inspector.traffic.log import TrafficLog
from inspector.traffic.operations import NEEDS_USER
from inspector.traffic.records import STATUS_LABELS, HttpExchange, RecordKind, Status

MAX_BARS = 60
_MAX_MARKS = 200
_TONES: dict[Status, Tone] = {
    Status.NONE: "outbound",
    Status.PENDING: "wait",
    Status.OK: "outbound",
    Status.TOOL_ERROR: "warn",
    Status.ERROR: "error",
    Status.NO_RESPONSE: "muted",
    Status.CANCELLED: "muted",
    Status.TIMED_OUT: "warn",
    Status.LATE: "muted",
    Status.NOT_SENT: "error",
}
_REQUESTS = (RecordKind.REQUEST, RecordKind.BATCH)
_NUMBER_WIDTH = 76
_MIN_TRACK_WIDTH = 96
_MAX_LABEL_WIDTH = 220
_BAR_HEIGHT = 8
_ONE_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value
_LEFT = _ONE_LINE | Qt.AlignmentFlag.AlignLeft.value
_RIGHT = _ONE_LINE | Qt.AlignmentFlag.AlignRight.value


@dataclass(frozen=True, slots=True)
class Bar:
    """A time span since the operation started. `duration_ns` is None while it is open.

    `marks` are moments in it (progress, events); `is_part`: it is part of the bar above.
    """

    label: str
    start_ns: int
    duration_ns: int | None
    tone: Tone
    marks: tuple[int, ...] = ()
    is_part: bool = False
    hint: str = ""
    waits_for_user: bool = False

    @property
    def end_ns(self) -> int:
        last = max(self.marks, default=self.start_ns)
        return last if self.duration_ns is None else self.start_ns + self.duration_ns


@dataclass(frozen=True, slots=True)
class Timing:
    """All bars, in the order of their starts, and their totals."""

    bars: tuple[Bar, ...] = ()
    user_ns: int = 0
    left_out: int = 0

    @property
    def total_ns(self) -> int:
        return max((bar.end_ns for bar in self.bars), default=0)

    @property
    def is_open(self) -> bool:
        return any(bar.duration_ns is None and bar.tone == "wait" for bar in self.bars)


class RelatedView(QWidget):
    """The messages related to a row, in order.

    Signals:
        row_requested: The user wants to go to a step; carries its row.
        filter_requested: Filter for a value, or exclude it; as in `DetailView`.
    """

    row_requested = Signal(int)
    filter_requested = Signal(str, object, bool)

    def __init__(self, log: TrafficLog, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._log = log
        self.model = RelatedMessagesModel(log, theme, self)
        self.table = QTableView()
        self.table.setAccessibleName("Related messages")
        self.table.setModel(self.model)
        widths = {RelatedColumn.OFFSET: 84, RelatedColumn.ROLE: 84}
        style_table(self.table, theme, widths, [RelatedColumn.TEXT])
        self.table.setFont(theme.mono_font(0.95))
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.clicked.connect(self._on_chosen)
        self.table.activated.connect(self._on_chosen)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._on_menu_requested)
        self._note = MutedLabel(theme, wrap=True)
        self._note.setContentsMargins(SPACE_3, SPACE_1, SPACE_3, SPACE_1)
        self._shown: tuple[RelatedMessages, int] | None = None
        page = QWidget()
        vbox(page, (self.table, 1), self._note, gap=0)
        self._gate = ContentStack(theme, page)
        vbox(self, self._gate)

    def show_related(self, related: RelatedMessages, row: int) -> None:
        """Show related messages; does nothing if they are already shown."""
        if (related, row) == self._shown:
            return
        self._shown = (related, row)
        if len(related.steps) < 2:
            sentence = "This message has no response, no progress and no server requests."
            self._gate.explain("empty", "link", "No related messages", sentence)
            return
        top = self.table.verticalScrollBar().value()
        self.model.set_related(related, row)
        position = self.model.row_of(row)
        if position is not None:
            self.table.selectRow(position)
        self.table.verticalScrollBar().setValue(top)
        notes = (
            [f"{plural(related.left_out, 'message')} in the middle not shown."] if related.left_out else []
        )
        notes += [related.note] if related.note else []
        self._note.setText(" ".join(notes))
        self._note.setVisible(bool(notes))
        self._gate.open()

    def _on_chosen(self, index: QModelIndex) -> None:
        number = self.model.number(index.row())
        if number is not None:
            self.row_requested.emit(number)

    def menu(self, position: int) -> QMenu:
        """Create the context menu of a step."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        number = self.model.number(position)
        if number is not None:
            menu.addAction("Go to this row", partial(self.row_requested.emit, number))
            menu.addSeparator()
            add_terms(menu, terms_of(self._log, number, Column.MESSAGE), self._narrow)
        return menu

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.table.indexAt(at)
        if index.isValid():
            self.menu(index.row()).popup(self.table.viewport().mapToGlobal(at))

    def _narrow(self, term: FilterTerm, is_excluded: bool) -> None:
        self.filter_requested.emit(term.field, term.value, is_excluded)


class TimingView(QScrollArea):
    """The waterfall, its total and `facts` about the row."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.waterfall = Waterfall(theme)
        self._totals = MutedLabel(theme, wrap=True)
        self._no_timing = MutedLabel(theme, "Only requests and HTTP exchanges have timing.", wrap=True)
        self._facts_title = Heading(theme, "About this row")
        self.facts = KeyValueList(theme)
        page = QWidget()
        vbox(
            page,
            self.waterfall,
            self._totals,
            self._no_timing,
            SPACE_4,
            self._facts_title,
            self.facts,
            STRETCH,
            margin=SPACE_3,
        )
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(page)

    def show_timing(self, timing: Timing) -> None:
        self.waterfall.set_timing(timing)
        self.waterfall.setVisible(bool(timing.bars))
        self._no_timing.setVisible(not timing.bars)
        totals = _totals_text(timing)
        self._totals.setText(totals)
        self._totals.setVisible(bool(totals))

    def show_facts(self, facts: list[Fact]) -> None:
        self.facts.set_facts(facts)


def _totals_text(timing: Timing) -> str:
    parts: list[str] = []
    if timing.user_ns:
        rest = max(0, timing.total_ns - timing.user_ns)
        parts.append(f"{duration(timing.user_ns)} waiting for user input, {duration(rest)} otherwise.")
    if timing.is_open:
        parts.append("Still open: no response yet.")
    if timing.left_out:
        parts.append(f"{timing.left_out:,} more not shown; see Related.")
    return " ".join(parts)


class Waterfall(QWidget):
    """Bars on a common axis: a label, the bar, and its duration on the right."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._timing = Timing()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.update)

    @property
    def timing(self) -> Timing:
        return self._timing

    def set_timing(self, timing: Timing) -> None:
        if timing == self._timing:
            return
        self._timing = timing
        self.setAccessibleName("Timing of the operation")
        self.setAccessibleDescription(self.as_text())
        self.updateGeometry()
        self.update()

    def as_text(self) -> str:
        """Return one line per bar."""
        return "\n".join(f"{bar.label}: {_length(bar)}" for bar in self._timing.bars)

    def sizeHint(self) -> QSize:
        return QSize(320, self._row_height() * len(self._timing.bars))

    def minimumSizeHint(self) -> QSize:
        return QSize(200, self.sizeHint().height())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            position = event.pos().y() // self._row_height()
            if 0 <= position < len(self._timing.bars):
                tip = _tip(self._timing.bars[position])
                QToolTip.showText(event.globalPos(), plain_tooltip(tip), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._theme.ui_font(0.95))
        height = self._row_height()
        track = self._track()
        self._paint_grid(painter, track)
        for position, bar in enumerate(self._timing.bars):
            self._paint_bar(painter, bar, QRect(0, position * height, self.width(), height), track)

    def _row_height(self) -> int:
        return self._theme.row_height()

    def _track(self) -> QRect:
        """Return the area of the bars: the width left by labels and numbers, with a minimum."""
        room = self.width() - _NUMBER_WIDTH
        label = min(_MAX_LABEL_WIDTH, max(room - _MIN_TRACK_WIDTH, 0), max(96, room * 2 // 5))
        return QRect(label, 0, room - label, self.height())

    def _paint_grid(self, painter: QPainter, track: QRect) -> None:
        painter.setPen(QPen(self._theme.color("line"), 1))
        for quarter in range(5):
            x = track.left() + round((track.width() - 1) * quarter / 4)
            painter.drawLine(x, track.top(), x, track.bottom())

    def _paint_bar(self, painter: QPainter, bar: Bar, row: QRect, track: QRect) -> None:
        indent = SPACE_3 if bar.is_part else 0
        label = QRect(indent, row.top(), track.left() - indent - SPACE_2, row.height())
        shown = painter.fontMetrics().elidedText(bar.label, Qt.TextElideMode.ElideRight, label.width())
        painter.setPen(self._theme.color("muted" if bar.is_part else "text"))
        painter.drawText(label, _LEFT, shown)
        number = QRect(track.right(), row.top(), self.width() - track.right() - 1, row.height())
        painter.setPen(self._theme.color("muted" if bar.is_part else "text"))
        painter.drawText(number, _RIGHT, _length(bar))
        self._paint_span(painter, bar, row, track)

    def _paint_span(self, painter: QPainter, bar: Bar, row: QRect, track: QRect) -> None:
        total = max(1, self._timing.total_ns)
        left = track.left() + track.width() * min(bar.start_ns, total) / total
        end = total if bar.duration_ns is None else bar.start_ns + bar.duration_ns
        right = track.left() + track.width() * min(end, total) / total
        height = _BAR_HEIGHT - 2 if bar.is_part else _BAR_HEIGHT
        box = QRectF(left, row.center().y() - height / 2 + 1, max(2.0, right - left), height)
        self._fill(painter, bar, box)
        painter.setPen(QPen(self._theme.color("surface"), 2))
        for mark in bar.marks:
            x = track.left() + track.width() * min(mark, total) / total
            painter.drawLine(round(x), round(box.top()), round(x), round(box.bottom()))

    def _fill(self, painter: QPainter, bar: Bar, box: QRectF) -> None:
        """Fill a bar; an open one is only outlined, so that its unknown end does not look final."""
        color: QColor = self._theme.color(bar.tone)
        painter.setPen(QPen(color, 1, Qt.PenStyle.DashLine) if bar.duration_ns is None else Qt.PenStyle.NoPen)
        painter.setBrush(self._theme.tokens.tint(bar.tone) if bar.duration_ns is None else color)
        painter.drawRoundedRect(box, 2, 2)


def _length(bar: Bar) -> str:
    return "open" if bar.duration_ns is None else duration(bar.duration_ns)


def _tip(bar: Bar) -> str:
    lines = [bar.label, f"starts after {duration(bar.start_ns)}, takes {_length(bar)}"]
    lines += [bar.hint] if bar.hint else []
    lines += [f"{plural(len(bar.marks), 'message')} in between"] if bar.marks else []
    return "\n".join(lines)


def timing_of(log: TrafficLog, related: RelatedMessages) -> Timing:
    """Return the bars of related messages; empty if none of them takes time."""
    bars = [bar for step in related.steps for bar in _bars(log, related, step)]
    bars += _user_waits(related.steps)
    bars.sort(key=lambda bar: bar.start_ns)  # stable: parts stay after their whole
    user_ns = sum(bar.duration_ns or 0 for bar in bars if bar.waits_for_user)
    return Timing(tuple(bars[:MAX_BARS]), user_ns, max(0, len(bars) - MAX_BARS))


def _bars(log: TrafficLog, related: RelatedMessages, step: Step) -> Iterator[Bar]:
    kind = log.kind(step.row)
    if step.role in (Role.REQUEST, Role.RETRY, Role.TASK) and kind in _REQUESTS:
        yield _request(log, related, step)
        yield from _http(log, related, log.exchange(step.row))
    elif step.role is Role.SERVER_REQUEST:
        yield _server_request(log, step)
    elif step.role is Role.HTTP and not _carries(log, related, step.row):
        exchange = log.readable_http(step.row)
        if exchange is not None:
            label = f"{exchange.method} {exchange.status or ''}".strip()
            yield Bar(label, step.offset_ns, exchange.total_ns, "outbound", hint="HTTP exchange")
            yield from _http(log, related, step.row)


def _carries(log: TrafficLog, related: RelatedMessages, exchange: int) -> bool:
    """Return whether the exchange is shown below the request it carried."""
    return any(
        step.role in (Role.REQUEST, Role.RETRY, Role.TASK) and log.exchange(step.row) == exchange
        for step in related.steps
    )


def _request(log: TrafficLog, related: RelatedMessages, step: Step) -> Bar:
    parts = (log.method(step.row), log.subject(step.row), "retry" if step.role is Role.RETRY else "")
    label = one_line(" ".join(part for part in parts if part)) or "batch"
    status, duration_ns = log.status(step.row), log.duration_ns(step.row)
    marks = _marks(related, step, duration_ns)
    return Bar(label, step.offset_ns, duration_ns, _TONES[status], marks, hint=STATUS_LABELS[status])


def _marks(related: RelatedMessages, request: Step, duration_ns: int | None) -> tuple[int, ...]:
    """Return when progress and events arrived while a request was open."""
    last = None if duration_ns is None else request.offset_ns + duration_ns
    moments = (
        step.offset_ns
        for step in related.steps
        if step.role in (Role.PROGRESS, Role.SSE)
        and step.offset_ns >= request.offset_ns
        and (last is None or step.offset_ns <= last)
    )
    return tuple(moment for moment, _ in zip(moments, range(_MAX_MARKS), strict=False))


def _server_request(log: TrafficLog, step: Step) -> Bar:
    label, duration_ns = one_line(log.method(step.row)), log.duration_ns(step.row)
    if log.method(step.row) in NEEDS_USER:
        return _user_wait(label, step.offset_ns, duration_ns)
    return Bar(label, step.offset_ns, duration_ns, "inbound", hint="server request")


def _user_wait(label: str, start_ns: int, duration_ns: int | None) -> Bar:
    hint = "waiting for user input"
    return Bar(label, start_ns, duration_ns, "wait", hint=hint, waits_for_user=True)


def _user_waits(steps: tuple[Step, ...]) -> Iterator[Bar]:
    """Yield the user's time between a result that asks for input and the retry with it."""
    response: Step | None = None
    for step in steps:
        if step.role is Role.RESPONSE:
            response = step
        elif step.role is Role.RETRY and response is not None:
            duration_ns = step.offset_ns - response.offset_ns
            yield _user_wait("replying", response.offset_ns, duration_ns)
            response = None


def _http(log: TrafficLog, related: RelatedMessages, row: int | None) -> Iterator[Bar]:
    """Yield the phases of an exchange in order; the unmeasured rest is last."""
    exchange = log.readable_http(row) if row is not None else None
    if row is None or exchange is None:
        return
    at = elapsed_ns(log, related.operation, row)
    begun = at
    for label, duration_ns in _phases(exchange):
        if duration_ns is not None:
            yield Bar(label, at, duration_ns, "muted", is_part=True)
            at += duration_ns
    rest = None if exchange.total_ns is None else begun + exchange.total_ns - at
    if rest is not None and rest > 0:
        yield Bar("send and receive", at, rest, "inbound", is_part=True)


def _phases(exchange: HttpExchange) -> list[tuple[str, int | None]]:
    return [
        ("DNS", exchange.dns_ns),
        ("connect", exchange.connect_ns),
        ("TLS", exchange.tls_ns),
        ("first byte", exchange.first_byte_ns),
    ]
