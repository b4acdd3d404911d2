"""The content of a result: all parts one below the other, and each by itself, shown by its kind."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QFrame, QListView, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.engine.contents import Content, ContentKind, Message
from inspector.engine.results import Part
from inspector.qt.models.parts import NoteRole, PartsModel, ToneRole, note
from inspector.qt.theme import SPACE_3, Theme
from inspector.qt.widgets.contentview import ContentView
from inspector.qt.widgets.itemviews import dress_list
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.markedrows import MarkedRows
from inspector.qt.widgets.messages import MessageCard, MessagesView

_MOST_ROWS = 4  # of the list, before it scrolls
_AT_ONCE = 20  # parts shown at first
_LONGEST_TEXT = 2_000  # of one part in the overview


class PartsView(QWidget):
    """Content parts, with a list above them if there are several.

    The arrow keys walk through the list. It begins with an overview of all parts, in which long ones are
    cut and can be opened.

    Signals:
        uri_requested: The user wants to follow a link; carries its URI.
    """

    uri_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.model = PartsModel(self)
        self.list = QListView()
        self.view = ContentView(theme)
        self.overview = PartCards(theme, at_once=_AT_ONCE)
        self._pages = QStackedWidget()
        self._remarks = Muted(theme)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._lay_out()
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.view.uri_requested.connect(self.uri_requested)
        self.overview.uri_requested.connect(self.uri_requested)
        self.overview.part_requested.connect(lambda place: self.choose(self.model.row_of(place)))

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show parts; does nothing if they are already shown, as while watching a tool."""
        if parts and parts == self.model.parts:
            return
        self.model.set_parts(parts)
        rows = self.model.rowCount()
        self.list.setVisible(rows > 1)
        height = self._theme.row_height() * min(rows, _MOST_ROWS) + 4
        self._splitter.setSizes([height, max(self.height() - height, 100)])
        if rows:
            self.choose(0)
        else:
            self._show(None, Content(ContentKind.TEXT))

    def choose(self, row: int) -> None:
        self.list.setCurrentIndex(self.model.index(row))

    def shown_text(self) -> str:
        """Return the text on screen, if it is text."""
        if self._pages.currentWidget() is self.overview:
            return "\n\n".join(text for card in self.overview.cards if (text := card.text()))
        return self.view.text.shown_text()

    @property
    def is_partial(self) -> bool:
        """True if the part is shown incompletely."""
        return self.view.text.is_partial

    # --------------------------------------------------------------

    def _on_current_changed(self, current: QModelIndex) -> None:
        content = self.model.content(current.row())
        if self.model.is_overview(current.row()):
            self._remarks.hide()
            self.overview.show_parts(self.model.parts)
            self._pages.setCurrentWidget(self.overview)
        elif content is not None:
            self._show(self.model.part(current.row()), content)

    def _show(self, part: Part | None, content: Content) -> None:
        self._remarks.setText(" · ".join(part.remarks) if part is not None else "")
        self._remarks.setVisible(bool(self._remarks.text()))
        self.view.show_content(content)
        self._pages.setCurrentWidget(self.view)

    def _lay_out(self) -> None:
        self.list.setModel(self.model)
        self.list.setAccessibleName("Parts of the result")
        dress_list(self.list, self._theme)
        self.list.setItemDelegate(MarkedRows(self._theme, NoteRole, ToneRole, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setMinimumHeight(2 * self._theme.row_height())
        self._remarks.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        below = QWidget()
        column = QVBoxLayout(below)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._remarks)
        self._pages.addWidget(self.view)
        self._pages.addWidget(self.overview)
        column.addWidget(self._pages, 1)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(below)
        self._splitter.setStretchFactor(1, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._splitter)
        self.setFocusProxy(self.list)


class PartCards(MessagesView):
    """All parts, one below the other; more are added on demand.

    Signals:
        part_requested: The user wants to open one; carries its position.
    """

    part_requested = Signal(int)
    _noun = "part"

    def show_parts(self, parts: Sequence[Part]) -> None:
        self.setAccessibleName("All parts of the result")
        self.show_messages([_as_message(place, part) for place, part in enumerate(parts)])

    def _make_card(self, place: int, message: Message) -> MessageCard:
        card = MessageCard(self._theme, message, _LONGEST_TEXT, tone="muted")
        card.open_requested.connect(lambda content: self.part_requested.emit(place))
        return card


def _as_message(place: int, part: Part) -> Message:
    words = (part.content.title or part.content.uri, note(part.content), *part.remarks)
    return Message(f"{place + 1:,}", part.content, " · ".join(one_line(word) for word in words if word))
