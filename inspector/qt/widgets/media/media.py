"""Viewers for untrusted images, audio and CSV tables.

Images are decoded only if their type and size are safe. Audio is played from memory, on demand, and only
if it begins like a known format: nothing is written to disk and no other program is started. Qt
Multimedia is optional; without it, audio can only be saved.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType

from PySide6.QtCore import (
    QAbstractTableModel,
    QBuffer,
    QByteArray,
    QIODevice,
    QLoggingCategory,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Qt,
    QUrl,
    Signal,
)
from PySide6.QtGui import (
    QAction,
    QGuiApplication,
    QHideEvent,
    QImage,
    QImageReader,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QTableView, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.qt.theme import SPACE_4, Theme
from inspector.qt.widgets.item_views import style_table
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.labels import plain_tooltip

# Not SVG: it may contain scripts and refer to other files.
_READERS = {"image/png": b"png", "image/jpeg": b"jpeg", "image/gif": b"gif", "image/webp": b"webp"}
MAX_PIXELS = 10_000_000  # more than a 4K screen; decoding is not noticeable
MAX_BYTES = 16 * 1024 * 1024
_ALLOCATION_LIMIT_MB = 64
NO_MULTIMEDIA = "This installation can't play audio: Qt Multimedia is missing."
NO_OUTPUT = "This computer has no audio output."
_SAVE_HINT = "Save the audio to play it."
_NO_PARENT = QModelIndex()
_SAMPLED_ROWS = 50  # rows used to estimate column widths
_MAX_WIDTH = 40  # characters


class ImageView(QWidget):
    """Shows an image as large as fits, but never enlarged."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._image = QImage()
        self.setMinimumSize(40, 40)
        theme.changed.connect(self.update)

    def set_image(self, image: QImage, text: str) -> None:
        self._image = image
        self.setAccessibleName(f"Image, {text}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        room = self.contentsRect().adjusted(1, 1, -1, -1)
        target = self._image.size()
        if target.width() > room.width() or target.height() > room.height():
            target = target.scaled(room.size(), Qt.AspectRatioMode.KeepAspectRatio)
        box = QRect(room.topLeft(), target)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        # Transparent parts need a background other than the panel's.
        painter.fillRect(box, self._theme.color("sunken"))
        painter.drawImage(box, self._image)
        painter.setPen(self._theme.color("line"))
        painter.drawRect(box.adjusted(-1, -1, 0, 0))


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """An image, or a message why there is none."""

    image: QImage | None
    text: str


def read_image(data: bytes, mime_type: str) -> DecodedImage:
    """Decode image bytes of a safe type. They are read as that type only."""
    kind = _READERS.get(mime_type)
    if kind is None or kind not in [name.data() for name in QImageReader.supportedImageFormats()]:
        return DecodedImage(
            None, f"Images of type {mime_type or 'unknown'} can't be shown here. Save the image to view it."
        )
    if len(data) > MAX_BYTES:
        return DecodedImage(None, f"{size(len(data))} is too large to show. Save the image to view it.")
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind))
    reader.setDecideFormatFromContent(False)
    reader.setAutoTransform(True)
    QImageReader.setAllocationLimit(_ALLOCATION_LIMIT_MB)
    # A damaged image is the server's mistake, and `errorString` describes it.
    QLoggingCategory.setFilterRules("qt.gui.imageio*=false")
    return _read(reader, len(data))


def _read(reader: QImageReader, count: int) -> DecodedImage:
    declared = reader.size()
    if declared.isValid() and declared.width() * declared.height() > MAX_PIXELS:
        return DecodedImage(None, f"{_dimensions(declared)} is too large to show. Save the image to view it.")
    image = reader.read()
    if image.isNull():
        return DecodedImage(None, f"The image is damaged: {reader.errorString()}. You can save its bytes.")
    return DecodedImage(image, f"{_dimensions(image.size())} · {size(count)}")


def _dimensions(of: QSize) -> str:
    return f"{of.width():,} × {of.height():,} pixels"


class AudioView(QWidget):
    """Controls to play and save audio; if it cannot be played, save only, with the reason."""

    def __init__(self, theme: Theme, save: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._save = save
        self._data = b""
        self._facts = ""
        self._extension = ""
        self._error = ""
        self.player = AudioPlayer(self)
        self.play_action = QAction("Play", self)
        theme.set_icon(self.play_action, "play")
        self._state = EmptyState(theme)
        vbox(self, self._state)
        self.play_action.triggered.connect(self._on_play)
        self.player.changed.connect(self._on_player_changed)
        self.player.failed.connect(self._on_failed)

    def set_audio(self, data: bytes, mime_type: str, extension: str) -> None:
        """Set the audio; stops the one being played."""
        if data is not self._data:
            self.player.stop()
        self._data, self._extension = data, extension
        self._facts = f"{mime_type}, {size(len(data))}"
        self._error = AudioPlayer.unavailable_reason()
        self._show()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop when hidden: audio must not play without its Stop button."""
        self.player.stop()
        super().hideEvent(event)

    def _show(self) -> None:
        if self._error:
            text = f"{self._facts}. {self._error} {_SAVE_HINT}"
            self._state.show_empty("save", "Audio", text, [self._save])
        else:
            self._state.show_empty("play", "Audio", f"{self._facts}.", [self.play_action, self._save])

    def _on_play(self) -> None:
        if self.player.is_playing:
            self.player.stop()
        else:
            self.player.play(self._data, self._extension)

    def _on_player_changed(self) -> None:
        is_playing = self.player.is_playing
        self.play_action.setText("Stop" if is_playing else "Play")
        self._theme.set_icon(self.play_action, "stop" if is_playing else "play")

    def _on_failed(self, message: str) -> None:
        self._error = message
        self._show()


class AudioPlayer(QObject):
    """Plays audio from memory, one at a time.

    Signals:
        changed: `is_playing` may have changed.
        failed: It cannot be played; carries the message.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._player: QObject | None = None
        self._output: QObject | None = None
        self._source: QBuffer | None = None

    @staticmethod
    def unavailable_reason() -> str:
        """Return why audio cannot be played here; "" if it can."""
        module = multimedia()
        if isinstance(module, str):
            return module
        return NO_OUTPUT if module.QMediaDevices.defaultAudioOutput().isNull() else ""

    @property
    def is_playing(self) -> bool:
        return self._player is not None

    def play(self, data: bytes, extension: str) -> None:
        """Play from the beginning. The file extension determines the format."""
        self.stop()
        module = multimedia()
        if isinstance(module, str):
            self.failed.emit(module)
            return
        self._source = QBuffer(self)
        self._source.setData(QByteArray(data))
        self._source.open(QIODevice.OpenModeFlag.ReadOnly)
        player = module.QMediaPlayer(self)
        self._output = module.QAudioOutput(player)
        player.setAudioOutput(self._output)
        player.mediaStatusChanged.connect(self._on_status_changed)
        player.errorOccurred.connect(self._on_error)
        self._player = player
        player.setSourceDevice(self._source, QUrl(f"audio.{extension}"))
        player.play()
        self.changed.emit()

    def stop(self) -> None:
        player, source = self._player, self._source
        self._player = self._output = self._source = None
        if player is None or source is None:
            return
        player.disconnect(self)
        player.stop()  # type: ignore[attr-defined]  # a QMediaPlayer, which is imported on demand
        player.deleteLater()
        source.deleteLater()
        self.changed.emit()

    def _on_status_changed(self, status: object) -> None:
        module = multimedia()
        if not isinstance(module, str) and status == module.QMediaPlayer.MediaStatus.EndOfMedia:
            self.stop()

    def _on_error(self, error: object, text: str) -> None:
        self.stop()
        self.failed.emit(f"Could not play the audio: {text.strip().rstrip('.') or 'unknown error'}.")


@cache
def multimedia() -> ModuleType | str:
    """Return Qt Multimedia, or a message why it is missing. Loaded on first use: it is slow."""
    try:
        return importlib.import_module("PySide6.QtMultimedia")
    except ModuleNotFoundError:
        return NO_MULTIMEDIA
    except ImportError as exc:  # a required system library is missing
        return f"This installation can't play audio: Qt Multimedia could not be loaded ({exc})."


class CsvTable(QTableView):
    """A table for `set_table`; Ctrl+C copies the selected cells, separated by tabs."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cells = _CellsModel()
        self.setModel(self._cells)
        self.setAccessibleName(name)
        style_table(self, theme)
        self.setFont(theme.mono_font(0.95))
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.horizontalHeader().setStretchLastSection(False)
        self.setFrameShape(QTableView.Shape.NoFrame)

    def set_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._cells.set_table(header, rows)
        character = self.fontMetrics().horizontalAdvance("0")
        for column, length in enumerate(_lengths(header, rows)):
            self.setColumnWidth(column, SPACE_4 + character * min(max(length, 4), _MAX_WIDTH))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
        else:
            super().keyPressEvent(event)

    def selected_text(self) -> str:
        """Return the selected cells, one line per row."""
        lines: dict[int, list[str]] = {}
        for index in sorted(self.selectedIndexes(), key=lambda each: (each.row(), each.column())):
            lines.setdefault(index.row(), []).append(self._cells.cell(index.row(), index.column()))
        return "\n".join("\t".join(cells) for cells in lines.values())


class _CellsModel(QAbstractTableModel):
    def __init__(self) -> None:
        super().__init__()
        self._header: Sequence[str] = ()
        self._rows: Sequence[Sequence[str]] = ()
        self._width = 0

    def set_table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.beginResetModel()
        self._header, self._rows = header, rows
        self._width = max(len(header), max(map(len, rows), default=0))
        self.endResetModel()

    def cell(self, row: int, column: int) -> str:
        cells = self._rows[row]
        return cells[column] if column < len(cells) else ""

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else self._width

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return one_line(self.cell(index.row(), index.column()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_tooltip(self.cell(index.row(), index.column()))
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        if orientation is Qt.Orientation.Vertical:
            return section + 1
        return one_line(self._header[section]) if section < len(self._header) else ""


def _lengths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    lengths: list[int] = []
    for cells in (header, *rows[:_SAMPLED_ROWS]):
        lengths += [0] * (len(cells) - len(lengths))
        for column, cell in enumerate(cells):
            lengths[column] = max(lengths[column], len(cell))
    return lengths
