"""The one look of lists, trees, tables and side bars: dense rows, no grid, whole rows selected."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QTreeView,
    QWidget,
)

from inspector.qt.theme import Theme


def dress_table(view: QTableView, theme: Theme) -> None:
    """Style a table: fixed dense rows (cheap even for a million), quiet header, no grid."""
    rows = view.verticalHeader()
    rows.setVisible(False)
    rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
    rows.setMinimumSectionSize(theme.row_height())
    rows.setDefaultSectionSize(theme.row_height())
    view.setShowGrid(False)
    view.setCornerButtonEnabled(False)
    _dress_header(view.horizontalHeader(), theme)
    _dress_any(view)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)


def dress_tree(view: QTreeView, theme: Theme) -> None:
    """Style a tree: uniform rows, narrow indent."""
    view.setUniformRowHeights(True)
    view.setIndentation(16)
    view.setStyleSheet(f"QTreeView::item {{ height: {theme.row_height()}px; }}")
    _dress_header(view.header(), theme)
    _dress_any(view)


def dress_list(view: QListView, theme: Theme) -> None:
    """Style a list: uniform rows as wide as the list; ten thousand of them open at once."""
    view.setUniformItemSizes(True)
    view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setItemDelegate(_NarrowDelegate(view))
    view.setStyleSheet(f"QListView::item {{ height: {theme.row_height()}px; padding-left: 8px; }}")
    _dress_any(view)


class _NarrowDelegate(QStyledItemDelegate):
    """Asks for no width, so that a long text elides instead of widening the list."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(40, super().sizeHint(option, index).height())


def dress_sidebar(widget: QWidget) -> None:
    """Style a panel and its lists as a sidebar, sunken behind the content."""
    widget.setProperty("place", "sidebar")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def _dress_header(header: QHeaderView, theme: Theme) -> None:
    header.setFont(theme.ui_font())  # its own: cells may be in another
    header.setHighlightSections(False)
    header.setStretchLastSection(True)
    header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    header.setTextElideMode(Qt.TextElideMode.ElideRight)


def _dress_any(view: QAbstractItemView) -> None:
    view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    view.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    view.setTextElideMode(Qt.TextElideMode.ElideRight)
