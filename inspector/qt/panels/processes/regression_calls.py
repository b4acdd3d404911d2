"""Regression calls, rerun after each restart: states, and the diff of the selected one.

A result that differs can be accepted as the expected one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import (
    QMenu,
    QSplitter,
    QStackedWidget,
    QTableView,
    QToolButton,
    QWidget,
)

from inspector.base.json.values import shorten, to_wire
from inspector.base.plain_text import one_line
from inspector.base.units import time_of_day
from inspector.engine.calls.regression_calls import RegressionResult, RegressionState, RegressionView
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.regression_calls import (
    TONES,
    RegressionCallsModel,
    RegressionColumn,
    difference_text,
    summary_text,
)
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.diff_view import ChangesTable
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BytesBody
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import PanelHeader, hbox, vbox, vsplit
from inspector.qt.widgets.notices.empty_state import ContentStack, EmptyState
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.badge import Badge, DotShape, dot_icon
from inspector.qt.widgets.text.labels import PlainLabel, plain_tooltip

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_SHAPES = {
    RegressionState.NOT_RUN: DotShape.DASH,
    RegressionState.RUNNING: DotShape.RING,
    RegressionState.SAME: DotShape.FILLED,
    RegressionState.DIFFERENT: DotShape.CROSS,
    RegressionState.NEW: DotShape.TRIANGLE,
    RegressionState.FAILED: DotShape.CROSS,
    RegressionState.STOPPED: DotShape.DASH,
    RegressionState.NOT_APPROVED: DotShape.TRIANGLE,
}
_WIDTHS = {RegressionColumn.STATE: 116, RegressionColumn.DURATION: 66, RegressionColumn.CPU: 66}
_FIRST_RESULT = "the first successful result since MCP Lens started"


class RegressionCallsView(QWidget):
    """The regression calls of one server in a table, with the selected one below.

    Signals:
        call_requested: The user wants to see a call in the Tools tab; carries the SavedCall.
        row_requested: The user wants to see the request in the traffic; carries its row.
    """

    call_requested = Signal(object)
    row_requested = Signal(int)

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._view = RegressionView(server)
        self._shown: RegressionResult | None = None
        self._show_task: asyncio.Task[None] | None = None
        self.is_connected = False
        self.has_files = True  # local files to watch
        self.model = RegressionCallsModel(theme, self._mark, self)
        self.table = QTableView()
        self.header = PanelHeader(theme, "Regression calls")
        self.alert = Alert(theme)
        self.run = self._action("Run now", "Run all regression calls and compare the results", self.run_now)
        self.stop = self._action("Stop", "Skip the remaining calls of this run", self._on_stop)
        self.accept_all = self._action(
            "Accept all", "Use the results of these calls as the expected results", self._on_accept_all
        )
        self.badge = Badge(theme)
        self.sentence = PlainLabel(theme, elide=Qt.TextElideMode.ElideRight)
        self.accept = self._action(
            "Accept as expected", "Use the result of this call as the expected result", self._on_accept
        )
        self.open_call = self._action("Open call", "Go to this call in the Tools tab", self._on_open_call)
        self.show_row = self._action("Show in Traffic", "Go to the request that was sent", self._on_show_row)
        self.exclude = self._action(
            "Remove from regression calls", "Keep the saved call, but do not rerun it", self._on_exclude
        )
        self.changes = ChangesTable(theme)
        self.changes.setAccessibleName(
            "Differences: expected result on the left, current result on the right"
        )
        self.response = JsonView(theme, "Call result")
        self.placeholder = EmptyState(theme)
        self._pages = QStackedWidget()
        self.stack = ContentStack(theme, self._make_split())
        self._run_button = ActionButton(self.run, "primary")
        self._stop_button = ActionButton(self.stop)
        self._lay_out()
        self._connect()
        self.show_view(self._view)

    def set_server(self, is_connected: bool, has_files: bool) -> None:
        """Set the server's state; `has_files`: MCP Lens starts it and can watch its files."""
        self.is_connected, self.has_files = is_connected, has_files
        self._update()

    def show_view(self, view: RegressionView) -> None:
        was_running, self._view = self._view.is_running, view
        chosen = self._chosen()
        self.model.update(view.results)
        row = self.model.row_of(chosen.call.path) if chosen is not None else None
        bad = self.model.first_bad()
        if was_running and not view.is_running and bad is not None:
            row = bad  # select the first failure automatically
        self.table.selectRow(row or 0)
        self._show_chosen()
        self._update()

    def _update(self) -> None:
        view = self._view
        self.header.set_detail(summary_text(view))
        latest = f"Latest run: {time_of_day(view.at_ns)[:8]}, {view.cause}" if view.number else ""
        self.header.setToolTip(plain_tooltip(latest))
        self.run.setEnabled(self.is_connected and bool(view.results) and not view.is_running)
        self._run_button.setVisible(not view.is_running)
        self._stop_button.setVisible(view.is_running)
        can_accept = any(result.can_accept for result in view.results)
        self.accept_all.setEnabled(can_accept and not view.is_running)
        if view.results:
            self.stack.open()
        else:
            when = "when files change" if self.has_files else "with Run now"
            text = (
                f"Save a call as a regression call: it is rerun {when} and compared with the expected result."
            )
            manage = self._actions["call.manage"]
            self.stack.explain("empty", "bookmark", "No regression calls", text, action=manage)

    def _chosen(self) -> RegressionResult | None:
        return self.model.find(self.table.currentIndex().row())

    def _show_chosen(self) -> None:
        result = self._chosen()
        if result is None or result is self._shown:
            return
        self._shown = result
        self.badge.set_text(result.state.value, TONES[result.state])
        self.sentence.setText(_sentence(result))
        self.accept.setEnabled(result.can_accept)
        self.show_row.setEnabled(result.outcome is not None and result.outcome.row is not None)
        if self._show_task is not None:
            self._show_task.cancel()
        self._show_task = self._bridge.start("show a regression call", self._show_result(result), self)

    async def _show_result(self, result: RegressionResult) -> None:
        if result.diff is not None and not result.diff.is_same:
            await self.changes.show_diff(result.diff)
            self.changes.go_to_first()
            self._pages.setCurrentWidget(self.changes)
        elif result.outcome is not None and result.outcome.response:
            self.response.set_body(BytesBody(result.outcome.response), "pretty")
            self._pages.setCurrentWidget(self.response)
        elif result.state is RegressionState.FAILED:
            next_step = result.outcome.next_step if result.outcome is not None else ""
            self.placeholder.show_failed("Call failed", result.problem, next_step)
            self._pages.setCurrentWidget(self.placeholder)
        elif result.state is RegressionState.NOT_APPROVED:
            self.response.set_body(BytesBody(_sent(result)), "pretty")  # what would be called
            self._pages.setCurrentWidget(self.response)
        else:
            text = "It runs when files change, or with Run now." if self.has_files else "Run it now."
            self.placeholder.show_empty("play", result.state.value.capitalize(), text)
            self._pages.setCurrentWidget(self.placeholder)

    def _mark(self, state: RegressionState) -> QIcon:
        return dot_icon(self._theme, _SHAPES[state], TONES[state])

    def run_now(self) -> None:
        """Run all calls now; errors are shown."""
        self._start_request(lambda engine: engine.regression_calls.run(self._server))

    def _on_stop(self) -> None:
        self._start_request(lambda engine: engine.regression_calls.stop(self._server))

    def _on_accept_all(self) -> None:
        self._start_request(lambda engine: engine.regression_calls.accept_all(self._server))

    def _on_accept(self) -> None:
        result = self._chosen()
        if result is not None and (path := result.call.path) is not None:
            self._start_request(lambda engine: engine.regression_calls.accept(self._server, path))

    def _on_exclude(self) -> None:
        if (result := self._chosen()) is not None:
            self._start_request(
                lambda engine: engine.regression_calls.set_regression(self._server, result.call, False)
            )

    def _on_open_call(self) -> None:
        if (result := self._chosen()) is not None:
            self.call_requested.emit(result.call)

    def _on_show_row(self) -> None:
        result = self._chosen()
        if result is not None and result.outcome is not None and result.outcome.row is not None:
            self.row_requested.emit(result.outcome.row)

    def make_menu(self, row: int) -> QMenu:
        """Create the context menu of a row of differences."""
        menu = QMenu(self)
        result = self._chosen()
        if result is not None:
            for position in self.changes.rows.ignorable(row):
                text = f"Ignore {shorten(one_line(position), 60)} in this call".replace("&", "&&")
                menu.addAction(text).triggered.connect(partial(self._on_ignore, result, position))
        return menu

    def _on_ignore(self, result: RegressionResult, position: str, checked: bool = False) -> None:
        self._start_request(
            lambda engine: engine.regression_calls.ignore(self._server, result.call, position)
        )

    def _on_menu_requested(self, position: QPoint) -> None:
        index = self.changes.indexAt(position)
        if index.isValid():
            menu = self.make_menu(index.row())
            menu.aboutToHide.connect(menu.deleteLater)
            menu.popup(self.changes.viewport().mapToGlobal(position))

    def _start_request(self, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> None:
        self._bridge.start(f"regression calls of {self._server}", self._run_request(work), self)

    async def _run_request(self, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> None:
        """Run a request and show errors here."""
        with reported(self.alert, "request"):
            await self._bridge.ask(work)

    def _action(self, text: str, hint: str, slot: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.setToolTip(hint)
        action.triggered.connect(slot)
        return action

    def _connect(self) -> None:
        self.table.selectionModel().currentRowChanged.connect(lambda *rows: self._show_chosen())
        self.table.doubleClicked.connect(lambda index: self._on_open_call())
        self.changes.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.changes.customContextMenuRequested.connect(self._on_menu_requested)

    def _make_split(self) -> QSplitter:
        self.table.setAccessibleName("Regression calls")
        self.table.setModel(self.model)
        stretch = (RegressionColumn.CALL, RegressionColumn.DIFFERENCE)
        style_table(self.table, self._theme, _WIDTHS, stretch)
        self.table.setFrameShape(QTableView.Shape.NoFrame)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        for page in (self.changes, self.response, self.placeholder):
            self._pages.addWidget(page)
        return vsplit(self.table, self._make_detail(), sizes=[112, 350], stretch=1)

    def _make_detail(self) -> QWidget:
        head = hbox(
            None,
            self.badge,
            (self.sentence, 1),
            ActionButton(self.accept),
            self._make_more(),
            margin=(SPACE_3, SPACE_2, SPACE_2, SPACE_2),
        )
        page = QWidget()
        vbox(page, head, (self._pages, 1), gap=0)
        return page

    def _make_more(self) -> QToolButton:
        more = QAction("More actions", self)
        self._theme.set_icon(more, "more")
        menu = QMenu(self)
        menu.addActions([self.open_call, self.show_row, self.exclude])
        more.setMenu(menu)
        button = icon_button(more)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _lay_out(self) -> None:
        for button in (ActionButton(self.accept_all), self._stop_button, self._run_button):
            self.header.add_widget(button)
        vbox(self, self.header, self.alert, (self.stack, 1), gap=0)


def _sent(result: RegressionResult) -> bytes:
    """Return what would be sent, for review before it is allowed."""
    call = result.call
    return to_wire({"tool": call.tool, "arguments": call.arguments, "meta": call.meta})


def _sentence(result: RegressionResult) -> str:
    match result.state:
        case RegressionState.DIFFERENT:
            than = "the expected result" if result.is_accepted else _FIRST_RESULT
            return f"Differs from {than}: {difference_text(result)}."
        case RegressionState.SAME:
            return "" if result.is_accepted else f"Same as {_FIRST_RESULT}."
        case RegressionState.NEW:
            return result.problem or "Accept it to compare later results with it."
        case RegressionState.NOT_APPROVED:
            return "New or changed in a shared folder. Select Run now to allow it."
    return result.problem
