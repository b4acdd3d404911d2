"""Saving to a file: a `Body` of any size in slices with progress and cancel, or a few bytes at once."""

from __future__ import annotations

import time
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from inspector.base.atomic_file import AtomicFile, replace_file
from inspector.base.errors import UserError
from inspector.base.units import size
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.code.pager import Body
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.text.labels import PlainLabel

_CHUNK_SIZE = 1024 * 1024
_SLICE_S = 0.008


class BodySaver(QWidget):
    """A strip that shows the progress of saving; hidden before the first save and when dismissed.

    Replaces the target when everything was written.

    Signals:
        ended: Saving ended, successfully or not; carries the message shown.
    """

    ended = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._body: Body | None = None
        self._file: AtomicFile | None = None
        self._path = Path()
        self._written = 0
        self._label = PlainLabel(theme, elide=Qt.TextElideMode.ElideMiddle)
        self._stop = QAction("Cancel", self)
        self._stop.triggered.connect(self._on_stop)
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._write_some)
        hbox(
            self,
            (self._label, 1),
            ActionButton(self._stop, "quiet"),
            gap=-1,
            margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1),
        )
        self.hide()
        theme.changed.connect(self.update)

    def ask(self, body: Body, suggestion: str) -> None:
        """Ask for a path, non-modally, and save. `suggestion` must not contain server text."""
        dialog = QFileDialog(self, "Save message")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(suggestion)
        dialog.fileSelected.connect(lambda path: self.save(body, Path(path)))
        dialog.open()

    def save(self, body: Body, path: Path) -> None:
        """Save to this file; cancels a running save."""
        self.cancel()
        self._body, self._path, self._written = body, path, 0
        try:
            self._file = AtomicFile(path, is_private=False)
        except OSError as exc:
            self._fail(exc)
            return
        self._stop.setText("Cancel")
        self._report(f"Saving {size(len(body))}…")
        self._timer.start()

    def cancel(self) -> None:
        """Stop writing and remove the partial file."""
        if self._file is not None:
            self._discard()
            self._end("Not saved: cancelled.")

    def text(self) -> str:
        return self._label.text()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _write_some(self) -> None:
        assert self._body is not None
        assert self._file is not None
        until = time.perf_counter() + _SLICE_S
        try:
            while self._written < len(self._body) and time.perf_counter() < until:
                chunk = self._body.part(self._written, _CHUNK_SIZE)
                if not chunk:
                    raise UserError("Its bytes are no longer available.", "Open the capture again.")
                self._file.write(chunk)
                self._file.sync()  # in slices: at the end it would block for the whole file
                self._written += len(chunk)
            if self._written >= len(self._body):
                self._finish(self._file)
            else:
                self._report(f"Saving: {size(self._written)} of {size(len(self._body))}")
        except (OSError, UserError) as exc:
            self._discard()
            self._fail(exc)

    def _finish(self, file: AtomicFile) -> None:
        file.commit()
        self._discard()
        self._end(f"Saved {size(self._written)} to {self._path}")

    def _discard(self) -> None:
        """Stop writing; delete the new file unless it was committed."""
        self._timer.stop()
        if self._file is not None:
            self._file.discard()
            self._file = None

    def _fail(self, error: OSError | UserError) -> None:
        if isinstance(error, UserError):
            self._end(f"Not saved. {error}", is_failure=True)
            return
        self._end(f"Could not save {self._path}: {error.strerror}. Choose another location.", is_failure=True)

    def _end(self, text: str, *, is_failure: bool = False) -> None:
        self._body = None
        self._stop.setText("Dismiss")
        self._label.set_tone("error" if is_failure else "text")
        self._report(text)
        self.ended.emit(text)

    def _report(self, text: str) -> None:
        self._label.setText(text)
        self.show()

    def _on_stop(self) -> None:
        if self._file is not None:
            self.cancel()
        else:
            self.hide()


class BytesBody:
    """Bytes in memory as a `Body`."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def part(self, start: int, length: int) -> bytes:
        return self._data[start : start + length]


def save_bytes(parent: QWidget, title: str, suggestion: str, data: bytes) -> None:
    """Ask for a path, non-modally, and save.

    `suggestion` must not contain server text, which must not get into a path.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(suggestion)
    dialog.fileSelected.connect(lambda path: _write(parent, Path(path), data))
    dialog.open()


def _write(parent: QWidget, path: Path, data: bytes) -> None:
    try:
        replace_file(path, data, is_private=False)
    except OSError as exc:
        box = QMessageBox(QMessageBox.Icon.Warning, "Not saved", "", parent=parent)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"Could not save {path}: {exc.strerror}. Choose another location.")
        box.open()
