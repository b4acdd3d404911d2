"""One recorded row: its message, its HTTP exchange, its times, what is wrong, and all that belongs to it."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.bridge import Bridge
from inspector.qt.models.source import TrafficSource
from inspector.qt.models.traffic import STATUS_TONES, STATUS_WORDS
from inspector.qt.panels.traffic import about
from inspector.qt.panels.traffic.findings import Findings, FindingsView, findings_of
from inspector.qt.panels.traffic.http import HttpView
from inspector.qt.panels.traffic.linked import LinkedView
from inspector.qt.panels.traffic.message import Form
from inspector.qt.panels.traffic.phases import timing_of
from inspector.qt.panels.traffic.sidebyside import ExchangeView
from inspector.qt.panels.traffic.timing import TimingView
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.keyvalue import KeyValueList
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.traffic.follow import follow
from inspector.traffic.records import RecordKind, Status

# How often the story of an operation that is still open is looked for again.
_STORY_MS = 250


class DetailView(QWidget):
    """Shows a row of a log, live or from a file. Tabs are filled when they are looked at.

    Signals:
        filter_requested: Rows with a value are wanted, or without it; carries its path in the filter
            language, the value (bool, int, float, str or None), and whether to exclude it.
        row_requested: The person wants to go to another row; carries its number.
    """

    filter_requested = Signal(str, object, bool)
    row_requested = Signal(int)

    def __init__(
        self, source: TrafficSource, bridge: Bridge, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._log = source.log
        self._number: int | None = None
        self._stand: tuple[object, ...] = ()
        self._fresh: set[QWidget] = set()
        self._findings: Findings | None = None
        self._title = Heading(theme)
        self._caption = Muted(theme)
        self._badge = Badge(theme)
        self._problem = PlainLabel(theme, tone="error", wrap=True, selectable=True)
        self.message = ExchangeView(source, bridge, theme)
        self.http = HttpView(theme)
        self.timing = TimingView(theme)
        self.findings = FindingsView(theme)
        self.linked = LinkedView(source.log, theme)
        self.tabs = QTabWidget()
        self._empty = EmptyState(theme)
        self._empty.show_empty(
            "traffic", "No message chosen", "Choose a row to see its message and its bytes."
        )
        self._pages = QStackedWidget()
        self._story_timer = QTimer(self, interval=_STORY_MS, singleShot=True)
        self._lay_out()
        self._connect()

    @property
    def number(self) -> int | None:
        """The row that is shown, as the log numbers it."""
        return self._number

    @property
    def text(self) -> JsonView:
        """The message as it came."""
        return self.message.own.text_view(Form.TEXT)

    @property
    def bytes(self) -> JsonView:
        """The message byte by byte."""
        return self.message.own.text_view(Form.BYTES)

    @property
    def facts(self) -> KeyValueList:
        return self.timing.facts

    def set_findings(self, findings: Findings) -> None:
        """Who is asked about each row, besides the log itself."""
        self._findings = findings
        if self._number is not None:
            self._show_findings(self._number)

    def show_row(self, number: int | None) -> None:
        if number == self._number:
            return
        self._number = number
        self._story_timer.stop()
        if number is None:
            self._pages.setCurrentWidget(self._empty)
            return
        self.http.begin_row()
        self._pages.setCurrentIndex(1)  # first: tabs that are hidden do not learn that their words changed
        self.message.show_row(number)
        self._show_all(number)

    def refresh(self) -> None:
        """The log grew: the row may have its answer now, and the operation more steps. Cheap if not so."""
        number = self._number
        if number is None:
            return
        if self._stand_of(number) != self._stand:
            self.message.refresh()
            self._show_all(number)
        elif self._is_open(number) and not self._story_timer.isActive():
            self._story_timer.start()

    # -------------------------------------------------------------- what is shown

    def _show_all(self, number: int) -> None:
        self._stand = self._stand_of(number)
        self._show_head(number)
        self._show_findings(number)
        self.timing.show_facts(about.facts(self._log, number))
        self.tabs.setTabVisible(self.tabs.indexOf(self.http), self._rides_on_http(number))
        self._fresh.clear()
        self._fill_tab()

    def _stand_of(self, number: int) -> tuple[object, ...]:
        """Everything about a row that can change after it was recorded."""
        log, columns = self._log, self._log.columns
        exchange = log.http(number) if self._has_open_http(number) else None
        late = (columns.status, columns.partner, columns.duration, columns.exchange, columns.operation)
        return (*(column[number] for column in late), log.remark(number), exchange)

    def _has_open_http(self, number: int) -> bool:
        """One that is over changes no more, and need not be looked up on the disk again."""
        if not self._rides_on_http(number):
            return False
        carrier = self._log.exchange(number)
        return self._log.columns.duration[number if carrier is None else carrier] < 0

    def _rides_on_http(self, number: int) -> bool:
        return self._log.kind(number) == RecordKind.HTTP or self._log.exchange(number) is not None

    def _is_open(self, number: int) -> bool:
        root = self._log.operation(number)
        rows = [number] if root is None else [number, root]
        return any(self._log.status(row) is Status.PENDING for row in rows)

    def _show_head(self, number: int) -> None:
        log, status = self._log, self._log.status(number)
        self._title.setText(about.title(log, number))
        self._caption.setText(about.caption(log, number))
        self._badge.set_text(STATUS_WORDS[status], STATUS_TONES[status])
        problem = log.problem(number)
        self._problem.setText(one_line(problem))
        self._problem.setVisible(bool(problem))

    def _show_findings(self, number: int) -> None:
        found = findings_of(self._log, number, self._findings)
        self.findings.show_findings(found)
        words = f"Findings {len(found)}" if found else "Findings"
        self.tabs.setTabText(self.tabs.indexOf(self.findings), words)

    def _fill_tab(self) -> None:
        """Fill the tab in front, once as long as nothing changes."""
        number, tab = self._number, self.tabs.currentWidget()
        if number is None or tab in self._fresh:
            return
        self._fresh.add(tab)
        if tab is self.http:
            self.http.show_exchange(self._log.http(number))
        elif tab in (self.timing, self.linked):
            self._show_story(number)

    def _show_story(self, number: int) -> None:
        story = follow(self._log, number)
        if self.tabs.currentWidget() is self.timing:
            self.timing.show_timing(timing_of(self._log, story))
        else:
            self.linked.show_story(story, number)

    def _on_story_due(self) -> None:
        if self._number is not None and self.tabs.currentWidget() in (self.timing, self.linked):
            self._show_story(self._number)

    # -------------------------------------------------------------- making

    def _connect(self) -> None:
        self.message.filter_requested.connect(self.filter_requested)
        self.message.row_requested.connect(self.row_requested)
        self.linked.row_requested.connect(self.row_requested)
        self.tabs.currentChanged.connect(self._fill_tab)
        self._story_timer.timeout.connect(self._on_story_due)

    def _lay_out(self) -> None:
        for words, view in (
            ("Message", self.message),
            ("HTTP", self.http),
            ("Timing", self.timing),
            ("Findings", self.findings),
            ("Linked", self.linked),
        ):
            self.tabs.addTab(view, words)
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
