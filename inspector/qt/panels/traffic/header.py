"""Header of a traffic panel: title, count, filter, views and buttons; status messages.

A narrow header takes two rows, and moves the view names into a menu if they still do not fit.
`TrafficStatus` reports the row count and why the table is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QMenu, QToolButton, QWidget

from inspector.base.units import plural
from inspector.qt.models.traffic.traffic_model import TrafficModel, TrafficSource
from inspector.qt.theme import HEADER_HEIGHT, ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionToolButton, Segments
from inspector.qt.widgets.inputs.filter_bar import FilterBar
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel

if TYPE_CHECKING:
    from inspector.traffic.captures.recording import RecordingState

VIEWS = ("Messages", "Operations", "Timeline", "Statistics")
# A filter must be readable: with less room than this, it gets its own row.
_MIN_FOR_FILTER = 300
_MIN_FOR_TITLE = 96


class TrafficHeader(QWidget):
    """Lays out the header's controls above a thin line."""

    def __init__(
        self,
        theme: Theme,
        title: str,
        bar: FilterBar,
        views: Sequence[QAction],
        actions: Sequence[QAction],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._bar = bar
        self._title, self._detail = Heading(theme, title), MutedLabel(theme)
        self._title.setMinimumWidth(min(self._title.sizeHint().width(), _MIN_FOR_TITLE))
        self.views = Segments(theme, VIEWS)
        self._views_menu = _menu_button(theme, views)
        self.scope = QComboBox()
        self.scope.setAccessibleName("Servers to show")
        self.scope.addItems(["All servers", "This server"])
        # As wide as it may ever be, so that the filter does not move while rows are counted.
        self._detail_width = self._detail.fontMetrics().horizontalAdvance("000,000 of 000,000")
        self._detail.setMaximumWidth(self._detail_width)
        self._tools = self._make_tools(actions)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(SPACE_3, 0, SPACE_2, 1)
        self._grid.setHorizontalSpacing(SPACE_2)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(2, 1)
        self._grid.addWidget(self._title, 0, 0)
        self._grid.addWidget(self._detail, 0, 1)
        self._grid.addWidget(self._tools, 0, 3)
        self._is_narrow: bool | None = None
        self._is_tight: bool | None = None
        self._set_tight(False)
        self._arrange(is_narrow=False)
        theme.changed.connect(self.update)

    def set_detail(self, text: str) -> None:
        """Set the text beside the title, such as `12 of 250`."""
        self._detail.setText(text)
        self._fit_detail()

    def show_view(self, index: int) -> None:
        self.views.choose(index)
        self._views_menu.setText(VIEWS[index])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width, tools = event.size().width(), self._tools_width()
        title = min(self._title.sizeHint().width(), _MIN_FOR_TITLE)
        room = width - title - self._detail_width - 4 * SPACE_3
        self._set_tight(room < tools)
        used = self._title.sizeHint().width() + self._detail_width + tools + 4 * SPACE_3
        self._arrange(is_narrow=width - used < _MIN_FOR_FILTER)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))

    def minimumSizeHint(self) -> QSize:
        # As narrow as the buttons alone: the other parts shrink first, so that the dock can get narrow.
        return QSize(240, super().minimumSizeHint().height())

    def _tools_width(self) -> int:
        """Return the width with all view names, whether or not they are shown now."""
        shown, other = self.views, self._views_menu
        hint = self._tools.sizeHint().width()
        return hint + shown.sizeHint().width() - other.sizeHint().width() if self._is_tight else hint

    def _set_tight(self, is_tight: bool) -> None:
        if is_tight == self._is_tight:
            return
        self._is_tight = is_tight
        if is_tight:
            self._theme.apply_icon(self._views_menu)
        self.views.setHidden(is_tight)
        self._views_menu.setHidden(not is_tight)
        self._fit_detail()

    def _fit_detail(self) -> None:
        """Keep it as wide as its text: a title may be cut, but a cut number would mislead."""
        text = self._detail.fontMetrics().horizontalAdvance(self._detail.text()) + SPACE_1
        self._detail.setMinimumWidth(min(text, self._detail_width) if self._is_tight else self._detail_width)

    def _arrange(self, *, is_narrow: bool) -> None:
        if is_narrow == self._is_narrow:
            return
        self._is_narrow = is_narrow
        height = max(HEADER_HEIGHT, self._theme.row_height() + SPACE_3)
        if is_narrow:
            self._grid.addWidget(self._bar, 1, 0, 1, 4)
        else:
            self._grid.addWidget(self._bar, 0, 2)
        self._grid.setRowMinimumHeight(0, height)
        self._grid.setRowMinimumHeight(1, height if is_narrow else 0)

    def _make_tools(self, actions: Sequence[QAction]) -> QWidget:
        tools = QWidget()
        row = hbox(tools, self.views, self._views_menu, SPACE_1, self.scope, gap=SPACE_1)
        for action in actions:
            self._theme.apply_icon(action)
            row.addWidget(_button(action, tools))
        return tools


def _menu_button(theme: Theme, actions: Sequence[QAction]) -> QToolButton:
    button = QToolButton()
    theme.set_icon_later(button, "chevron-down", "muted")
    button.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # puts the chevron after the text
    menu = QMenu(button)
    menu.addActions(list(actions))
    button.setMenu(menu)
    button.setText(VIEWS[0])
    button.setToolTip("View")
    button.setAccessibleName("View")
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    return button


def _button(action: QAction, parent: QWidget) -> QToolButton:
    button = ActionToolButton(action, parent)
    button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
    button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    button.setAccessibleName(action.iconText())
    # Qt hides the action in menus and tool bars only.
    action.visibleChanged.connect(lambda: button.setHidden(not action.isVisible()))
    return button


class TrafficStatus(QObject):
    """Reports the panel's state: a count in the header, strips, and why the table is empty.

    Signals:
        capture_requested: The user wants to open the capture with older rows; carries its path.
    """

    capture_requested = Signal(object)

    def __init__(
        self,
        source: TrafficSource,
        model: TrafficModel,
        head: TrafficHeader,
        bar: FilterBar,
        strips: Alert,
        gate: ContentStack,
        actions: dict[str, QAction],
    ) -> None:
        super().__init__(head)
        self._source = source
        self._model = model
        self._head = head
        self._bar = bar
        self._strips = strips
        self._gate = gate
        self._actions = actions
        self._continue_search = QAction("Continue search", self)
        self._continue_search.triggered.connect(model.search.resume)
        self._restore_filter = QAction("Restore previous filter", self)
        self._restore_filter.triggered.connect(bar.discard)
        self._recording: RecordingState | None = None
        self._dismissed: set[str] = set()  # kinds of notices about older rows
        self._open_earlier, self._dismiss_earlier = QAction("Open capture", self), QAction("Dismiss", self)
        self._open_earlier.triggered.connect(self._on_open_earlier)
        self._dismiss_earlier.triggered.connect(self._on_dismiss_earlier)

    def update(self) -> None:
        """Show the number of rows; if there are none, explain why and what to do."""
        self._head.set_detail(count_text(self._model))
        self._actions["traffic.show_cleared"].setEnabled(self._model.is_cleared)
        self._show_cleared()
        self._show_stopped()
        self._show_earlier()
        open_or_explain(self._gate, self._model, self._source, self._actions)

    def show_pause(self) -> None:
        """Show that the table is paused, and how many rows are new."""
        action = self._actions["traffic.pause"]
        action.setText("Resume" if action.isChecked() else "Pause")
        if not action.isChecked():
            self._strips.close_topic("pause")
            return
        new = self._model.new_while_paused
        text = f"Paused, {new:,} new." if new else "Paused."
        self._strips.show_message("pause", f"{text} Recording continues.", "", [action])

    def set_recording(self, state: RecordingState) -> None:
        """Set where the rows are that are no longer in memory."""
        self._recording = state
        self._show_earlier()

    def _show_earlier(self) -> None:
        """Show that older rows are in earlier captures or were deleted, and offer to open them."""
        log, state = self._source.log, self._recording
        if not self._source.is_live or not log.first or self._earlier_kind() in self._dismissed:
            self._strips.close_topic("earlier")
            return
        parts = [f"Showing the latest {plural(len(log) - log.first, 'row')}."]
        if self._earlier_kind() == "not recorded":
            parts.append(f"{log.first:,} older ones have left memory: traffic is not recorded.")
            parts.append("Turn on recording in Manage captures to store everything.")
        elif state is not None:
            if log.first > state.first:
                parts.append(f"{log.first - state.first:,} older ones are in earlier captures.")
            if state.first > state.began:
                deleted = state.first - state.began
                parts.append(f"{deleted:,} were deleted: captures have reached their disk limit.")
            if state.began:
                parts.append(f"{state.began:,} were not recorded.")
        actions = [self._open_earlier] if self._earlier_path() is not None else []
        actions.append(self._dismiss_earlier)
        self._strips.show_message("earlier", " ".join(parts), "", actions, "muted")

    def _earlier_path(self) -> Path | None:
        """Return the newest capture with rows that are no longer shown."""
        earlier = self._recording.earlier if self._recording is not None else ()
        first = self._source.log.first
        return next((each.path for each in reversed(earlier) if each.first < first), None)

    def _on_open_earlier(self) -> None:
        path = self._earlier_path()
        if path is not None:
            self.capture_requested.emit(path)

    def _on_dismiss_earlier(self) -> None:
        self._dismissed.add(self._earlier_kind())
        self._show_earlier()

    def _earlier_kind(self) -> str:
        """Return what the notice about older rows reports; it can be dismissed once for each."""
        state = self._recording
        if state is None or (state.is_closed and self._source.log.first > state.rows):
            return "not recorded"
        return "deleted" if state.first else "stored"

    def show_filter_error(self, text: str) -> None:
        """Show what is wrong with a filter the user has left; "" clears it.

        While typing, the field itself shows it: a strip would keep appearing and disappearing.
        """
        self._strips.close_topic("filter")
        if text:
            before = "The previous filter still applies." if self._bar.applied else "No filter is applied."
            self._strips.show_message("filter", text, before, [self._restore_filter], "error")

    def show_masked_copy(self, text: str, copy_whole: Callable[[], object]) -> None:
        """Show that something was copied without its secrets, and offer to copy it with them."""
        whole, dismiss = QAction("Copy with secrets", self), QAction("Dismiss", self)
        whole.triggered.connect(copy_whole)
        for action in (whole, dismiss):
            action.triggered.connect(lambda: self._strips.close_topic("copied"))
        self._strips.close_topic("copied")
        self._strips.show_message("copied", text, "", [whole, dismiss], "ok")

    def _show_stopped(self) -> None:
        search = self._model.search
        if search.is_stopped:
            text = f"Stopped after {search.share:.0%}: later rows were not searched."
            self._strips.show_message("stopped", text, "", [self._continue_search], "muted")
        else:
            self._strips.close_topic("stopped")

    def _show_cleared(self) -> None:
        if self._model.is_cleared and self._model.rowCount():
            text = f"{plural(self._model.cleared_count, 'earlier row')} cleared from the view."
            self._strips.show_message("cleared", text, "", [self._actions["traffic.show_cleared"]], "muted")
        else:
            self._strips.close_topic("cleared")


def count_text(model: TrafficModel) -> str:
    """Return the header's count: `1,234 messages`, `12 of 1,234`; and the search progress."""
    count, search = model.rowCount(), model.search
    if model.cells.is_by_operation:
        text = plural(count, "operation") if count else ""
    elif model.is_filtered and count:
        text = f"{count:,} of {search.count:,}"
    else:
        text = plural(count, "message") if count else ""
    if search.is_searching:
        return f"{count:,} so far, {search.share:.0%}"
    return f"{count:,} in the first {search.share:.0%}" if search.is_stopped else text


def open_or_explain(
    gate: ContentStack, model: TrafficModel, source: TrafficSource, actions: dict[str, QAction]
) -> None:
    """Show the table, or why it is empty and what to do."""
    if model.rowCount() or model.search.is_searching:
        gate.open()
    elif model.is_filtered:
        sentence = "No recorded message matches the filter, the selected servers and the time range."
        if not (model.search.condition.with_events or model.search.condition.any_kind):
            sentence += " Connection events and stderr are excluded: use kind:event to search them."
        gate.explain("empty", "filter", "No matches", sentence, action=actions["traffic.no_filter"])
    elif model.is_cleared:
        sentence = "New messages appear here. Earlier ones are still in the log."
        gate.explain("empty", "clear", "View cleared", sentence, action=actions["traffic.show_cleared"])
    elif source.is_live:
        sentence = "Connect to a server to see every message here."
        gate.explain("empty", "traffic", "No traffic yet", sentence)
    else:
        sentence = "This capture has no messages. It may have connection events."
        gate.explain("empty", "traffic", "No messages", sentence, action=actions["traffic.events"])
