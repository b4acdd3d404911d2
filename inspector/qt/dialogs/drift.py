"""Drift dialog: the changes of a server's tools, resources and prompts since its baseline.

The user accepts the current state as the new baseline, or keeps the old one; then the changes are not
reported again until the next start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDialog, QHeaderView, QTableView, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.engine.drift.drift import DriftView
from inspector.protocol.drift import ItemChange
from inspector.qt.bridge import Bridge
from inspector.qt.models.compare.diff_rows import DiffRowsModel
from inspector.qt.models.compare.drift_rows import (
    DriftColumn,
    DriftRowsModel,
    item_of,
    name_text,
    notice_text,
    since_text,
)
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_6, Theme
from inspector.qt.views.diff_view import DiffView, WholeValues
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import hbox, hsplit, vbox, vsplit
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine


class DriftDialog(QDialog):
    """Shows what changed since the baseline.

    The items are on the left, the chosen one on the right: baseline and current.
    """

    help_page = "file-watching"

    def __init__(self, bridge: Bridge, theme: Theme, server: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._server = server
        self._shown: ItemChange | None = None
        self._task: asyncio.Task[Any] | None = None
        self.view = DriftView(server)
        self.model = DriftRowsModel(theme)
        self.model.setParent(self)
        self.list = QTableView()
        self.fields = DiffRowsModel(theme)
        self.fields.setParent(self)
        self.changes = DiffView(self.fields, theme)
        self.values = WholeValues(theme)
        self.summary = PlainLabel(theme, wrap=True)
        self.title = Heading(theme)
        self.alert = Alert(theme)
        self.detail = ContentStack(theme, self._make_sides())
        self.accept_action = self._action("Accept as new baseline", self._accept)
        self.accept_action.setToolTip("Use the server's current lists as the baseline for future comparisons")
        self.keep_action = self._action("Keep baseline", self._keep)
        self.keep_action.setToolTip(
            "Keep the current baseline; these changes are not reported again until MCP Lens restarts"
        )
        self.copy_action = self._action("Copy as text", self.copy_text)
        self._lay_out()
        self.gate.explain("loading", "", "Comparing", "Comparing the lists with the baseline.")
        bridge.drift_changed.connect(self._on_drift_changed)
        self.list.selectionModel().currentRowChanged.connect(self._on_row_changed)
        self.changes.selectionModel().currentRowChanged.connect(self._on_field_changed)
        bridge.start("load changes", self._load(), self)

    def show_view(self, view: DriftView) -> None:
        """Show the current state; the selected item stays selected."""
        self.view = view
        before = self._shown
        self.summary.setText(notice_text(view) if view.changes else "")
        self.model.replace(list(view.changes))
        self._shown = None
        for action in (self.accept_action, self.copy_action):
            action.setEnabled(bool(view.changes))
        self.keep_action.setEnabled(bool(view.changes) and not view.is_acknowledged)
        if not view.changes:
            self._explain(view)
            return
        self.gate.open()
        row = self.model.row_of(item_of(before)) if before is not None else None
        self.list.setCurrentIndex(self.model.index(row or 0, DriftColumn.NAME))

    def copy_text(self) -> None:
        """Copy the selected item's changes, headed by its name."""
        if self._shown is not None:
            lines = [f"{one_line(self._server)}: {name_text(self._shown)}", "", self.fields.as_text()]
            QGuiApplication.clipboard().setText("\n".join(lines))

    def _explain(self, view: DriftView) -> None:
        if view.problem:
            self.accept_action.setEnabled(True)
            text = "Accept the server's current lists as the new baseline, or fix the file."
            self.gate.explain("failed", "", "Comparison failed", view.problem, text)
        elif view.taken_ns:
            text = f"The lists are the same as in the baseline of {since_text(view)}."
            self.gate.explain("empty", "check", "No changes", text)
        else:
            text = "MCP Lens saves a baseline when the server connects, and compares with it from then on."
            self.gate.explain("empty", "history", "No baseline yet", text)

    async def _load(self) -> None:
        self.show_view(await self._bridge.ask(lambda engine: engine.drift.get(self._server)))

    def _on_drift_changed(self, view: DriftView) -> None:
        if view.server == self._server:
            self.show_view(view)

    def _on_row_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        if current.isValid():
            self._show_change(self.model.record(current.row()))

    def _show_change(self, change: ItemChange) -> None:
        self._shown = change
        self.title.setText(name_text(change))
        self.alert.close_all()
        if change.hidden:
            text = f"New hidden characters in {change.hidden}."
            self.alert.show_message(
                "hidden", text, "You cannot see them, but a model reads them.", tone="error"
            )
        if self._task is not None:
            self._task.cancel()
        self._task = self._bridge.start("compare an item", self._show_diff(change), self)

    def _on_field_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        values = self.fields.values(current.row()) if current.isValid() else None
        self.values.show_values(*values) if values is not None else self.values.clear()

    async def _show_diff(self, change: ItemChange) -> None:
        try:
            diff = await self._bridge.ask(lambda engine: engine.drift.diff(self._server, change))
        except UserError as exc:
            self.detail.explain("failed", "", "Not compared", exc.summary, exc.next_step)
            return
        await self.fields.show(diff)
        self.values.clear()
        self.changes.go_to_change(1)
        self.detail.open()

    def _accept(self) -> None:
        seen = self.view.seen
        self._run("accept the baseline", lambda engine: engine.drift.accept(self._server, seen))

    def _keep(self) -> None:
        seen = self.view.seen
        self._run("keep the baseline", lambda engine: engine.drift.keep_baseline(self._server, seen))

    def _run(self, name: str, act: Callable[[Engine], Coroutine[Any, Any, None]]) -> None:
        """Run a request and close; on failure stay open and show the error."""

        async def run() -> None:
            with reported(self.alert, "failed", "error"):
                await self._bridge.ask(act)
                self.close()

        self._bridge.start(name, run(), self)

    def _action(self, text: str, slot: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda checked=False: slot())
        action.setEnabled(False)
        return action

    def _lay_out(self) -> None:
        self.setWindowTitle(f"Changes: {shorten(one_line(self._server), 80)}")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.resize(1120, 680)
        split = hsplit(self._make_list(), self._make_detail(), sizes=[440, 680], stretch=1)
        self.gate = ContentStack(self._theme, split)
        head = hbox(None, (self.summary, 1), gap=-1, margin=SPACE_3)
        foot = hbox(None, margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_3))
        buttons = (
            ActionButton(self.copy_action),
            ActionButton(self.keep_action),
            ActionButton(self.accept_action),  # neither is the default
        )
        for button in buttons:
            button.setAutoDefault(False)  # Return in a list must not accept changes
            foot.addWidget(button)
        foot.insertStretch(1, 1)
        vbox(self, head, (self.gate, 1), foot, gap=0)

    def _make_list(self) -> QTableView:
        self.list.setModel(self.model)
        self.list.setAccessibleName("Changes")
        style_table(self.list, self._theme)
        self.list.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        header = self.list.horizontalHeader()
        header.setMinimumSectionSize(SPACE_6)
        header.setSectionResizeMode(DriftColumn.NAME, QHeaderView.ResizeMode.Interactive)
        for column, width in zip(DriftColumn, (SPACE_6 + 4, 190, 80, 120), strict=True):
            self.list.setColumnWidth(column, width)
        return self.list

    def _make_detail(self) -> QWidget:
        page = QWidget()
        head = hbox(None, (self.title, 1), gap=-1, margin=(SPACE_3, SPACE_2))
        vbox(page, head, self.alert, (self.detail, 1), gap=0)
        return page

    def _make_sides(self) -> QWidget:
        """Create the side-by-side view of the members, with the chosen member in full below.

        A row has no room for a description.
        """
        above = QWidget()
        heads = hbox(
            None,
            *((MutedLabel(self._theme, text), 1) for text in ("Baseline", "Now")),
            gap=-1,
            margin=(SPACE_6 + SPACE_2, SPACE_2, SPACE_3, SPACE_2),
        )
        vbox(above, heads, (self.changes, 1), gap=0)
        return vsplit(above, self.values, sizes=[400, 160], stretch=0)
