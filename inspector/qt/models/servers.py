"""List model of the servers in list order, their status texts, and panel placeholders.

`connection_placeholder` returns what a panel shows while its server is not connected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QAbstractListModel, Qt

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.servers.entry_diff import ServerListDiff
from inspector.engine.views import ServerStatus, ServerView
from inspector.qt.models.row_models import ROOT, Index, plain_tip
from inspector.qt.theme import Tone

SERVER_TONES: dict[str, Tone] = {
    "blue": "accent",
    "green": "ok",
    "amber": "warn",
    "red": "error",
    "violet": "literal",
    "teal": "inbound",
}


ViewRole = Qt.ItemDataRole.UserRole + 1
WaitingRole = Qt.ItemDataRole.UserRole + 2


class ServersModel(QAbstractListModel):
    """Rows of ServerView; `ViewRole` returns the view itself to the delegate.

    `WaitingRole` is the number of pending server requests.
    """

    def __init__(self) -> None:
        super().__init__()
        self._views: list[ServerView] = []
        self._waiting: dict[str, int] = {}

    def put(self, view: ServerView) -> None:
        """Add or update a server."""
        row = self.row_of(view.name)
        if row is None:
            self.beginInsertRows(ROOT, len(self._views), len(self._views))
            self._views.append(view)
            self.endInsertRows()
        else:
            self._views[row] = view
            self.dataChanged.emit(self.index(row), self.index(row))

    def remove(self, name: str) -> None:
        row = self.row_of(name)
        if row is not None:
            self.beginRemoveRows(ROOT, row, row)
            del self._views[row]
            self.endRemoveRows()

    def set_order(self, names: Sequence[str]) -> None:
        """Reorder the servers; unnamed ones go last."""
        positions = {name: position for position, name in enumerate(names)}
        views = sorted(self._views, key=lambda view: positions.get(view.name, len(positions)))
        if views == self._views:
            return
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        rows = {view.name: row for row, view in enumerate(views)}
        after = [self.index(rows[self._views[index.row()].name]) for index in before]
        self._views = views
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def set_waiting(self, name: str, count: int) -> None:
        """Set the number of a server's pending requests."""
        self._waiting[name] = count
        row = self.row_of(name)
        if row is not None:
            self.dataChanged.emit(self.index(row), self.index(row), [WaitingRole])

    def views(self) -> tuple[ServerView, ...]:
        return tuple(self._views)

    def view(self, row: int) -> ServerView | None:
        return self._views[row] if 0 <= row < len(self._views) else None

    def row_of(self, name: str) -> int | None:
        return next((row for row, view in enumerate(self._views) if view.name == name), None)

    def rowCount(self, parent: Index = ROOT) -> int:
        return 0 if parent.isValid() else len(self._views)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        view = self._views[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(view.name)
        if role == ViewRole:
            return view
        if role == WaitingRole:
            return self._waiting.get(view.name, 0)
        if role == Qt.ItemDataRole.ToolTipRole:
            text = _tip_words(view)
            return plain_tip(text) if text else None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            waiting = self._waiting.get(view.name, 0)
            needs_input = f", {plural(waiting, 'request')} in the Inbox" if waiting else ""
            return f"{one_line(view.name)}, {view.transport}, {state_text(view)}{needs_input}"
        return None


def _tip_words(view: ServerView) -> str:
    """Return details that do not fit into two lines."""
    changed_rows = "The configuration changed. Reconnect to apply it." if view.is_outdated else ""
    origin = f"From {view.origin}." if view.origin else ""
    text = f"{view.reason} {view.next_step}".strip()
    return " ".join(part for part in (text, changed_rows, shorten(view.notes, 300), origin) if part)


def state_text(view: ServerView) -> str:
    """Return a one-line status, shown below the server's name."""
    match view.status:
        case ServerStatus.CONNECTED if view.agreement is not None:
            text = f"connected · {view.agreement.revision}"
            return f"{text} · changed; reconnect to apply" if view.is_outdated else text
        case ServerStatus.CONNECTING | ServerStatus.LOGGING_IN:
            return f"waiting for {view.waits_for}" if view.waits_for else "connecting"
        case ServerStatus.FAILED | ServerStatus.NEEDS_LOGIN | ServerStatus.RESTARTING:
            return one_line(f"{view.status.value}: {view.reason}")
    return str(view.status.value)


Look: TypeAlias = Literal["empty", "loading", "failed"]

# Connected or connecting: the user's option is to disconnect.
UP = (ServerStatus.CONNECTED, ServerStatus.CONNECTING, ServerStatus.LOGGING_IN, ServerStatus.RESTARTING)


@dataclass(frozen=True, slots=True)
class ConnectionPlaceholder:
    """The text for an empty, waiting or failed panel, and the suggested command."""

    appearance: Look
    title: str
    sentence: str
    next_step: str = ""
    command: str = ""


def connection_placeholder(view: ServerView) -> ConnectionPlaceholder | None:
    """Return the text for a server that is not connected; None if it is."""
    match view.status:
        case ServerStatus.CONNECTED:
            return None
        case ServerStatus.CONNECTING:
            sentence = f"Waiting for {view.waits_for}." if view.waits_for else "Waiting for the server."
            return ConnectionPlaceholder("loading", "Connecting", sentence, command="server.disconnect")
        case ServerStatus.LOGGING_IN:
            sentence = f"Waiting for {view.waits_for}."
            return ConnectionPlaceholder("loading", "Logging in", sentence, command="server.disconnect")
        case ServerStatus.RESTARTING:
            return ConnectionPlaceholder(
                "loading", "Connection lost", view.reason, command="server.disconnect"
            )
        case ServerStatus.DISABLED:
            sentence = "This server stays in the list but is not connected until you enable it."
            return ConnectionPlaceholder("empty", "Disabled", sentence, command="server.enable")
        case ServerStatus.NEEDS_LOGIN:
            return ConnectionPlaceholder(
                "failed", "Login required", view.reason, view.next_step, "server.connect"
            )
        case ServerStatus.FAILED:
            return ConnectionPlaceholder(
                "failed", "Connection failed", view.reason, view.next_step, "server.connect"
            )
    sentence = "Connect to see what this server offers."
    return ConnectionPlaceholder("empty", "Not connected", sentence, command="server.connect")


def change_text(diff: ServerListDiff) -> str:
    """Return e.g. `1 added, 2 changed`; a changed order only if nothing else changed."""
    counts = (
        (len(diff.added), "added"),
        (len(diff.removed), "removed"),
        (len(diff.renamed), "renamed"),
        (len(diff.changed), "changed"),
    )
    words = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return words or "different order"
