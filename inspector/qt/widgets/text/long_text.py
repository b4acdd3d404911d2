"""Views of untrusted text: URLs, long texts shortened until expanded, full texts to review.

A URL is painted in full with its host emphasized and never parsed as markup. `FullText` is for text that
the user must review before a decision, so it is never shortened.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextCharFormat,
    QTextLayout,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QSizePolicy, QWidget

from inspector.base.plain_text import one_line, visible
from inspector.base.web_link import Link
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import LABEL_LIMIT, PlainLabel, break_lines

_MAX_PREVIEW_LENGTH, _MAX_PREVIEW_LINES = 1_000, 12
_MAX_LINES = 14


class UrlLabel(QWidget):
    """A URL in full, on as many lines as needed; the host is bold, the rest muted."""

    def __init__(self, theme: Theme, link: Link, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts = (one_line(link.before), one_line(link.host), one_line(link.after))
        self._heights: dict[int, int] = {}  # by width: a layout asks repeatedly
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(f"URL, host {one_line(link.host)}" if link.host else "URL")
        self.setAccessibleDescription(self.text())
        theme.changed.connect(self.update)

    def text(self) -> str:
        return "".join(self._parts)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = round(self._laid_out(width - 2 * SPACE_3).boundingRect().height())
        return self._heights[width] + 2 * SPACE_2

    def sizeHint(self) -> QSize:
        return QSize(320, self.heightForWidth(max(self.width(), 320)))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.fontMetrics().height() + 2 * SPACE_2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("sunken"))
        painter.setPen(self._theme.color("accent" if self.hasFocus() else "line"))
        painter.drawRect(self.rect().adjusted(0, 0, -1, -1))
        self._laid_out(self.width() - 2 * SPACE_3).draw(painter, QPointF(SPACE_3, SPACE_2))

    def _laid_out(self, width: int) -> QTextLayout:
        layout = QTextLayout(self.text(), self._theme.mono_font())
        option = QTextOption()
        option.setWrapMode(QTextOption.WrapMode.WrapAnywhere)
        option.setTextDirection(Qt.LayoutDirection.LeftToRight)
        layout.setTextOption(option)
        layout.setFormats(self._formats())
        break_lines(layout, width)
        return layout

    def _formats(self) -> list[QTextLayout.FormatRange]:
        before, host, after = self._parts
        muted, strong = self._theme.color("muted"), self._theme.color("text")
        formats, start = [], 0
        for part, color, is_bold in ((before, muted, False), (host, strong, True), (after, muted, False)):
            length = len(part.encode("utf-16-le")) // 2  # in Qt's UTF-16 units
            if length:
                formats.append(_format(start, length, color, is_bold))
            start += length
        return formats


def _format(start: int, length: int, color: QColor, is_bold: bool) -> QTextLayout.FormatRange:
    result = QTextLayout.FormatRange()
    format = QTextCharFormat()
    format.setForeground(color)
    if is_bold:
        format.setFontWeight(QFont.Weight.Bold)
    result.start, result.length, result.format = start, length, format
    return result


class LongText(QWidget):
    """A long text, shortened until the user expands it."""

    def __init__(self, theme: Theme, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = text
        self._preview = _preview(text)
        self.label = PlainLabel(theme, self._preview, wrap=True, selectable=True)
        self.more_action = QAction("Show all", self)
        self.more_action.triggered.connect(self.show_all)
        self._more = ActionButton(self.more_action, "quiet")
        vbox(self, self.label, (self._more, 0, Qt.AlignmentFlag.AlignLeft), gap=0)
        if self._preview == text:
            self._more.hide()
        if len(text) > LABEL_LIMIT:
            self.more_action.setText(f"Show the first {LABEL_LIMIT:,} characters")

    def show_all(self) -> None:
        self.label.setText(self._text)
        self._more.hide()


def _preview(text: str) -> str:
    lines = text.split("\n", _MAX_PREVIEW_LINES)
    cut = "\n".join(lines[:_MAX_PREVIEW_LINES])[:_MAX_PREVIEW_LENGTH]
    return cut if cut == text else f"{cut.rstrip()}…"


class FullText(QPlainTextEdit):
    """A read-only monospace text, as tall as its lines up to a limit, then scrolling.

    It is never shortened: long lines wrap and count as several. Hidden characters are shown as tokens.
    """

    def __init__(
        self,
        theme: Theme,
        text: str,
        name: str,
        *,
        max_lines: int = _MAX_LINES,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._max_lines = max_lines
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setProperty("kind", "input")
        self.setFont(theme.mono_font())
        self.setAccessibleName(name)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setPlainText(visible(text))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        lines = min(int(self.document().size().height()), self._max_lines)  # plain text is measured in lines
        around = 2 * int(self.document().documentMargin()) + self.height() - self.viewport().height()
        height = self.fontMetrics().lineSpacing() * max(1, lines) + around + 2  # or Qt scrolls by one line
        if height != self.height():
            self.setFixedHeight(height)
