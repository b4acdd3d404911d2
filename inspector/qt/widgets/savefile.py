"""Bytes into a file that the person chooses."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget


def save_bytes(parent: QWidget, title: str, suggestion: str, data: bytes) -> None:
    """Ask for a path, non-modally, and save.

    The suggested name is not the server's: server text must not get into a path.
    """
    dialog = QFileDialog(parent, title)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.selectFile(suggestion)
    dialog.fileSelected.connect(lambda path: _write(parent, Path(path), data))
    dialog.open()


def _write(parent: QWidget, path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as exc:
        box = QMessageBox(QMessageBox.Icon.Warning, "Not saved", "", parent=parent)
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setText(f"{path} was not saved: {exc.strerror}. Choose another place.")
        box.open()
