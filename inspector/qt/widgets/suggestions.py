"""The list under a line of text that offers how it may go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.labels import shortened

_MOST_ROWS = 10
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Replaces the text from `start` to `end` with `text`. `note` describes it."""

    text: str
    start: int
    end: int
    note: str = ""


def floating_sheet(theme: Theme) -> str:
    """Return the style of a floating popup: its background and border."""
    ground, edge = theme.color("raised").name(), theme.color("edge").name()
    return f"background: {ground}; border: 1px solid {edge};"


class SuggestionList(QListView):
    """A popup below a line edit that does not take the focus: the line edit forwards the keys.

    Signals:
        chosen: Carries the Suggestion that was clicked.
    """

    chosen = Signal(object)

    def __init__(self, theme: Theme, owner: QWidget) -> None:
        super().__init__(owner)
        self.setWindowFlags(Qt.WindowType.ToolTip)
        self.setAttribute(Qt.WidgetAttribute.WA_ShowWithoutActivating)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFocusProxy(owner)
        self.setAccessibleName("Suggestions")
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformItemSizes(True)
        self.setFont(theme.mono_font(0.95))
        self._theme = theme
        self.suggestions: Sequence[Suggestion] = ()
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_TextAndNote(theme, self))
        self.clicked.connect(self._on_clicked)

    def show_under(self, place: QPoint, suggestions: Sequence[Suggestion]) -> None:
        """Show the list at `place`, in screen coordinates. Nothing is selected initially."""
        self.suggestions = suggestions
        self._model.clear()
        for each in suggestions:
            item = QStandardItem(shortened(one_line(each.text), _LONGEST))
            item.setData(shortened(one_line(each.note), _LONGEST), Qt.ItemDataRole.UserRole)
            self._model.appendRow(item)
        self.setStyleSheet(f"SuggestionList {{ {floating_sheet(self._theme)} }}")
        height = self._theme.row_height() * min(len(suggestions), _MOST_ROWS)
        self.setGeometry(self._on_screen(place, QSize(self._width() + SPACE_4, height + 4)))
        self.show()

    def step(self, by: int) -> None:
        here = self.currentIndex().row()
        row = (here + by) % max(1, len(self.suggestions)) if here >= 0 else 0 if by > 0 else -1
        self.setCurrentIndex(self._model.index(row % len(self.suggestions), 0))

    def current(self) -> Suggestion | None:
        """Return the selected suggestion."""
        row = self.currentIndex().row()
        return self.suggestions[row] if self.isVisible() and row >= 0 else None

    def _width(self) -> int:
        text, note = QFontMetrics(self.font()), QFontMetrics(self._theme.ui_font())
        widths = (
            text.horizontalAdvance(shortened(one_line(each.text), _LONGEST))
            + note.horizontalAdvance(shortened(one_line(each.note), _LONGEST))
            for each in self.suggestions
        )
        return max(widths, default=0) + 3 * SPACE_4

    def _on_screen(self, place: QPoint, wanted: QSize) -> QRect:
        """Return a geometry that is fully on the screen."""
        room = self.screen().availableGeometry()
        left = min(place.x(), room.right() - wanted.width())
        top = place.y() if place.y() + wanted.height() <= room.bottom() else room.bottom() - wanted.height()
        return QRect(QPoint(max(room.left(), left), max(room.top(), top)), wanted)

    def _on_clicked(self, index: QModelIndex) -> None:
        self.chosen.emit(self.suggestions[index.row()])


class _TextAndNote(QStyledItemDelegate):
    """Paints the text on the left in the line's font, and the note on the right, muted."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        painter.save()
        rect: QRect = option.rect
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, self._theme.color("selection"))
        inner = rect.adjusted(SPACE_2, 0, -SPACE_2, 0)
        middle = Qt.AlignmentFlag.AlignVCenter.value
        painter.setPen(self._theme.color("text"))
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignLeft.value, index.data())
        painter.setPen(self._theme.color("muted"))
        painter.setFont(self._theme.ui_font())
        note = index.data(Qt.ItemDataRole.UserRole)
        painter.drawText(inner, middle | Qt.AlignmentFlag.AlignRight.value, note)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, self._theme.row_height())
