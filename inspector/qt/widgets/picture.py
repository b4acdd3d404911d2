"""A picture that somebody sent: only kinds that are safe to read, only as big as is safe to read."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRect, QSize, Qt
from PySide6.QtGui import QImage, QImageReader, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from inspector.base.units import size
from inspector.qt.theme import Theme

# Never SVG: it may contain scripts and refer to other files.
_READERS = {"image/png": b"png", "image/jpeg": b"jpeg", "image/gif": b"gif", "image/webp": b"webp"}
MOST_PIXELS = 10_000_000  # a 4K screen; decoding takes an unnoticeable time
MOST_BYTES = 16 * 1024 * 1024
_MOST_MEGABYTES = 64


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """An image, or a message why there is none."""

    image: QImage | None
    words: str


def read_picture(data: bytes, mime_type: str) -> ReadPicture:
    """Decode image bytes of a safe type. They are read as that type only."""
    kind = _READERS.get(mime_type)
    if kind is None or kind not in [name.data() for name in QImageReader.supportedImageFormats()]:
        return ReadPicture(
            None, f"Pictures of the type {mime_type or 'unknown'} are not shown here. Save it."
        )
    if len(data) > MOST_BYTES:
        return ReadPicture(None, f"{size(len(data))} are too many to show. Save it to look at it.")
    buffer = QBuffer()
    buffer.setData(QByteArray(data))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer, QByteArray(kind))
    reader.setDecideFormatFromContent(False)
    reader.setAutoTransform(True)
    QImageReader.setAllocationLimit(_MOST_MEGABYTES)
    return _read(reader, len(data))


def _read(reader: QImageReader, count: int) -> ReadPicture:
    stated = reader.size()
    if stated.isValid() and stated.width() * stated.height() > MOST_PIXELS:
        return ReadPicture(None, f"{_measures(stated)} are too large to show. Save it to look at it.")
    image = reader.read()
    if image.isNull():
        return ReadPicture(None, f"The picture is broken: {reader.errorString()}. Its bytes can be saved.")
    return ReadPicture(image, f"{_measures(image.size())} · {size(count)}")


def _measures(of: QSize) -> str:
    return f"{of.width():,} × {of.height():,} pixels"


class Picture(QWidget):
    """Shows an image as large as fits, but never enlarged."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._image = QImage()
        self.setMinimumSize(40, 40)
        theme.changed.connect(self.update)

    def set_image(self, image: QImage, words: str) -> None:
        self._image = image
        self.setAccessibleName(f"Picture, {words}")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._image.isNull():
            return
        room = self.contentsRect().adjusted(1, 1, -1, -1)
        fitting = self._image.size()
        if fitting.width() > room.width() or fitting.height() > room.height():
            fitting = fitting.scaled(room.size(), Qt.AspectRatioMode.KeepAspectRatio)
        box = QRect(room.topLeft(), fitting)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        # Transparent parts need a background other than the panel's.
        painter.fillRect(box, self._theme.color("sunken"))
        painter.drawImage(box, self._image)
        painter.setPen(self._theme.color("line"))
        painter.drawRect(box.adjusted(-1, -1, 0, 0))
