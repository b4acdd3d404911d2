"""Secrets: where they are kept, which there are, and deleting them. Their values are never shown."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import Any

import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QDialog,
    QHBoxLayout,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.plaintext import one_line
from inspector.base.units import full_time, plural
from inspector.config.secrets.standing import Rung, SecretsState, Standing, StoredSecret
from inspector.engine.secrets import Secrets
from inspector.qt.bridge import Bridge
from inspector.qt.dialogs.secretplace import SecretPlace
from inspector.qt.models.secretwords import counted, is_worth_saying, kind_of, rest_of
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_tree
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.qt.widgets.rows import in_a_row
from inspector.qt.widgets.secretfields import secret_line
from inspector.qt.widgets.spinner import Spinner

_NAME = Qt.ItemDataRole.UserRole
_LEAST_LIST = 120  # the rest must be fully visible: only the list can scroll


class SecretsDialog(QDialog):
    """The settings of the secret store. Opening it may make the keychain ask to be unlocked."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._state: SecretsState | None = None
        self._running = 0
        self.setWindowTitle("Secrets")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(660, 720)
        self.alert = Alert(theme)
        self.place = SecretPlace(theme)
        self.passphrase = secret_line("Passphrase that opens the secrets", "Passphrase")
        self.list = QTreeWidget()
        self._gate = Gate(theme, self._dressed_list())
        self._gate.setMinimumHeight(_LEAST_LIST)
        self._count = Muted(theme)
        self._file = PlainLabel(theme, tone="muted", selectable=True, wrap=True)
        self._spinner = Spinner(theme)
        self._busy_words = Muted(theme)
        self.unlock_action = self._action("Unlock", self._on_unlock)
        self.lock_action = self._action("Lock", lambda: self._do("", _lock))
        self.retry_action = self._action("Try again", lambda: self._open())
        self.delete_action = self._action("Delete", self._on_delete)
        self.delete_all_action = self._action("Delete all…", self._ask_delete_all)
        self._move_anyway = self._action("Keep them in memory only", partial(self._keep_in, Rung.MEMORY))
        self._delete_all_anyway = self._action("Delete all secrets", self._on_delete_all)
        self._keep_as_is = self._action("Cancel", lambda: self.alert.close_about("ask"))
        self._unlock_row = self._make_unlock_row()
        self._lock_button = ActionButton(self.lock_action)
        self._lock_button.setAutoDefault(False)
        self._lock_button.hide()
        self._lay_out()
        self._connect()
        bridge.start_when_attached("secrets", self._begin())

    # -------------------------------------------------------------- building

    def _dressed_list(self) -> QTreeWidget:
        self.list.setHeaderLabels(["Kind", "For", "Kept", "Changed"])
        self.list.setRootIsDecorated(False)
        self.list.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.list.setAccessibleName("Stored secrets")
        dress_tree(self.list, self._theme)
        for column, width in enumerate((110, 260, 90)):
            self.list.setColumnWidth(column, width)
        return self.list

    def _make_unlock_row(self) -> QWidget:
        button = ActionButton(self.unlock_action, "primary")
        button.setAutoDefault(False)
        holder = in_a_row(self.passphrase, button)
        holder.hide()
        return holder

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(Heading(self._theme, "Where secrets are kept"), 1)
        head.addWidget(self._busy_words)
        head.addWidget(self._spinner)
        buttons = QHBoxLayout()
        buttons.setSpacing(SPACE_2)
        buttons.addWidget(self._count, 1)
        for button in (self._lock_button, *map(self._danger, (self.delete_action, self.delete_all_action))):
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_4, SPACE_4, SPACE_4)
        column.setSpacing(SPACE_3)
        column.addLayout(head)
        column.addWidget(self.alert)
        column.addWidget(self._unlock_row)
        column.addWidget(self.place)
        column.addWidget(Heading(self._theme, "Stored secrets"))
        column.addWidget(self._gate, 1)
        column.addLayout(buttons)
        column.addWidget(self._file)

    def _danger(self, action: QAction) -> ActionButton:
        button = ActionButton(action, "danger")
        button.setAutoDefault(False)  # else Return in a field would press one of them
        return button

    def _connect(self) -> None:
        self._bridge.secrets_changed.connect(self._on_state_changed)
        self.place.chosen.connect(self._on_place_chosen)
        self.passphrase.returnPressed.connect(self.unlock_action.trigger)
        self.passphrase.textChanged.connect(lambda _: self._update())
        self.list.itemSelectionChanged.connect(self._update)
        self._update()

    def _action(self, words: str, slot: Any) -> QAction:
        action = QAction(words, self)
        action.triggered.connect(lambda _: slot())
        return action

    # -------------------------------------------------------------- showing

    async def _begin(self) -> None:
        state = await self._bridge.ask_secrets(_state)
        if shiboken6.isValid(self):
            self._take(state)
            self._open()

    def _open(self) -> None:
        is_keychain = self._state is None or self._state.rung is not Rung.PASSPHRASE
        self._do("Asking the keychain" if is_keychain else "", _open)

    def _on_state_changed(self, state: SecretsState) -> None:
        self._take(state)
        self._bridge.start("list secrets", self._list(), self)

    def _take(self, state: SecretsState) -> None:
        before, self._state = self._state, state
        is_locked = state.rung is Rung.PASSPHRASE and state.standing is Standing.LOCKED
        if before is None or before != state:
            self.place.set_place(state.rung, is_chosen=state.is_chosen, is_locked=is_locked)
        self._file.setText(one_line(str(state.path)) if state.path is not None and state.is_chosen else "")
        self._file.setVisible(bool(self._file.text()))
        self._count.setText(counted(state))
        if is_locked and not self._unlock_row.isVisible():
            self._unlock_row.show()
            self.passphrase.setFocus()
        self._unlock_row.setVisible(is_locked)
        self.place.setEnabled(state.standing is not Standing.UNREADABLE)  # unreadable secrets cannot be moved
        if before is None and not is_locked:
            self.place.set_focus()
        self._lock_button.setVisible(state.rung is Rung.PASSPHRASE)
        if is_locked:
            self.alert.say("state", "The secrets are locked.", "Enter the passphrase.", tone="wait")
        elif state.words:
            self.alert.say("state", state.words, state.next_step, [self.retry_action])
        else:
            self.alert.close_about("state")
        self._update()

    async def _list(self) -> None:
        stored = await self._bridge.ask_secrets(_stored)
        if not shiboken6.isValid(self):
            return
        chosen = set(self._chosen())
        self.list.clear()
        for secret in stored:
            item = _line(secret)
            self.list.addTopLevelItem(item)
            item.setSelected(secret.name in chosen)
        self._explain_empty_list(bool(stored))
        self._update()

    def _explain_empty_list(self, has_any: bool) -> None:
        if has_any:
            self._gate.open()
        elif self._state is not None and self._state.standing is Standing.UNREADABLE:
            sentence = "Which secrets there are cannot be read, and none can be added."
            self._gate.explain("failed", "", "The file of the secrets cannot be used", sentence)
        else:
            sentence = "Keys, tokens and headers that you give MCP Lens are listed here, never their values."
            self._gate.explain("empty", "key", "No secrets yet", sentence)

    def _update(self) -> None:
        state, is_free = self._state, self._running == 0
        is_open = state is not None and state.rung is Rung.PASSPHRASE and state.standing is Standing.OPEN
        self.lock_action.setEnabled(is_free and is_open)
        self.unlock_action.setEnabled(is_free and bool(self.passphrase.text()))
        self.retry_action.setEnabled(is_free)
        self.delete_action.setEnabled(is_free and bool(self.list.selectedItems()))
        self.delete_all_action.setEnabled(is_free and state is not None and is_worth_saying(state))
        self.place.set_busy(not is_free or state is None)
        self._spinner.setVisible(not is_free)
        self._busy_words.setVisible(not is_free)

    def _chosen(self) -> list[str]:
        return [item.data(0, _NAME) for item in self.list.selectedItems()]

    # -------------------------------------------------------------- doing

    def _do(self, words: str, ask: Any) -> None:
        self._running += 1
        self._busy_words.setText(f"{words}…" if words else "")
        self._update()
        self._bridge.start("change secrets", self._done(ask), self)

    async def _done(self, ask: Any) -> None:
        """Run a request, then show the resulting state whether or not it succeeded."""
        problem = ""
        try:
            await self._bridge.ask_secrets(ask)
        except UserError as exc:
            problem = str(exc)
        finally:
            if shiboken6.isValid(self):
                self._running -= 1
                self._update()
        state = await self._bridge.ask_secrets(_state)
        if not shiboken6.isValid(self):
            return
        self._take(state)
        # Don't repeat what the state already says.
        if problem and problem != f"{state.words} {state.next_step}".strip():
            self.alert.say("problem", problem, tone="error")
        else:
            self.alert.close_about("problem")
        await self._list()

    def _on_unlock(self) -> None:
        passphrase = self.passphrase.text()
        self.passphrase.clear()
        self._do("Trying the passphrase", partial(_unlock, passphrase))

    def _on_place_chosen(self, rung: Rung, passphrase: str, unprotected: bool) -> None:
        self.alert.close_about("ask")
        kept = self._state.kept if self._state is not None else 0
        if rung is Rung.MEMORY and kept:
            words = f"{plural(kept, 'secret')} would be gone when MCP Lens is closed."
            self.alert.say("ask", words, actions=[self._keep_as_is, self._move_anyway])
            return
        self._keep_in(rung, passphrase, unprotected)

    def _keep_in(self, rung: Rung, passphrase: str = "", unprotected: bool = False) -> None:
        self.alert.close_about("ask")
        self._do("Moving the secrets", partial(_keep_in, rung, passphrase, unprotected))

    def _on_delete(self) -> None:
        self._do("Deleting", partial(_delete, self._chosen()))

    def _ask_delete_all(self) -> None:
        words = "This deletes all secrets and the key to them. It cannot be undone."
        self.alert.say("ask", words, actions=[self._keep_as_is, self._delete_all_anyway], tone="error")

    def _on_delete_all(self) -> None:
        self.alert.close_about("ask")
        self._do("Deleting", _reset)


def _line(secret: StoredSecret) -> QTreeWidgetItem:
    changed = full_time(secret.changed * 1_000_000_000)[:16] if secret.changed else ""
    kept = "in the file" if secret.is_kept else "in memory"
    item = QTreeWidgetItem([kind_of(secret.name), rest_of(secret.name), kept, changed])
    item.setData(0, _NAME, secret.name)
    return item


# Requests to the secret store: coroutines that run on the engine's loop.


async def _state(secrets: Secrets) -> SecretsState:
    return secrets.state or await secrets.look()


def _stored(secrets: Secrets) -> Coroutine[Any, Any, tuple[StoredSecret, ...]]:
    return secrets.stored()


def _open(secrets: Secrets) -> Coroutine[Any, Any, SecretsState]:
    return secrets.open()


def _lock(secrets: Secrets) -> Coroutine[Any, Any, None]:
    return secrets.lock()


def _reset(secrets: Secrets) -> Coroutine[Any, Any, None]:
    return secrets.reset()


def _unlock(passphrase: str, secrets: Secrets) -> Coroutine[Any, Any, None]:
    return secrets.unlock(passphrase)


def _keep_in(rung: Rung, passphrase: str, unprotected: bool, secrets: Secrets) -> Coroutine[Any, Any, None]:
    return secrets.keep_in(rung, passphrase, unprotected=unprotected)


async def _delete(names: list[str], secrets: Secrets) -> None:
    for name in names:
        await secrets.delete(name)
