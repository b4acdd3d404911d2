"""Help dialogs: the manual with search, What's new, About.

They show files that ship with MCP Lens, so Qt may render them as Markdown. The pages only link to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QTextCharFormat, QTextCursor, QTextDocument, QTextFormat, QTextTable
from PySide6.QtWidgets import (
    QDialog,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QSplitter,
    QTextBrowser,
    QTextEdit,
    QWidget,
)

from inspector import __version__
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_4, SPACE_6, Theme
from inspector.qt.widgets.inputs.search import SearchField
from inspector.qt.widgets.item_views import style_list
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel

# Page names in reading order; each is a file in the help folder.
PAGES = (
    "getting-started",
    "servers",
    "tools",
    "inbox",
    "login",
    "traffic",
    "filters",
    "captures",
    "file-watching",
    "command-line",
    "shortcuts",
    "troubleshooting",
)
_NAME_ROLE = Qt.ItemDataRole.UserRole
_MAX_MATCHES = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """A manual page."""

    name: str
    markdown: str

    @property
    def title(self) -> str:
        first = self.markdown.split("\n", 1)[0]
        return first.removeprefix("# ").strip() if first.startswith("# ") else self.name

    def count(self, words: list[str]) -> int:
        """Return how often the words occur; 0 unless all of them do. Ignores case."""
        text = self.markdown.casefold()
        counts = [text.count(word) for word in words]
        return sum(counts) if all(counts) else 0


def read_pages(folder: Path) -> list[Page]:
    return [Page(name, _read(folder / f"{name}.md")) for name in PAGES]


def page_about(widget: QWidget | None) -> str:
    """Return the manual page about a widget: the `help_page` of its nearest ancestor that has one."""
    while widget is not None:
        if name := getattr(widget, "help_page", ""):
            return str(name)
        widget = widget.parentWidget()
    return PAGES[0]


class ManualDialog(QDialog):
    """The manual: pages on the left, the current one on the right."""

    def __init__(self, theme: Theme, folder: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._pages = {page.name: page for page in read_pages(folder)}
        self._words: list[str] = []
        self.setWindowTitle("Manual")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(960, 680)
        self.search = SearchField(theme, "Search the manual")
        self.list = QListWidget()
        self.list.setAccessibleName("Pages")
        style_list(self.list, theme)
        self.text = QTextBrowser()
        self.text.setAccessibleName("Page")
        self.text.setOpenLinks(False)
        self.text.document().setDocumentMargin(SPACE_6)
        self._lay_out()
        self.search.text_settled.connect(self._on_search)
        self.list.currentRowChanged.connect(self._on_row_changed)
        self.text.anchorClicked.connect(self._on_link)
        self._fill_list()

    def open_page(self, name: str) -> None:
        """Show the page `name`, also if the search does not match it."""
        if self._row(name) < 0:
            self.search.clear()
            self._on_search("")
        self.list.setCurrentRow(self._row(name))

    def page(self) -> str:
        """Return the name of the current page; "" if none matches the search."""
        row = self.list.currentRow()
        return self._name(row) if row >= 0 else ""

    def _lay_out(self) -> None:
        left = QWidget()
        vbox(left, self.search, self.list, margin=(SPACE_2, SPACE_2, SPACE_1, SPACE_2))
        splitter = QSplitter()
        splitter.addWidget(left)
        splitter.addWidget(self.text)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([240, 720])
        splitter.setChildrenCollapsible(False)
        vbox(self, splitter)

    def _on_search(self, text: str) -> None:
        self._words = text.casefold().split()
        current = self.page()
        self._fill_list()
        if self._row(current) >= 0:
            self.list.setCurrentRow(self._row(current))

    def _fill_list(self) -> None:
        self.list.clear()
        for page in self._pages.values():
            count = page.count(self._words)
            if self._words and not count:
                continue
            item = QListWidgetItem(f"{page.title} ({count})" if self._words else page.title)
            item.setData(_NAME_ROLE, page.name)
            item.setSizeHint(QSize(0, self._theme.row_height() + SPACE_1))
            self.list.addItem(item)
        if self.list.count():
            self.list.setCurrentRow(0)
        else:
            self.text.setPlainText("No matches. Try fewer words.")

    def _on_row_changed(self, row: int) -> None:
        if row < 0:
            return
        self.text.setMarkdown(self._pages[self._name(row)].markdown)
        _style_document(self.text.document(), self._theme)
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        self._highlight_matches()

    def _highlight_matches(self) -> None:
        mark = QTextCharFormat()
        mark.setBackground(self._theme.tokens.tint("accent", 0.3))
        selections: list[QTextEdit.ExtraSelection] = []
        for word in self._words:
            cursor = self.text.document().find(word)
            while not cursor.isNull() and len(selections) < _MAX_MATCHES:
                selection = QTextEdit.ExtraSelection()
                selection.cursor, selection.format = cursor, mark
                selections.append(selection)
                cursor = self.text.document().find(word, cursor)
        self.text.setExtraSelections(selections)
        if selections:
            first = min((each.cursor for each in selections), key=QTextCursor.position)
            self.text.setTextCursor(first)
            self.text.ensureCursorVisible()

    def _on_link(self, url: QUrl) -> None:
        name = Path(url.path()).stem
        if url.isRelative() and name in self._pages:
            self.open_page(name)

    def _row(self, name: str) -> int:
        return next((row for row in range(self.list.count()) if self._name(row) == name), -1)

    def _name(self, row: int) -> str:
        return str(self.list.item(row).data(_NAME_ROLE))


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
        vbox(self, text)


class AboutDialog(QDialog):
    """Version, purpose and license."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("About MCP Lens")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        vbox(
            self,
            Heading(theme, f"MCP Lens {__version__}"),
            PlainLabel(theme, "An inspector and debugger for Model Context Protocol servers."),
            MutedLabel(
                theme,
                "MIT license. MCP Lens contacts only your servers, their login and your model endpoints.",
            ),
            margin=SPACE_4,
        )


def _style_document(document: QTextDocument, theme: Theme) -> None:
    """Set the spacing that Qt's Markdown import leaves out: headings, code blocks and tables."""
    block = document.begin()
    while block.isValid():
        style = block.blockFormat()
        if level := style.headingLevel():
            style.setTopMargin(SPACE_2 if level == 1 else SPACE_6)
            style.setBottomMargin(SPACE_2)
            QTextCursor(block).setBlockFormat(style)
        elif style.hasProperty(QTextFormat.Property.BlockCodeFence) or style.nonBreakableLines():
            style.setBackground(theme.tokens.tint("muted", 0.08))
            style.setLeftMargin(SPACE_2)
            QTextCursor(block).setBlockFormat(style)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            table = frame.format().toTableFormat()
            table.setCellPadding(SPACE_1)
            table.setCellSpacing(0)
            table.setBorderCollapse(True)
            table.setBorderBrush(theme.color("line"))
            table.setTopMargin(SPACE_2)
            frame.setFormat(table)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        return f"Could not read {path}: {exc.strerror}."
