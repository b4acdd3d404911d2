"""Editors for the app's own values: text, secrets, numbers, switches, choices, lists, JSON.

Other than the editors of server schemas they have no states: what is empty, off or first in the list is
the default. The wheel scrolls the form instead of changing a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QAction, QWheelEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFileDialog,
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.config.json_file import read_exactly, write_exactly
from inspector.qt.forms.json.json_edit import JsonEdit
from inspector.qt.forms.schema.editor import Editor, OnChange
from inspector.qt.theme import Theme
from inspector.qt.widgets.inputs.controls import ActionButton, Segments
from inspector.qt.widgets.inputs.secret_fields import SecretText, secret_line
from inspector.qt.widgets.layout import in_row
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip
from inspector.qt.widgets.text.text_box import TextBox
from inspector.schema.fields import (
    ABSENT,
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    ListField,
    NumberField,
    ObjectField,
    TextField,
)
from inspector.schema.values import Draft, Unreadable

# Wait after the last step: going from 30 days to 20 must not delete for 29.
DELAY_MS = 1_000
_NUMBER_WIDTH, _SECONDS_WIDTH, _CHOICE_WIDTH, _MIN_CHOICE_WIDTH = 130, 90, 220, 90
_MIN_JSON_HEIGHT = 90
_MAX_LINES = 12
# JSON of up to this size is read on each key press.
_MAX_READ_AT_ONCE, _PAUSE_MS = 32 * 1024, 300
_STORED_HINT = "in the secret store; type to replace it"
_DELETED_HINT = "will be deleted when you save"


@dataclass(frozen=True, slots=True)
class Hint:
    """How a member of a plain form is edited and when it is shown.

    `editor` replaces the default one of the field's type. `page` is the page it is on, `group` the heading
    above it and the following members without one; with `beside` it is in the row of the member before it.
    `shown_if` takes the form's value. `name` is the accessible name if it is not the field's title, `text`
    the label of a member beside another one, or what messages call JSON text. `zero_text` is shown for 0.
    `lines` is the height of a text box, `width` the width of a control.
    """

    editor: Callable[[Theme, Field, Hint, OnChange], PlainEditor] | None = None
    placeholder: str = ""
    page: str = ""
    group: str = ""
    name: str = ""
    text: str = ""
    tip: str = ""
    unit: str = ""
    zero_text: str = ""
    lines: int = 4
    width: int = 0
    beside: bool = False
    is_mono: bool = False
    shown_if: Callable[[JSONObject], bool] | None = None


Row: TypeAlias = tuple[Field, Hint]


class PlainEditor(Editor):
    """Base class; `on_change` is called after each change, `on_finished` when the user finished one.

    `is_wide` editors take the width of the form, `is_tall` ones also its height.
    """

    is_wide = True
    is_tall = False

    def __init__(self, theme: Theme, field: Field, hint: Hint, on_change: OnChange) -> None:
        self.theme, self.field, self.hint = theme, field, hint
        self.on_change = on_change
        self.on_finished: Callable[[], None] = lambda: None
        self.widget = self.make_widget()
        control = self.widget.focusProxy() or self.widget
        control.setAccessibleName(hint.name or field.title)
        if hint.tip:
            control.setToolTip(plain_tooltip(hint.tip))

    def make_widget(self) -> QWidget:
        """Create the widget; if it is several, with the control as its focus proxy."""
        raise NotImplementedError

    def finish(self) -> None:
        """Apply what is being typed."""

    def _on_picked(self, *_: object) -> None:
        self.on_change()
        self.on_finished()


class PlainLine(PlainEditor):
    """A line of text."""

    def make_widget(self) -> QWidget:
        self.line = self.make_line()
        self.line.setPlaceholderText(self.hint.placeholder)
        if self.hint.is_mono:
            self.line.setFont(self.theme.mono_font(0.95))
        if self.hint.width:
            self.line.setFixedWidth(self.hint.width)
        if isinstance(self.field, TextField) and self.field.max_length is not None:
            self.line.setMaxLength(self.field.max_length)
        self.line.textChanged.connect(lambda _: self.on_change())
        self.line.editingFinished.connect(lambda: self.on_finished())
        return self.line

    def make_line(self) -> QLineEdit:
        return QLineEdit()

    def draft(self) -> Draft:
        return self.line.text().strip()

    def set_draft(self, draft: Draft) -> bool:
        text = "" if draft is ABSENT or draft is None else draft
        if not isinstance(text, str) or not (text.isprintable() or not text):
            return False
        if text != self.line.text():  # keeps the cursor
            self.line.setText(text)
        return True


class PlainFile(PlainLine):
    """The path of a file, typed or picked."""

    def make_widget(self) -> QWidget:
        line = super().make_widget()
        self.browse_action = QAction("Choose…", line)
        self.browse_action.setToolTip(f"Choose: {self.field.title}")
        self.browse_action.triggered.connect(lambda: self._browse())
        return _around(line, ActionButton(self.browse_action))

    def prepare(self, dialog: QFileDialog) -> None:
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)

    def _browse(self) -> None:
        dialog = QFileDialog(self.widget, f"Choose: {self.field.title}", self.line.text())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.prepare(dialog)
        dialog.fileSelected.connect(self.line.setText)
        dialog.open()


class PlainFolder(PlainFile):
    """The path of a folder, typed or picked."""

    def prepare(self, dialog: QFileDialog) -> None:
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)


class PlainSecret(PlainEditor):
    """A secret. A stored one is {"ref": name} and never shown: it can be replaced or deleted."""

    def make_widget(self) -> QWidget:
        self.control = self.make_control()
        self._stored: Draft = ABSENT
        self._is_deleted = False
        self.delete_action = QAction("Delete", self.control)
        self.delete_action.setToolTip(f"Delete the {self.field.title} from the secret store")
        self.delete_action.triggered.connect(self._toggle_delete)
        self._delete_button = ActionButton(self.delete_action, "quiet")
        self._show_state()
        return _around(self.control, self._delete_button)

    def make_control(self) -> QLineEdit | SecretText:
        line = secret_line(self.hint.name, self.hint.placeholder)
        line.setFont(self.theme.mono_font(0.95))
        line.textChanged.connect(lambda _: self.on_change())
        line.editingFinished.connect(lambda: self.on_finished())
        return line

    def show_placeholder(self, text: str) -> None:
        assert isinstance(self.control, QLineEdit)
        self.control.setPlaceholderText(text)

    def draft(self) -> Draft:
        return self.control.text().strip() or (ABSENT if self._is_deleted else self._stored)

    def set_draft(self, draft: Draft) -> bool:
        """Show whether a secret is stored, or one that is being typed."""
        self._stored, self._is_deleted = (draft if isinstance(draft, dict) else ABSENT), False
        self.control.clear()
        if isinstance(draft, str) and isinstance(self.control, QLineEdit):
            self.control.setText(draft)
        self._show_state()
        return True

    def _toggle_delete(self) -> None:
        self._is_deleted = not self._is_deleted
        self._show_state()
        self._on_picked()

    def _show_state(self) -> None:
        is_stored = self._stored is not ABSENT
        stored_hint = _DELETED_HINT if self._is_deleted else _STORED_HINT
        self.show_placeholder(stored_hint if is_stored else self.hint.placeholder)
        self.delete_action.setText("Keep" if self._is_deleted else "Delete")
        self._delete_button.setVisible(is_stored)


class PlainSeconds(PlainLine):
    """A number of seconds; empty means the default. Text that is not a number is kept, to be reported."""

    is_wide = False

    def make_widget(self) -> QWidget:
        line = super().make_widget()
        line.setFixedWidth(_SECONDS_WIDTH)
        self.line.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return _around(line, MutedLabel(self.theme, "s"))

    def draft(self) -> Draft:
        text = self.line.text().strip()
        try:
            return (int(text) if text.isdecimal() else float(text)) if text else None
        except ValueError:
            return text

    def set_draft(self, draft: Draft) -> bool:
        is_number = isinstance(draft, int | float | str) and not isinstance(draft, bool)
        if not is_number and draft is not None and draft is not ABSENT:
            return False
        if draft != self.draft():
            self.line.setText(str(draft) if is_number else "")
        return True


class PlainNumber(PlainEditor):
    """A number with a unit."""

    is_wide = False

    def make_widget(self) -> QWidget:
        assert isinstance(self.field, NumberField)
        self.box = box = NumberBox(self.field, self.hint)
        self._timer = QTimer(box, interval=DELAY_MS, singleShot=True)
        self._timer.timeout.connect(lambda: self.on_finished())
        box.valueChanged.connect(self._on_value)
        box.editingFinished.connect(self.finish)
        return box

    def draft(self) -> Draft:
        value = self.box.value()
        if not value and self.field.default is None:
            return None
        return int(value) if value == int(value) else value

    def set_draft(self, draft: Draft) -> bool:
        value = draft if isinstance(draft, int | float) else 0
        self.box.setValue(value)
        self._timer.stop()
        return True

    def finish(self) -> None:
        self.box.interpretText()
        if self._timer.isActive():
            self._timer.stop()
            self.on_finished()

    def _on_value(self) -> None:
        self.on_change()
        self._timer.start()


class NumberBox(QDoubleSpinBox):
    """A number box without trailing zeros."""

    def __init__(self, field: NumberField, hint: Hint) -> None:
        super().__init__()
        self.setDecimals(0 if isinstance(field, IntegerField) else 3)
        self.setRange(float(field.minimum or 0), float("inf") if field.maximum is None else field.maximum)
        self.setSuffix(f" {hint.unit}" if hint.unit else "")
        self.setSpecialValueText(hint.zero_text)
        self.setGroupSeparatorShown(bool(hint.unit))
        self.setKeyboardTracking(False)  # typing 300 must not emit 3, then 30
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedWidth(hint.width or _NUMBER_WIDTH)
        self.setAlignment(Qt.AlignmentFlag.AlignRight)

    def textFromValue(self, value: float) -> str:
        text = super().textFromValue(value)
        point = self.locale().decimalPoint()
        return text.rstrip("0").removesuffix(point) if point in text else text

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class PlainSwitch(PlainEditor):
    """A check box."""

    is_wide = False

    def make_widget(self) -> QWidget:
        self.box = QCheckBox(self.hint.text or self.field.title)
        self.box.toggled.connect(lambda _: self.on_change())
        self.box.clicked.connect(lambda: self.on_finished())
        return self.box

    def draft(self) -> Draft:
        return self.box.isChecked()

    def set_draft(self, draft: Draft) -> bool:
        self.box.setChecked(draft is True)
        return isinstance(draft, bool) or draft is ABSENT


class PlainChoice(PlainEditor):
    """A drop-down of choices."""

    is_wide = False

    def make_widget(self) -> QWidget:
        self.box = _ChoiceBox(self.hint.width)
        assert isinstance(self.field, ChoiceField)
        self.box.addItems(list(self.field.labels))
        self.box.currentIndexChanged.connect(lambda _: self.on_change())
        self.box.activated.connect(lambda _: self.on_finished())
        return self.box

    @property
    def choices(self) -> tuple[JSON, ...]:
        assert isinstance(self.field, ChoiceField)
        return self.field.choices

    def index(self) -> int:
        return self.box.currentIndex()

    def choose(self, index: int) -> None:
        self.box.setCurrentIndex(index)

    def draft(self) -> Draft:
        return self.choices[self.index()]

    def set_draft(self, draft: Draft) -> bool:
        # 0 and false are different.
        same = (at for at, one in enumerate(self.choices) if one == draft and type(one) is type(draft))
        position = 0 if draft is ABSENT else next(same, -1)
        self.choose(max(position, 0))
        return position >= 0


class _ChoiceBox(QComboBox):
    """A drop-down that is `width` wide, or narrower in a narrow form."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(self._width or max(hint.width(), _CHOICE_WIDTH), hint.height())

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), _MIN_CHOICE_WIDTH), hint.height())

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class PlainSegments(PlainChoice):
    """Choices side by side."""

    def make_widget(self) -> QWidget:
        assert isinstance(self.field, ChoiceField)
        self.segments = Segments(self.theme, self.field.labels)
        self.segments.chosen.connect(self._on_picked)
        return self.segments

    def index(self) -> int:
        return self.segments.index()

    def choose(self, index: int) -> None:
        self.segments.choose(index)


class PlainBox(PlainEditor):
    """Text of several lines; for a list field, one item per line."""

    def make_widget(self) -> QWidget:
        is_list = isinstance(self.field, ListField)
        font = self.theme.mono_font(0.95) if is_list else self.theme.ui_font()
        self.box = TextBox(font, lines=(self.hint.lines, max(self.hint.lines, _MAX_LINES)))
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.setPlaceholderText(self.hint.placeholder)
        self.box.textChanged.connect(self.on_change)
        return self.box

    def draft(self) -> Draft:
        text = self.box.text()
        if not isinstance(self.field, ListField):
            return text
        # A trailing line break ends the last line, as in a file; it is not an empty item.
        return text.removesuffix("\n").split("\n") if text else []

    def set_draft(self, draft: Draft) -> bool:
        is_list = isinstance(self.field, ListField)
        text = "" if draft is ABSENT else _text_of_lines(draft) if is_list else draft
        if not isinstance(text, str):
            return False
        return draft == self.draft() or self.box.set_text(text)


class PlainNames(PlainLine):
    """Names separated by commas, spaces or semicolons, for pasted lists."""

    def draft(self) -> Draft:
        return list(dict.fromkeys(filter(None, re.split(r"[\s,;]+", self.line.text()))))

    def set_draft(self, draft: Draft) -> bool:
        names = [str(name) for name in draft] if isinstance(draft, list) else []
        return super().set_draft(", ".join(names))


class PlainJson(PlainEditor):
    """An object as JSON text; empty text is ABSENT. A long text is read when typing pauses."""

    is_tall = True

    def make_widget(self) -> QWidget:
        self._draft: Draft = ABSENT
        self._is_read = True
        self.box = JsonEdit(self.theme)
        self.box.setPlaceholderText(self.hint.placeholder)
        self.box.setMinimumHeight(_MIN_JSON_HEIGHT)
        self.box.edited.connect(self._on_edited)
        self._pause = QTimer(self.box, interval=_PAUSE_MS, singleShot=True)
        self._pause.timeout.connect(self._on_pause)
        return self.box

    def draft(self) -> Draft:
        if not self._is_read:
            self._draft, self._is_read = self._read(), True
        return self._draft

    def set_draft(self, draft: Draft) -> bool:
        if draft is not ABSENT and not isinstance(draft, dict):
            return False
        self.box.set_text(write_exactly(draft) if isinstance(draft, dict) else "")
        self._draft, self._is_read = draft, True
        self._pause.stop()
        return True

    def finish(self) -> None:
        if self._pause.isActive():
            self._pause.stop()
            self._on_pause()

    def _on_edited(self) -> None:
        if self.box.document().characterCount() > _MAX_READ_AT_ONCE:
            self._pause.start()
        else:
            self._on_pause()

    def _on_pause(self) -> None:
        self._is_read = False
        self.on_change()

    def _read(self) -> Draft:
        text = self.box.text().strip()
        try:
            value: JSON = read_exactly(text) if text else {}
        except JSONError as exc:
            return Unreadable(text, f"{self.hint.text} is not JSON: {exc}.")
        if not isinstance(value, dict):
            return Unreadable(text, f"{self.hint.text} must be a JSON object: {{…}}.")
        return value if text else ABSENT


def text(title: str, placeholder: str = "", **hint: Any) -> Row:
    """Describe a line of text, empty by default."""
    return TextField(title=title, default=""), Hint(placeholder=placeholder, **hint)


def switch(title: str, **hint: Any) -> Row:
    """Describe a switch that is off by default."""
    return BooleanField(title=title, default=False), Hint(**hint)


def choice(title: str, labels: Mapping[Any, str], *, description: str = "", **hint: Any) -> Row:
    """Describe a choice by the labels of its values; the first one is the default."""
    values: tuple[JSON, ...] = tuple(labels)
    texts = tuple(labels.values())
    field = ChoiceField(title=title, description=description, choices=values, labels=texts, default=values[0])
    return field, Hint(**hint)


def make_editor(theme: Theme, field: Field, hint: Hint, on_change: OnChange) -> PlainEditor:
    maker = hint.editor or next(editor for kind, editor in _EDITORS if isinstance(field, kind))
    if hint.editor is None and isinstance(field, TextField) and field.multiline:
        maker = PlainBox
    return maker(theme, field, hint, on_change)


_EDITORS: tuple[tuple[type[Field], type[PlainEditor]], ...] = (
    (TextField, PlainLine),
    (NumberField, PlainNumber),
    (BooleanField, PlainSwitch),
    (ChoiceField, PlainChoice),
    (ListField, PlainBox),
    (ObjectField, PlainJson),
)


def _around(control: QWidget, *others: QWidget) -> QWidget:
    holder = in_row(control, *others)
    holder.setFocusProxy(control)
    return holder


def _text_of_lines(content: Draft) -> str | None:
    """Return the text for a list of lines; None if there is no text for it."""
    if not isinstance(content, list):
        return None
    lines = [line for line in content if isinstance(line, str) and "\n" not in line]
    if len(lines) < len(content) or lines == [""]:
        return None
    return "\n".join(lines) + ("\n" if lines and not lines[-1] else "")
