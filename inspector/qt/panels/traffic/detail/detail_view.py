"""Detail of a traffic row: a header with its status and finding, and tabs created on first use."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import TypeVar

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QStackedWidget, QTabWidget, QWidget

from inspector.base.plain_text import one_line
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.columns import STATUS_TONES
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.detail import row_facts
from inspector.qt.panels.traffic.detail.exchange_view import ExchangeView
from inspector.qt.panels.traffic.detail.http_view import HttpView
from inspector.qt.panels.traffic.detail.message_view import Form
from inspector.qt.panels.traffic.detail.operation_view import RelatedView, TimingView, timing_of
from inspector.qt.panels.traffic.detail.row_facts import Finding, Findings, FindingsView, findings_of
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.layout import hbox, show_tab, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.key_value_list import KeyValueList
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.traffic.analysis.related import related_messages
from inspector.traffic.log import BodyUnavailable, TrafficLog
from inspector.traffic.records import STATUS_LABELS

# How often the related messages of an open operation are refreshed.
_RELATED_MS = 250

ViewT = TypeVar("ViewT", bound=QWidget)


class Tab(IntEnum):
    MESSAGE = 0
    HTTP = 1
    TIMING = 2
    FINDINGS = 3
    RELATED = 4


class DetailView(QWidget):
    """Shows a row of a log, live or from a file. Tabs are created and filled on first use.

    Signals:
        filter_requested: Filter for a value, or exclude it; carries its path in the filter language, the
            value (bool, int, float, str or None), and whether to exclude it.
        row_requested: The user wants to go to another row; carries its number.
    """

    filter_requested = Signal(str, object, bool)
    row_requested = Signal(int)

    def __init__(
        self, source: TrafficSource, bridge: Bridge, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._log = source.log
        self._theme = theme
        self._number: int | None = None
        self._shown_state: tuple[object, ...] = ()
        self._filled: set[int] = set()
        self._returns_to_http = False
        self._message_tab: int | None = None  # current before operations were listed
        self._findings: Findings | None = None
        self._shown_findings: list[Finding] = []
        self._head = DetailHeader(theme)
        self.message = ExchangeView(source, bridge, theme)
        self.tabs = QTabWidget()
        self._empty = EmptyState(theme)
        self._empty.show_empty("traffic", "No message selected", "Select a message to see its details.")
        self._pages = QStackedWidget()
        self._related_timer = QTimer(self, interval=_RELATED_MS, singleShot=True)
        self._lay_out()
        self._connect()

    @property
    def number(self) -> int | None:
        """The shown row's number in the log."""
        return self._number

    @property
    def text(self) -> JsonView:
        """The message as received."""
        return self.message.own.text_view(Form.TEXT)

    @property
    def bytes(self) -> JsonView:
        """The message as bytes."""
        return self.message.own.text_view(Form.BYTES)

    @property
    def facts(self) -> KeyValueList:
        """The facts about the row, shown below its times."""
        if self._number is not None:
            self.timing.show_facts(row_facts.facts(self._log, self._number))
        return self.timing.facts

    def set_findings(self, findings: Findings) -> None:
        """Set the function that returns additional findings for a row."""
        self._findings = findings
        if self._number is not None:
            self._show_all(self._number)

    def set_by_operation(self, by_operation: bool) -> None:
        """Switch to the related messages while rows represent operations, and back afterwards."""
        if by_operation and self._message_tab is None:
            self._message_tab = self.tabs.currentIndex()
            self.tabs.setCurrentIndex(Tab.RELATED)
        elif not by_operation and self._message_tab is not None:
            if self.tabs.currentIndex() == Tab.RELATED:
                self.tabs.setCurrentIndex(self._message_tab)
            self._message_tab = None

    def show_row(self, number: int | None) -> None:
        if number == self._number:
            return
        self._number = number
        self._related_timer.stop()
        if number is None:
            self._pages.setCurrentWidget(self._empty)
            return
        if "http" in vars(self):
            self.http.begin_row()
        self._pages.setCurrentIndex(1)  # first: hidden tabs ignore a change of their text
        self.message.show_row(number)
        self._show_all(number)

    def refresh(self) -> None:
        """Update after the log grew: there may be a response or new steps. Cheap if not."""
        number = self._number
        if number is None:
            return
        if row_facts.state_of(self._log, number) != self._shown_state:
            self.message.refresh()
            self._show_all(number)
        elif not self._related_timer.isActive() and row_facts.is_open(self._log, number):
            self._related_timer.start()

    def _show_all(self, number: int) -> None:
        self._shown_state = row_facts.state_of(self._log, number)
        self._head.show_row(self._log, number)
        self._shown_findings = findings_of(self._log, number, self._findings)
        self.tabs.setTabText(
            Tab.FINDINGS, f"Findings {len(self._shown_findings)}" if self._shown_findings else "Findings"
        )
        self._show_http_tab(row_facts.is_carried_by_http(self._log, number))
        self._filled.clear()
        self._fill_tab()

    def _show_http_tab(self, has_http: bool) -> None:
        """Hide the HTTP tab for rows without HTTP; it is selected again on the next row with it."""
        self._returns_to_http |= not has_http and self.tabs.currentIndex() == Tab.HTTP
        show_tab(self.tabs, Tab.HTTP, has_http)
        if has_http and self._returns_to_http:
            self._returns_to_http = False
            self.tabs.setCurrentIndex(Tab.HTTP)

    def _fill_tab(self) -> None:
        """Fill the current tab, once until something changes."""
        number, tab = self._number, self.tabs.currentIndex()
        if number is None or tab in self._filled:
            return
        self._filled.add(tab)
        match tab:
            case Tab.HTTP:
                self._show_http(number)
            case Tab.TIMING:
                self.timing.show_facts(row_facts.facts(self._log, number))
                self.timing.show_timing(timing_of(self._log, related_messages(self._log, number)))
            case Tab.FINDINGS:
                self.findings.show_findings(self._shown_findings)
            case Tab.RELATED:
                self.related.show_related(related_messages(self._log, number), number)

    def _show_http(self, number: int) -> None:
        try:
            self.http.show_exchange(self._log.http(number))
        except BodyUnavailable as exc:
            self.http.show_failure(exc)

    def _on_tab_clicked(self) -> None:
        self._returns_to_http = False

    def _on_related_due(self) -> None:
        """Refresh the related messages of an open operation."""
        if self.tabs.currentIndex() in (Tab.TIMING, Tab.RELATED):
            self._filled.clear()
            self._fill_tab()

    @cached_property
    def http(self) -> HttpView:
        view = self._put_view(Tab.HTTP, HttpView(self._theme))
        view.filter_requested.connect(self.filter_requested)
        return view

    @cached_property
    def timing(self) -> TimingView:
        view = self._put_view(Tab.TIMING, TimingView(self._theme))
        view.facts.filter_requested.connect(self.filter_requested)
        return view

    @cached_property
    def findings(self) -> FindingsView:
        return self._put_view(Tab.FINDINGS, FindingsView(self._theme))

    @cached_property
    def related(self) -> RelatedView:
        view = self._put_view(Tab.RELATED, RelatedView(self._log, self._theme))
        view.row_requested.connect(self.row_requested)
        view.filter_requested.connect(self.filter_requested)
        return view

    def _put_view(self, tab: Tab, view: ViewT) -> ViewT:
        """Replace a tab's placeholder. Creating all five views at once would delay the click."""
        placeholder, text = self.tabs.widget(tab), self.tabs.tabText(tab)
        current, is_visible = self.tabs.currentIndex(), self.tabs.isTabVisible(tab)
        with QSignalBlocker(self.tabs):
            self.tabs.removeTab(tab)
            self.tabs.insertTab(tab, view, text)
            self.tabs.setTabVisible(tab, is_visible)
            self.tabs.setCurrentIndex(current)
        if placeholder is not None:
            placeholder.deleteLater()
        return view

    def _connect(self) -> None:
        self.message.filter_requested.connect(self.filter_requested)
        self.message.row_requested.connect(self.row_requested)
        self.tabs.currentChanged.connect(self._fill_tab)
        self.tabs.tabBarClicked.connect(self._on_tab_clicked)
        self._related_timer.timeout.connect(self._on_related_due)

    def _lay_out(self) -> None:
        self.tabs.addTab(self.message, "Message")
        for text in ("HTTP", "Timing", "Findings", "Related"):
            self.tabs.addTab(QWidget(), text)
        page = QWidget()
        vbox(page, self._head, (self.tabs, 1), gap=0)
        self._pages.addWidget(self._empty)
        self._pages.addWidget(page)
        vbox(self, self._pages)


class DetailHeader(QWidget):
    """Title, caption and status; a third line for a protocol violation."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading(theme)
        self._caption = MutedLabel(theme)
        self._badge = Badge(theme)
        self._violation = PlainLabel(theme, tone="error", wrap=True, selectable=True)
        row = hbox(None, (self._title, 1), self._badge)
        vbox(self, row, self._caption, self._violation, gap=0, margin=(SPACE_3, SPACE_2))

    def show_row(self, log: TrafficLog, row: int) -> None:
        status, problem = log.status(row), log.problem(row)
        self._title.setText(row_facts.title(log, row))
        self._caption.setText(row_facts.caption(log, row))
        self._badge.set_text(STATUS_LABELS[status], STATUS_TONES[status])
        self._violation.setText(one_line(problem))
        self._violation.setVisible(bool(problem))
