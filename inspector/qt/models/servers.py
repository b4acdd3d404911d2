"""Model of the servers in list order, texts about their status, and panel placeholders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from PySide6.QtCore import Qt

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.views import ServerStatus
from inspector.qt.models.record_table import Column, Index, RecordTable
from inspector.qt.theme import Theme, Tone

if TYPE_CHECKING:
    from inspector.config.servers.entry_diff import ServerListDiff
    from inspector.engine.server_view import ServerView

SERVER_TONES: dict[str, Tone] = {
    "blue": "accent",
    "green": "ok",
    "amber": "warn",
    "red": "error",
    "violet": "literal",
    "teal": "inbound",
}

WaitingRole = Qt.ItemDataRole.UserRole + 2

# Connected or connecting: the user's option is to disconnect.
UP_STATUSES = (
    ServerStatus.CONNECTED,
    ServerStatus.CONNECTING,
    ServerStatus.LOGGING_IN,
    ServerStatus.RECONNECTING,
)

PlaceholderKind: TypeAlias = Literal["empty", "loading", "failed"]


class ServersModel(RecordTable["ServerView"]):
    """The servers, by name. `WaitingRole` is the number of pending server requests."""

    def __init__(self, theme: Theme) -> None:
        column = Column("", lambda view: one_line(view.name), tip=_tip_text, accessible=self._spoken)
        super().__init__(theme, (column,), lambda view: view.name)
        self._waiting: dict[str, int] = {}

    def views(self) -> tuple[ServerView, ...]:
        return tuple(self.records)

    def put(self, view: ServerView) -> None:
        """Add or update a server."""
        self.update(({each.name: each for each in self.records} | {view.name: view}).values())

    def remove(self, name: str) -> None:
        self.update([view for view in self.records if view.name != name])

    def set_order(self, names: Sequence[str]) -> None:
        """Reorder the servers; unnamed ones go last."""
        positions = {name: position for position, name in enumerate(names)}
        self.update(sorted(self.records, key=lambda view: positions.get(view.name, len(positions))))

    def set_waiting(self, name: str, count: int) -> None:
        """Set the number of a server's pending requests."""
        self._waiting[name] = count
        row = self.row_of(name)
        if row is not None:
            self.dataChanged.emit(self.index(row, 0), self.index(row, 0), [WaitingRole])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == WaitingRole:
            return self._waiting.get(self.record(index.row()).name, 0)
        return super().data(index, role)

    def _spoken(self, view: ServerView) -> str:
        waiting = self._waiting.get(view.name, 0)
        needs_input = f", {plural(waiting, 'pending request')}" if waiting else ""
        failed = "failed: " if view.status is ServerStatus.FAILED else ""
        return f"{one_line(view.name)}, {view.transport}, {failed}{state_text(view)}{needs_input}"


def _tip_text(view: ServerView) -> str:
    """Return details that do not fit into two lines."""
    from inspector.engine.server_view import counts_text

    outdated = "The configuration changed. Reconnect to apply it." if view.is_outdated else ""
    origin = f"From {view.origin}." if view.origin else ""
    stream = f"Server messages are not received: {view.stream_problem}" if view.stream_problem else ""
    text = f"{view.reason} {view.next_step} {stream}".strip()
    if view.status is ServerStatus.CONNECTED and view.counts:
        text = f"{view.status.value} · {counts_text(view.counts)}. {text}".rstrip()
    return " ".join(part for part in (text, outdated, shorten(view.notes, 300), origin) if part)


def state_text(view: ServerView) -> str:
    """Return a one-line status, shown below the server's name."""
    if view.is_logging_in and view.status not in UP_STATUSES:
        return ServerStatus.LOGGING_IN.value
    match view.status:
        case ServerStatus.CONNECTED if view.negotiated is not None:
            text = f"connected · {view.negotiated.revision}"
            if view.stream_problem:
                text += " · no server messages"
            return f"{text} · changed; reconnect to apply" if view.is_outdated else text
        case ServerStatus.CONNECTING | ServerStatus.LOGGING_IN:
            return f"waiting for {view.waits_for}" if view.waits_for else "connecting"
        case ServerStatus.FAILED:
            return _short_reason(view) or view.status.value
        case ServerStatus.NEEDS_LOGIN:
            return one_line(f"{view.status.value}: {view.reason}")
        case ServerStatus.RECONNECTING:
            return f"{view.reconnect}: {_short_reason(view)}" if view.reason else view.reconnect
    return str(view.status.value)


def _short_reason(view: ServerView) -> str:
    """Return why the connection failed, cause first: `not found on PATH`, `connection refused`."""
    text = one_line(view.reason)
    before, colon, after = text.partition(": ")
    if colon:
        text = after if before.startswith("Could not ") else before
    text = text.removesuffix(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


class ConnectionPlaceholder(NamedTuple):
    """The text for an empty, waiting or failed panel, the suggested command, and another one."""

    appearance: PlaceholderKind
    title: str
    text: str
    next_step: str = ""
    command: str = ""
    other_command: str = ""


def connection_placeholder(view: ServerView) -> ConnectionPlaceholder | None:
    """Return the text for a server that is not connected; None if it is."""
    match view.status:
        case ServerStatus.CONNECTED:
            return None
        case ServerStatus.CONNECTING:
            text = f"Waiting for {view.waits_for}." if view.waits_for else "Waiting for the server."
            other = "server.wait_longer" if view.can_wait_longer else ""
            return ConnectionPlaceholder(
                "loading", "Connecting", text, view.next_step, "server.disconnect", other
            )
        case ServerStatus.LOGGING_IN:
            text = f"Waiting for {view.waits_for}."
            return ConnectionPlaceholder("loading", "Logging in", text, command="server.disconnect")
        case ServerStatus.RECONNECTING:
            text = f"{view.reason} {view.reconnect[:1].upper()}{view.reconnect[1:]}.".lstrip()
            return ConnectionPlaceholder(
                "loading", "Connection lost", text, view.next_step, "server.disconnect"
            )
        case ServerStatus.DISABLED:
            text = "This server stays in the list but is not connected until you enable it."
            return ConnectionPlaceholder("empty", "Disabled", text, command="server.enable")
        case ServerStatus.NEEDS_LOGIN:
            return ConnectionPlaceholder(
                "failed", "Login required", view.reason, view.next_step, "server.connect"
            )
        case ServerStatus.FAILED:
            title, command = (
                ("Connection lost", "server.reconnect")
                if view.was_connected
                else ("Connection failed", _remedy(view))
            )
            command = "server.wait_longer" if view.can_wait_longer else command
            return ConnectionPlaceholder("failed", title, view.reason, view.next_step, command)
    text = "Connect to list its tools, resources and prompts."
    return ConnectionPlaceholder("empty", "Not connected", text, command="server.connect")


def _remedy(view: ServerView) -> str:
    """Return the command that helps after a failed attempt to connect."""
    if view.continue_as:
        return "server.continue_as"
    return "server.edit" if view.is_header_rejected and not view.origin else "server.connect"


def server_list_changes_text(diff: ServerListDiff) -> str:
    """Return e.g. `1 added, 2 changed`; a changed order only if nothing else changed."""
    counts = (
        (len(diff.added), "added"),
        (len(diff.removed), "removed"),
        (len(diff.renamed), "renamed"),
        (len(diff.changed), "changed"),
    )
    text = ", ".join(f"{count:,} {change}" for count, change in counts if count)
    return text or "different order"
