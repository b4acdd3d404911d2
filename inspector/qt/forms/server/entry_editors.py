"""Editors for server entry fields: text, seconds, lines, switches, choice, name-value rows.

Name-value rows hold environment variables or headers. A secret value goes to the secret store; the draft
holds only a reference to it.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QGridLayout,
    QLineEdit,
    QPlainTextEdit,
    QWidget,
)

from inspector.base.environment import inherited_variables
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.redaction import is_secret_name
from inspector.base.units import plural
from inspector.config.secrets.records import make_name
from inspector.config.servers.entry_fields import EntryField
from inspector.qt.models.servers import SERVER_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

_LINES = {"lines": 4, "text": 8}
_SECONDS_WIDTH = 90
_SWATCH = 12
_STORED = "in the secret store; type to replace it"
_NAME, _VALUE = 2, 3  # width ratio


def make_editor(field: EntryField, theme: Theme) -> EntryEditor:
    """Create the editor for any kind but "named", which has its own."""
    kinds: dict[str, Callable[[EntryField, Theme], EntryEditor]] = {
        "seconds": SecondsEditor,
        "lines": LinesEditor,
        "text": LinesEditor,
        "switch": SwitchEditor,
        "environment": EnvironmentEditor,
        "choice": ChoiceEditor,
        "color": ChoiceEditor,
    }
    return kinds.get(field.kind, LineEditor)(field, theme)


class EntryEditor(QWidget):
    """Base class for the editor of one field.

    Signals:
        changed: The user changed the value.
    """

    changed = Signal()

    @abstractmethod
    def content(self) -> JSON: ...

    @abstractmethod
    def show_content(self, content: JSON) -> bool:
        """Show `content`; return False, changing nothing, if only JSON can represent it."""

    def _lay_out(self, *widgets: QWidget) -> None:
        hbox(self, *widgets)
        self.setFocusProxy(widgets[0])


class LineEditor(EntryEditor):
    """A single-line text; with `browse`, a file or folder can be picked."""

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.line = QLineEdit(placeholderText=field.hint)
        self.line.setAccessibleName(field.label)
        if field.kind != "line":
            self.line.setFont(theme.mono_font())
        self.line.textEdited.connect(self.changed)
        self.browse_action = QAction("Choose…", self)
        self.browse_action.setToolTip(f"Choose: {field.label}")
        self.browse_action.triggered.connect(lambda: self._browse(field))
        can_browse = field.kind in ("file", "folder")
        self._lay_out(self.line, *([ActionButton(self.browse_action)] if can_browse else []))

    def content(self) -> JSON:
        return self.line.text()

    def show_content(self, content: JSON) -> bool:
        if not isinstance(content, str) or not _fits_one_line(content):
            return False
        if content != self.line.text():
            self.line.setText(content)
        return True

    def _browse(self, field: EntryField) -> None:
        dialog = QFileDialog(self, f"Choose: {field.label}", self.line.text())
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if field.kind == "folder":
            dialog.setFileMode(QFileDialog.FileMode.Directory)
            dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self._on_chosen)
        dialog.open()

    def _on_chosen(self, path: str) -> None:
        self.line.setText(path)
        self.changed.emit()


class SecondsEditor(EntryEditor):
    """A number of seconds; empty means the app's setting.

    Text that is not a number stays, and reading the draft reports the error.
    """

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.line = QLineEdit(placeholderText="default")
        self.line.setAccessibleName(field.label)
        self.line.setFixedWidth(_SECONDS_WIDTH)
        self.line.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.line.textEdited.connect(self.changed)
        self._lay_out(self.line, MutedLabel(theme, "s"), QWidget())

    def content(self) -> JSON:
        text = self.line.text().strip()
        try:
            return (int(text) if text.isdecimal() else float(text)) if text else None
        except ValueError:
            return text

    def show_content(self, content: JSON) -> bool:
        if isinstance(content, bool | dict | list):
            return False
        if content != self.content():
            self.line.setText("" if content is None else str(content))
        return True


class LinesEditor(EntryEditor):
    """A list of strings, one per line; for the kind "text", one multi-line text."""

    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self._is_list = field.kind == "lines"
        self.box = QPlainTextEdit()
        self.box.setProperty("kind", "input")
        self.box.setAccessibleName(field.label)
        self.box.setPlaceholderText(field.hint)
        self.box.setTabChangesFocus(True)
        if self._is_list:
            self.box.setFont(theme.mono_font())
            self.box.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.box.setFixedHeight(self.box.fontMetrics().lineSpacing() * _LINES[field.kind] + SPACE_3)
        self.box.textChanged.connect(self.changed)
        self._lay_out(self.box)

    def content(self) -> JSON:
        text = self.box.toPlainText()
        if not self._is_list:
            return text
        # A trailing line break ends the last line, as in a file; it is not an empty argument.
        lines: list[JSON] = [*text.removesuffix("\n").split("\n")] if text else []
        return lines

    def show_content(self, content: JSON) -> bool:
        text = _text_of(content) if self._is_list else content
        if not isinstance(text, str) or _has_foreign_breaks(text):
            return False
        if content != self.content():
            with QSignalBlocker(self.box):
                self.box.setPlainText(text)
        return True


class SwitchEditor(EntryEditor):
    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self.box = QCheckBox(field.label)
        self.box.clicked.connect(self.changed)
        self._lay_out(self.box)

    def content(self) -> JSON:
        return self.box.isChecked()

    def show_content(self, content: JSON) -> bool:
        if isinstance(content, bool):
            self.box.setChecked(content)
        return isinstance(content, bool)


class EnvironmentEditor(SwitchEditor):
    """A switch between the standard and all environment variables, with the names of those passed."""

    def __init__(self, field: EntryField, theme: Theme) -> None:
        self._heading = MutedLabel(theme)
        self.names = PlainLabel(theme, mono=True, wrap=True, selectable=True)
        self.names.setAccessibleName("Environment variables passed to the program")
        super().__init__(field, theme)
        self.box.toggled.connect(self._show_names)
        self._show_names()

    def _lay_out(self, *widgets: QWidget) -> None:
        vbox(self, *widgets, self._heading, self.names, gap=SPACE_1)
        self.setFocusProxy(widgets[0])

    def _show_names(self) -> None:
        is_whole = self.box.isChecked()
        names = sorted(inherited_variables(os.environ, whole=is_whole))
        kind = "variable" if is_whole else "standard variable"
        self._heading.setText(f"Passed from your environment: {plural(len(names), kind)}")
        self.names.setText(one_line(", ".join(names)))


class ChoiceEditor(EntryEditor):
    def __init__(self, field: EntryField, theme: Theme) -> None:
        super().__init__()
        self._field, self._theme = field, theme
        self.box = QComboBox()
        self.box.setAccessibleName(field.label)
        for value, text in field.choices:
            self.box.addItem(text, value)
        if field.kind == "color":
            self._paint()
            theme.changed.connect(self._paint)
        self.box.activated.connect(self.changed)
        self._lay_out(self.box, QWidget())

    def content(self) -> JSON:
        value: str = self.box.currentData()
        return value

    def show_content(self, content: JSON) -> bool:
        position = self.box.findData(content) if isinstance(content, str) else -1
        if position >= 0:
            self.box.setCurrentIndex(position)
        return position >= 0

    def _paint(self) -> None:
        self.box.setIconSize(QSize(_SWATCH, _SWATCH))
        for row, (value, _) in enumerate(self._field.choices):
            color = self._theme.color(SERVER_TONES[value]) if value else QColor(0, 0, 0, 0)
            self.box.setItemIcon(row, QIcon(_swatch(color)))


@dataclass(frozen=True, slots=True)
class NameValue:
    """A row's state. `saved_ref` is the draft's reference, `value` what replaces it."""

    name: str
    value: str
    is_secret: bool
    saved_ref: JSONObject | None = None


class NameValueEditor(EntryEditor):
    """An editor with one row per named value.

    A secret goes into the secret store under a name derived from `server`, and only that name into the
    draft.
    """

    def __init__(self, field: EntryField, server: str, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._server = server
        self._kind = "env" if field.member == "env" else "header"
        self._noun = "environment variable" if self._kind == "env" else "header"
        self.rows: list[NameValueRow] = []
        self.add_action = QAction(f"Add {self._noun}", self)
        theme.set_icon(self.add_action, "plus")
        self.add_action.triggered.connect(self._on_add)
        self._empty_label = MutedLabel(theme, f"No {self._noun}s.")
        foot = hbox(None, ActionButton(self.add_action), STRETCH, gap=-1)
        self._column = vbox(self, self._empty_label, foot, STRETCH, gap=SPACE_1)

    def content(self) -> JSON:
        content: JSONObject = {}
        for item in self.name_values():
            content[item.name] = self._reference(item) if item.is_secret else item.value
        return content

    def secrets(self) -> dict[str, str]:
        """Return the secrets to store, by their names in the store."""
        typed = [item for item in self.name_values() if item.is_secret and item.value]
        return {str(self._reference(item)["ref"]): item.value for item in typed}

    def without_value(self) -> list[str]:
        """Return the secrets that have neither a typed nor a stored value."""
        return [
            item.name for item in self.name_values() if item.is_secret and not (item.value or item.saved_ref)
        ]

    def emptied(self) -> list[str]:
        """Return the names that change from secret to plain text without a typed value."""
        return [
            item.name
            for item in self.name_values()
            if item.saved_ref and not item.is_secret and not item.value
        ]

    def name_values(self) -> list[NameValue]:
        """Return the rows that have a name. Of two with the same name, the last one wins."""
        return [row.name_value() for row in self.rows if row.name.text().strip()]

    def show_content(self, content: JSON) -> bool:
        if not isinstance(content, dict) or not all(_can_show(value) for value in content.values()):
            return False
        if content != self.content():
            for row in [*self.rows]:
                self._remove_row(row)
            for name, value in content.items():
                is_secret = isinstance(value, dict)
                saved_ref = value if isinstance(value, dict) else None
                self._add(NameValue(name, value if isinstance(value, str) else "", is_secret, saved_ref))
        return True

    def _reference(self, item: NameValue) -> JSONObject:
        return item.saved_ref or {"ref": make_name(self._kind, self._server, item.name)}

    def _add(self, item: NameValue) -> NameValueRow:
        row = NameValueRow(self._theme, self._noun, item)
        self.rows.append(row)
        self._column.insertWidget(len(self.rows), row)
        row.changed.connect(self.changed)
        row.remove_action.triggered.connect(lambda: self._on_remove(row))
        self._empty_label.hide()
        return row

    def _remove_row(self, row: NameValueRow) -> None:
        self.rows.remove(row)
        discard(row)
        self._empty_label.setVisible(not self.rows)

    def _on_add(self) -> None:
        row = self._add(NameValue("", "", is_secret=False))
        row.show()
        row.name.setFocus()

    def _on_remove(self, row: NameValueRow) -> None:
        position = self.rows.index(row)
        self._remove_row(row)
        if self.rows:  # keep the focus among the rows
            self.rows[min(position, len(self.rows) - 1)].name.setFocus()
        self.changed.emit()


class NameValueRow(QWidget):
    """A row of a `NameValueEditor`.

    Signals:
        changed: The user changed something in it.
    """

    changed = Signal()

    def __init__(self, theme: Theme, noun: str, item: NameValue) -> None:
        super().__init__()
        self._saved_ref = item.saved_ref
        self._is_chosen = item.is_secret or bool(item.name)
        self.name = QLineEdit(item.name, placeholderText="Name" if noun == "header" else "NAME")
        self.name.setFont(theme.mono_font())
        self.name.setAccessibleName(f"Name of the {noun}")
        self.value = QLineEdit(item.value)
        self.value.setFont(theme.mono_font())
        self.value.setAccessibleName(f"Value of the {noun}")
        self.secret_action = QAction("Save in the secret store", self, checkable=True)
        self.secret_action.setChecked(item.is_secret)
        theme.set_icon(self.secret_action, "key")
        self.remove_action = QAction(f"Remove {noun}", self)
        theme.set_icon(self.remove_action, "trash")
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(SPACE_2)
        grid.addWidget(self.name, 0, 0)
        grid.addWidget(self.value, 0, 1)
        grid.addWidget(icon_button(self.secret_action), 0, 2)
        grid.addWidget(icon_button(self.remove_action), 0, 3)
        grid.setColumnStretch(0, _NAME)
        grid.setColumnStretch(1, _VALUE)
        self.name.textEdited.connect(self._on_named)
        self.value.textEdited.connect(self.changed)
        self.secret_action.triggered.connect(self._on_secret)
        self._show_secrecy()

    def name_value(self) -> NameValue:
        name = self.name.text().strip()
        return NameValue(name, self.value.text(), self.secret_action.isChecked(), self._saved_ref)

    def _on_named(self, name: str) -> None:
        """Treat a new row named like a secret as one, unless the user chose otherwise."""
        if not self._is_chosen:
            self.secret_action.setChecked(is_secret_name(name.strip()))
            self._show_secrecy()
        self.changed.emit()

    def _on_secret(self) -> None:
        self._is_chosen = True
        self._show_secrecy()
        self.changed.emit()

    def _show_secrecy(self) -> None:
        is_secret = self.secret_action.isChecked()
        mode = QLineEdit.EchoMode.Password if is_secret else QLineEdit.EchoMode.Normal
        self.value.setEchoMode(mode)
        is_stored = is_secret and self._saved_ref is not None
        self.value.setPlaceholderText(_STORED if is_stored else "value")


def _can_show(value: JSON) -> bool:
    return (isinstance(value, str) and value.isprintable()) or (
        isinstance(value, dict) and isinstance(value.get("ref"), str)
    )


def _text_of(content: JSON) -> str | None:
    """Return a list as lines; None if it holds anything that is not a single line."""
    if not isinstance(content, list) or content == [""]:
        return None
    lines = [item for item in content if isinstance(item, str) and "\n" not in item]
    if len(lines) < len(content):
        return None
    return "\n".join(lines) + ("\n" if lines and not lines[-1] else "")


def _fits_one_line(text: str) -> bool:
    return text.isprintable() or not text


def _has_foreign_breaks(text: str) -> bool:
    """Return whether `text` has characters that Qt turns into line breaks."""
    return any(mark in text for mark in "\r\0\u2028\u2029")


def _swatch(color: QColor) -> QPixmap:
    pixmap = QPixmap(_SWATCH * 2, _SWATCH * 2)
    pixmap.setDevicePixelRatio(2)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawEllipse(SPACE_1 // 2, SPACE_1 // 2, _SWATCH - SPACE_1, _SWATCH - SPACE_1)
    painter.end()
    return pixmap
