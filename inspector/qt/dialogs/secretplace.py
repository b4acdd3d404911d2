"""Choosing where secrets are kept: four places, what each means, and what it needs to know."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QButtonGroup,
    QCheckBox,
    QGridLayout,
    QHBoxLayout,
    QRadioButton,
    QWidget,
)

from inspector.config.secrets.standing import Rung
from inspector.qt.models.secretwords import PLACES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_6, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, PlainLabel
from inspector.qt.widgets.rows import in_a_row
from inspector.qt.widgets.secretfields import secret_line

_FIELD_WIDTH = 220


class SecretPlace(QWidget):
    """The choice of where secrets are stored; takes effect when the button is pressed.

    Signals:
        chosen: Store them there; carries the Rung, the passphrase and whether unprotected is acceptable.
    """

    chosen = Signal(object, str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._now = Rung.KEYCHAIN
        self._is_chosen = self._is_locked = self._is_busy = False
        self.buttons: dict[Rung, QRadioButton] = {}
        self._group = QButtonGroup(self)
        self.passphrase = secret_line("New passphrase")
        self.again = secret_line("The same again")
        for field in (self.passphrase, self.again):
            field.setMaximumWidth(_FIELD_WIDTH)
        self.unprotected = QCheckBox("Store them unprotected")
        self._complaint = PlainLabel(theme, tone="error", wrap=True)
        self.apply_action = QAction("Keep them there", self)
        self._needs: dict[Rung, QWidget] = {
            Rung.PASSPHRASE: in_a_row(self.passphrase, self.again, fills=False),
            Rung.PLAIN: in_a_row(self.unprotected, fills=False),
        }
        self._lay_out()
        self._connect()
        self.set_place(Rung.KEYCHAIN, is_chosen=False, is_locked=False)

    def set_place(self, rung: Rung, *, is_chosen: bool, is_locked: bool) -> None:
        """Set where the secrets are stored now.

        When they were moved, what was typed for another place is cleared; otherwise the user's unfinished
        choice stays.
        """
        has_choice = self._group.checkedButton() is not None
        if has_choice and (rung, is_chosen) == (self._now, self._is_chosen):
            self._is_locked = is_locked
            self._on_changed()
            return
        self._now, self._is_chosen, self._is_locked = rung, is_chosen, is_locked
        had_focus = any(button.hasFocus() for button in self.buttons.values())
        self.buttons[rung].setChecked(True)
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
        """Focus the selected place: a focused but unselected button looks selected."""
        self.buttons[self.rung].setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def rung(self) -> Rung:
        """The selected place, whether or not it is in use yet."""
        return next((rung for rung, button in self.buttons.items() if button.isChecked()), self._now)

    # --------------------------------------------------------------

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(SPACE_1)
        grid.setHorizontalSpacing(0)
        grid.setColumnMinimumWidth(0, SPACE_6)
        grid.setColumnStretch(1, 1)
        for place in PLACES:
            button = self.buttons[place.rung] = QRadioButton(place.name)
            button.setAccessibleDescription(place.meaning)
            self._group.addButton(button)
            grid.addWidget(button, grid.rowCount(), 0, 1, 2)
            grid.addWidget(Muted(self._theme, place.meaning, wrap=True), grid.rowCount(), 1)
            if place.rung in self._needs:
                self._needs[place.rung].setContentsMargins(0, SPACE_1, 0, SPACE_1)
                grid.addWidget(self._needs[place.rung], grid.rowCount(), 1)
            grid.setRowMinimumHeight(grid.rowCount(), SPACE_1)
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        apply = ActionButton(self.apply_action)
        apply.setAutoDefault(False)
        row.addWidget(apply)
        row.addWidget(self._complaint, 1)
        grid.addLayout(row, grid.rowCount(), 0, 1, 2)

    def _connect(self) -> None:
        self._group.buttonToggled.connect(lambda *_: self._on_changed())
        self.passphrase.textChanged.connect(lambda _: self._on_changed())
        self.again.textChanged.connect(lambda _: self._on_changed())
        self.again.returnPressed.connect(self.apply_action.trigger)
        self.unprotected.toggled.connect(lambda _: self._on_changed())
        self.apply_action.triggered.connect(self._on_apply)

    def _on_changed(self) -> None:
        rung = self.rung
        for needing, widget in self._needs.items():
            widget.setVisible(needing is rung and not self._is_settled())
        differs = rung is Rung.PASSPHRASE and bool(self.again.text()) and not self._are_same()
        self._complaint.setText("The two are not the same." if differs else "")
        is_change = rung is Rung.PASSPHRASE and self._is_there()
        self.apply_action.setText("Change the passphrase" if is_change else "Keep them there")
        self.apply_action.setEnabled(self._can_apply())

    def _is_there(self) -> bool:
        return self._is_chosen and self.rung is self._now

    def _is_settled(self) -> bool:
        """Return whether there is nothing to apply. An unlocked passphrase can still be changed."""
        return self._is_there() and (self.rung is not Rung.PASSPHRASE or self._is_locked)

    def _can_apply(self) -> bool:
        if self._is_busy or self._is_settled():
            return False
        if self.rung is Rung.PASSPHRASE:
            return bool(self.passphrase.text()) and self._are_same()
        return self.rung is not Rung.PLAIN or self.unprotected.isChecked()

    def _are_same(self) -> bool:
        return self.passphrase.text() == self.again.text()

    def _on_apply(self) -> None:
        self.chosen.emit(self.rung, self.passphrase.text(), self.unprotected.isChecked())
