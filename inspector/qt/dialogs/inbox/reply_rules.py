"""Reply rules dialog: which server requests get an automatic reply, and which one.

Rules are tried in order and the first enabled match replies. Changes take effect and are saved at once;
so is the Inbox timeout below (0 to 7 days, 0 meaning no limit), which applies to new requests.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QSpinBox,
    QStackedWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.config.reply_rules import ReplyRule, RuleKind
from inspector.engine.inbox.reply_rules import RulesChangedElsewhere
from inspector.qt.bridge import Bridge
from inspector.qt.dialogs.inbox.reply_kinds import KIND_LABELS
from inspector.qt.dialogs.inbox.reply_rule_form import ReplyRuleForm
from inspector.qt.forms.schema.plain_editors import PlainLine
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.inputs.filter_bar import Completer, TextError
from inspector.qt.widgets.item_views import style_tree
from inspector.qt.widgets.layout import STRETCH, hbox, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import Heading, MutedLabel

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_LIST_WIDTH = 300
_NAME_WIDTH = 170
_MAX_TIMEOUT_S = 7 * 86_400


class ReplyRulesDialog(QDialog):
    """The editor of the reply rules.

    Every change takes effect and is saved at once. The first enabled rule that matches replies.
    """

    help_page = "inbox"

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        complete: Completer,
        check: Callable[[str], TextError | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._rules: list[ReplyRule] = []
        self._written: tuple[ReplyRule, ...] = ()
        self._removed: list[tuple[int, ReplyRule]] = []
        self._stored: frozenset[str] = frozenset()
        self._is_saving = False
        self.setWindowTitle("Reply rules")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(920, 620)
        self.list = ReplyRuleList(theme)
        self.form = ReplyRuleForm(theme, complete, check)
        self.alert = Alert(theme)
        self.timeout = InboxTimeoutRow(bridge, theme, self.alert)
        self._empty = EmptyState(theme)
        self._right = QStackedWidget()
        self.add_action = self._action("Add rule", self.add_rule)
        self.up_action = self._action("Move up", partial(self.move_rule, -1), "chevron-up")
        self.down_action = self._action("Move down", partial(self.move_rule, 1), "chevron-down")
        self.remove_action = self._action("Remove rule", self.remove, "trash")
        self.undo_action = self._action("Undo", self.undo)
        self.add_action.setEnabled(False)  # until the existing rules are loaded
        self._lay_out()
        self._connect()
        self._update()
        bridge.start_when_attached("load reply rules", self._load())

    @property
    def rules(self) -> tuple[ReplyRule, ...]:
        return tuple(self._rules)

    def add_rule(self) -> None:
        self._insert(len(self._rules), ReplyRule(randomness.token_hex(4), f"Rule {len(self._rules) + 1}"))
        name = self.form.fields.editor("name", PlainLine).line
        name.setFocus()
        name.selectAll()

    def remove(self) -> None:
        number = self._number()
        if number is None:
            return
        rule = self._rules.pop(number)
        self._removed.append((number, rule))
        self.list.takeTopLevelItem(number)
        self.alert.show_message(
            "removed", f"Removed “{rule.title}”.", actions=[self.undo_action], tone="wait"
        )
        self._save_soon()
        self._on_chosen()

    def undo(self) -> None:
        if self._removed:
            number, rule = self._removed.pop()
            self.alert.close_topic("removed")
            self._insert(min(number, len(self._rules)), rule)

    def move_rule(self, step: int) -> None:
        number = self._number()
        if number is None or not 0 <= number + step < len(self._rules):
            return
        self.form.settle()
        self._rules.insert(number + step, self._rules.pop(number))
        self._save_soon()
        self.list.show_rules(self._rules, number + step)

    def _insert(self, number: int, rule: ReplyRule) -> None:
        self.form.settle()
        self._rules.insert(number, rule)
        self._save_soon()
        self.list.show_rules(self._rules, number)

    def _number(self) -> int | None:
        number = self.list.number()
        return number if number is not None and number < len(self._rules) else None

    def _on_chosen(self) -> None:
        number = self._number()
        if number is not None and self.form.rule is not self._rules[number]:
            self.form.show_rule(self._rules[number])
        self._update()
        self._show_location()

    def _on_toggled(self, number: int, is_on: bool) -> None:
        if not 0 <= number < len(self._rules) or self._rules[number].is_on == is_on:
            return
        self.form.settle()
        self._rules[number] = replace(self._rules[number], is_on=is_on)
        if number == self._number():
            self.form.show_rule(self._rules[number])
        self._save_soon()

    def _on_rule_changed(self, rule: ReplyRule) -> None:
        number = next((position for position, each in enumerate(self._rules) if each.id == rule.id), None)
        if number is None:
            return
        self._rules[number] = rule
        self.list.show_rule(number, rule)
        self._save_soon()
        self._update()
        self._show_location()

    def _update(self) -> None:
        number = self._number()
        self._right.setCurrentIndex(0 if number is None else 1)
        self.up_action.setEnabled(number is not None and number > 0)
        self.down_action.setEnabled(number is not None and number < len(self._rules) - 1)
        self.remove_action.setEnabled(number is not None)
        self._update_key()

    def _start(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        self._bridge.start(name, work, self)

    async def _load(self) -> None:
        rules = await self._bridge.ask(lambda engine: engine.reply_rules.rules())
        stored = await self._bridge.ask(lambda engine: engine.secrets.stored())
        if shiboken6.isValid(self):
            self._stored = frozenset(secret.name for secret in stored)
            self._rules, self._written = list(rules), rules
            self.add_action.setEnabled(True)
            self.list.show_rules(self._rules, 0)

    def _save_soon(self) -> None:
        if not self._is_saving:
            self._is_saving = True
            # Not tied to the window's lifetime: the change must be saved.
            self._bridge.start("save reply rules", self._save())

    async def _save(self) -> None:
        """Save until the file matches the rules, including changes made meanwhile."""
        try:
            while (rules := tuple(self._rules)) != (before := self._written):
                await self._bridge.ask(lambda engine: engine.reply_rules.save(rules, instead_of=before))
                self._written = rules
        except RulesChangedElsewhere as exc:
            if shiboken6.isValid(self):
                self.alert.show_message(
                    "file", exc.summary, "The current rules are shown. Make your changes again."
                )
                await self._load()
        except UserError as exc:
            if not shiboken6.isValid(self):
                raise
            self.alert.show_message("file", exc.summary, exc.next_step, tone="error")
        finally:
            self._is_saving = False

    def done(self, result: int, /) -> None:
        self.form.settle()
        keys = [rule.endpoint.key for _, rule in self._removed if rule.endpoint.key in self._stored]
        if keys:
            self._bridge.start("delete keys", self._bridge.ask(partial(_delete_keys, keys)))
        super().done(result)

    def _show_location(self) -> None:
        rule = self.form.rule
        if self._number() is None or rule is None or rule.kind is not RuleKind.SCRIPT:
            return
        if rule.script:
            self._start("read script position", self._read_location(rule))
        else:
            self.form.fields.set_help("loops", "")

    async def _read_location(self, rule: ReplyRule) -> None:
        try:
            position = await self._bridge.ask(lambda engine: engine.reply_rules.script_position(rule))
        except UserError as exc:
            text = str(exc)
        else:
            text = f"{position.used:,} of {position.total:,} replies used in this session."
        if self.form.rule is rule:
            self.form.fields.set_help("loops", text)

    def _on_start_over(self) -> None:
        rule = self.form.rule
        if rule is not None:
            self._start("restart a script", self._start_over(rule))

    async def _start_over(self, rule: ReplyRule) -> None:
        await self._bridge.ask(lambda engine: engine.reply_rules.start_over(rule))
        await self._read_location(rule)

    def _on_store_key(self) -> None:
        rule, value = self.form.rule, self.form.key.text().strip()
        if rule is not None and value:
            self.form.settle()
            self._start("store a key", self._store_key(rule.key_name, value))

    async def _store_key(self, name: str, value: str) -> None:
        with reported(self.alert, "key", "error"):
            await self._bridge.ask(lambda engine: engine.secrets.put(name, value))
            self._stored |= {name}
            self.form.key.clear()
            self.form.replace_endpoint_key(name)
        self._update_key()

    def _on_delete_key(self) -> None:
        rule = self.form.rule
        if rule is not None and rule.endpoint.key:
            self._start("delete a key", self._delete_key(rule.endpoint.key))

    async def _delete_key(self, name: str) -> None:
        await self._bridge.ask(lambda engine: engine.secrets.delete(name))
        self._stored -= {name}
        self.form.replace_endpoint_key("")
        self._update_key()

    def _update_key(self) -> None:
        rule = self.form.rule
        key = rule.endpoint.key if rule is not None else ""
        self.form.store_key_action.setEnabled(bool(self.form.key.text().strip()))
        self.form.delete_key_action.setEnabled(bool(key))
        is_stored = key in self._stored
        self.form.key.setPlaceholderText("Stored; type a new one to replace it" if is_stored else "None")
        is_lost = bool(key) and not is_stored
        self.form.fields.set_help(
            "key", "The API key of this rule is no longer stored. Store it again." if is_lost else ""
        )

    def _on_try(self) -> None:
        self.form.settle()
        rule = self.form.rule
        if rule is not None:
            self.form.try_action.setEnabled(False)
            if rule.kind is RuleKind.ENDPOINT:
                self.form.alert.show_message("try", "Waiting for the endpoint…", tone="wait")
            self._start("test a reply rule", self._try(rule))

    async def _try(self, rule: ReplyRule) -> None:
        try:
            attempt = await self._bridge.ask(lambda engine: engine.reply_rules.attempt(rule))
        except UserError as exc:
            self.form.alert.show_message("try", exc.summary, exc.next_step, tone="wait")
        else:
            if self.form.rule is rule:
                self.form.show_attempt(attempt)
        finally:
            if shiboken6.isValid(self):
                self.form.try_action.setEnabled(True)

    def _connect(self) -> None:
        self.list.chosen.connect(self._on_chosen)
        self.list.toggled.connect(self._on_toggled)
        self.list.remove_requested.connect(self.remove)
        self.form.changed.connect(self._on_rule_changed)
        self.form.try_action.triggered.connect(self._on_try)
        self.form.start_over_action.triggered.connect(self._on_start_over)
        self.form.store_key_action.triggered.connect(self._on_store_key)
        self.form.delete_key_action.triggered.connect(self._on_delete_key)
        self.form.key.textEdited.connect(lambda _: self._update_key())

    def _action(self, text: str, slot: Callable[..., object], icon: str = "") -> QAction:
        action = QAction(text, self)
        action.triggered.connect(lambda: slot())
        if icon:
            self._theme.set_icon(action, icon)
        return action

    def _lay_out(self) -> None:
        self._empty.show_empty(
            "inbox",
            "No rules yet",
            "Server requests are pending in the Inbox until you reply. Rules can reply automatically.",
            [self.add_action],
        )
        self._right.addWidget(self._empty)
        self._right.addWidget(self.form)
        split = hsplit(self._left(), self._right, sizes=[_LIST_WIDTH, 920 - _LIST_WIDTH], stretch=1)
        text = (
            "The first enabled rule that matches a server request replies to it; the reply is labeled "
            "with the rule's name. Requests that match no rule wait for you."
        )
        vbox(
            self,
            Heading(self._theme, "Reply rules"),
            MutedLabel(self._theme, text, wrap=True),
            (split, 1),
            self.timeout,
            self.alert,
            gap=SPACE_3,
            margin=SPACE_4,
        )

    def _left(self) -> QWidget:
        holder = QWidget()
        add = ActionButton(self.add_action)
        add.setAutoDefault(False)
        actions = (self.up_action, self.down_action, self.remove_action)
        row = hbox(None, add, STRETCH, *map(icon_button, actions))
        vbox(holder, (self.list, 1), row, margin=(0, 0, SPACE_2, 0))
        return holder


async def _delete_keys(names: list[str], engine: Engine) -> None:
    for name in names:
        await engine.secrets.delete(name)


class ReplyRuleList(QTreeWidget):
    """The list of reply rules.

    Signals:
        chosen: The current rule changed; there may be none.
        toggled: The user turned a rule on or off; carries its number and the new state.
        remove_requested: The user wants to remove the current rule.
    """

    chosen = Signal()
    toggled = Signal(int, bool)
    remove_requested = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setHeaderLabels(["Rule", "Reply type"])
        self.setRootIsDecorated(False)
        self.setAccessibleName("Reply rules, in the order they are tried")
        style_tree(self, theme)
        self.setColumnWidth(0, _NAME_WIDTH)
        self.currentItemChanged.connect(lambda *_: self.chosen.emit())
        self.itemChanged.connect(self._on_item_changed)
        delete = QAction(self)
        delete.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        delete.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        delete.triggered.connect(self.remove_requested)
        self.addAction(delete)

    def show_rules(self, rules: Sequence[ReplyRule], number: int) -> None:
        """Show `rules` and select one of them."""
        self.blockSignals(True)
        self.clear()
        self.addTopLevelItems([_item(rule) for rule in rules])
        current = self.topLevelItem(min(number, len(rules) - 1))
        if current is not None:
            self.setCurrentItem(current)
        self.blockSignals(False)
        self.chosen.emit()

    def show_rule(self, number: int, rule: ReplyRule) -> None:
        """Update one rule."""
        item = self.topLevelItem(number)
        if item is not None:
            self.blockSignals(True)
            _fill(item, rule)
            self.blockSignals(False)
            self.viewport().update()

    def number(self) -> int | None:
        """Return the number of the current rule."""
        item = self.currentItem()
        return self.indexOfTopLevelItem(item) if item is not None else None

    def _on_item_changed(self, item: QTreeWidgetItem) -> None:
        self.toggled.emit(self.indexOfTopLevelItem(item), item.checkState(0) is Qt.CheckState.Checked)


def _item(rule: ReplyRule) -> QTreeWidgetItem:
    item = QTreeWidgetItem()
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
    _fill(item, rule)
    return item


def _fill(item: QTreeWidgetItem, rule: ReplyRule) -> None:
    item.setText(0, rule.title)
    item.setText(1, KIND_LABELS[rule.kind])
    item.setCheckState(0, Qt.CheckState.Checked if rule.is_on else Qt.CheckState.Unchecked)


class InboxTimeoutRow(QWidget):
    """The Inbox timeout setting. Errors are shown in `alert`."""

    def __init__(self, bridge: Bridge, theme: Theme, alert: Alert, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._alert = alert
        self.seconds = QSpinBox(maximum=_MAX_TIMEOUT_S, suffix=" s")
        self.seconds.setSpecialValueText("no limit")
        self.seconds.setAccessibleName("Inbox timeout")
        self.seconds.setToolTip(
            "After this time, elicitations are cancelled and sampling requests are rejected. Applies "
            "to new server requests."
        )
        self.seconds.setKeyboardTracking(False)  # typing 300 must not emit 3, then 30
        self.seconds.setEnabled(False)
        hbox(self, MutedLabel(theme, "Inbox timeout"), self.seconds, STRETCH)
        bridge.start_when_attached("load the Inbox timeout", self._load())

    async def _load(self) -> None:
        timeout = await self._bridge.ask(lambda engine: engine.settings.get("inbox.timeout"))
        if shiboken6.isValid(self):
            self.seconds.setValue(max(1, round(timeout)) if isinstance(timeout, int | float) else 0)
            self.seconds.setEnabled(True)
            self.seconds.valueChanged.connect(self._on_changed)

    def _on_changed(self, seconds: int) -> None:
        self._bridge.save("save the Inbox timeout", self._save(seconds))

    async def _save(self, seconds: int) -> None:
        with reported(self._alert, "timeout", "error"):
            await self._bridge.ask(lambda engine: engine.settings.set("inbox.timeout", seconds))
