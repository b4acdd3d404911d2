"""Common style of lists, trees, tables and sidebars, row delegates, and sidebar entries.

Rows are dense, without a grid, and selected as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QHeaderView,
    QListView,
    QStyledItemDelegate,
    QTableView,
    QWidget,
)

from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.text.badge import DotShape, badge_size, paint_badge, paint_dot

if TYPE_CHECKING:
    from PySide6.QtWidgets import QStyleOptionViewItem, QTreeView

_Column = TypeVar("_Column", bound=int)
_MAX_NOTE_SHARE = 0.45  # of the row's width


def style_table(
    view: QTableView, theme: Theme, widths: Mapping[_Column, int] | None = None, stretch: Sequence[int] = ()
) -> None:
    """Style a table: fixed dense rows (cheap even for a million), quiet header, no grid.

    `widths` in pixels and columns to stretch, else the last one, need the model to be set.
    """
    rows = view.verticalHeader()
    rows.setVisible(False)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setMinimumSectionSize(theme.row_height())
    rows.setDefaultSectionSize(theme.row_height())
    view.setShowGrid(False)
    view.setCornerButtonEnabled(False)
    _style_header(view.horizontalHeader(), theme)
    _style_view(view)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    for column, width in (widths or {}).items():
        view.setColumnWidth(column, width)
    if stretch:
        view.horizontalHeader().setStretchLastSection(False)
    for stretched in stretch:
        view.horizontalHeader().setSectionResizeMode(stretched, QHeaderView.ResizeMode.Stretch)


def style_tree(view: QTreeView, theme: Theme) -> None:
    """Style a tree: uniform rows, narrow indent."""
    view.setUniformRowHeights(True)
    view.setIndentation(16)
    view.setStyleSheet(f"QTreeView::item {{ height: {theme.row_height()}px; }}")
    _style_header(view.header(), theme)
    _style_view(view)


def style_list(view: QListView, theme: Theme) -> None:
    """Style a list: uniform rows as wide as the list, fast with ten thousand of them."""
    view.setUniformItemSizes(True)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setItemDelegate(_NarrowDelegate(view))
    view.setStyleSheet(f"QListView::item {{ height: {theme.row_height()}px; padding-left: 8px; }}")
    _style_view(view)


class _NarrowDelegate(QStyledItemDelegate):
    """Has a minimal width, so that a long text elides instead of widening the list."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, super().sizeHint(option, index).height())


def style_sidebar(widget: QWidget) -> None:
    """Style a panel and its lists as a sidebar, sunken behind the content."""
    widget.setProperty("place", "sidebar")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def _style_header(header: QHeaderView, theme: Theme) -> None:
    header.setFont(theme.ui_font())  # the cells may have another font
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setTextElideMode(Qt.TextElideMode.ElideRight)


def _style_view(view: QAbstractItemView) -> None:
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setTextElideMode(Qt.TextElideMode.ElideRight)


class RowDelegate(QStyledItemDelegate):
    """Paints rows of the theme's height: the style paints the background, `paint_row` the text."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        raise NotImplementedError

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, self._theme.row_height())

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        from PySide6.QtWidgets import QStyle  # takes 5 ms for its enums, at the first row

        self.initStyleOption(option, index)
        text, option.text = option.text, ""
        QApplication.style().drawControl(
            QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget
        )
        painter.save()
        self.paint_row(painter, option, option.rect.adjusted(SPACE_2, 0, -SPACE_2, 0), text, index)
        painter.restore()

    def draw_text(
        self,
        painter: QPainter,
        room: QRect,
        text: str,
        side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        """Draw one line, elided to fit."""
        shown = QFontMetrics(painter.font()).elidedText(text, elide, room.width())
        flags = Qt.AlignmentFlag.AlignVCenter.value | side.value | Qt.TextFlag.TextSingleLine.value
        painter.drawText(room, flags, shown)


class NoteDelegate(RowDelegate):
    """Paints rows with a note on the right, and a dot unless its tone is muted.

    `note_role` and `tone_role` are the model's roles for the note and its tone. `elide` says where a long
    note is cut.
    """

    def __init__(
        self,
        theme: Theme,
        note_role: int,
        tone_role: int,
        parent: QWidget,
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__(theme, parent)
        self._elide = elide
        self._note_role = note_role
        self._tone_role = tone_role

    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        right = self._paint_note(painter, box, index)
        painter.setFont(option.font)
        painter.setPen(self._theme.color("text"))
        room = QRect(box.left(), box.top(), max(right - box.left() - SPACE_2, 0), box.height())
        self.draw_text(painter, room, text)

    def _paint_note(self, painter: QPainter, box: QRect, index: QModelIndex | QPersistentModelIndex) -> int:
        """Paint the note and return its left edge."""
        note = index.data(self._note_role) or ""
        if not note:
            return box.right()
        tone: Tone = index.data(self._tone_role) or "muted"
        font = self._theme.ui_font(0.9)
        painter.setFont(font)
        painter.setPen(self._theme.color(tone))
        needed = QFontMetrics(font).horizontalAdvance(note) + 2
        width = min(needed, round(box.width() * _MAX_NOTE_SHARE))
        self.draw_text(
            painter,
            QRect(box.right() - width, box.top(), width, box.height()),
            note,
            Qt.AlignmentFlag.AlignRight,
            self._elide,
        )
        left = box.right() - width
        if tone != "muted":
            left -= ICON_SIZE - SPACE_1
            dot = QRectF(left - 2, box.top(), ICON_SIZE, box.height())
            paint_dot(painter, dot, DotShape.FILLED, self._theme.color(tone))
        return left


class SidebarEntry(QAbstractButton):
    """An entry of the sidebar: muted while its count is 0, checked while its view is shown."""

    def __init__(
        self, theme: Theme, text: str, icon: str, tone: Tone = "wait", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = tone
        self._count = 0
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setFixedHeight(theme.row_height() + SPACE_2)
        theme.set_icon_later(self, icon, "muted")
        theme.changed.connect(self.update)

    @property
    def count(self) -> int:
        return self._count

    def show_count(self, count: int, text: str, key: str = "") -> None:
        """Set the count and its description `text`; `key` is the shortcut."""
        self._count = count
        self.setToolTip(f"{text} ({key})" if key else text)
        self.setAccessibleDescription(text)
        self.update()

    def showEvent(self, event: QShowEvent) -> None:
        self._theme.apply_icon(self)
        super().showEvent(event)

    def nextCheckState(self) -> None:
        """Check on a click; only selecting another entry unchecks it."""
        self.setChecked(True)

    def sizeHint(self) -> QSize:
        return QSize(160, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, rect = QPainter(self), self._theme, self.rect()
        if self.isChecked():
            painter.fillRect(rect, theme.color("selection"))
            painter.fillRect(0, 0, 3, self.height(), theme.color("accent"))
        elif self.underMouse():
            painter.fillRect(rect, theme.color("hover"))
        painter.fillRect(0, self.height() - 1, self.width(), 1, theme.color("line"))
        if self.hasFocus():
            painter.setPen(theme.color("accent"))
            painter.drawRect(rect.adjusted(0, 0, -1, -2))
        inner = rect.adjusted(SPACE_3, 0, -SPACE_2, -1)
        top = inner.y() + (inner.height() - ICON_SIZE) // 2
        self.icon().paint(painter, QRect(inner.x(), top, ICON_SIZE, ICON_SIZE))
        is_quiet = not self._count and not self.isChecked()
        painter.setFont(theme.ui_font(weight=QFont.Weight.Medium if self._count else QFont.Weight.Normal))
        painter.setPen(theme.color("muted" if is_quiet else "text"))
        text = inner.adjusted(ICON_SIZE + SPACE_1, 0, 0, 0)
        painter.drawText(text, int(Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft), self.text())
        if self._count:
            number = f"{self._count:,}"
            size = badge_size(theme, number)
            at = QRect(inner.right() - size.width(), inner.center().y() - size.height() // 2, *size.toTuple())
            paint_badge(painter, at, theme, number, self._tone)
