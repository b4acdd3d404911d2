"""Traffic panel, live or for a capture: filter, table or other views, and row detail."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPoint, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from inspector.base.json.values import JSON
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.columns import Column
from inspector.qt.models.traffic.traffic_model import TrafficModel, TrafficSource
from inspector.qt.models.traffic.view_options import RowColors, TrafficViewOptions
from inspector.qt.panels.traffic.filter import FilterLanguage, TrafficFilter
from inspector.qt.panels.traffic.header import TrafficHeader, TrafficStatus
from inspector.qt.panels.traffic.row_commands import RowCommands
from inspector.qt.panels.traffic.table import TrafficTable
from inspector.qt.panels.traffic.view_stack import DetailSplit, View, ViewStack
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.filter_bar import FilterBar
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack, EmptyState
from inspector.qt.widgets.notices.notices import Alert
from inspector.traffic.records import RecordKind

if TYPE_CHECKING:
    from inspector.qt.panels.traffic.detail.detail_view import DetailView

_PLACEHOLDER = "Filter by text or expression, e.g. method:tools/call and dur>500ms"
_BUTTON_IDS = ("traffic.events", "traffic.logins", "traffic.follow", "traffic.pause", "traffic.clear")
_VIEW_IDS = ("traffic.frames", "traffic.operations", "traffic.timeline", "traffic.statistics")


class TrafficPanel(QWidget):
    """The traffic of all servers, or of the current one.

    Follows the newest row while `traffic.follow` is on.

    Signals:
        resend_requested: Edit and resend a sent request; carries its row.
        compare_requested: Show the differences between two rows; carries them.
        help_requested: Show the help on filters.
        rules_requested: Edit the color rules.
        capture_requested: Open a capture with older rows; carries its path.
        current_changed: The current row (`current_number`) changed; there may be none.
    """

    help_page = "traffic"
    resend_requested = Signal(int)
    compare_requested = Signal(object)
    help_requested = Signal()
    rules_requested = Signal()
    capture_requested = Signal(object)
    current_changed = Signal()

    def __init__(
        self,
        source: TrafficSource,
        bridge: Bridge,
        actions: Actions,
        theme: Theme,
        *,
        options: TrafficViewOptions | None = None,
        memory: QSettings | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.source = source
        self._bridge = bridge
        self.local_actions = self._actions = actions.local("traffic.", self)
        self.theme = theme
        self.options = options or TrafficViewOptions(bridge, memory, self)
        self.memory = memory
        self._hidden_number: int | None = None  # the current row, if the filter hides it
        self._requested_number = 0
        self.language = FilterLanguage(source.log)
        self._row_colors = RowColors(source.log, theme, self.language.matcher)
        self.model = TrafficModel(source.log, theme)
        self.model.tint = self._row_colors.color
        self.table = TrafficTable(self.model, theme, memory, can_follow=source.is_live)
        self.filter_bar = FilterBar(theme, _PLACEHOLDER, self.language.complete, self.language.check)
        self.search = self.filter_bar.field
        views, buttons = ([self._actions[id] for id in ids] for ids in (_VIEW_IDS, _BUTTON_IDS))
        self.head = TrafficHeader(theme, source.title, self.filter_bar, views, buttons)
        self.scope = self.head.scope
        self.strips = Alert(theme, is_compact=True)
        self._show_hidden_row = QAction("Show row", self)
        self._gate = ContentStack(theme, self.table)
        self._status = TrafficStatus(
            source, self.model, self.head, self.filter_bar, self.strips, self._gate, self._actions
        )
        self.views = ViewStack(self._gate, source, self.model.search, theme)
        self._detail_placeholder = EmptyState(theme)
        self._split = DetailSplit(self.views, self._detail_placeholder)
        self._row_commands = RowCommands(source.log, self.table, self.current_number, self._actions, theme)
        self._filter = TrafficFilter(
            self.model,
            self.language,
            self.filter_bar,
            self.scope,
            self._actions["traffic.events"],
            self._actions["traffic.logins"],
            self._keep_current,
        )
        self._lay_out()
        self._connect()
        self._on_options_changed()
        self._set_initial_state()

    @cached_property
    def detail(self) -> DetailView:
        """The detail view, created for the first selected row: it adds 50 ms to the window's start."""
        from inspector.qt.panels.traffic.detail.detail_view import DetailView

        view = DetailView(self.source, self._bridge, self.theme)
        view.filter_requested.connect(self.filter_on)
        view.row_requested.connect(self.go_to)
        view.set_by_operation(self.model.cells.is_by_operation)
        self._split.put_detail(view)
        return view

    @property
    def _has_detail(self) -> bool:
        return "detail" in vars(self)

    def set_server(self, name: str) -> None:
        """Set the current server, which "This server" selects."""
        self._filter.set_server(name)

    def set_range(self, span: tuple[int, int] | None) -> None:
        """Show only rows between two wall times, in nanoseconds; None for all."""
        self._filter.set_range(span)

    def choose(self, number: int) -> bool:
        """Select a row of the log. Return False if it is not shown."""
        return self.table.show_number(number)

    def current_number(self) -> int | None:
        """Return the log row whose detail is shown, even if it is not in the table."""
        return self.detail.number if self._has_detail else None

    def go_to(self, number: int) -> None:
        """Go to a row of the log; if it is hidden, explain why and offer to show it."""
        self.strips.close_topic("hidden")
        if not self.views.is_table or self._is_step_of_current(number) or self.choose(number):
            self._show_row(number)
        else:
            self._requested_number = number
            text = f"Row {number + 1:,} is hidden: {self._filter.hidden_reason()}."
            self.strips.show_message("hidden", text, "", [self._show_hidden_row])

    def go_to_partner(self) -> None:
        """Go from a request to its response, or back."""
        number = self.current_number()
        partner = self.source.log.partner(number) if number is not None else None
        if partner is not None:
            self.go_to(partner)

    def filter_on(self, path: str, value: JSON, exclude: bool = False) -> None:
        """Narrow the filter to rows with this value, or to those without it."""
        self._filter.narrow(path, value, exclude)

    def show_view(self, view: int) -> None:
        """Show messages, operations, timeline or statistics."""
        self.views.show_view(View(view))
        self.head.show_view(view)
        for each, id in zip(View, _VIEW_IDS, strict=True):
            self._actions[id].setChecked(each == view)
        self._keep_current(lambda: self.model.set_by_operation(view == View.OPERATIONS))
        if self._has_detail:
            self.detail.set_by_operation(view == View.OPERATIONS)
        self.table.columns.fit()

    def _lay_out(self) -> None:
        sentence = "Select a message to see its details."
        self._detail_placeholder.show_empty("traffic", "No message selected", sentence)
        vbox(self, self.head, self.strips, (self._split, 1), gap=0)
        # Only in the table: elsewhere the same keys copy the selected text.
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.table)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self._actions["traffic.copy"].trigger)

    def _connect(self) -> None:
        self.source.grew.connect(self._on_traffic_grew)
        self.options.changed.connect(self._on_options_changed)
        search = self.model.search
        search.restarted.connect(self.source.log.forget_read_failure)
        search.progressed.connect(self._on_progressed)
        search.found.connect(self._reselect_hidden)
        search.retouched.connect(self._row_colors.forget)
        search.moved_out.connect(self._on_moved_out)  # a lambda would keep the panel: PySide owns it
        self.table.selectionModel().currentRowChanged.connect(self._on_current_changed)
        self.table.following_changed.connect(self._actions["traffic.follow"].setChecked)
        self.table.menu_requested.connect(self._on_cell_clicked)
        self.table.activated.connect(self._on_row_activated)
        self.head.views.chosen.connect(self.show_view)
        self.views.row_chosen.connect(self.go_to)
        self.views.range_chosen.connect(self.set_range)
        self.views.menu_requested.connect(self._on_bar_clicked)
        self.views.filter_requested.connect(self._on_filter_requested)
        self._show_hidden_row.triggered.connect(self._on_show_hidden)
        self._status.capture_requested.connect(self.capture_requested)
        if self.source.is_live:
            self._bridge.recording_changed.connect(self._status.set_recording)
        self._connect_bar()
        self._connect_rows()
        self._connect_actions()

    def _connect_bar(self) -> None:
        bar = self.filter_bar
        bar.history_changed.connect(self.options.set_history)
        bar.saving_requested.connect(self.options.save_filter)
        bar.help_requested.connect(self.help_requested)
        bar.field.stop_requested.connect(self.model.search.stop)
        bar.field.unfocused_error_changed.connect(self._status.show_filter_error)

    def _connect_rows(self) -> None:
        self._row_commands.notes_changed.connect(self._on_note_changed)
        self._row_commands.row_requested.connect(self.go_to)
        self._row_commands.problem_found.connect(self._bridge.problem_found)
        self._filter.problem_found.connect(self._bridge.problem_found)
        self._row_commands.resend_requested.connect(self.resend_requested)
        self._row_commands.compare_requested.connect(self.compare_requested)
        self._row_commands.copied_masked.connect(self._status.show_masked_copy)

    def _on_filter_requested(self, text: str) -> None:
        """Show the rows behind a line of the statistics."""
        self.filter_bar.set_text(text)
        self.show_view(View.MESSAGES)

    def _connect_actions(self) -> None:
        slots: dict[str, Callable[[], object]] = {
            "traffic.search": self.filter_bar.focus_field,
            "traffic.no_filter": self._filter.show_all,
            "traffic.save_filter": self.filter_bar.ask_for_name,
            "traffic.colors": self.rules_requested.emit,
            "traffic.columns": self._on_columns,
            "traffic.clear": self._on_clear,
            "traffic.show_cleared": lambda: self._keep_current(self.model.show_cleared),
            "traffic.partner": self.go_to_partner,
            "traffic.operation": self._on_filter_operation,
            **{id: partial(self.show_view, view) for view, id in zip(View, _VIEW_IDS, strict=True)},
        }
        for id, slot in slots.items():
            self._actions[id].triggered.connect(partial(_ignore_checked, slot))
        self._actions["traffic.follow"].toggled.connect(self.table.set_following)
        self._actions["traffic.pause"].toggled.connect(self._on_pause_toggled)

    def _set_initial_state(self) -> None:
        self._actions["traffic.follow"].setChecked(self.source.is_live)
        for id in ("traffic.follow", "traffic.pause"):
            self._actions[id].setVisible(self.source.is_live)
            self._actions[id].setEnabled(self.source.is_live)
        self.scope.setVisible(self.source.is_live)
        self._actions["traffic.show_cleared"].setEnabled(False)
        self._actions["traffic.frames"].setChecked(True)
        self._actions["traffic.logins"].setChecked(True)
        if not self.source.is_live:  # later: building and showing the panel takes time, too
            QTimer.singleShot(0, self, lambda: self.model.extend(len(self.source.log)))
        self._status.update()

    def _on_traffic_grew(self, length: int) -> None:
        self.table.begin_change()
        self.model.extend(length)
        self.table.end_change()
        self._status.show_pause()
        if self._has_detail:
            self.detail.refresh()

    def _on_progressed(self) -> None:
        search = self.model.search
        self.search.set_progress(search.share if search.is_searching else None)
        if self.table.is_following and search.is_searching:
            self.table.scrollToBottom()
        self._report_unreadable()
        self._status.update()

    def _report_unreadable(self) -> None:
        """Say so if the filter could not look into some messages."""
        failure, matcher = self.source.log.read_failure, self.model.search.condition.matcher
        if failure is None or matcher is None or matcher.is_cheap:
            self.strips.close_topic("unreadable")
        else:
            self.strips.show_message("unreadable", f"Some messages could not be searched. {failure}")

    def _on_moved_out(self, position: int, number: int) -> None:
        self._row_colors.forget([number])

    def _on_pause_toggled(self, paused: bool) -> None:
        self.table.begin_change()
        self.model.set_paused(paused)
        self.table.end_change()
        self._status.show_pause()

    def _on_columns(self) -> None:
        if not self.views.is_table:
            self.show_view(View.MESSAGES)
        self.table.columns.open_menu()

    def _on_clear(self) -> None:
        self.model.clear_view()
        self._show_row(None)
        self._status.update()

    def _on_filter_operation(self) -> None:
        from inspector.qt.panels.traffic.row_commands import terms_of

        number = self.current_number()
        if number is not None and self.source.log.operation(number) is not None:
            self.show_view(View.MESSAGES)
            self._filter.narrow_term(terms_of(self.source.log, number, Column.OPERATION)[0], False)

    def _keep_current(self, change: Callable[[], None]) -> None:
        """Change which rows are shown; select the current row again if it is still or later shown."""
        self.strips.close_topic("hidden")
        self._hidden_number = self.current_number()
        self.table.begin_change()
        change()
        self._reselect_hidden()
        self.table.end_change()
        self._status.update()

    def _reselect_hidden(self) -> None:
        """Select the current row again once a running search finds it."""
        if self._hidden_number is None:
            return
        row = self.model.find_row(self.model.shown_as(self._hidden_number))
        if row is not None:
            self._hidden_number = None
            index = self.model.index(row, Column.MESSAGE)
            self.table.setCurrentIndex(index)
            if not self.table.is_following:
                self.table.scrollTo(index)

    def _is_step_of_current(self, number: int) -> bool:
        """Return whether the row belongs to the selected operation."""
        shown_as = self.model.shown_as(number)
        return shown_as != number and shown_as == self.table.current_number()

    def _on_current_changed(self, current: QModelIndex, previous: QModelIndex) -> None:
        self._show_row(self.model.number(current.row()) if current.isValid() else None)

    def _show_row(self, number: int | None) -> None:
        if number is not None:
            self.views.show_row(number)
        if number is not None or self._has_detail:
            self.detail.show_row(number)
        self._split.set_has_row(number is not None)
        self._row_commands.update()
        self.current_changed.emit()

    def _on_row_activated(self) -> None:
        """Show all messages of an operation on Enter or double click."""
        if self.model.cells.is_by_operation:
            self._on_filter_operation()

    def _on_cell_clicked(self, index: QModelIndex, position: QPoint) -> None:
        self._open_menu(self.model.number(index.row()), index.column(), position)

    def _on_bar_clicked(self, number: int, position: QPoint) -> None:
        self.go_to(number)
        self._open_menu(number, Column.MESSAGE, position)

    def _open_menu(self, number: int, column: int, position: QPoint) -> None:
        from inspector.qt.panels.traffic.row_commands import make_menu, terms_of

        terms = terms_of(self.source.log, number, column)
        menu = make_menu(self, terms, self._actions, self._filter.narrow_term)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(position)

    def _on_note_changed(self, rows: list[int]) -> None:
        self._row_colors.forget(rows)
        self.model.search.search_again(rows)
        self.table.repaint_rows()

    def _on_show_hidden(self) -> None:
        """Remove what hides the requested row, and go there."""
        self.strips.close_topic("hidden")
        self.show_view(View.MESSAGES)
        number, log = self._requested_number, self.source.log
        self._filter.reveal_row(number, RecordKind(log.kind(number)), log.subject(number))
        self.choose(number)

    def _on_options_changed(self) -> None:
        self.filter_bar.set_history(self.options.history)
        self.filter_bar.set_saved(self.options.filters)
        self._row_colors.set_rules(self.options.rules)
        self.table.repaint_rows()


def _ignore_checked(slot: Callable[[], object], checked: bool = False) -> None:
    """Drop the `checked` argument that actions pass to their slots."""
    slot()
