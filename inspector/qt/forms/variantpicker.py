"""Which variant of a union: a few side by side, many in a drop-down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.qt.forms.choiceeditors import WIDEST_SEGMENTS, QuietComboBox, fits_in_segments
from inspector.qt.forms.look import Look
from inspector.qt.widgets.segments import Segments

_LEVEL_WIDTH = 24
_LEAST_WIDTH = 96


class VariantPicker(QWidget):
    """Picks exactly one label. `on_picked` is called with its position when the user picks."""

    def __init__(
        self, look: Look, labels: Sequence[str], depth: int, on_picked: Callable[[int], None]
    ) -> None:
        super().__init__()
        shown = [one_line(shorten(label, 80)) for label in labels]
        self.segments: Segments | None = None
        self.box: QuietComboBox | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        if fits_in_segments(look, shown, WIDEST_SEGMENTS - depth * _LEVEL_WIDTH):
            self.segments = Segments(look.theme, [label.replace("&", "&&") for label in shown])
            self.segments.chosen.connect(on_picked)
            column.addWidget(self.segments)
            self.setFocusProxy(self.segments)
        else:
            self.box = QuietComboBox()
            self.box.setMinimumWidth(_LEAST_WIDTH)
            self.box.addItems(shown)
            self.box.activated.connect(on_picked)
            column.addWidget(self.box)
            self.setFocusProxy(self.box)

    def set_name(self, name: str) -> None:
        """Set the accessible name."""
        for part in (self.segments, self.box):
            if part is not None:
                part.setAccessibleName(name)

    def pick(self, place: int) -> None:
        """Show a position as picked, without calling `on_picked`."""
        if self.segments is not None:
            self.segments.choose(place)
        elif self.box is not None:
            self.box.setCurrentIndex(place)
