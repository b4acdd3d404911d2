"""Secrets dialog: the storage location, and the stored secrets with a way to delete them.

There are four locations: system keychain, passphrase, memory only, unprotected file. Values are never
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QDialog,
    QGridLayout,
    QRadioButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.units import full_time, plural
from inspector.config.secrets.records import SecretsState, StorageKind, StorageStatus, StoredSecret
from inspector.qt.bridge import Bridge
from inspector.qt.models.secrets import STORAGE_OPTIONS, count_text, is_worth_showing, kind_of, purpose_of
from inspector.qt.theme import SPACE_1, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.inputs.secret_fields import secret_line
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import hbox, in_row, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack, Spinner
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_FIELD_WIDTH = 220
_NAME = Qt.ItemDataRole.UserRole
_MIN_LIST_HEIGHT = 120  # the rest must be fully visible: only the list can scroll


class SecretsDialog(QDialog):
    """The settings of the secret store. Opening it may make the keychain ask to be unlocked."""

    help_page = "servers"

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
        self.storage = SecretStorageForm(theme)
        self.passphrase = secret_line("Passphrase that unlocks the secrets", "Passphrase")
        self.list = QTreeWidget()
        self._stack = ContentStack(theme, self._make_list())
        self._stack.setMinimumHeight(_MIN_LIST_HEIGHT)
        self._count = MutedLabel(theme)
        self._file = PlainLabel(theme, tone="muted", selectable=True, wrap=True)
        self._spinner = Spinner(theme)
        self._busy_text = MutedLabel(theme)
        self.unlock_action = self._action("Unlock", self._on_unlock)
        self.lock_action = self._action("Lock", lambda: self._run("", lambda engine: engine.secrets.lock()))
        self.retry_action = self._action("Retry", lambda: self._open())
        self.delete_action = self._action("Delete", self._on_delete)
        self.delete_all_action = self._action("Delete all…", self._ask_delete_all)
        self._move_to_memory_action = self._action(
            "Store in memory only", partial(self._move_to, StorageKind.MEMORY)
        )
        self._confirm_delete_all_action = self._action("Delete all secrets", self._on_delete_all)
        self._cancel_action = self._action("Cancel", lambda: self.alert.close_topic("ask"))
        self._unlock_row = self._make_unlock_row()
        self._lock_button = ActionButton(self.lock_action)
        self._lock_button.setAutoDefault(False)
        self._lock_button.hide()
        self._lay_out()
        self._connect()
        bridge.start_when_attached("secrets", self._begin())

    def _make_list(self) -> QTreeWidget:
        self.list.setHeaderLabels(["Kind", "Used by", "Stored", "Changed"])
        self.list.setRootIsDecorated(False)
        self.list.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.list.setAccessibleName("Stored secrets")
        style_tree(self.list, self._theme)
        for column, width in enumerate((110, 260, 90)):
            self.list.setColumnWidth(column, width)
        return self.list

    def _make_unlock_row(self) -> QWidget:
        button = ActionButton(self.unlock_action, "primary")
        button.setAutoDefault(False)
        holder = in_row(self.passphrase, button)
        holder.hide()
        return holder

    def _lay_out(self) -> None:
        head = hbox(None, (Heading(self._theme, "Secret storage"), 1), self._busy_text, self._spinner)
        buttons = hbox(None, (self._count, 1))
        for button in (
            self._lock_button,
            *map(self._danger_button, (self.delete_action, self.delete_all_action)),
        ):
            buttons.addWidget(button)
        vbox(
            self,
            head,
            self.alert,
            self._unlock_row,
            self.storage,
            Heading(self._theme, "Stored secrets"),
            (self._stack, 1),
            buttons,
            self._file,
            gap=SPACE_3,
            margin=SPACE_4,
        )

    def _danger_button(self, action: QAction) -> ActionButton:
        button = ActionButton(action, "danger")
        button.setAutoDefault(False)  # else Return in a field would press one of them
        return button

    def _connect(self) -> None:
        self._bridge.secrets_changed.connect(self._on_state_changed)
        self.storage.chosen.connect(self._on_storage_chosen)
        self.passphrase.returnPressed.connect(self.unlock_action.trigger)
        self.passphrase.textChanged.connect(lambda _: self._update())
        self.list.itemSelectionChanged.connect(self._update)
        self._update()

    def _action(self, text: str, slot: Any) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda _: slot())
        return action

    async def _begin(self) -> None:
        state = await self._bridge.ask(_state)
        if shiboken6.isValid(self):
            self._show_state(state)
            self._open()

    def _open(self) -> None:
        is_keychain = self._state is None or self._state.level is not StorageKind.PASSPHRASE
        self._run("Waiting for the keychain" if is_keychain else "", lambda engine: engine.secrets.open())

    def _on_state_changed(self, state: SecretsState) -> None:
        self._show_state(state)
        self._bridge.start("list secrets", self._list(), self)

    def _show_state(self, state: SecretsState) -> None:
        before, self._state = self._state, state
        is_locked = state.level is StorageKind.PASSPHRASE and state.status is StorageStatus.LOCKED
        if before is None or before != state:
            self.storage.set_storage(state.level, is_chosen=state.is_chosen, is_locked=is_locked)
        self._file.setText(one_line(str(state.path)) if state.path is not None and state.is_chosen else "")
        self._file.setVisible(bool(self._file.text()))
        self._count.setText(count_text(state))
        if is_locked and not self._unlock_row.isVisible():
            self._unlock_row.show()
            self.passphrase.setFocus()
        self._unlock_row.setVisible(is_locked)
        self.storage.setEnabled(
            state.status is not StorageStatus.UNREADABLE
        )  # unreadable secrets cannot be moved
        if before is None and not is_locked:
            self.storage.set_focus()
        self._lock_button.setVisible(state.level is StorageKind.PASSPHRASE)
        if is_locked:
            self.alert.show_message("state", "The secrets are locked.", "Enter the passphrase.", tone="wait")
        elif state.text:
            self.alert.show_message("state", state.text, state.next_step, [self.retry_action])
        else:
            self.alert.close_topic("state")
        self._update()

    async def _list(self) -> None:
        stored = await self._bridge.ask(lambda engine: engine.secrets.stored())
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
            self._stack.open()
        elif self._state is not None and self._state.status is StorageStatus.UNREADABLE:
            sentence = "The secrets can't be listed, and you can't add any."
            self._stack.explain("failed", "", "The secrets file can't be used", sentence)
        else:
            sentence = "Keys, tokens and headers that you enter are listed here, without their values."
            self._stack.explain("empty", "key", "No secrets yet", sentence)

    def _update(self) -> None:
        state, is_free = self._state, self._running == 0
        is_open = (
            state is not None
            and state.level is StorageKind.PASSPHRASE
            and state.status is StorageStatus.UNLOCKED
        )
        self.lock_action.setEnabled(is_free and is_open)
        self.unlock_action.setEnabled(is_free and bool(self.passphrase.text()))
        self.retry_action.setEnabled(is_free)
        self.delete_action.setEnabled(is_free and bool(self.list.selectedItems()))
        self.delete_all_action.setEnabled(is_free and state is not None and is_worth_showing(state))
        self.storage.set_busy(not is_free or state is None)
        self._spinner.setVisible(not is_free)
        self._busy_text.setVisible(not is_free)

    def _chosen(self) -> list[str]:
        return [item.data(0, _NAME) for item in self.list.selectedItems()]

    def _run(self, text: str, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> None:
        self._running += 1
        self._busy_text.setText(f"{text}…" if text else "")
        self._update()
        self._bridge.start("change secrets", self._run_request(work), self)

    async def _run_request(self, work: Callable[[Engine], Coroutine[Any, Any, object]]) -> None:
        """Run a request, then show the resulting state whether or not it succeeded."""
        problem = ""
        try:
            await self._bridge.ask(work)
        except UserError as exc:
            problem = str(exc)
        finally:
            if shiboken6.isValid(self):
                self._running -= 1
                self._update()
        state = await self._bridge.ask(_state)
        if not shiboken6.isValid(self):
            return
        self._show_state(state)
        # Don't repeat what the state already says.
        if problem and problem != f"{state.text} {state.next_step}".strip():
            self.alert.show_message("problem", problem, tone="error")
        else:
            self.alert.close_topic("problem")
        await self._list()

    def _on_unlock(self) -> None:
        passphrase = self.passphrase.text()
        self.passphrase.clear()
        self._run("Checking the passphrase", lambda engine: engine.secrets.unlock(passphrase))

    def _on_storage_chosen(self, level: StorageKind, passphrase: str, unprotected: bool) -> None:
        self.alert.close_topic("ask")
        saved = self._state.saved if self._state is not None else 0
        if level is StorageKind.MEMORY and saved:
            text = f"{plural(saved, 'secret')} would be lost when you close MCP Lens."
            self.alert.show_message("ask", text, actions=[self._cancel_action, self._move_to_memory_action])
            return
        self._move_to(level, passphrase, unprotected)

    def _move_to(self, level: StorageKind, passphrase: str = "", unprotected: bool = False) -> None:
        self.alert.close_topic("ask")
        self._run(
            "Moving secrets",
            lambda engine: engine.secrets.move_to(level, passphrase, unprotected=unprotected),
        )

    def _on_delete(self) -> None:
        self._run("Deleting", partial(_delete, self._chosen()))

    def _ask_delete_all(self) -> None:
        text = "This deletes all secrets and their encryption key. It can't be undone."
        self.alert.show_message(
            "ask", text, actions=[self._cancel_action, self._confirm_delete_all_action], tone="error"
        )

    def _on_delete_all(self) -> None:
        self.alert.close_topic("ask")
        self._run("Deleting", lambda engine: engine.secrets.reset())


class SecretStorageForm(QWidget):
    """The choice of where secrets are stored; takes effect when the button is pressed.

    Signals:
        chosen: The user chose a storage; carries the StorageKind, the passphrase and the consent to none.
    """

    chosen = Signal(object, str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._level = StorageKind.KEYCHAIN
        self._is_chosen = self._is_locked = self._is_busy = False
        self.buttons: dict[StorageKind, QRadioButton] = {}
        self._group = QButtonGroup(self)
        self.passphrase = secret_line("New passphrase")
        self.again = secret_line("Repeat passphrase")
        for field in (self.passphrase, self.again):
            field.setMaximumWidth(_FIELD_WIDTH)
        self.unprotected = QCheckBox("Store secrets unprotected")
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self.apply_action = QAction("Apply", self)
        self._extra_fields: dict[StorageKind, QWidget] = {
            StorageKind.PASSPHRASE: in_row(self.passphrase, self.again, fills=False),
            StorageKind.PLAIN: in_row(self.unprotected, fills=False),
        }
        self._lay_out()
        self._connect()
        self.set_storage(StorageKind.KEYCHAIN, is_chosen=False, is_locked=False)

    def set_storage(self, level: StorageKind, *, is_chosen: bool, is_locked: bool) -> None:
        """Set where the secrets are stored now.

        When they were moved, the input for another storage is cleared; otherwise the user's unfinished
        choice stays.
        """
        has_choice = self._group.checkedButton() is not None
        if has_choice and (level, is_chosen) == (self._level, self._is_chosen):
            self._is_locked = is_locked
            self._on_changed()
            return
        self._level, self._is_chosen, self._is_locked = level, is_chosen, is_locked
        had_focus = any(button.hasFocus() for button in self.buttons.values())
        self.buttons[level].setChecked(True)
        if had_focus:
            self.set_focus()
        for field in (self.passphrase, self.again):
            field.clear()
        self.unprotected.setChecked(False)
        self._on_changed()

    def set_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        self._on_changed()

    def set_focus(self) -> None:
        """Focus the selected storage: a focused but unselected button looks selected."""
        self.buttons[self.level].setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def level(self) -> StorageKind:
        """The selected storage, whether or not it is in use yet."""
        return next((level for level, button in self.buttons.items() if button.isChecked()), self._level)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(SPACE_1)
        grid.setHorizontalSpacing(0)
        grid.setColumnMinimumWidth(0, SPACE_6)
        grid.setColumnStretch(1, 1)
        for storage in STORAGE_OPTIONS:
            button = self.buttons[storage.level] = QRadioButton(storage.name)
            button.setAccessibleDescription(storage.description)
            self._group.addButton(button)
            grid.addWidget(button, grid.rowCount(), 0, 1, 2)
            grid.addWidget(MutedLabel(self._theme, storage.description, wrap=True), grid.rowCount(), 1)
            if storage.level in self._extra_fields:
                self._extra_fields[storage.level].setContentsMargins(0, SPACE_1, 0, SPACE_1)
                grid.addWidget(self._extra_fields[storage.level], grid.rowCount(), 1)
            grid.setRowMinimumHeight(grid.rowCount(), SPACE_1)
        apply = ActionButton(self.apply_action)
        apply.setAutoDefault(False)
        row = hbox(None, apply, (self._error, 1))
        grid.addLayout(row, grid.rowCount(), 0, 1, 2)

    def _connect(self) -> None:
        self._group.buttonToggled.connect(lambda *_: self._on_changed())
        self.passphrase.textChanged.connect(lambda _: self._on_changed())
        self.again.textChanged.connect(lambda _: self._on_changed())
        self.again.returnPressed.connect(self.apply_action.trigger)
        self.unprotected.toggled.connect(lambda _: self._on_changed())
        self.apply_action.triggered.connect(self._on_apply)

    def _on_changed(self) -> None:
        level = self.level
        for needing, widget in self._extra_fields.items():
            widget.setVisible(needing is level and not self._is_settled())
        differs = (
            level is StorageKind.PASSPHRASE and bool(self.again.text()) and not self._passphrases_match()
        )
        self._error.setText("The passphrases do not match." if differs else "")
        is_change = level is StorageKind.PASSPHRASE and self._is_in_use()
        self.apply_action.setText("Change passphrase" if is_change else "Apply")
        self.apply_action.setEnabled(self._can_apply())

    def _is_in_use(self) -> bool:
        return self._is_chosen and self.level is self._level

    def _is_settled(self) -> bool:
        """Return whether there is nothing to apply. An unlocked passphrase can still be changed."""
        return self._is_in_use() and (self.level is not StorageKind.PASSPHRASE or self._is_locked)

    def _can_apply(self) -> bool:
        if self._is_busy or self._is_settled():
            return False
        if self.level is StorageKind.PASSPHRASE:
            return bool(self.passphrase.text()) and self._passphrases_match()
        return self.level is not StorageKind.PLAIN or self.unprotected.isChecked()

    def _passphrases_match(self) -> bool:
        return self.passphrase.text() == self.again.text()

    def _on_apply(self) -> None:
        self.chosen.emit(self.level, self.passphrase.text(), self.unprotected.isChecked())


def _line(secret: StoredSecret) -> QTreeWidgetItem:
    changed = full_time(secret.changed_at * 1_000_000_000)[:16] if secret.changed_at else ""
    location = "in the file" if secret.is_saved else "in memory"
    item = QTreeWidgetItem([kind_of(secret.name), purpose_of(secret.name), location, changed])
    item.setData(0, _NAME, secret.name)
    return item


async def _state(engine: Engine) -> SecretsState:
    return engine.secrets.state or await engine.secrets.inspect()


async def _delete(names: list[str], engine: Engine) -> None:
    for name in names:
        await engine.secrets.delete(name)
