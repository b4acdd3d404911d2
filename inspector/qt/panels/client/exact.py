"""What is declared, as the JSON that goes over the wire; what a person writes there is declared as it is."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSONObject
from inspector.protocol.declared import Declared, remarks
from inspector.protocol.revisions import Revision
from inspector.qt.forms.jsontextview import JsonTextView
from inspector.qt.forms.look import Look
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel
from inspector.schema.values import FormError

_MOST_REMARKS = 3


class ExactDeclaration(QWidget):
    """The client capabilities as JSON.

    Follows the switches until edited. An edit waits for confirmation and stays until it is declared.

    Signals:
        wanted: The user wants exactly this declared; carries the object.
        edited: `is_edited` may have changed.
    """

    wanted = Signal(object)
    edited = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: JSONObject = {}
        self._revision: Revision | None = None
        self._asked: tuple[str, JSONObject] | None = None  # the text to declare, and its value
        self.is_edited = False
        self._when = Muted(theme, wrap=True)
        self._by_hand = Badge(theme, tone="accent")
        self.text = JsonTextView(Look.of(theme), "Capabilities")
        self.text.text_changed.connect(self._on_text_changed)
        self.text.text_read.connect(self._show_remarks)
        self._remarks = PlainLabel(theme, tone="warn", wrap=True)
        self.declare = QAction("Declare this", self)
        self.declare.triggered.connect(self._on_declare)
        self.discard = QAction("Discard", self)
        self.discard.triggered.connect(self._on_discard)
        self._lay_out(theme)
        self._show_edited()

    def show_declared(self, declared: Declared, revision: Revision | None, when: str) -> None:
        """Show what is declared; `when` says when it is sent to the server. Edits in progress stay."""
        self._revision = revision
        self._when.setText(when)
        self._by_hand.set_text("as you wrote it" if declared.is_exact else "")
        capabilities, before = declared.capabilities(revision), self._shown
        self._shown = capabilities  # also what discarding restores
        if declared.is_exact and self._asked == (self.text.text(), capabilities):
            self._end_editing()
        elif not self.is_edited and capabilities != before:
            self.text.set_value(capabilities)
        self._show_remarks()

    # --------------------------------------------------------------

    def _on_text_changed(self) -> None:
        self.is_edited = True
        self._show_edited()
        self.edited.emit()

    def _on_declare(self) -> None:
        try:
            capabilities = self.text.read_object()
        except FormError:
            return  # shown below the text
        self._asked = (self.text.text(), capabilities)
        self.wanted.emit(capabilities)

    def _on_discard(self) -> None:
        self.text.set_value(self._shown)
        self._end_editing()
        self._show_remarks()

    def _end_editing(self) -> None:
        self._asked = None
        self.is_edited = False
        self._show_edited()
        self.edited.emit()

    def _show_edited(self) -> None:
        for action in (self.declare, self.discard):
            action.setEnabled(self.is_edited)

    def _show_remarks(self) -> None:
        try:
            said = remarks(self.text.read_object(), self._revision)
        except FormError:
            said = ()
        more = f" And {len(said) - _MOST_REMARKS} more." if len(said) > _MOST_REMARKS else ""
        self._remarks.setText(" ".join(said[:_MOST_REMARKS]) + more)
        self._remarks.setVisible(bool(said))

    def _lay_out(self, theme: Theme) -> None:
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(Heading(theme, "As JSON"))
        head.addWidget(self._by_hand)
        head.addStretch(1)
        head.addWidget(ActionButton(self.discard))
        head.addWidget(ActionButton(self.declare, "primary"))
        inner = QVBoxLayout()
        inner.setContentsMargins(SPACE_3, SPACE_4, SPACE_3, 0)
        inner.setSpacing(SPACE_2)
        inner.addLayout(head)
        inner.addWidget(self._when)
        below = QVBoxLayout()
        below.setContentsMargins(SPACE_3, 0, SPACE_3, SPACE_4)
        below.addWidget(self._remarks)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(inner)
        column.addWidget(self.text, 1)
        column.addLayout(below)
