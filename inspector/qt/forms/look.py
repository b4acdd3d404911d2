"""Fonts and labels that all parts of a form share.

A form may have hundreds of fields, so what a field costs counts: fonts are made once, and colours come from
palette roles, which follow the theme without a connection for each label.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QPalette
from PySide6.QtWidgets import QLabel, QWidget

from inspector.base.plaintext import visible
from inspector.qt.theme import Theme
from inspector.qt.widgets.breaking import BreakingLabel
from inspector.qt.widgets.labels import plain_tooltip, shortened

MUTED = QPalette.ColorRole.PlaceholderText
ERROR = QPalette.ColorRole.BrightText
_LABEL_LIMIT = 600


@dataclass(frozen=True)
class Look:
    """A theme with the fonts of a form; one per form."""

    theme: Theme
    title: QFont
    small: QFont
    mono: QFont
    small_mono: QFont

    @classmethod
    def of(cls, theme: Theme) -> Look:
        return cls(
            theme=theme,
            title=theme.ui_font(weight=QFont.Weight.DemiBold),
            small=theme.ui_font(0.92),
            mono=theme.mono_font(),
            small_mono=theme.mono_font(0.92),
        )


def small_label(look: Look, text: str, role: QPalette.ColorRole = MUTED) -> QLabel:
    """Create a small wrapped plain-text label; the tool tip has text that is too long."""
    label = BreakingLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setFont(look.small)
    label.setForegroundRole(role)
    set_label_text(label, text)
    return label


def set_label_text(label: QLabel, text: str) -> None:
    """Set untrusted text on a plain-text label, shortened."""
    label.setText(visible(shortened(text, _LABEL_LIMIT)))
    label.setToolTip(plain_tooltip(text) if len(text) > _LABEL_LIMIT else "")


def mark_error(widget: QWidget, wrong: bool) -> None:
    """Outline an input in the error colour; the words beside it say the same."""
    state = "error" if wrong else ""
    if (widget.property("state") or "") == state:
        return
    widget.setProperty("state", state)
    widget.style().unpolish(widget)
    widget.style().polish(widget)
