"""Text that stays text: labels that never guess at markup, and tool tips that are escaped.

Qt reads a label or a tool tip that looks like HTML as HTML and then loads the local files it names
(`<img src=…>`). What a server sent is therefore shown through these classes and `plain_tooltip` only.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFont, QHelpEvent, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from inspector.base.plaintext import escaped, one_line, visible
from inspector.qt.theme import Theme, Tone
from inspector.qt.widgets.breaking import BreakingLabel

# A label is for reading at a glance: laying out more than this would freeze the window.
LABEL_LIMIT = 20_000
TOOLTIP_LIMIT = 2_000


def plain_tooltip(text: str) -> str:
    """Return `text` as a tool tip that shows exactly these characters, line breaks kept."""
    if not text:
        return ""
    return f'<span style="white-space: pre-wrap">{escaped(visible(shortened(text, TOOLTIP_LIMIT)))}</span>'


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


class PlainLabel(BreakingLabel):
    """A plain-text label, colored by a tone.

    It either elides (one line, with the whole text in the tool tip) or, with `wrap`, flows over several
    lines and breaks words too long for one. `selectable` text is never elided, so that what is copied is
    what was sent.
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
        self._tone: Tone = tone
        self._mono = mono
        self._elide = Qt.TextElideMode.ElideNone if wrap or selectable else elide
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(wrap)
        if selectable:
            self.setTextInteractionFlags(
                Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
            )
        if self._elide is not Qt.TextElideMode.ElideNone:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setText(text)
        self._on_theme_changed()
        theme.changed.connect(self._on_theme_changed)

    def setText(self, text: str, /) -> None:
        """Show `text`, with hidden characters made visible; an eliding label joins its lines."""
        shown = shortened(text, LABEL_LIMIT)
        super().setText(visible(shown) if self._elide is Qt.TextElideMode.ElideNone else one_line(shown))

    def set_tone(self, tone: Tone) -> None:
        self._tone = tone
        self._on_theme_changed()

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

    def _on_theme_changed(self) -> None:
        self.setFont(self._label_font())
        colors = QPalette()
        colors.setColor(QPalette.ColorRole.WindowText, self._theme.color(self._tone))
        self.setPalette(colors)

    def _label_font(self) -> QFont:
        return self._theme.mono_font() if self._mono else self._theme.ui_font()


class Heading(PlainLabel):
    """The name of what is shown below. Elides on the right."""

    def __init__(self, theme: Theme, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(theme, text, elide=Qt.TextElideMode.ElideRight, parent=parent)

    def _label_font(self) -> QFont:
        return self._theme.ui_font(1.08, QFont.Weight.DemiBold)


class Muted(PlainLabel):
    """Secondary text: captions, hints, counts."""

    def __init__(
        self, theme: Theme, text: str = "", *, wrap: bool = False, parent: QWidget | None = None
    ) -> None:
        super().__init__(
            theme, text, tone="muted", elide=Qt.TextElideMode.ElideRight, wrap=wrap, parent=parent
        )
