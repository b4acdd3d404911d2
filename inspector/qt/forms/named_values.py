"""Form of named text values, for prompt arguments and URI template variables.

A value is a string or a list of strings. Not sent, empty and filled are three different states.
`ValueCompleter` requests completions from the server, one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QPlainTextEdit,
    QScrollArea,
    QToolButton,
    QWidget,
)

from inspector.base.errors import LensError
from inspector.base.json.values import JSONObject
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.completion import CompletionLineEdit
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

MAX_ROWS = 200
_MAX_COMPLETIONS = 100
_LIST_LINES = 3
_SET, _NOT_SET = "set", "not set"
_MIN_HEIGHT = 130
Value: TypeAlias = "str | list[str]"


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A named value. `hint` is MCP Lens's own text; `title` and `description` are the server's."""

    name: str
    title: str = ""
    description: str = ""
    is_required: bool = False
    takes_list: bool = False
    hint: str = ""


class NamedValues(QScrollArea):
    """A form with a row for each name.

    Signals:
        changed: A value changed.
        completions_requested: Completions are needed for a partly typed value; carries the name and the text.
        completions_dismissed: They are no longer needed; carries the name.
    """

    changed = Signal()
    completions_requested = Signal(str, str)
    completions_dismissed = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.rows: dict[str, NamedRow] = {}
        self._shape: tuple[tuple[NamedValue, ...], bool] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.inside = QWidget()
        self._empty_label = MutedLabel(theme, wrap=True)
        self._column = vbox(self.inside, self._empty_label, STRETCH, gap=SPACE_3, margin=(SPACE_3, SPACE_2))
        self.setWidget(self.inside)
        self.inside.installEventFilter(self)

    def set_rows(self, rows: Sequence[NamedValue], empty_text: str, *, completes: bool) -> None:
        """Show rows for other values. `empty_text` is shown if there are none.

        Text typed for a name is kept if the new rows contain that name.
        """
        shape = (tuple(rows), completes)
        if shape == self._shape:
            return
        self._shape = shape
        previous_texts = self.texts()
        focused = next((name for name, row in self.rows.items() if row.has_focus()), "")
        for row in self.rows.values():
            discard(row)
        self.rows = {named.name: self._make_row(named, completes) for named in rows[:MAX_ROWS]}
        rest = len(rows) - MAX_ROWS
        left_out = f"{plural(rest, 'more argument')} can only be sent as a raw message."
        self._empty_label.setText(empty_text if not rows else left_out)
        self._empty_label.setVisible(not rows or rest > 0)
        for position, row in enumerate(self.rows.values()):
            self._column.insertWidget(position, row)
            row.show()
        self.set_texts(previous_texts)
        if focused in self.rows:
            self.rows[focused].setFocus()

    def texts(self) -> dict[str, str | None]:
        """Return the typed texts by name: None where nothing is sent."""
        return {name: row.text() for name, row in self.rows.items()}

    def set_texts(self, texts: Mapping[str, str | None]) -> None:
        for name, text in texts.items():
            if name in self.rows:
                self.rows[name].set_text(text)

    def values(self) -> dict[str, Value]:
        """Return the values that are sent."""
        found = {name: row.value() for name, row in self.rows.items()}
        return {name: value for name, value in found.items() if value is not None}

    def strings(self) -> dict[str, str]:
        """Return the values that are sent as strings, a list as its lines."""
        return {name: text for name, text in self.texts().items() if text is not None}

    def missing(self) -> list[str]:
        """Return the required names without a value, and mark them."""
        found = [name for name, row in self.rows.items() if row.named.is_required and row.text() is None]
        for name, row in self.rows.items():
            row.set_error("Required by the prompt." if name in found else "")
        if found:
            self.rows[found[0]].setFocus()
            self.ensureWidgetVisible(self.rows[found[0]])
        return found

    def show_completions(self, name: str, values: Sequence[str]) -> None:
        """Show the completions received for a name."""
        if name in self.rows and self.rows[name].line is not None:
            self.rows[name].show_completions(values)

    def set_note(self, name: str, text: str) -> None:
        """Set the note of a row; "" removes it."""
        if name in self.rows:
            self.rows[name].set_note(text)

    def sizeHint(self) -> QSize:
        """Return the size at which nothing has to scroll."""
        return QSize(super().sizeHint().width(), self.inside.sizeHint().height() + 2)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), min(self.sizeHint().height(), _MIN_HEIGHT))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.inside and event.type() is QEvent.Type.LayoutRequest:
            self.updateGeometry()  # a note appeared or disappeared
        return super().eventFilter(watched, event)

    def _make_row(self, named: NamedValue, completes: bool) -> NamedRow:
        row = NamedRow(self._theme, named, completes=completes)
        row.changed.connect(self.changed)
        row.completions_requested.connect(lambda text: self.completions_requested.emit(named.name, text))
        row.completions_dismissed.connect(lambda: self.completions_dismissed.emit(named.name))
        return row


class NamedRow(QWidget):
    """A name, its value and a button that sets it to an empty string.

    Signals:
        changed, completions_requested, completions_dismissed: As in `NamedValues`.
    """

    changed = Signal()
    completions_requested = Signal(str)
    completions_dismissed = Signal()

    def __init__(self, theme: Theme, named: NamedValue, *, completes: bool) -> None:
        super().__init__()
        self.named = named
        self._theme = theme
        self.line: CompletionLineEdit | None = None
        self.lines: QPlainTextEdit | None = None
        self._note = MutedLabel(theme, wrap=True)
        self._error = PlainLabel(theme, tone="error", wrap=True)
        self._error.hide()
        self._note.hide()
        self.empty_button = QToolButton()
        self.empty_button.setCheckable(True)
        width = self.empty_button.fontMetrics().horizontalAdvance(_NOT_SET) + 2 * SPACE_3
        self.empty_button.setMinimumWidth(width)  # the same for both texts
        self.empty_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.empty_button.setToolTip("Choose whether an empty field is sent as an empty string or not at all")
        self.empty_button.setAccessibleName(f"Send {one_line(named.name)} as an empty string")
        editor = self._make_lines() if named.takes_list else self._make_line(completes)
        self._lay_out(editor)
        self.setFocusProxy(editor)
        self.empty_button.toggled.connect(self._on_empty_toggled)
        self._show_whether_set()

    def text(self) -> str | None:
        """Return the text as typed; None if nothing is sent."""
        typed = self._typed()
        return typed if typed or self.empty_button.isChecked() else None

    def value(self) -> Value | None:
        text = self.text()
        return text.split("\n") if self.lines is not None and text is not None else text

    def set_text(self, text: str | None) -> None:
        if self.line is not None:
            self.line.setText(text or "")
        elif self.lines is not None:
            self.lines.setPlainText(text or "")
        self.empty_button.setChecked(text == "")

    def has_focus(self) -> bool:
        editor = self.line or self.lines
        return editor is not None and editor.hasFocus()

    def set_error(self, text: str) -> None:
        self._error.setText(text)
        self._error.setVisible(bool(text))
        editor = self.line or self.lines
        assert editor is not None
        editor.setProperty("state", "error" if text else "")
        editor.style().polish(editor)
        editor.setAccessibleDescription(text)

    def set_note(self, text: str) -> None:
        self._note.setText(text)
        self._note.setVisible(bool(text))

    def show_completions(self, values: Sequence[str]) -> None:
        if self.line is not None:
            self.line.show_completions(values)

    def _typed(self) -> str:
        if self.line is not None:
            return self.line.text()
        return self.lines.toPlainText() if self.lines is not None else ""

    def _make_line(self, completes: bool) -> CompletionLineEdit:
        self.line = CompletionLineEdit(self._theme)
        self.line.completes = completes
        self.line.setAccessibleName(one_line(self.named.name))
        self.line.setPlaceholderText("required" if self.named.is_required else _NOT_SET)
        self.line.textChanged.connect(self._on_changed)
        self.line.completions_requested.connect(self.completions_requested)
        self.line.completions_dismissed.connect(self.completions_dismissed)
        return self.line

    def _make_lines(self) -> QPlainTextEdit:
        lines = self.lines = QPlainTextEdit()
        lines.setProperty("kind", "input")
        lines.setFont(self._theme.mono_font())
        lines.setAccessibleName(one_line(self.named.name))
        lines.setPlaceholderText(f"{_NOT_SET}; one value per line")
        lines.setTabChangesFocus(True)
        lines.setFixedHeight(lines.fontMetrics().lineSpacing() * _LIST_LINES + SPACE_3)
        lines.textChanged.connect(self._on_changed)
        return lines

    def _lay_out(self, editor: QWidget) -> None:
        named = self.named
        details = " · ".join(one_line(text) for text in (named.title, named.hint) if text)
        head = hbox(
            None,
            PlainLabel(self._theme, one_line(named.name), mono=True, elide=Qt.TextElideMode.ElideRight),
            PlainLabel(self._theme, "*", tone="error") if named.is_required else None,
            (MutedLabel(self._theme, details), 1),
            gap=SPACE_1,
        )
        row = hbox(None, (editor, 1), (self.empty_button, 0, Qt.AlignmentFlag.AlignTop), gap=SPACE_1)
        about = named.description[:600]
        label = PlainLabel(self._theme, about, tone="muted", wrap=True) if about else None
        vbox(self, head, row, label, self._note, self._error, gap=SPACE_1)

    def _on_changed(self) -> None:
        if self._typed() and self.empty_button.isChecked():
            self.empty_button.setChecked(False)
        self.empty_button.setEnabled(not self._typed())
        self._show_whether_set()
        if not self._error.isHidden():
            self.set_error("")
        self.changed.emit()

    def _show_whether_set(self) -> None:
        self.empty_button.setText(_NOT_SET if self.text() is None else _SET)

    def _on_empty_toggled(self, is_on: bool) -> None:
        if self.line is not None:
            unset_text = "required" if self.named.is_required else _NOT_SET
            self.line.setPlaceholderText("empty string" if is_on else unset_text)
        self._on_changed()


class ValueCompleter(QObject):
    """Requests completions, one at a time.

    A newer request, or leaving the field, cancels the older one; the server is notified.
    """

    def __init__(self, bridge: Bridge, server: str, form: NamedValues) -> None:
        super().__init__(form)
        self._bridge = bridge
        self._server = server
        self._form = form
        self._ref: JSONObject = {}
        self._task: asyncio.Task[None] | None = None
        form.completions_requested.connect(self._on_requested)
        form.completions_dismissed.connect(self._on_dismissed)

    def set_ref(self, ref: JSONObject) -> None:
        """Set what the values belong to: a prompt or a resource template."""
        self._cancel()
        self._ref = ref

    def _on_requested(self, name: str, text: str) -> None:
        self._cancel()
        self._task = self._bridge.start(f"complete {name}", self._complete(name, text), self._form)

    def _on_dismissed(self, name: str) -> None:
        self._cancel()

    def _cancel(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()

    async def _complete(self, name: str, text: str) -> None:
        # "context.arguments": the values already chosen for the others.
        others = {other: value for other, value in self._form.strings().items() if other != name}
        try:
            completion = await self._bridge.ask(
                lambda engine: engine.servers.get(self._server).client.complete(self._ref, name, text, others)
            )
        except LensError as exc:
            self._form.set_note(name, f"No completions: {exc}")
            return
        shown = completion.values[:_MAX_COMPLETIONS]
        self._form.show_completions(name, shown)
        total = completion.total or len(completion.values)
        more = completion.has_more or total > len(shown)
        self._form.set_note(name, f"Showing the first {len(shown)} of {total:,}." if more else "")
