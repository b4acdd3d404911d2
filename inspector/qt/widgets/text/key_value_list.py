"""Two-column list of facts: a muted label and a value that can be selected and copied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QMenu, QWidget

from inspector.base.json.values import JSON
from inspector.qt.theme import SPACE_2, SPACE_4, Theme, Tone
from inspector.qt.widgets.layout import discard
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

# Longer data belongs in a JsonView or a table.
MAX_FACTS = 200
_LABEL_WIDTH = 160  # longer labels elide below this


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of a `KeyValueList`. `mono` is for wire data; `tone` colors the value.

    `term` is a field of the filter language and its value.
    """

    label: str
    value: str
    mono: bool = False
    tone: Tone = "text"
    term: tuple[str, JSON] | None = None


class KeyValueList(QWidget):
    """A read-only list of facts. Long values wrap; the context menu copies one or all.

    Signals:
        filter_requested: The user wants to filter by a fact; carries its term and whether to exclude it.
    """

    filter_requested = Signal(str, object, bool)

    def __init__(
        self,
        theme: Theme,
        facts: Sequence[Fact] = (),
        *,
        align_right: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._facts: tuple[Fact, ...] = ()
        self._label_side = Qt.AlignmentFlag.AlignRight if align_right else Qt.AlignmentFlag.AlignLeft
        self._rows: list[tuple[MutedLabel, PlainLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE_4)
        self._grid.setVerticalSpacing(SPACE_2)
        self._grid.setColumnStretch(1, 1)
        self.set_facts(facts)

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self._facts

    def set_facts(self, facts: Sequence[Fact]) -> None:
        """Show these facts. If only values differ, the rows and the selection are kept."""
        shown = tuple(facts[:MAX_FACTS])
        if [_shape(fact) for fact in shown] == [_shape(fact) for fact in self._facts]:
            self._set_values(shown)
        else:
            self._rebuild(shown)
        self._facts = shown

    def as_text(self) -> str:
        """Return all facts, one `label: value` per line."""
        return "\n".join(f"{fact.label}: {fact.value}" for fact in self._facts)

    def _set_values(self, facts: tuple[Fact, ...]) -> None:
        for old, new, (_, value) in zip(self._facts, facts, self._rows, strict=True):
            if old.value != new.value:
                value.setText(new.value)

    def _rebuild(self, facts: tuple[Fact, ...]) -> None:
        for row in self._rows:
            for widget in row:
                discard(widget)
        self._rows = [self._add_row(position, fact) for position, fact in enumerate(facts)]

    def _add_row(self, position: int, fact: Fact) -> tuple[MutedLabel, PlainLabel]:
        label = MutedLabel(self._theme, fact.label)
        value = PlainLabel(
            self._theme, fact.value, tone=fact.tone, wrap=True, selectable=True, mono=fact.mono
        )
        label.setMinimumWidth(min(label.sizeHint().width(), _LABEL_WIDTH))
        _share_baseline(label, value)
        value.setAccessibleName(fact.label)
        value.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        value.customContextMenuRequested.connect(self._on_menu_requested)
        self._grid.addWidget(label, position, 0, Qt.AlignmentFlag.AlignTop | self._label_side)
        self._grid.addWidget(value, position, 1, Qt.AlignmentFlag.AlignTop)
        return label, value

    def _on_menu_requested(self, at: QPoint) -> None:
        label = self.sender()
        positions = [position for position, (_, value) in enumerate(self._rows) if value is label]
        if not positions:
            return
        fact, value = self._facts[positions[0]], self._rows[positions[0]][1]
        menu = self.menu_of(fact, value.selectedText())
        menu.popup(value.mapToGlobal(at))

    def menu_of(self, fact: Fact, selected: str = "") -> QMenu:
        """Create the context menu of a fact."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if fact.term is not None:
            request = partial(self.filter_requested.emit, *fact.term)
            menu.addAction("Filter by this value", partial(request, False))
            menu.addAction("Exclude this value", partial(request, True))
            menu.addSeparator()
        copies = {"Copy selection": selected, "Copy value": fact.value, "Copy all": self.as_text()}
        for label, text in copies.items():
            if text:
                action = menu.addAction(label)
                action.setData(text)
                action.triggered.connect(self._on_copy_triggered)
        return menu

    def _on_copy_triggered(self) -> None:
        action = self.sender()
        QGuiApplication.clipboard().setText(str(action.data()))  # type: ignore[attr-defined]


def _shape(fact: Fact) -> tuple[str, bool, Tone]:
    return fact.label, fact.mono, fact.tone


def _share_baseline(label: PlainLabel, value: PlainLabel) -> None:
    """Align the baselines: the UI and monospace fonts may differ in ascent."""
    lower = value.fontMetrics().ascent() - label.fontMetrics().ascent()
    label.setContentsMargins(0, max(lower, 0), 0, 0)
    value.setContentsMargins(0, max(-lower, 0), 0, 0)
