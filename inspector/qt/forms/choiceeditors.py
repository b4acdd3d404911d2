"""Editors for values that are picked instead of written."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QVBoxLayout,
    QWidget,
)

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.plaintext import one_line
from inspector.qt.forms.editor import Editor, OnChange, unwritten_words
from inspector.qt.forms.look import Look
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.labels import plain_tooltip
from inspector.qt.widgets.segments import Segments
from inspector.schema.fields import BooleanField, ChoiceField, ConstField, Field, ListField
from inspector.schema.jsontext import JSONTextError, read, same, write_line
from inspector.schema.values import ABSENT, Absent, Draft

MOST_CHECKS = 40
WIDEST_SEGMENTS = 340
_SEGMENT_PADDING = 22
_LEAST_CHECK_WIDTH = 60


class ChoiceEditor(Editor):
    """A drop-down of the choices, including "not set" (and null)."""

    def __init__(self, look: Look, field: ChoiceField, on_change: OnChange) -> None:
        labels = field.labels or ("",) * len(field.choices)
        words = [choice_words(*one) for one in zip(field.choices, labels, strict=True)]
        offered: list[tuple[str, Draft]] = [(_unpicked_words(field, words), ABSENT)]
        if field.nullable:
            offered.append(("null", None))
        offered += zip(words, field.choices, strict=True)
        self._drafts = [draft for _, draft in offered]
        self.box = self.widget = QuietComboBox()
        self.box.addItems([words for words, _ in offered])
        self.box.activated.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.box.currentIndex()]

    def set_draft(self, draft: Draft) -> bool:
        place = _place_of(draft, self._drafts)
        if place is not None:
            self.box.setCurrentIndex(place)
        return place is not None


class SegmentsEditor(Editor):
    """Buttons side by side, for a few short values."""

    def __init__(self, look: Look, offered: Sequence[tuple[str, Draft]], on_change: OnChange) -> None:
        self._drafts = [draft for _, draft in offered]
        self.segments = Segments(look.theme, [words.replace("&", "&&") for words, _ in offered])
        self.widget = self.segments
        self.segments.chosen.connect(on_change)

    def draft(self) -> Draft:
        return self._drafts[self.segments.index()]

    def set_draft(self, draft: Draft) -> bool:
        place = _place_of(draft, self._drafts)
        if place is not None:
            self.segments.choose(place)
        return place is not None


class BooleanEditor(SegmentsEditor):
    """An editor for not set, true, false (and null)."""

    def __init__(self, look: Look, field: BooleanField, on_change: OnChange) -> None:
        offered: list[tuple[str, Draft]] = [("not set", ABSENT), ("true", True), ("false", False)]
        super().__init__(look, offered + ([("null", None)] if field.nullable else []), on_change)


class ConstEditor(SegmentsEditor):
    """An editor for a constant: set or not set."""

    def __init__(self, look: Look, field: ConstField, on_change: OnChange) -> None:
        offered: list[tuple[str, Draft]] = [("not set", ABSENT), (const_words(field), field.value)]
        super().__init__(look, offered + ([("null", None)] if field.nullable else []), on_change)


class CheckListEditor(Editor):
    """Check boxes for any of the choices, each once.

    Rejects lists with other values or duplicates. Where the schema allows duplicates, the row's menu offers
    to edit the list in rows instead.
    """

    def __init__(self, look: Look, field: ListField, choices: ChoiceField, on_change: OnChange) -> None:
        self._on_change = on_change
        self._choices = choices.choices
        self._unwritten: Absent | None = ABSENT
        self._picked: list[JSON] | None = None
        self.widget = QWidget()
        column = QVBoxLayout(self.widget)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE_1)
        labels = choices.labels or ("",) * len(choices.choices)
        words = [choice_words(*one) for one in zip(self._choices, labels, strict=True)]
        self.checks = [ShortCheckBox(one) for one in words]
        for check in self.checks:
            check.clicked.connect(self._on_clicked)
            column.addWidget(check, 0, Qt.AlignmentFlag.AlignLeft)
        self.widget.setFocusProxy(self.checks[0])

    def draft(self) -> Draft:
        return list(self._picked) if self._picked is not None else self._unwritten

    def set_draft(self, draft: Draft) -> bool:
        places: list[int] = []
        if isinstance(draft, list):
            found = [_place_of(item, self._choices) for item in draft]
            places = [place for place in found if place is not None]
            if len(places) < len(found) or len(set(places)) < len(places):
                return False
        elif draft is not ABSENT and draft is not None:
            return False
        self._unwritten = None if draft is None else ABSENT
        self._picked = [self._choices[place] for place in places] if isinstance(draft, list) else None
        for place, check in enumerate(self.checks):
            check.setChecked(place in places)
        return True

    def _on_clicked(self) -> None:
        """Keep checked values in place; append new ones in the schema's order."""
        now = [choice for choice, check in zip(self._choices, self.checks, strict=True) if check.isChecked()]
        kept = [one for one in self._picked or [] if _place_of(one, now) is not None]
        self._picked = kept + [one for one in now if _place_of(one, kept) is None]
        self._on_change()


class ShortCheckBox(QCheckBox):
    """A check box that elides its text: it must not make the form wider than its window."""

    def __init__(self, words: str) -> None:
        super().__init__(words.replace("&", "&&"))
        self.setAccessibleName(words)
        self.setToolTip(plain_tooltip(words))
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def minimumSizeHint(self) -> QSize:
        return QSize(_LEAST_CHECK_WIDTH, super().minimumSizeHint().height())

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        super().initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_CheckBoxContents, option, self)
        option.text = self.fontMetrics().elidedText(
            self.text(), Qt.TextElideMode.ElideRight, room.width(), Qt.TextFlag.TextShowMnemonic
        )


class QuietComboBox(QComboBox):
    """A combo box that ignores the wheel, so that scrolling the form changes no choice."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        # As wide as the form, whatever the choices; measuring each of them would also be slow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


def fits_in_segments(look: Look, labels: Sequence[str], widest: int = WIDEST_SEGMENTS) -> bool:
    """Return whether the labels fit side by side in a narrow form."""
    if sum(map(len, labels)) > 60:
        return False
    metrics = QFontMetrics(look.theme.ui_font())
    return sum(metrics.horizontalAdvance(label) + _SEGMENT_PADDING for label in labels) <= widest


def choices_of(field: Field) -> ChoiceField | None:
    """Return the choices of a list that can be shown as check boxes, else None."""
    if not isinstance(field, ListField):
        return None
    item = field.item
    is_usable = isinstance(item, ChoiceField) and not item.nullable and len(item.choices) <= MOST_CHECKS
    return item if is_usable and isinstance(item, ChoiceField) else None


def _unpicked_words(field: ChoiceField, words: Sequence[str]) -> str:
    """Return the text shown while nothing is picked, with the default's label if there is one."""
    place = None if field.default is ABSENT else _place_of(field.default, field.choices)
    return unwritten_words(field, ABSENT) if place is None else f"not set (default: {words[place]})"


def const_words(field: ConstField) -> str:
    return choice_words(field.value, field.labels[0] if field.labels else "")


def choice_words(choice: JSON, label: str) -> str:
    """Return a choice's label; a string that looks like another JSON value is quoted."""
    words = choice if isinstance(choice, str) and not _looks_like_json(choice) else write_line(choice)
    shown = one_line(shorten(words, 200))
    return f"{one_line(label)} ({shown})" if label and label != words else shown


def _looks_like_json(text: str) -> bool:
    try:
        read(text)
    except JSONTextError:
        return not text.strip()
    return True


def _place_of(draft: Draft, drafts: Sequence[Draft]) -> int | None:
    return next((place for place, one in enumerate(drafts) if _same_draft(one, draft)), None)


def _same_draft(one: Draft, other: Draft) -> bool:
    if not _is_json(one) or not _is_json(other):
        return one is other
    return same(one, other)  # type: ignore[arg-type]  # choices are JSON


def _is_json(draft: Draft) -> bool:
    """Return whether a leaf editor's draft is JSON, not a marker such as ABSENT."""
    return draft is None or isinstance(draft, bool | int | float | str | list | dict)
