"""Row of one object member: head (title, name, type), editor, description and errors."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QEnterEvent, QFont, QFontMetrics, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from inspector.base.json.text import write_line
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line, visible
from inspector.qt.actions import native_keys
from inspector.qt.forms.schema.editor import EditorFactory, Errors, OnChange
from inspector.qt.forms.schema.value_row import STATE_KEY, ValueRow, ValueSlot, state_text
from inspector.qt.theme import SPACE_1, SPACE_2
from inspector.qt.widgets.inputs.controls import TextButton
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.text.labels import (
    ERROR,
    LABEL_LIMIT,
    MUTED,
    FormStyle,
    PlainLabel,
    plain_tooltip,
    set_label_text,
    shortened,
    small_label,
)
from inspector.schema.check import MISSING
from inspector.schema.fields import (
    BooleanField,
    ConstField,
    Field,
    JsonField,
    ListField,
    MapField,
    Member,
    ObjectField,
    TextField,
    TupleField,
    summary,
)
from inspector.schema.values import ABSENT, Draft, draft_of

_TEXT = QPalette.ColorRole.WindowText
# While not set, these have no place to show the default.
_WITHOUT_PLACEHOLDER = (BooleanField, ConstField, ListField, TupleField, MapField, ObjectField)
_MAX_DEFAULT_LENGTH = 24
_MAX_LINES = 3
_UNLIMITED = 16_777_215  # QWIDGETSIZE_MAX, which PySide6 does not offer
_MAX_DESCRIPTION_LENGTH = 120  # fits into three lines of a narrow form
_MENU_MARK = "▾"


class FieldRow(ValueRow):
    """A member with its head, editor, help and errors.

    A missing required value is reported only once the field was touched: a fresh form is not wrong yet.
    """

    def __init__(
        self, factory: EditorFactory, member: Member, on_change: OnChange, parent: QWidget | None = None
    ) -> None:
        super().__init__(factory, on_change, parent)
        self.member = member
        self._was_touched = False
        self._head_line = hbox(None, gap=SPACE_1)
        self.column.addLayout(self._head_line)
        # The editor is created before the buttons: tab order is creation order.
        self.slot = ValueSlot(factory, member.field, self.column, self.on_slot_changed)
        self.slot.set_name(one_line(shorten(member.field.title or member.name, 200)))
        if member.required:
            self.slot.editor.open_unset()
        self._head = FieldHead(factory.style, member, self)
        self._head_line.addWidget(self._head)
        self.default_button = self._make_default_button()
        self.empty_button: TextButton | None = None  # created once a text was cleared
        self.state_button = self._make_state_button()
        if warning := factory.warnings.get(member.name):
            self._warn(warning)
        description = member.field.description.strip()
        is_long = len(description) > _MAX_DESCRIPTION_LENGTH or description.count("\n") >= _MAX_LINES
        if is_long:
            self.column.addWidget(LongDescription(factory.style, description))
        if help_text := "\n".join((() if is_long else (description,)) + _notes(member.field)).strip():
            self.column.addWidget(small_label(factory.style, help_text))
        self.show_state()

    def set_member(self, member: Member) -> None:
        """Update the member, e.g. when it becomes required or optional."""
        if member.required != self.member.required:
            head = FieldHead(self._factory.style, member, self)
            self._head_line.replaceWidget(self._head, head)
            self._head.hide()
            self._head.deleteLater()
            self._head = head
        self.member = member

    def set_draft(self, draft: Draft) -> None:
        self._was_touched = False
        super().set_draft(draft)

    def show_errors(self, errors: Errors, pointer: str) -> None:
        if errors.get(pointer) == MISSING and not self._was_touched:
            errors = {}  # an absent value has no errors inside
        super().show_errors(errors, pointer)

    def mark_touched(self) -> None:
        self._was_touched = True
        super().mark_touched()

    def on_slot_changed(self) -> None:
        self._was_touched = True
        super().on_slot_changed()

    def show_state(self) -> None:
        draft = self.slot.draft()
        message = state_text(self.member.field, draft)
        is_stated = message in self.slot.editor.stated and not self.slot.is_raw
        self.state_button.set_state(f"{message}, as JSON" if self.slot.is_raw else message, is_stated)
        if self.default_button is not None:
            self.default_button.setVisible(draft is ABSENT)
        self._offer_empty(self._was_touched and draft is ABSENT and isinstance(self.field, TextField))

    def _offer_empty(self, is_offered: bool) -> None:
        """Offer to send the empty string, which is not what a cleared text means."""
        if self.empty_button is None and is_offered:
            self.empty_button = TextButton(
                "send empty string", self._factory.style.small, QPalette.ColorRole.Link, self
            )
            self.empty_button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            self.empty_button.clicked.connect(lambda: self.put(""))
            self._head_line.insertWidget(self._head_line.indexOf(self.state_button), self.empty_button)
        if self.empty_button is not None:
            self.empty_button.setVisible(is_offered)

    def set_focused(self, is_focused: bool) -> None:
        """Show the state menu's mark while the focus is in the row."""
        self.state_button.is_row_focused = is_focused
        self.state_button.update()

    def enterEvent(self, event: QEnterEvent) -> None:
        self.state_button.update()
        super().enterEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        self.state_button.update()
        super().leaveEvent(event)

    def _warn(self, message: str) -> None:
        label = PlainLabel(self._factory.style.theme, message, tone="warn", wrap=True)
        self.column.addWidget(label)
        self.slot.editor.widget.setAccessibleDescription(label.text())

    def _menu_corner(self) -> QPoint:
        return self.state_button.mapToGlobal(self.state_button.rect().bottomRight())

    def _error_position(self) -> int:
        return 2

    def _on_default_clicked(self) -> None:
        default = self.member.field.default
        self.put(ABSENT if default is ABSENT else draft_of(self.member.field, default))

    def _make_default_button(self) -> TextButton | None:
        if self.member.field.default is ABSENT or self.member.field.default is None:
            return None  # null is offered as a state
        default = one_line(shorten(write_line(self.member.field.default), 200))
        is_stated = not isinstance(self.member.field, _WITHOUT_PLACEHOLDER)
        message = "use default" if is_stated else f"use default: {shorten(default, _MAX_DEFAULT_LENGTH)}"
        button = self._small_button(message, QPalette.ColorRole.Link)
        button.setToolTip(plain_tooltip(f"Default: {default}"))
        button.clicked.connect(self._on_default_clicked)
        return button

    def _make_state_button(self) -> StateButton:
        button = StateButton(self, self._factory.style)
        self._add_button(button)
        button.setToolTip(f"Not set, null, empty, default, example, or JSON ({native_keys(STATE_KEY)})")
        button.clicked.connect(self.open_state_menu)
        return button

    def _small_button(self, text: str, role: QPalette.ColorRole) -> TextButton:
        button = TextButton(text, self._factory.style.small, role, self)
        self._add_button(button)
        return button

    def _add_button(self, button: TextButton) -> None:
        # Tab goes from editor to editor; STATE_KEY opens the menu from the keyboard.
        button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._head_line.addWidget(button)


class StateButton(TextButton):
    """Names the state of a row's value and opens its menu.

    A state that the editor tells is not named; the menu's mark then shows while the row is hovered or
    focused, in a place kept free for it.
    """

    def __init__(self, row: QWidget, style: FormStyle) -> None:
        super().__init__("", style.small, MUTED, row)
        self._row = row
        self._is_stated = False
        self.is_row_focused = False

    def set_state(self, state: str, is_stated: bool) -> None:
        self._is_stated = is_stated
        self.setText(f"{state} {_MENU_MARK}")
        self.setAccessibleName(f"State: {state}")
        self.updateGeometry()
        self.update()

    def shown_text(self) -> str:
        if not self._is_stated:
            return self.text()
        return _MENU_MARK if self._row.underMouse() or self.is_row_focused else ""

    def _widest_text(self) -> str:
        return _MENU_MARK if self._is_stated else self.text()


class LongDescription(QWidget):
    """A description of which three lines are shown, and the rest on demand."""

    def __init__(self, style: FormStyle, text: str) -> None:
        super().__init__()
        self._text = text
        self.label = small_label(style, text)
        self.label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.more_button = TextButton("Show more", style.small, QPalette.ColorRole.Link)
        self.more_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.more_button.clicked.connect(self._on_more_clicked)
        self._is_open = False
        vbox(self, self.label, (self.more_button, 0, Qt.AlignmentFlag.AlignLeft), gap=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _on_more_clicked(self) -> None:
        self._is_open = not self._is_open
        self.more_button.setText("Show less" if self._is_open else "Show more")
        self.more_button.updateGeometry()
        if self._is_open:
            self.label.setText(visible(shortened(self._text, LABEL_LIMIT)))
        else:
            set_label_text(self.label, self._text)
        self._fit()

    def _fit(self) -> None:
        height = _MAX_LINES * self.label.fontMetrics().lineSpacing()
        self.label.setMaximumHeight(_UNLIMITED if self._is_open else height)
        self.more_button.setVisible(self._is_open or self.label.heightForWidth(self.width()) > height)


def _notes(field: Field) -> tuple[str, ...]:
    parts = []
    if isinstance(field, JsonField):
        parts.append(f"Edited as JSON: {field.reason}")
    if isinstance(field, TextField) and field.pattern:
        parts.append(f"Pattern: {shorten(field.pattern, 200)}")
    if field.deprecated:
        parts.append("Deprecated: the server may stop accepting it.")
    if field.write_only:
        parts.append("Write-only: the server does not return it.")
    if field.read_only:
        parts.append("Read-only: set by the server, which may ignore your value.")
    return (*parts, *(note for note in field.notes if note))


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    font: QFont
    role: QPalette.ColorRole
    gap: int = SPACE_2


class FieldHead(QWidget):
    """Title, required mark, name and kind, painted on one line and elided from the right.

    One painted widget instead of four labels: a large form is built in half the time.
    """

    def __init__(self, style: FormStyle, member: Member, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        field = member.field
        title, name = one_line(field.title), one_line(shorten(member.name, 200))
        self._parts = [_Part(title or name, style.title, _TEXT, gap=0)]
        self._mark_width = 0  # kept free for the required mark, however long the title
        if member.required:
            self._mark_width = SPACE_1 + QFontMetrics(style.title).horizontalAdvance("*")
            self._parts.append(_Part("*", style.title, ERROR, gap=SPACE_1))
        if title and title != name:
            self._parts.append(_Part(name, style.small_mono, MUTED))
        self._parts.append(_Part(summary(field), style.small, MUTED))
        self._height = QFontMetrics(style.title).height()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.text())
        self.setToolTip(plain_tooltip(f"{self.text()}\n{'Required' if member.required else 'Optional'}"))

    def text(self) -> str:
        return " ".join(part.text for part in self._parts if part.text != "*")

    def sizeHint(self) -> QSize:
        return QSize(120, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self._height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        baseline = QFontMetrics(self._parts[0].font).ascent()  # smaller fonts share the baseline
        left = 0
        for part in self._parts:
            metrics = QFontMetrics(part.font)
            left += part.gap
            room = self.width() - left - (self._mark_width if part is self._parts[0] else 0)
            shown = metrics.elidedText(part.text, Qt.TextElideMode.ElideRight, room)
            painter.setFont(part.font)
            painter.setPen(self.palette().color(part.role))
            painter.drawText(left, baseline, shown)
            left += metrics.horizontalAdvance(shown)
