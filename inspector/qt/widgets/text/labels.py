"""Plain-text labels and tool tips; fonts and labels of forms.

Qt renders a label or tool tip that looks like HTML as HTML and loads the local files it names
(`<img src=…>`). Server text is therefore shown only by these classes and `plain_tooltip`. Words too long for
the line are broken, where QLabel would cut them off. A form may have hundreds of fields: fonts are created
once, and colors are palette roles, which follow the theme without a connection per label.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QEvent, QPointF, QRect, QSize, Qt
from PySide6.QtGui import QFont, QHelpEvent, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QToolTip, QWidget

from inspector.base.plain_text import escape_html, one_line, visible
from inspector.qt.theme import Theme, Tone

if TYPE_CHECKING:
    from PySide6.QtGui import QTextDocument, QTextLayout

MUTED = QPalette.ColorRole.PlaceholderText
ERROR = QPalette.ColorRole.BrightText
# Laying out longer labels would block the window.
LABEL_LIMIT = 20_000
TOOLTIP_LIMIT = 2_000
_FORM_LABEL_LIMIT = 600
_LONG_WORD = re.compile(r"\S{21}")  # shorter ones fit into the narrowest label
_ROLES: dict[Tone, QPalette.ColorRole] = {
    "text": QPalette.ColorRole.WindowText,
    "muted": MUTED,
    "error": ERROR,
    "accent": QPalette.ColorRole.Accent,
}
_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
_TOP, _BOTTOM = Qt.AlignmentFlag.AlignTop, Qt.AlignmentFlag.AlignBottom


class BreakingLabel(QLabel):
    """A plain-text label that wraps between words, and inside words wider than the label.

    Text without long words, i.e. nearly all of it, is left to Qt. The document of selectable text is laid
    out when the text, the font or the size changes, and never while painting: a document that is laid out
    requests a repaint, so the label would repaint for ever.
    """

    def setText(self, text: str, /) -> None:
        super().setText(text)
        self._break_document()

    def breaks_words(self) -> bool:
        """Return whether a word may be too wide for a line."""
        return self.wordWrap() and _LONG_WORD.search(self.text()) is not None

    def minimumSizeHint(self) -> QSize:
        """Limit the width: Qt asks for that of the longest word, which may have any length."""
        hint = super().minimumSizeHint()
        if not self.wordWrap():
            return hint
        return QSize(min(hint.width(), self.fontMetrics().horizontalAdvance("m" * 20)), hint.height())

    def heightForWidth(self, width: int) -> int:
        height = super().heightForWidth(width)
        if not self.breaks_words():
            return height
        if (document := self._document()) is not None:
            _break_anywhere(document)
            return super().heightForWidth(width)
        around = self.height() - self.contentsRect().height()
        layout = self._laid_out(width - (self.width() - self.contentsRect().width()))
        return math.ceil(layout.boundingRect().height()) + around

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.breaks_words() or self._document() is not None:
            super().paintEvent(event)
        else:
            self._paint(self.contentsRect())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._break_document()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.FontChange:
            self._break_document()

    def _break_document(self) -> None:
        """Let the document of selectable text break long words."""
        if not self.textInteractionFlags() & _SELECTABLE or not self.breaks_words():
            return
        if (document := self._document()) is not None:
            super().heightForWidth(self.width())  # Qt resets the wrap mode once after each change: now
            _break_anywhere(document)

    def _document(self) -> QTextDocument | None:
        """Return the document of selectable text; Qt offers no other access to it."""
        from PySide6.QtGui import QTextDocument

        return self.findChild(QTextDocument)

    def _paint(self, box: QRect) -> None:
        layout = self._laid_out(box.width())
        painter = QPainter(self)
        group = QPalette.ColorGroup.Normal if self.isEnabled() else QPalette.ColorGroup.Disabled
        painter.setPen(self.palette().color(group, self.foregroundRole()))
        height = math.ceil(layout.boundingRect().height())
        spare = max(box.height() - height, 0)
        top = spare if self.alignment() & _BOTTOM else 0 if self.alignment() & _TOP else spare // 2
        layout.draw(painter, QPointF(box.left(), box.top() + top))

    def _laid_out(self, width: int) -> QTextLayout:
        from PySide6.QtGui import QTextLayout, QTextOption

        option = QTextOption(self.alignment())
        option.setWrapMode(option.WrapMode.WrapAtWordBoundaryOrAnywhere)
        # In a text layout, a line feed is a line separator.
        layout = QTextLayout(self.text().replace("\n", "\u2028"), self.font())
        layout.setTextOption(option)
        break_lines(layout, width)
        return layout


def break_lines(layout: QTextLayout, width: int) -> None:
    """Lay out a text in lines of this width, below one another."""
    layout.beginLayout()
    top = 0.0
    while (line := layout.createLine()).isValid():
        line.setLineWidth(max(width, 1))
        line.setPosition(QPointF(0, top))
        top += line.height()
    layout.endLayout()


def _break_anywhere(document: QTextDocument) -> None:
    option = document.defaultTextOption()
    anywhere = option.WrapMode.WrapAtWordBoundaryOrAnywhere
    if option.wrapMode() is not anywhere:
        option.setWrapMode(anywhere)
        document.setDefaultTextOption(option)


class PlainLabel(BreakingLabel):
    """A plain-text label, colored by a tone.

    It either elides (one line, with the full text in the tool tip) or, with `wrap`, uses several lines and
    breaks words too long for one. `selectable` text is never elided, so that the copy is complete.
    """

    def __init__(
        self,
        theme: Theme,
        text: str = "",
        *,
        tone: Tone = "text",
        elide: Qt.TextElideMode = Qt.TextElideMode.ElideNone,
        wrap: bool = False,
        selectable: bool = False,
        mono: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tone: Tone = "text"
        self._mono = mono
        self._elide = Qt.TextElideMode.ElideNone if wrap or selectable else elide
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        if selectable:
            self.setTextInteractionFlags(_SELECTABLE)
        if self._elide is not Qt.TextElideMode.ElideNone:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setText(text)
        self.setFont(self._label_font())
        self._follows_theme = False
        self.set_tone(tone)

    def setText(self, text: str, /) -> None:
        """Show `text`, with hidden characters made visible; an eliding label joins its lines."""
        shown = shortened(text, LABEL_LIMIT)
        super().setText(visible(shown) if self._elide is Qt.TextElideMode.ElideNone else one_line(shown))

    def set_tone(self, tone: Tone) -> None:
        """Set the color. Most are roles of the palette, which follows the theme without work per label."""
        had_palette, self._tone = self._tone not in _ROLES, tone
        self.setForegroundRole(_ROLES.get(tone, QPalette.ColorRole.WindowText))
        if had_palette:
            self.setPalette(QPalette())
        self._set_palette()
        if tone not in _ROLES and not self._follows_theme:
            self._follows_theme = True
            self._theme.changed.connect(self._set_palette)

    def is_elided(self) -> bool:
        """Return whether part of the text is elided."""
        return self._shown_text() != self.text()

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self._elide is Qt.TextElideMode.ElideNone:
            return hint
        return QSize(min(hint.width(), self.fontMetrics().horizontalAdvance("mm…")), hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._elide is Qt.TextElideMode.ElideNone:
            super().paintEvent(event)
            return
        # Uses the label's font and color; creating the style takes 6 ms at startup.
        flags = self.alignment().value | Qt.TextFlag.TextSingleLine.value
        QPainter(self).drawText(self.contentsRect(), flags, self._shown_text())

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip and self.is_elided():
            QToolTip.showText(event.globalPos(), plain_tooltip(self.text()), self)
            return True
        return super().event(event)

    def _shown_text(self) -> str:
        return self.fontMetrics().elidedText(self.text(), self._elide, self.contentsRect().width())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._set_palette()  # restyling restores an older palette

    def _set_palette(self) -> None:
        """Set the color of a tone that has no role, if it is another one."""
        if self._tone in _ROLES:
            return
        color = self._theme.color(self._tone)
        if self.palette().color(QPalette.ColorRole.WindowText) != color:
            colors = QPalette()
            colors.setColor(QPalette.ColorRole.WindowText, color)
            self.setPalette(colors)

    def _label_font(self) -> QFont:
        return self._theme.mono_font() if self._mono else self._theme.ui_font()


class Heading(PlainLabel):
    """A heading that elides on the right."""

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(theme, text, elide=Qt.TextElideMode.ElideRight, parent=parent)

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.08, QFont.Weight.DemiBold)


class MutedLabel(PlainLabel):
    """Secondary text: captions, hints, counts."""

    def __init__(
        self, theme: Theme, text: str = "", *, wrap: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(
            theme, text, tone="muted", elide=Qt.TextElideMode.ElideRight, wrap=wrap, parent=parent
        )


def plain_tooltip(text: str) -> str:
    """Return `text` as a tool tip that shows exactly these characters, line breaks kept."""
    if not text:
        return ""
    return (
        f'<span style="white-space: pre-wrap">{escape_html(visible(shortened(text, TOOLTIP_LIMIT)))}</span>'
    )


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


class FormStyle(NamedTuple):
    """A theme with the fonts of a form; one per form."""

    theme: Theme
    title: QFont
    small: QFont
    mono: QFont
    small_mono: QFont

    @classmethod
    def of(cls, theme: Theme) -> FormStyle:
        return cls(
            theme=theme,
            title=theme.ui_font(weight=QFont.Weight.DemiBold),
            small=theme.ui_font(0.92),
            mono=theme.mono_font(),
            small_mono=theme.mono_font(0.92),
        )


def small_label(style: FormStyle, text: str, role: QPalette.ColorRole = MUTED) -> QLabel:
    """Create a small wrapped plain-text label; a long text is shortened, and complete in the tool tip."""
    label = BreakingLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setFont(style.small)
    label.setForegroundRole(role)
    set_label_text(label, text)
    return label


def set_label_text(label: QLabel, text: str) -> None:
    """Set untrusted text on a plain-text label, shortened."""
    label.setText(visible(shortened(text, _FORM_LABEL_LIMIT)))
    label.setToolTip(plain_tooltip(text) if len(text) > _FORM_LABEL_LIMIT else "")


def mark_error(widget: QWidget, wrong: bool) -> None:
    """Outline an input in the error color; a label beside it shows the error."""
    state = "error" if wrong else ""
    if (widget.property("state") or "") == state:
        return
    widget.setProperty("state", state)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
