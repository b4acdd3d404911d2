"""Editor for traffic color rules: an ordered list of filters, each with a color.

Every change takes effect at once. The first rule that matches a row colors it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction, QColor, QIcon, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QGridLayout,
    QScrollArea,
    QToolButton,
    QWidget,
)

from inspector.config.preferences.traffic import DEFAULT_RULES, TINTS, ColorRule
from inspector.qt.models.traffic.view_options import TONES, TrafficViewOptions
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton
from inspector.qt.widgets.inputs.filter_bar import Completer, FilterField, TextError
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel

_NAMES = {
    "error": "Red",
    "warn": "Amber",
    "ok": "Green",
    "wait": "Violet",
    "inbound": "Teal",
    "outbound": "Blue",
}


class ColorRulesDialog(QDialog):
    """The editor of the color rules.

    Every change takes effect at once. The first rule that matches a row colors it.
    """

    help_page = "traffic"

    def __init__(
        self,
        options: TrafficViewOptions,
        theme: Theme,
        complete: Completer,
        check: Callable[[str], TextError | None],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Color rules")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(620, 320)
        self._options = options
        self._theme = theme
        self._complete = complete
        self._check = check
        self._rules = list(options.rules)
        self.lines: list[RuleRow] = []
        self._grid = QGridLayout()
        self._lay_out()
        self._show_rules()

    def add_rule(self) -> None:
        self._rules.append(ColorRule("", TINTS[len(self._rules) % len(TINTS)]))
        self._show_rules()
        self.lines[-1].field.setFocus()

    def restore_defaults(self) -> None:
        self._rules = list(DEFAULT_RULES)
        self._save()
        self._show_rules()

    def change(self, number: int, rule: ColorRule) -> None:
        self._rules[number] = rule
        self._save()

    def remove(self, number: int) -> None:
        del self._rules[number]
        self._save()
        self._show_rules_soon()

    def move_up(self, number: int) -> None:
        if number > 0:
            self._rules[number - 1 : number + 1] = reversed(self._rules[number - 1 : number + 1])
            self._save()
            self._show_rules_soon()

    def _save(self) -> None:
        """Save the rules, except empty and invalid ones."""
        usable = [rule for rule in self._rules if rule.filter.strip() and self._check(rule.filter) is None]
        if usable != list(self._options.rules):
            self._options.set_rules(usable)

    def _show_rules_soon(self) -> None:
        # Rebuilding deletes the clicked button, so not during its click.
        QTimer.singleShot(0, self, self._show_rules)

    def _show_rules(self) -> None:
        for line in self.lines:
            line.remove()
        self.lines = []
        for number, rule in enumerate(self._rules):
            line = RuleRow(self._theme, rule, self._complete, self._check)
            line.add_to(self._grid, number)
            line.on_change = partial(self.change, number)
            line.up.triggered.connect(partial(self.move_up, number))
            line.up.setEnabled(number > 0)
            line.trash.triggered.connect(partial(self.remove, number))
            self.lines.append(line)

    def _lay_out(self) -> None:
        add, defaults = QAction("Add rule", self), QAction("Restore defaults", self)
        add.triggered.connect(self.add_rule)
        defaults.triggered.connect(self.restore_defaults)
        self._grid.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        self._grid.setHorizontalSpacing(SPACE_2)
        self._grid.setVerticalSpacing(SPACE_1)
        self._grid.setColumnStretch(1, 1)
        content = QWidget()
        vbox(content, self._grid, STRETCH, gap=-1)
        area = QScrollArea()
        area.setWidget(content)
        area.setWidgetResizable(True)
        buttons = hbox(
            None,
            ActionButton(add),
            STRETCH,
            ActionButton(defaults, "quiet"),
            gap=-1,
            margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_3),
        )
        head = hbox(
            None,
            MutedLabel(self._theme, "Each row gets the color of the first rule that matches it.", wrap=True),
            gap=-1,
            margin=(SPACE_3, 0),
        )
        vbox(self, head, (area, 1), buttons, gap=0, margin=(0, SPACE_3, 0, 0))


class RuleRow:
    """The controls of one rule. `on_change` is called with the rule whenever it changes."""

    def __init__(
        self, theme: Theme, rule: ColorRule, complete: Completer, check: Callable[[str], TextError | None]
    ) -> None:
        self._theme = theme
        self._rule = rule
        self._check = check
        self.on_change: Callable[[ColorRule], None] = lambda rule: None
        self.on = QCheckBox()
        self.on.setAccessibleName("Enable rule")
        self.on.setChecked(rule.is_on)
        self.field = FilterField(theme, "Filter", complete)
        self.field.setText(rule.filter)
        self.field.settle()
        self.tint = QComboBox()
        self.tint.setAccessibleName("Color")
        self.tint.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        for name in TINTS:
            self.tint.addItem(_swatch(theme, name), _NAMES[name], name)
        self.tint.setCurrentIndex(TINTS.index(rule.tint))
        self._up_button, self.up = _button(theme, "chevron-up", "Move up")
        self._trash_button, self.trash = _button(theme, "trash", "Remove rule")
        self.on.toggled.connect(lambda is_on: self._change(self._rule._replace(is_on=is_on)))
        self.tint.currentIndexChanged.connect(
            lambda index: self._change(self._rule._replace(tint=TINTS[index]))
        )
        self.field.text_settled.connect(self._on_text_settled)

    def add_to(self, grid: QGridLayout, row: int) -> None:
        for column, widget in enumerate(self._widgets()):
            grid.addWidget(widget, row, column)

    def remove(self) -> None:
        for widget in self._widgets():
            widget.hide()
            widget.deleteLater()

    def _widgets(self) -> tuple[QWidget, ...]:
        return self.on, self.field, self.tint, self._up_button, self._trash_button

    def _on_text_settled(self, text: str) -> None:
        self.field.set_error(self._check(text))
        self._change(self._rule._replace(filter=text.strip()))

    def _change(self, rule: ColorRule) -> None:
        if rule != self._rule:
            self._rule = rule
            self.on_change(rule)


def _button(theme: Theme, icon: str, text: str) -> tuple[QToolButton, QAction]:
    action = QAction(text)
    theme.set_icon(action, icon, "muted")
    button = ActionToolButton(action)
    action.setParent(button)
    button.setAccessibleName(text)
    return button, action


def _swatch(theme: Theme, tint: str) -> QIcon:
    """Draw the tint in a stronger color: at this size it is too faint to distinguish."""
    pixmap = QPixmap(ICON_SIZE, ICON_SIZE)
    pixmap.fill(QColor(theme.tokens.tint(TONES[tint], 0.6)))
    return QIcon(pixmap)
