"""How a traffic panel stands, in words: how many rows there are, and why there are none."""

from __future__ import annotations

from PySide6.QtGui import QAction

from inspector.base.units import plural
from inspector.qt.models.source import TrafficSource
from inspector.qt.models.traffic import TrafficModel
from inspector.qt.widgets.gate import Gate


def count_words(model: TrafficModel) -> str:
    """For the head: `1,234 messages`, `12 of 1,234`; and how far a search has come."""
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
    """Show the table; or say why it is empty, and offer the way on."""
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
