"""Forms of a message: the JSON tree, and the content decoded from its strings.

Values of the tree can be copied and filtered on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QResizeEvent, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QListWidget,
    QListWidgetItem,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from inspector.base.plain_text import one_line
from inspector.engine.content.json_tree import TreeValue, whole_length
from inspector.qt.models.json_tree import JsonTreeModel, Steps
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import save_bytes
from inspector.qt.widgets.inputs.clipboard import SecretCopyPrompt
from inspector.qt.widgets.inputs.controls import ActionButton, bind_keys
from inspector.qt.widgets.item_views import style_list, style_tree
from inspector.qt.widgets.layout import hbox, hsplit, vbox, vsplit
from inspector.qt.widgets.media.media import ImageView, read_image
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.text.labels import PlainLabel, plain_tooltip
from inspector.traffic.decode.decodings import Decoding, DecodingKind

# Below this width, the list is above instead of on the left.
_MIN_WIDTH = 520
_EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "application/pdf": "pdf",
    "application/zip": "zip",
    "application/json": "json",
}
# Rows expanded automatically: about a screenful.
_MAX_EXPANDED = 60
_MAX_EXPANDED_ON_REQUEST = 2_000
_ONE_LINE = Qt.AlignmentFlag.AlignVCenter.value | Qt.TextFlag.TextSingleLine.value


class JsonTreeView(QWidget):
    """The tree, with the full text of a long value below it on request.

    Signals:
        filter_requested: Filter for a value, or exclude it; carries its path (`Steps`), the value, and
            whether to exclude.
        path_copied: Copy the path of a value; carries it (`Steps`). The receiver formats it and puts it on
            the clipboard.
    """

    filter_requested = Signal(object, object, bool)
    path_copied = Signal(object)

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.model = JsonTreeModel(self)
        self.view = QTreeView()
        self.view.setAccessibleName(name)
        self.view.setModel(self.model)
        self.view.setHeaderHidden(True)
        style_tree(self.view, theme)
        self.view.setFont(theme.mono_font())
        self.view.setItemDelegate(_JsonDelegate(theme, self.model, self.view))
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._on_menu_requested)
        self.view.activated.connect(self._on_activated)
        copy = QShortcut(QKeySequence(QKeySequence.StandardKey.Copy), self.view)
        copy.setContext(Qt.ShortcutContext.WidgetShortcut)
        copy.activated.connect(self.copy_value)
        self._close = bind_keys(self, "Esc", self.hide_full_value)
        self._close.setEnabled(False)
        self._full_value: JsonView | None = None
        self._splitter = vsplit(self.view)
        self._is_secret = False
        self.copy_prompt = SecretCopyPrompt(theme)
        vbox(self, (self._splitter, 1), self.copy_prompt, gap=0)
        self.setFocusProxy(self.view)

    def set_secret(self, is_secret: bool) -> None:
        """Set whether unmasked secrets are shown: copying then needs confirmation."""
        self._is_secret = is_secret
        if self._full_value is not None:
            self._full_value.set_secret(is_secret)

    def set_value(self, value: TreeValue) -> None:
        """Show a value, expanded to about a screenful."""
        self.copy_prompt.close_prompt()
        self.hide_full_value()
        self.model.set_value(value)
        self._expand_first_rows()

    def clear(self) -> None:
        self.hide_full_value()
        self.model.clear()

    def full_text(self) -> str:
        """Return the text shown below the tree; "" while hidden."""
        return (
            self._full_value.shown_text()
            if self._full_value is not None and self._full_value.isVisibleTo(self)
            else ""
        )

    def copy_value(self) -> None:
        """Copy a leaf's text; a container as JSON, as far as it is available."""
        index = self.view.currentIndex()
        if index.isValid() and self._is_secret:
            text = self.model.text(index)
            self.copy_prompt.ask("this value", lambda: text)
        elif index.isValid():
            QGuiApplication.clipboard().setText(self.model.text(index))

    def copy_path(self) -> None:
        if (index := self.view.currentIndex()).isValid():
            self.path_copied.emit(self.model.steps(index))

    def filter_on_value(self) -> None:
        self._request_filter(exclude=False)

    def exclude_value(self) -> None:
        self._request_filter(exclude=True)

    def show_full_value(self) -> None:
        """Show the selected value's text in full, with real line breaks."""
        index = self.view.currentIndex()
        if not index.isValid() or not self.model.is_leaf(index):
            return
        if self._full_value is None:
            self._full_value = JsonView(self._theme, "Full value")
            self._full_value.set_secret(self._is_secret)
            self._splitter.addWidget(self._full_value)
        self._full_value.set_text(self.model.text(index), "text")
        self._full_value.show()
        self._close.setEnabled(True)

    def hide_full_value(self) -> None:
        if self._full_value is not None:
            self._full_value.hide()
        self._close.setEnabled(False)

    def expand_below(self) -> None:
        """Expand the selected row and its content, up to a limit."""
        self._expand([self.view.currentIndex()], _MAX_EXPANDED_ON_REQUEST)

    def menu(self) -> QMenu:
        """Create the menu of the current row, with applicable actions only."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        index = self.view.currentIndex()
        menu.addAction("Copy value", self.copy_value)
        menu.addAction("Copy path", self.copy_path)
        if self.model.is_leaf(index):
            menu.addSeparator()
            menu.addAction("Filter by this value", self.filter_on_value)
            menu.addAction("Exclude this value", self.exclude_value)
            menu.addSeparator()
            menu.addAction("Show full value", self.show_full_value)
            if self.full_text():
                menu.addAction("Hide full value", self.hide_full_value)
        else:
            menu.addSeparator()
            menu.addAction("Expand all below", self.expand_below)
        menu.addAction("Collapse all", self.view.collapseAll)
        return menu

    def _request_filter(self, *, exclude: bool) -> None:
        index = self.view.currentIndex()
        if index.isValid() and self.model.is_leaf(index):
            steps: Steps = self.model.steps(index)
            self.filter_requested.emit(steps, self.model.leaf(index), exclude)

    def _on_menu_requested(self, at: QPoint) -> None:
        index = self.view.indexAt(at)
        if index.isValid():
            self.view.setCurrentIndex(index)
            self.menu().popup(self.view.viewport().mapToGlobal(at))

    def _on_activated(self, index: QModelIndex) -> None:
        """Show a text in full on double click or Return, if it does not fit."""
        self.view.setCurrentIndex(index)
        value = self.model.value(index)
        if isinstance(value, str) and (whole_length(value) > 60 or "\n" in value):
            self.show_full_value()

    def _expand_first_rows(self) -> None:
        top = [self.model.index(row, 0) for row in range(min(self.model.rowCount(), _MAX_EXPANDED))]
        self._expand(top, _MAX_EXPANDED - len(top))

    def _expand(self, indexes: list[QModelIndex], room: int) -> None:
        """Expand rows level by level while their content fits."""
        waiting = deque(indexes)
        while waiting and room > 0:
            index = waiting.popleft()
            if not self.model.hasChildren(index) or self.model.child_count(index) > room:
                continue
            count = self.model.rowCount(index)
            room -= count
            self.view.expand(index)
            waiting.extend(self.model.index(row, 0, index) for row in range(count))


class _JsonDelegate(QStyledItemDelegate):
    """Paints `key: value note`, each in its own color, on the view's background."""

    def __init__(self, theme: Theme, model: JsonTreeModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._model = model

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        background = QStyleOptionViewItem(option)
        self.initStyleOption(background, index)
        background.text = ""
        style = QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, background, painter, background.widget)
        painter.save()
        painter.setFont(option.font)
        self._paint_text(painter, option.rect.adjusted(SPACE_1, 0, -SPACE_1, 0), index)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        # A small width: a long value is elided instead of widening the tree.
        return QSize(40, self._theme.row_height())

    def _paint_text(self, painter: QPainter, room: QRect, index: QModelIndex | QPersistentModelIndex) -> None:
        appearance = self._model.appearance(index)
        if appearance.key:
            room = self._paint(
                painter, room, appearance.key, "key" if not appearance.key.isdigit() else "muted"
            )
            room = self._paint(painter, room, ": ", "muted")
        note = painter.fontMetrics().horizontalAdvance(appearance.note) + SPACE_3 if appearance.note else 0
        self._paint(painter, room.adjusted(0, 0, -note, 0), appearance.value, appearance.tone)
        if appearance.note:
            value = min(painter.fontMetrics().horizontalAdvance(appearance.value), room.width() - note)
            self._paint(painter, room.adjusted(max(0, value) + SPACE_2, 0, 0, 0), appearance.note, "muted")

    def _paint(self, painter: QPainter, room: QRect, text: str, tone: Tone) -> QRect:
        """Paint a text and return the remaining rectangle."""
        metrics = painter.fontMetrics()
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
        painter.setPen(self._theme.color(tone))
        painter.drawText(room, _ONE_LINE, shown)
        return room.adjusted(metrics.horizontalAdvance(text), 0, 0, 0)


class DecodedView(QWidget):
    """Decoded contents. Secrets are hidden until revealed, one at a time."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._decodings: tuple[Decoding, ...] = ()
        self._revealed: set[int] = set()
        self.list = QListWidget()
        self.list.setAccessibleName("Decoded from the message")
        style_list(self.list, theme)
        self.list.currentRowChanged.connect(self._on_current_changed)
        self._path = PlainLabel(theme, tone="muted", elide=Qt.TextElideMode.ElideMiddle, mono=True)
        self._note = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.text = JsonView(theme, "Decoded text")
        self.text.save_requested.connect(self._on_save)
        self.image = ImageView(theme)
        self._reveal = self._action("Show", self._on_reveal)
        self._save = self._action("Save…", self._on_save)
        self._gate = ContentStack(theme, self._make_content())
        self._splitter = hsplit(self.list, self._make_right(), sizes=[180, 420])
        vbox(self, self._splitter)

    def show_decodings(self, decodings: Sequence[Decoding]) -> None:
        self._decodings = tuple(decodings)
        self._revealed.clear()
        self.list.clear()
        for decoding in decodings:
            item = QListWidgetItem(one_line(decoding.title))
            item.setToolTip(plain_tooltip(decoding.path))
            self.list.addItem(item)
        self.list.setCurrentRow(0 if decodings else -1)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < _MIN_WIDTH
        orientation = Qt.Orientation.Vertical if is_narrow else Qt.Orientation.Horizontal
        if self._splitter.orientation() != orientation:
            self._splitter.setOrientation(orientation)
            self._splitter.setSizes([90, 300] if is_narrow else [180, self.width() - 180])

    def _on_current_changed(self, position: int) -> None:
        if not 0 <= position < len(self._decodings):
            return
        decoding = self._decodings[position]
        self._path.setText(decoding.path)
        self._note.setText(decoding.note)
        self._note.setVisible(bool(decoding.note))
        self._save.setEnabled(bool(decoding.data or decoding.text))
        if decoding.is_secret and position not in self._revealed:
            sentence = "Anyone who has it can act as its owner. Check who can see your screen."
            self._gate.explain("empty", "key", "Hidden: this may be a secret", sentence, action=self._reveal)
        elif decoding.kind is DecodingKind.IMAGE and decoding.data:
            self._show_image(decoding)
        elif decoding.text:
            self._show_text(decoding)
        else:
            sentence = f"{decoding.title}. It can't be shown here, but you can save it."
            self._gate.explain("empty", "save", "File", sentence, action=self._save)

    def _show_image(self, decoding: Decoding) -> None:
        result = read_image(decoding.data, decoding.mime_type)
        if result.image is None:
            self._gate.explain("failed", "", "Can't show the image", result.text, action=self._save)
            return
        self.image.set_image(result.image, result.text)
        text = f"{result.text}. {decoding.note}" if decoding.note else result.text
        self._note.setText(text)
        self._note.show()
        self._set_content(self.image)

    def _show_text(self, decoding: Decoding) -> None:
        self.text.set_secret(decoding.is_secret)
        self.text.set_text(decoding.text, "json" if decoding.kind is DecodingKind.JSON else "text")
        self._set_content(self.text)

    def _set_content(self, widget: QWidget) -> None:
        self.text.setVisible(widget is self.text)
        self.image.setVisible(widget is self.image)
        self._gate.open()

    def _on_reveal(self) -> None:
        self._revealed.add(self.list.currentRow())
        self._on_current_changed(self.list.currentRow())

    def _on_save(self) -> None:
        position = self.list.currentRow()
        if 0 <= position < len(self._decodings):
            decoding = self._decodings[position]
            extension = _EXTENSIONS.get(decoding.mime_type, "bin" if decoding.data else "txt")
            data = decoding.data or decoding.text.encode(errors="surrogatepass")
            save_bytes(self, "Save decoded content", f"decoded.{extension}", data)

    def _make_content(self) -> QWidget:
        content = QWidget()
        padded = vbox(None, self.image, gap=-1, margin=(SPACE_3, 0, SPACE_3, SPACE_2))
        vbox(content, (self.text, 1), (padded, 1), gap=-1)
        return content

    def _make_right(self) -> QWidget:
        head = hbox(
            None,
            (self._path, 1),
            ActionButton(self._save, "quiet"),
            gap=-1,
            margin=(SPACE_3, SPACE_1, SPACE_2, 0),
        )
        right = QWidget()
        vbox(right, head, vbox(None, self._note, gap=-1, margin=(SPACE_3, 0)), (self._gate, 1), gap=SPACE_1)
        return right

    def _action(self, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        return action
