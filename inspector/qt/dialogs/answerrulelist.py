"""The answer rules in the order in which they are tried, each with a box that turns it on."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from inspector.config.answerrules import AnswerRule
from inspector.qt.dialogs.answerruleform import KIND_WORDS
from inspector.qt.theme import Theme
from inspector.qt.widgets.itemviews import dress_tree

_NAME_WIDTH = 170


class AnswerRuleList(QTreeWidget):
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
        self.setHeaderLabels(["Rule", "Answers with"])
        self.setRootIsDecorated(False)
        self.setAccessibleName("Answer rules, in the order in which they are tried")
        dress_tree(self, theme)
        self.setColumnWidth(0, _NAME_WIDTH)
        self.currentItemChanged.connect(lambda *_: self.chosen.emit())
        self.itemChanged.connect(self._on_item_changed)
        delete = QAction(self)
        delete.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        delete.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        delete.triggered.connect(self.remove_requested)
        self.addAction(delete)

    def show_rules(self, rules: Sequence[AnswerRule], number: int) -> None:
        """Show `rules` and select one of them."""
        self.blockSignals(True)
        self.clear()
        self.addTopLevelItems([_item(rule) for rule in rules])
        front = self.topLevelItem(min(number, len(rules) - 1))
        if front is not None:
            self.setCurrentItem(front)
        self.blockSignals(False)
        self.chosen.emit()

    def show_rule(self, number: int, rule: AnswerRule) -> None:
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


def _item(rule: AnswerRule) -> QTreeWidgetItem:
    item = QTreeWidgetItem()
    item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
    _fill(item, rule)
    return item


def _fill(item: QTreeWidgetItem, rule: AnswerRule) -> None:
    item.setText(0, rule.title)
    item.setText(1, KIND_WORDS[rule.kind])
    item.setCheckState(0, Qt.CheckState.Checked if rule.is_on else Qt.CheckState.Unchecked)
