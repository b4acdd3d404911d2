"""How a traffic panel stands, in words: how many rows there are, and why there are none."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction

from inspector.base.units import plural
from inspector.qt.models.source import TrafficSource
from inspector.qt.models.traffic import TrafficModel
from inspector.qt.panels.traffic.head import TrafficHead
from inspector.qt.widgets.filterbar import FilterBar
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.strips import Strips


class Standing(QObject):
    """Reports the panel's state: a count in the header, strips, and why the table is empty."""

    def __init__(
        self,
        source: TrafficSource,
        model: TrafficModel,
        head: TrafficHead,
        bar: FilterBar,
        strips: Strips,
        gate: Gate,
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
        self._look_on = QAction("Look on", self)
        self._look_on.triggered.connect(model.search.go_on)
        self._take_back = QAction("Take it back", self)
        self._take_back.triggered.connect(bar.take_back)

    def tell(self) -> None:
        """Show the number of rows; if there are none, why and what to do."""
        self._head.set_detail(count_words(self._model))
        self._actions["traffic.show_cleared"].setEnabled(self._model.is_cleared)
        self._tell_cleared()
        self._tell_stopped()
        open_or_explain(self._gate, self._model, self._source, self._actions)

    def tell_pause(self) -> None:
        """Show that the table is paused, and how many rows are new."""
        action = self._actions["traffic.pause"]
        action.setText("Resume" if action.isChecked() else "Pause")
        if not action.isChecked():
            self._strips.take_back("pause")
            return
        new = self._model.new_while_paused
        words = f"Paused, {new:,} new." if new else "Paused."
        self._strips.say("pause", f"{words} Everything is recorded all the same.", action)

    def tell_complaint(self, words: str) -> None:
        """Show what is wrong with a filter the user has left; "" clears it.

        While typing, the field itself shows it: a strip would keep appearing and disappearing.
        """
        self._strips.take_back("complaint")
        if words:
            before = "The filter before it still holds." if self._bar.applied else "Nothing is filtered."
            self._strips.say("complaint", f"{words} {before}", self._take_back, "error")

    def tell_masked_copy(self, words: str, copy_whole: Callable[[], object]) -> None:
        """Show that something was copied without its secrets, and offer to copy it with them."""
        whole, dismiss = QAction("Copy with secrets", self), QAction("Dismiss", self)
        whole.triggered.connect(copy_whole)
        for action in (whole, dismiss):
            action.triggered.connect(lambda: self._strips.take_back("copied"))
        self._strips.take_back("copied")
        self._strips.say("copied", words, whole, "ok", dismiss)

    def _tell_stopped(self) -> None:
        search = self._model.search
        if search.is_stopped:
            words = f"Stopped after {search.share:.0%}: what comes after that was not looked at."
            self._strips.say("stopped", words, self._look_on, "muted")
        else:
            self._strips.take_back("stopped")

    def _tell_cleared(self) -> None:
        if self._model.is_cleared and self._model.rowCount():
            words = f"{plural(self._model.cleared_count, 'earlier row')} cleared from the view."
            self._strips.say("cleared", words, self._actions["traffic.show_cleared"], "muted")
        else:
            self._strips.take_back("cleared")


def count_words(model: TrafficModel) -> str:
    """Return the header's count: `1,234 messages`, `12 of 1,234`; and the search progress."""
    count, search = model.rowCount(), model.search
    if model.cells.is_by_operation:
        words = plural(count, "operation") if count else ""
    elif model.is_filtered and count:
        words = f"{count:,} of {search.length - search.first:,}"
    else:
        words = plural(count, "message") if count else ""
    if search.is_searching:
        return f"{count:,} so far, {search.share:.0%}"
    return f"{count:,} in the first {search.share:.0%}" if search.is_stopped else words


def open_or_explain(
    gate: Gate, model: TrafficModel, source: TrafficSource, actions: dict[str, QAction]
) -> None:
    """Show the table, or why it is empty and what to do."""
    if model.rowCount() or model.search.is_searching:
        gate.open()
    elif model.is_filtered:
        sentence = "No recorded message fits the filter and the choice of server and time."
        if not (model.search.condition.with_events or model.search.condition.any_kind):
            sentence += " Connection events and stderr are left out: kind:event looks among them."
        gate.explain("empty", "filter", "Nothing fits", sentence, action=actions["traffic.no_filter"])
    elif model.is_cleared:
        sentence = "New messages show up here. What was there before is still in the log."
        gate.explain("empty", "clear", "View cleared", sentence, action=actions["traffic.show_cleared"])
    elif source.is_live:
        sentence = "Connect a server: every message shows up here, with its bytes."
        gate.explain("empty", "traffic", "No traffic yet", sentence)
    else:
        sentence = "There is no message in it. Connection events may be."
        gate.explain("empty", "traffic", "No messages", sentence, action=actions["traffic.events"])
