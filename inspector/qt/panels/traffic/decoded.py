"""What is packed inside the texts of a message: a list, and the chosen one readable."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QListWidget, QListWidgetItem, QSplitter, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.itemviews import dress_list
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import PlainLabel, plain_tooltip
from inspector.qt.widgets.picture import Picture, read_picture
from inspector.qt.widgets.savefile import save_bytes
from inspector.traffic.decode.decoding import Decoding, DecodingKind

# When narrower, the list is above instead of on the left.
_NARROW = 520
_ENDINGS = {
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


class DecodedView(QWidget):
    """Decoded contents. Secrets are hidden until revealed, one at a time."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._decodings: tuple[Decoding, ...] = ()
        self._revealed: set[int] = set()
        self.list = QListWidget()
        self.list.setAccessibleName("Found inside the message")
        dress_list(self.list, theme)
        self.list.currentRowChanged.connect(self._on_current_changed)
        self._path = PlainLabel(theme, tone="muted", elide=Qt.TextElideMode.ElideMiddle, mono=True)
        self._note = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.text = JsonView(theme, "Decoded text")
        self.text.save_requested.connect(self._on_save)
        self.picture = Picture(theme)
        self._reveal = self._action("Show it", self._on_reveal)
        self._save = self._action("Save…", self._on_save)
        self._gate = Gate(theme, self._make_content())
        self._splitter = QSplitter(Qt.Orientation.Horizontal)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(self._make_right())
        self._splitter.setSizes([180, 420])
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._splitter)

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
        is_narrow = self.width() < _NARROW
        wanted = Qt.Orientation.Vertical if is_narrow else Qt.Orientation.Horizontal
        if self._splitter.orientation() != wanted:
            self._splitter.setOrientation(wanted)
            self._splitter.setSizes([90, 300] if is_narrow else [180, self.width() - 180])

    # --------------------------------------------------------------

    def _on_current_changed(self, place: int) -> None:
        if not 0 <= place < len(self._decodings):
            return
        decoding = self._decodings[place]
        self._path.setText(decoding.path)
        self._note.setText(decoding.note)
        self._note.setVisible(bool(decoding.note))
        self._save.setEnabled(bool(decoding.data or decoding.text))
        if decoding.is_secret and place not in self._revealed:
            sentence = "Whoever has it may do what its owner may; screens are often shared."
            self._gate.explain("empty", "key", "Hidden: it may be a secret", sentence, action=self._reveal)
        elif decoding.kind is DecodingKind.IMAGE and decoding.data:
            self._show_picture(decoding)
        elif decoding.text:
            self._show_text(decoding)
        else:
            sentence = f"{decoding.title}. It cannot be shown here, but saved."
            self._gate.explain("empty", "save", "A file", sentence, action=self._save)

    def _show_picture(self, decoding: Decoding) -> None:
        read = read_picture(decoding.data, decoding.mime_type)
        if read.image is None:
            self._gate.explain("failed", "", "No picture", read.words, action=self._save)
            return
        self.picture.set_image(read.image, read.words)
        words = f"{read.words}. {decoding.note}" if decoding.note else read.words
        self._note.setText(words)
        self._note.show()
        self._set_content(self.picture)

    def _show_text(self, decoding: Decoding) -> None:
        self.text.set_secret(decoding.is_secret)
        self.text.set_text(decoding.text, "json" if decoding.kind is DecodingKind.JSON else "text")
        self._set_content(self.text)

    def _set_content(self, widget: QWidget) -> None:
        self.text.setVisible(widget is self.text)
        self.picture.setVisible(widget is self.picture)
        self._gate.open()

    def _on_reveal(self) -> None:
        self._revealed.add(self.list.currentRow())
        self._on_current_changed(self.list.currentRow())

    def _on_save(self) -> None:
        place = self.list.currentRow()
        if 0 <= place < len(self._decodings):
            decoding = self._decodings[place]
            ending = _ENDINGS.get(decoding.mime_type, "bin" if decoding.data else "txt")
            data = decoding.data or decoding.text.encode(errors="surrogatepass")
            save_bytes(self, "Save what was decoded", f"decoded.{ending}", data)

    # --------------------------------------------------------------

    def _make_content(self) -> QWidget:
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.text, 1)
        padded = QVBoxLayout()
        padded.setContentsMargins(SPACE_3, 0, SPACE_3, SPACE_2)
        padded.addWidget(self.picture)
        column.addLayout(padded, 1)
        return content

    def _make_right(self) -> QWidget:
        head = QHBoxLayout()
        head.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, 0)
        head.addWidget(self._path, 1)
        head.addWidget(ActionButton(self._save, "quiet"))
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_1)
        column.addLayout(head)
        notes = QVBoxLayout()
        notes.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        notes.addWidget(self._note)
        column.addLayout(notes)
        column.addWidget(self._gate, 1)
        return right

    def _action(self, words: str, slot: object) -> QAction:
        action = QAction(words, self)
        action.triggered.connect(slot)
        return action
