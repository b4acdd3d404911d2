"""The bar in which a view's filter is written, and from which earlier and saved filters come back.

It knows nothing of the language: it is given a function that completes and one that checks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import monotonic

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QToolButton, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.filterfield import Complaint, Completer, FilterField
from inspector.qt.widgets.labels import plain_tooltip, shortened

Checker = Callable[[str], Complaint | None]
_HISTORY_SHOWN = 12
_MEANT_S = 3.0  # a filter left alone for this long is considered finished
_LONGEST = 70


class FilterBar(QWidget):
    """A filter field, a chip for other restrictions, and a menu of filters.

    An invalid filter changes nothing: the previous one stays until it is valid.

    Signals:
        filter_changed: Another valid filter; carries its text.
        history_changed: Carries the filters used, newest first.
        saving_requested: Carries a name and the filter to save; an empty one deletes the name.
        chip_closed: The user removed the chip's restriction.
        help_requested: The user wants help on filters.
    """

    filter_changed = Signal(str)
    history_changed = Signal(object)
    saving_requested = Signal(str, str)
    chip_closed = Signal()
    help_requested = Signal()

    def __init__(
        self,
        theme: Theme,
        placeholder: str,
        complete: Completer,
        check: Checker,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._check = check
        self._applied = ""
        self._applied_at = 0.0
        self._is_meant = False
        self._history: Sequence[str] = ()
        self._saved: Mapping[str, str] = {}
        self.field = FilterField(theme, placeholder, complete)
        self._chip = QPushButton()
        self._more = QToolButton()
        self._lay_out()
        self.field.text_settled.connect(self._on_text_settled)
        self.field.returnPressed.connect(self._on_return_pressed)
        self.field.down_pressed.connect(self._on_down_pressed)

    @property
    def applied(self) -> str:
        """The filter in effect: the latest valid one."""
        return self._applied

    def set_text(self, text: str) -> None:
        """Set the filter and apply it now."""
        self.field.setText(text)
        self.field.settle()
        self._is_meant = True

    def set_chip(self, words: str) -> None:
        """Set the restriction besides the filter; "" hides the chip."""
        self._chip.setText(words)
        self._chip.setVisible(bool(words))

    def set_history(self, texts: Sequence[str]) -> None:
        """Set the filters used before, newest first."""
        self._history = texts

    def set_saved(self, filters: Mapping[str, str]) -> None:
        """Set the saved filters by name."""
        self._saved = filters

    def begin_writing(self) -> None:
        """Focus the field and select its text."""
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def take_back(self) -> None:
        """Discard an invalid filter and restore the one in effect."""
        self.field.setText(self._applied)
        self.field.settle()

    def ask_for_name(self) -> None:
        """Ask for a name and save the filter."""
        from inspector.qt.widgets.notepopup import NotePopup

        text = self.field.text().strip()
        if text and self._check(text) is None:
            popup = NotePopup(self._theme, "Save this filter as", shortened(text, 40), self)
            popup.kept.connect(lambda name: self.saving_requested.emit(name or text, text))
            popup.open_at(self.mapToGlobal(QPoint(0, self.height())))

    def remember(self) -> None:
        """Add the filter in effect to the history, unless it was just a pause in typing."""
        if self._applied and (self._is_meant or monotonic() - self._applied_at > _MEANT_S):
            rest = [text for text in self._history if text != self._applied]
            self._history = [self._applied, *rest]
            self.history_changed.emit(self._history)

    # -------------------------------------------------------------- the line

    def _on_text_settled(self, text: str) -> None:
        text = text.strip()
        complaint = self._check(text) if text else None
        self.field.set_complaint(complaint)
        if complaint is None and text != self._applied:
            self.remember()  # the outgoing one
            self._applied, self._applied_at, self._is_meant = text, monotonic(), False
            self.filter_changed.emit(text)

    def _on_return_pressed(self) -> None:
        self._is_meant = True

    def _on_down_pressed(self) -> None:
        if not self.field.text():
            self._open_menu()

    # -------------------------------------------------------------- the menu

    def menu(self) -> QMenu:
        """Create the menu of recent and saved filters, and actions for the current one."""
        menu = QMenu(self)
        self._add_texts(menu, "Saved", [(name, text) for name, text in self._saved.items()])
        self._add_texts(menu, "Recent", [(text, text) for text in self._history[:_HISTORY_SHOWN]])
        menu.addSeparator()
        save = menu.addAction("Save this filter…", self.ask_for_name)
        save.setEnabled(bool(self.field.text().strip()) and self.field.complaint is None)
        if self._saved:
            remove = menu.addMenu("Forget")
            for name in self._saved:
                remove.addAction(_shown(name), partial(self.saving_requested.emit, name, ""))
        menu.addAction("How filters are written", self.help_requested.emit)
        return menu

    def _add_texts(self, menu: QMenu, title: str, texts: Sequence[tuple[str, str]]) -> None:
        if texts:
            menu.addSeparator()
            menu.addAction(title).setEnabled(False)  # Qt's section titles are not drawn by the style
        for name, text in texts:
            action = menu.addAction(_shown(name), partial(self.set_text, text))
            action.setToolTip(plain_tooltip(text))
        menu.setToolTipsVisible(True)

    def _open_menu(self) -> None:
        self.remember()
        menu = self.menu()
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.mapToGlobal(QPoint(0, self.height() + 2)))

    # -------------------------------------------------------------- building

    def _lay_out(self) -> None:
        more = QAction("Recent and saved filters", self)
        self._theme.dress(more, "bookmark", "muted")
        more.triggered.connect(self._open_menu)
        self._more.setDefaultAction(more)
        self._more.setAccessibleName(more.text())
        self._theme.dress(self._chip, "close", "muted")
        self._chip.setAccessibleName("Time range: click to take it away")
        self._chip.setToolTip("Only this time range is shown. Click to show all of it")
        self._chip.clicked.connect(self.chip_closed)
        self._chip.hide()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_1)
        row.addWidget(self.field, 1)
        row.addWidget(self._chip)
        row.addWidget(self._more)
        self.setFocusProxy(self.field)


def _shown(text: str) -> str:
    """Escape for a menu, where an ampersand marks a mnemonic."""
    return shortened(one_line(text), _LONGEST).replace("&", "&&")
