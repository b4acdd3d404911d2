"""What's new, manual and About dialogs.

They show files that ship with MCP Lens, so the manual may be rendered by Qt as Markdown.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from inspector import __version__
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel


class WhatsNewDialog(QDialog):
    """The changelog, as it ships."""

    def __init__(self, theme: Theme, changelog: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("What's new")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(640, 480)
        text = QPlainTextEdit(readOnly=True)
        text.setAccessibleName("Changelog")
        text.setPlainText(_read(changelog))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(text)


class ManualDialog(QDialog):
    """A page of the manual, which is trusted Markdown."""

    def __init__(self, title: str, page: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 640)
        text = QTextEdit(readOnly=True)
        text.setAccessibleName(title)
        text.document().setDocumentMargin(SPACE_4)
        text.setMarkdown(_read(page))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(text)


class AboutDialog(QDialog):
    """Version, purpose and license."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About MCP Lens")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_4, SPACE_4, SPACE_4, SPACE_4)
        column.setSpacing(SPACE_2)
        column.addWidget(Heading(theme, f"MCP Lens {__version__}"))
        column.addWidget(PlainLabel(theme, "An inspector and debugger for Model Context Protocol servers."))
        column.addWidget(
            MutedLabel(
                theme,
                "MIT license. MCP Lens contacts only your servers, their login and your model endpoints.",
            )
        )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        return f"Could not read {path}: {exc.strerror}."
