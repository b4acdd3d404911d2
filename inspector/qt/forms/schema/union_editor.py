"""Editor for unions: a variant picker and the editor of the picked variant.

Few variants are shown side by side, many in a drop-down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.qt.forms.schema.choice_editors import MAX_SEGMENTS_WIDTH, QuietComboBox, fits_in_segments
from inspector.qt.forms.schema.editor import Editor, EditorFactory, Errors, OnChange, placeholder_text
from inspector.qt.forms.schema.text_editors import LineEditor
from inspector.qt.forms.schema.value_row import ValueSlot
from inspector.qt.theme import SPACE_1
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.text.labels import FormStyle, mark_error
from inspector.schema.drafts import unwrapped, with_variant
from inspector.schema.fields import ConstField, NumberField, ObjectField, TextField, UnionField
from inspector.schema.values import ABSENT, Draft, FormError, Picked, initial_variant

_NOTHING = -1
_NULL = -2
_BESIDE = QBoxLayout.Direction.LeftToRight
_LEVEL_WIDTH = 24
_MIN_WIDTH = 96


class UnionEditor(Editor):
    """An editor for not set, null or one of the variants.

    Each visited variant keeps what was typed in it while another one is selected.
    """

    stated = ("set", "not set", "null")

    def __init__(self, factory: EditorFactory, field: UnionField, on_change: OnChange) -> None:
        self._variant_factory = factory.tagged(field.discriminator)
        self._field = field
        self._on_change = on_change
        self._current = _NOTHING
        self._slots: dict[int, ValueSlot] = {}
        self._positions: list[QVBoxLayout] = []
        self._errors: Errors = {}
        self._pointer = ""
        self._was_touched = False
        self._name = ""
        # The picker's choices, in order.
        self._options = [_NOTHING, *range(len(field.variants)), *([_NULL] if field.nullable else [])]
        titles = [variant.title for variant in field.variants]
        labels = [placeholder_text(field, ABSENT), *titles, *(["null"] if field.nullable else [])]
        self.picker = VariantPicker(factory.style, labels, factory.depth, self._on_picked)
        self.widget = QWidget()
        self._column = QBoxLayout(QBoxLayout.Direction.TopToBottom, self.widget)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(SPACE_1)
        self._column.addWidget(self.picker, 2)
        self.widget.setFocusProxy(self.picker)

    @property
    def slot(self) -> ValueSlot | None:
        """The slot of the selected variant."""
        return self._slots.get(self._current)

    def draft(self) -> Draft:
        if self._current == _NULL:
            return None
        slot = self.slot
        if slot is None:
            return ABSENT
        draft = slot.draft()
        return ABSENT if draft is ABSENT else Picked(self._current, draft)

    def set_draft(self, draft: Draft) -> bool:
        self._forget()
        if unwrapped(draft) is ABSENT:
            self._show(_NOTHING)
        elif unwrapped(draft) is None and self._field.nullable:
            self._show(_NULL)
        else:
            chosen = with_variant(self._field, draft)
            self._slot_of(chosen.variant).set_draft(chosen.draft)
            self._show(chosen.variant)
        return True

    def set_name(self, name: str) -> None:
        self._name = name
        self.picker.set_name(f"Type of {name}")
        for slot in self._slots.values():
            slot.set_name(name)

    def pick(self, variant: int) -> None:
        """Select a variant, with what was typed in it or with what fits from the previous one."""
        before = self.slot
        if variant >= 0 and variant not in self._slots:
            self._slot_of(variant).set_draft(self._first_draft(variant, before))
        self._show(variant)

    def show_errors(self, errors: Errors, pointer: str) -> None:
        self._errors, self._pointer = errors, pointer
        if self.slot is not None:
            self.slot.show_errors(errors, pointer)
        elif self.picker.box is not None:
            mark_error(self.picker.box, pointer in errors)

    def mark_touched(self) -> None:
        self._was_touched = True
        if self.slot is not None:
            self.slot.editor.mark_touched()

    def at(self, path: Sequence[str]) -> QWidget:
        return self.slot.at(path) if self.slot is not None else self.widget

    def set_focus(self) -> None:
        if self.slot is not None and not isinstance(self.slot.field, ConstField):
            self.slot.editor.set_focus()
        else:
            self.picker.setFocus()

    def _first_draft(self, variant: int, before: ValueSlot | None) -> Draft:
        """Return a variant's first draft: constants, and members shared with the previous one."""
        field = self._field.variants[variant].field
        draft = initial_variant(self._field, variant).draft
        if isinstance(field, TextField | NumberField) and field.default is ABSENT:
            return ABSENT  # to be typed
        if before is None or not isinstance(field, ObjectField) or not isinstance(draft, dict):
            return draft
        try:
            old = before.value_draft()
        except FormError:
            return draft
        names = {member.name for member in field.members}
        shared = {name: part for name, part in old.items() if name in names} if isinstance(old, dict) else {}
        return {**shared, **draft}

    def _on_picked(self, position: int) -> None:
        self.pick(self._options[position])
        self._on_change()

    def _slot_of(self, variant: int) -> ValueSlot:
        if variant not in self._slots:
            field = self._field.variants[variant].field
            position = vbox(None, gap=-1)
            self._column.addLayout(position, 3)
            self._positions.append(position)
            self._slots[variant] = ValueSlot(
                self._variant_factory, field, position, self._on_change, is_optional=self.is_optional
            )
            self._slots[variant].set_name(self._name)
        return self._slots[variant]

    def _show(self, variant: int) -> None:
        self._current = variant
        self.picker.pick(self._options.index(variant))
        for position, slot in self._slots.items():
            # A constant is already shown by the picker.
            is_stated = isinstance(slot.field, ConstField) and not slot.is_raw
            slot.editor.widget.setVisible(position == variant and not is_stated)
        self._column.setDirection(_BESIDE if self._fits_beside() else QBoxLayout.Direction.TopToBottom)

    def _fits_beside(self) -> bool:
        """Return whether the drop-down and the editor fit on one line."""
        return (
            self.picker.box is not None and self.slot is not None and isinstance(self.slot.editor, LineEditor)
        )

    def _forget(self) -> None:
        """Discard what was typed in the variants: it belonged to the previous value."""
        for slot in self._slots.values():
            slot.editor.widget.hide()
            slot.editor.widget.deleteLater()
        for position in self._positions:
            self._column.removeItem(position)
            position.deleteLater()
        self._slots.clear()
        self._positions.clear()


class VariantPicker(QWidget):
    """Picks exactly one label. `on_picked` is called with its position when the user picks."""

    def __init__(
        self, style: FormStyle, labels: Sequence[str], depth: int, on_picked: Callable[[int], None]
    ) -> None:
        super().__init__()
        shown = [one_line(shorten(label, 80)) for label in labels]
        self.segments: Segments | None = None
        self.box: QuietComboBox | None = None
        column = vbox(self, gap=-1)
        if fits_in_segments(style, shown, MAX_SEGMENTS_WIDTH - depth * _LEVEL_WIDTH):
            self.segments = Segments(style.theme, [label.replace("&", "&&") for label in shown])
            self.segments.chosen.connect(on_picked)
            column.addWidget(self.segments)
            self.setFocusProxy(self.segments)
        else:
            self.box = QuietComboBox()
            self.box.setMinimumWidth(_MIN_WIDTH)
            self.box.addItems(shown)
            self.box.activated.connect(on_picked)
            column.addWidget(self.box)
            self.setFocusProxy(self.box)

    def set_name(self, name: str) -> None:
        """Set the accessible name."""
        for part in (self.segments, self.box):
            if part is not None:
                part.setAccessibleName(name)

    def pick(self, position: int) -> None:
        """Show a position as picked, without calling `on_picked`."""
        if self.segments is not None:
            self.segments.choose(position)
        elif self.box is not None:
            self.box.setCurrentIndex(position)
