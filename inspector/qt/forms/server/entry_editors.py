"""Fields and editors of a server entry: environment, color, and rows of names and values.

The rows hold environment variables or headers. A secret value goes to the secret store; the draft holds
only a reference to it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QWidget

from inspector.base.environment import inherited_variables
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.redaction import is_secret_name
from inspector.base.units import plural
from inspector.config.secrets.records import make_name
from inspector.config.servers.entry_fields import EntryField, transport_of
from inspector.qt.forms.schema.plain_editors import (
    Hint,
    PlainChoice,
    PlainEditor,
    PlainFile,
    PlainFolder,
    PlainSeconds,
    PlainSwitch,
    Row,
    choice,
)
from inspector.qt.models.servers import SERVER_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, Theme
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel
from inspector.schema.fields import BooleanField, Field, ListField, ObjectField, TextField
from inspector.schema.values import ABSENT, Draft

_LINES = {"lines": 4, "text": 8}
_SWATCH = 12
_STORED = "in the secret store; type to replace it"
_NAME, _VALUE = 2, 3  # width ratio


def form_field(entry_field: EntryField, server: str) -> Row:
    """Return the form field of a member; secrets are named after `server`."""
    kind = entry_field.kind
    texts: dict[str, Any] = {"title": entry_field.label, "description": entry_field.description}
    field: Field
    match kind:
        case "switch" | "environment":
            field = BooleanField(**texts)
        case "choice" | "color":
            field, _ = choice(
                entry_field.label, dict(entry_field.choices), description=entry_field.description
            )
        case "lines":
            field = ListField(**texts, item=TextField())
        case "named":
            field = ObjectField(**texts)
        case _:
            field = TextField(**texts, multiline=kind == "text")
    editors: dict[str, Any] = {
        "file": PlainFile,
        "folder": PlainFolder,
        "seconds": PlainSeconds,
        "environment": EnvironmentEditor,
        "color": ColorEditor,
        "named": partial(
            NameValueEditor, server=server, kind="env" if entry_field.member == "env" else "header"
        ),
    }
    return field, Hint(
        editors.get(kind),
        "default" if kind == "seconds" else entry_field.hint,
        page=entry_field.page,
        lines=_LINES.get(kind, 1),
        is_mono=kind in ("code", "file", "folder"),
        shown_if=lambda draft: transport_of(draft) in entry_field.transports,
    )


class EnvironmentEditor(PlainSwitch):
    """A switch between the standard and all environment variables, with the names of those passed."""

    def make_widget(self) -> QWidget:
        box = super().make_widget()
        self._heading = MutedLabel(self.theme)
        self.names = PlainLabel(self.theme, mono=True, wrap=True, selectable=True)
        self.names.setAccessibleName("Environment variables passed to the program")
        holder = QWidget()
        vbox(holder, box, self._heading, self.names, gap=SPACE_1)
        holder.setFocusProxy(box)
        self.box.toggled.connect(self._show_names)
        self._show_names()
        return holder

    def _show_names(self) -> None:
        is_whole = self.box.isChecked()
        names = sorted(inherited_variables(os.environ, whole=is_whole))
        kind = "variable" if is_whole else "standard variable"
        self._heading.setText(f"Passed from your environment: {plural(len(names), kind)}")
        self.names.setText(one_line(", ".join(names)))


class ColorEditor(PlainChoice):
    """A choice of colors, with a swatch each."""

    def make_widget(self) -> QWidget:
        box = super().make_widget()
        _Swatches(self.box, self.theme, [str(value) for value in self.choices])
        return box


class _Swatches(QObject):
    """Paints the colors of a drop-down, and again when the theme changes."""

    def __init__(self, box: QComboBox, theme: Theme, colors: Sequence[str]) -> None:
        super().__init__(box)  # disconnected with it
        self._box, self._theme, self._colors = box, theme, colors
        box.setIconSize(QSize(_SWATCH, _SWATCH))
        theme.changed.connect(self._paint)
        self._paint()

    def _paint(self) -> None:
        for row, value in enumerate(self._colors):
            color = self._theme.color(SERVER_TONES[value]) if value else QColor(0, 0, 0, 0)
            self._box.setItemIcon(row, QIcon(_swatch(color)))


@dataclass(frozen=True, slots=True)
class NameValue:
    """A row's state. `saved_ref` is the draft's reference, `value` what replaces it."""

    name: str
    value: str
    is_secret: bool
    saved_ref: JSONObject | None = None


class NameValueEditor(PlainEditor):
    """An editor with one row per named value.

    A secret goes into the secret store under a name derived from `server` and `kind`, and only that name
    into the draft.
    """

    def __init__(self, *args: Any, server: str, kind: str) -> None:
        self._server, self._kind = server, kind
        self._noun = "environment variable" if kind == "env" else "header"
        self.rows: list[NameValueRow] = []
        super().__init__(*args)

    def make_widget(self) -> QWidget:
        widget = QWidget()
        self.add_action = QAction(f"Add {self._noun}", widget)
        self.theme.set_icon(self.add_action, "plus")
        self.add_action.triggered.connect(self._on_add)
        self._empty_label = MutedLabel(self.theme, f"No {self._noun}s.")
        foot = hbox(None, ActionButton(self.add_action), STRETCH, gap=-1)
        self._column = vbox(widget, self._empty_label, foot, gap=SPACE_1)
        return widget

    def draft(self) -> Draft:
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

    def set_draft(self, draft: Draft) -> bool:
        content: JSON = {} if draft is ABSENT else draft  # type: ignore[assignment]
        if not isinstance(content, dict) or not all(_can_show(value) for value in content.values()):
            return False
        if content != self.draft():
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
        row = NameValueRow(self.theme, self._noun, item)
        self.rows.append(row)
        self._column.insertWidget(len(self.rows), row)
        row.changed.connect(self.on_change)
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
        self.on_change()


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
        self.name.setFont(theme.mono_font(0.95))
        self.name.setAccessibleName(f"Name of the {noun}")
        self.value = QLineEdit(item.value)
        self.value.setFont(theme.mono_font(0.95))
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
