"""The lists that open at a call: earlier calls of the tool, and saved calls. One is open at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from inspector.base.errors import ConfigError
from inspector.base.plaintext import one_line
from inspector.base.units import plural
from inspector.config.callhistory import KeptCall
from inspector.config.savedcalls import DeletedCall, SavedCall
from inspector.engine.calls import SavedFolder
from inspector.qt.bridge import Bridge
from inspector.qt.models.callhistory import history_picks
from inspector.qt.models.palette import IconRole, NoteRole, PickModel, PlacesRole, ToneRole
from inspector.qt.models.savedcalls import all_calls, saved_key, saved_picks, short_problem
from inspector.qt.theme import Theme
from inspector.qt.widgets.pickerpopup import PickerPopup, Roles

_WIDTH = 620
ROLES = Roles(NoteRole, ToneRole, IconRole, PlacesRole)


class CallPickers(QObject):
    """Opens the lists of earlier and saved calls above a button.

    Signals:
        earlier_picked: The user picked an earlier call with its arguments; carries the KeptCall.
        saved_picked: The user picked a saved call; carries the SavedCall.
    """

    earlier_picked = Signal(object)
    saved_picked = Signal(object)

    def __init__(self, bridge: Bridge, server: str, theme: Theme, anchor: QWidget) -> None:
        super().__init__(anchor)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._anchor = anchor
        self._deleted: list[DeletedCall] = []
        self.popup: PickerPopup | None = None

    def open_history(self, tool: str) -> None:
        self._bridge.start(f"history of {tool}", self._open_history(tool), self)

    def open_saved(self) -> None:
        self._bridge.start("saved calls", self._open_saved(), self)

    # -------------------------------------------------------------- history

    async def _open_history(self, tool: str) -> None:
        history = await self._bridge.ask_calls(lambda calls: calls.history_of(self._server, tool))
        model = PickModel(self)
        model.set_picks(history_picks(history.calls, f"{datetime.now():%Y-%m-%d}"))
        popup = self._make(model, "Earlier calls of this tool")
        calls = plural(len(history.calls), "earlier call")
        popup.say(f"{calls} · Enter puts it back" if history.calls else "No call of it is kept yet.")
        popup.picked.connect(lambda row: self._on_history_picked(model, history.calls, row))
        popup.open_above(self._anchor, _WIDTH)

    def _on_history_picked(self, model: PickModel, calls: Sequence[KeptCall], row: int) -> None:
        pick = model.pick(row)
        call = calls[int(pick.key)] if pick is not None else None
        if call is not None and call.arguments() is not None:
            self.earlier_picked.emit(call)

    # -------------------------------------------------------------- saved calls

    async def _open_saved(self) -> None:
        folders = await self._bridge.ask_calls(lambda calls: calls.saved())
        model = PickModel(self)
        popup = self._make(model, "Saved calls", removes=True)
        by_key = self._show_saved(model, popup, folders)
        popup.picked.connect(lambda row: self._on_saved_picked(model, by_key, row))
        popup.removal_requested.connect(lambda row: self._on_removal(model, popup, by_key, row))
        popup.undo_requested.connect(lambda: self._on_undo(model, popup, by_key))
        popup.open_above(self._anchor, _WIDTH)

    def _show_saved(
        self, model: PickModel, popup: PickerPopup, folders: Sequence[SavedFolder]
    ) -> dict[str, SavedCall]:
        """Show the saved calls of this server and of none in particular; the palette has all."""
        calls = [call for call in all_calls(folders) if call.server in ("", self._server)]
        model.set_picks(saved_picks(folders, calls))
        problems = [short_problem(folder, each) for folder in folders for each in folder.loaded.problems]
        if problems:
            popup.say(f"{plural(len(problems), 'file')} left out: {problems[0]}")
        elif calls:
            popup.say(f"{plural(len(calls), 'saved call')} · Enter opens, Delete deletes one")
        else:
            popup.say("None yet. Save call… keeps what is typed as one.")
        return {saved_key(call): call for call in calls}

    def _on_saved_picked(self, model: PickModel, calls: dict[str, SavedCall], row: int) -> None:
        pick = model.pick(row)
        if pick is not None:
            self.saved_picked.emit(calls[pick.key])

    def _on_removal(
        self, model: PickModel, popup: PickerPopup, calls: dict[str, SavedCall], row: int
    ) -> None:
        pick = model.pick(row)
        if pick is not None:
            work = self._remove(model, popup, calls, calls[pick.key])
            self._bridge.start("delete a saved call", work, popup)

    async def _remove(
        self, model: PickModel, popup: PickerPopup, calls: dict[str, SavedCall], call: SavedCall
    ) -> None:
        try:
            deleted = await self._bridge.ask_calls(lambda kept: kept.delete(call))
        except ConfigError as exc:
            popup.say(str(exc))
            return
        await self._show_again(model, popup, calls)
        if deleted is not None:
            self._deleted.append(deleted)
            popup.say(f"Deleted “{one_line(call.name)}” · Ctrl+Z brings it back")

    def _on_undo(self, model: PickModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        if self._deleted:
            self._bridge.start("restore a saved call", self._restore(model, popup, calls), popup)

    async def _restore(self, model: PickModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        deleted = self._deleted.pop()
        try:
            call = await self._bridge.ask_calls(lambda kept: kept.restore(deleted))
        except ConfigError as exc:
            self._deleted.append(deleted)
            popup.say(str(exc))
            return
        await self._show_again(model, popup, calls)
        popup.say(f"“{one_line(call.name)}” is back")

    async def _show_again(self, model: PickModel, popup: PickerPopup, calls: dict[str, SavedCall]) -> None:
        folders = await self._bridge.ask_calls(lambda kept: kept.saved())
        calls.clear()
        calls.update(self._show_saved(model, popup, folders))

    # --------------------------------------------------------------

    def _make(self, model: PickModel, prompt: str, *, removes: bool = False) -> PickerPopup:
        popup = PickerPopup(self._theme, model, ROLES, prompt, self._anchor, removes=removes)
        model.setParent(popup)
        popup.words_changed.connect(model.set_words)
        self.popup = popup
        popup.closed.connect(self._on_closed)
        return popup

    def _on_closed(self) -> None:
        self.popup = None
