"""Editors for what can be set about a server: one for each kind of field."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from inspector.base.jsonvalue import JSON
from inspector.config.entryfields import EntryField
from inspector.qt.models.servercolours import SERVER_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted

_LINES = {"lines": 4, "words": 8}
_SECONDS_WIDTH = 90
_SWATCH = 12


class EntryEditor(QWidget):
    """Base class for the editor of one field.

    Signals:
        changed: The user changed the value.
    """

    changed = Signal()

    @abstractmethod
    def content(self) -> JSON: ...

    @abstractmethod
    def show_content(self, content: JSON) -> bool:
        """Show `content`; return False, changing nothing, if only JSON can represent it."""

    def _put(self, *widgets: QWidget) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(SPACE_2)
        for widget in widgets:
            row.addWidget(widget)
        self.setFocusProxy(widgets[0])


class LineEditor(EntryEditor):
    """A single-line text; with `browse`, a file or folder can be picked."""

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.line = QLineEdit(placeholderText=field.hint)
        self.line.setAccessibleName(field.label)
        if field.kind != "line":
            self.line.setFont(theme.mono_font())
        self.line.textEdited.connect(self.changed)
        self.browse_action = QAction("Choose…", self)
        self.browse_action.setToolTip(f"Choose: {field.label}")
        self.browse_action.triggered.connect(lambda: self._browse(field))
        chooses = field.kind in ("file", "folder")
        self._put(self.line, *([ActionButton(self.browse_action)] if chooses else []))

    def content(self) -> JSON:
        return self.line.text()

    def show_content(self, content: JSON) -> bool:
        if not isinstance(content, str) or not _fits_one_line(content):
            return False
        if content != self.line.text():
            self.line.setText(content)
        return True

    def _browse(self, field: EntryField) -> None:
        dialog = QFileDialog(self, f"Choose: {field.label}", self.line.text())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if field.kind == "folder":
            dialog.setFileMode(QFileDialog.FileMode.Directory)
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self.line.setText(path)
        self.changed.emit()


class SecondsEditor(EntryEditor):
    """A number of seconds; empty means the app's setting.

    Text that is not a number stays, and reading the draft reports the error.
    """

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.line = QLineEdit(placeholderText="usual")
        self.line.setAccessibleName(field.label)
        self.line.setFixedWidth(_SECONDS_WIDTH)
        self.line.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.line.textEdited.connect(self.changed)
        self._put(self.line, Muted(theme, "s"), QWidget())

    def content(self) -> JSON:
        text = self.line.text().strip()
        try:
            return (int(text) if text.isdecimal() else float(text)) if text else None
        except ValueError:
            return text

    def show_content(self, content: JSON) -> bool:
        if isinstance(content, bool | dict | list):
            return False
        if content != self.content():
            self.line.setText("" if content is None else str(content))
        return True


class LinesEditor(EntryEditor):
    """A list of strings, one per line; for the kind "words", one multi-line text."""

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self._is_list = field.kind == "lines"
        self.box = QPlainTextEdit()
        self.box.setProperty("kind", "input")
        self.box.setAccessibleName(field.label)
        self.box.setPlaceholderText(field.hint)
        self.box.setTabChangesFocus(True)
        if self._is_list:
            self.box.setFont(theme.mono_font())
            self.box.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.box.setFixedHeight(self.box.fontMetrics().lineSpacing() * _LINES[field.kind] + SPACE_3)
        self.box.textChanged.connect(self.changed)
        self._put(self.box)

    def content(self) -> JSON:
        text = self.box.toPlainText()
        if not self._is_list:
            return text
        # A trailing line break ends the last line, as in a file; it is not an empty argument.
        lines: list[JSON] = [*text.removesuffix("\n").split("\n")] if text else []
        return lines

    def show_content(self, content: JSON) -> bool:
        text = _text_of(content) if self._is_list else content
        if not isinstance(text, str) or _has_foreign_breaks(text):
            return False
        if content != self.content():
            with QSignalBlocker(self.box):
                self.box.setPlainText(text)
        return True


class SwitchEditor(EntryEditor):
    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.box = QCheckBox(field.label)
        self.box.clicked.connect(self.changed)
        self._put(self.box)

    def content(self) -> JSON:
        return self.box.isChecked()

    def show_content(self, content: JSON) -> bool:
        if isinstance(content, bool):
            self.box.setChecked(content)
        return isinstance(content, bool)


class ChoiceEditor(EntryEditor):
    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self._field, self._theme = field, theme
        self.box = QComboBox()
        self.box.setAccessibleName(field.label)
        for value, words in field.choices:
            self.box.addItem(words, value)
        if field.kind == "colour":
            self._paint()
            theme.changed.connect(self._paint)
        self.box.activated.connect(self.changed)
        self._put(self.box, QWidget())

    def content(self) -> JSON:
        value: str = self.box.currentData()
        return value

    def show_content(self, content: JSON) -> bool:
        place = self.box.findData(content) if isinstance(content, str) else -1
        if place >= 0:
            self.box.setCurrentIndex(place)
        return place >= 0

    def _paint(self) -> None:
        self.box.setIconSize(QSize(_SWATCH, _SWATCH))
        for row, (value, _) in enumerate(self._field.choices):
            color = self._theme.color(SERVER_TONES[value]) if value else QColor(0, 0, 0, 0)
            self.box.setItemIcon(row, QIcon(_swatch(color)))


def make_editor(field: EntryField, theme: Theme) -> EntryEditor:
    """Create the editor for any kind but "named", which has its own."""
    kinds: dict[str, Callable[[EntryField, Theme], EntryEditor]] = {
        "seconds": SecondsEditor,
        "lines": LinesEditor,
        "words": LinesEditor,
        "switch": SwitchEditor,
        "choice": ChoiceEditor,
        "colour": ChoiceEditor,
    }
    return kinds.get(field.kind, LineEditor)(field, theme)


def _text_of(content: JSON) -> str | None:
    """Return a list as lines; None if it holds anything that is not a single line."""
    if not isinstance(content, list) or content == [""]:
        return None
    lines = [item for item in content if isinstance(item, str) and "\n" not in item]
    if len(lines) < len(content):
        return None
    return "\n".join(lines) + ("\n" if lines and not lines[-1] else "")


def _fits_one_line(text: str) -> bool:
    return text.isprintable() or not text


def _has_foreign_breaks(text: str) -> bool:
    """Return whether `text` has characters that Qt turns into line breaks."""
    return any(mark in text for mark in "\r\0\u2028\u2029")


def _swatch(color: QColor) -> QPixmap:
    pixmap = QPixmap(_SWATCH * 2, _SWATCH * 2)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawEllipse(SPACE_1 // 2, SPACE_1 // 2, _SWATCH - SPACE_1, _SWATCH - SPACE_1)
    painter.end()
    return pixmap
