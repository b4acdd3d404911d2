"""One recorded row: what is known about it, the message made readable, its text and its bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.units import duration, full_time, size
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic import STATUS_TONES, STATUS_WORDS
from inspector.qt.panels.traffic.http import HttpView
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.keyvalue import Fact, KeyValueList
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.qt.widgets.savefile import save_bytes
from inspector.traffic.records import Direction, Record, Status

if TYPE_CHECKING:
    import asyncio

_ARROWS = {Direction.IN: "from", Direction.OUT: "to", Direction.NONE: "about"}


class DetailView(QWidget):
    """Shows a row of the log; big ones are made readable elsewhere, and show up when that is done."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._number: int | None = None
        self._status = Status.NONE
        self._task: asyncio.Task[None] | None = None
        self._title = Heading(theme)
        self._caption = Muted(theme)
        self._badge = Badge(theme)
        self._problem = PlainLabel(theme, tone="error", wrap=True, selectable=True)
        self.message = JsonView(theme, "Message")
        self.text = JsonView(theme, "Text as it came")
        self.bytes = JsonView(theme, "Bytes")
        self.http = HttpView(theme)
        self.facts = KeyValueList(theme)
        self.tabs = QTabWidget()
        self._empty = EmptyState(theme)
        self._empty.show_empty(
            "traffic", "No message chosen", "Choose a row to see its message and its bytes."
        )
        self._pages = QStackedWidget()
        self._lay_out()
        for view in (self.message, self.text, self.bytes):
            view.save_requested.connect(self._on_save_requested)

    @property
    def number(self) -> int | None:
        """The row that is shown, as the log numbers it."""
        return self._number

    def show_row(self, number: int | None) -> None:
        if number == self._number:
            return
        self._number = number
        self._stop_task()
        if number is None:
            self._pages.setCurrentWidget(self._empty)
            return
        record = self._bridge.log.record(number)
        self._show_head(record)
        self.text.set_text(record.raw, "text")
        self.bytes.set_bytes(record.raw)
        self.message.clear()
        self._task = self._bridge.start(f"read row {number}", self._show_pretty(number))
        self._pages.setCurrentIndex(1)

    def refresh(self) -> None:
        """The log grew: a waiting request may have its answer now."""
        exchange = self._bridge.log.http(self._number) if self._number is not None else None
        is_open = self._status is Status.PENDING or (exchange is not None and not exchange.is_over)
        if self._number is not None and is_open:
            self._show_head(self._bridge.log.record(self._number))

    async def _show_pretty(self, number: int) -> None:
        pretty = await self._bridge.pretty(self._bridge.log, number)
        if number == self._number:
            self.message.set_text(pretty.text, "json" if pretty.is_json else "text")

    def _stop_task(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _show_head(self, record: Record) -> None:
        self._status = record.status
        words = " ".join(part for part in (record.method, record.subject) if part)
        self._title.setText(one_line(words or record.kind.name.lower()))
        kind, server = record.kind.name.lower(), one_line(record.server)
        self._caption.setText(f"{kind} {_ARROWS[record.direction]} {server}")
        self._badge.set_text(STATUS_WORDS[record.status], STATUS_TONES[record.status])
        self._problem.setText(record.problem)
        self._problem.setVisible(bool(record.problem))
        self.facts.set_facts(_facts(record))
        exchange = self._bridge.log.http(record.number)
        self.tabs.setTabVisible(self._http_tab, exchange is not None)
        if exchange is not None:
            self.http.show_exchange(exchange)

    def _lay_out(self) -> None:
        for words, view in (("Message", self.message), ("Text", self.text), ("Bytes", self.bytes)):
            self.tabs.addTab(view, words)
        self._http_tab = self.tabs.addTab(self.http, "HTTP")
        self.tabs.addTab(self._padded(self.facts), "About")
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(self._title, 1)
        row.addWidget(self._badge)
        head = QVBoxLayout()
        head.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        head.setSpacing(0)
        head.addLayout(row)
        head.addWidget(self._caption)
        head.addWidget(self._problem)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(head)
        column.addWidget(self.tabs, 1)
        self._pages.addWidget(self._empty)
        self._pages.addWidget(page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._pages)

    def _padded(self, widget: QWidget) -> QWidget:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
        column.addWidget(widget)
        column.addStretch(1)
        return page

    def _on_save_requested(self) -> None:
        if self._number is None:
            return
        save_bytes(self, "Save the message", "message.json", self._bridge.log.raw(self._number))


def _facts(record: Record) -> list[Fact]:
    facts = [
        Fact("Row", f"{record.number + 1:,}", mono=True),
        Fact("Time", full_time(record.wall_ns), mono=True),
        Fact("Server", one_line(record.server)),
        Fact("Size", f"{size(record.size)} ({record.size:,} bytes)", mono=True),
    ]
    if record.id is not None:
        facts.append(Fact("Id", f"{record.id!r}", mono=True))
    if record.duration_ns is not None:
        facts.append(Fact("Duration", duration(record.duration_ns), mono=True))
    if record.partner is not None:
        word = "Request" if record.kind.name in ("RESULT", "ERROR") else "Answer"
        facts.append(Fact(word, f"row {record.partner + 1:,}", mono=True))
    return facts
