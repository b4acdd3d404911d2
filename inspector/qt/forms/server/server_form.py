"""Form for all settings of a server, in pages, or as the JSON of the server list.

Both views edit one draft; members without a field are kept in it.
"""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.config.servers.entries import Entry
from inspector.config.servers.entry_fields import (
    FIELDS,
    Transport,
    content_of,
    field_at,
    pages_of,
    transport_of,
    with_content,
)
from inspector.config.servers.server_list import read_entry
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.forms.schema.plain_editors import PlainEditor
from inspector.qt.forms.schema.plain_form import PlainForm
from inspector.qt.forms.server.entry_editors import NameValueEditor, form_field
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import Segments
from inspector.qt.widgets.item_views import style_list
from inspector.qt.widgets.layout import hbox
from inspector.qt.widgets.text.labels import FormStyle
from inspector.schema.values import Draft, FormError

JSON_PAGE = "JSON"
_PAGES_WIDTH = 130
_COMMAND, _URL = "Command", "URL"
_SWITCH_LABELS = (_COMMAND, _URL)
_MEMBERS_OF = {
    _COMMAND: ("command", "args", "env", "inheritEnvironment", "cwd", "watch"),
    _URL: ("url", "type", "headers", "network", "auth"),
}


class EntryForm(PlainForm):
    """The fields of a server entry, in pages; those of other transports are hidden."""

    def __init__(self, server: str, theme: Theme) -> None:
        self._entry_fields = {field.member: field for field in FIELDS}
        super().__init__(theme, {field.member: form_field(field, server) for field in FIELDS})
        self.layout().setContentsMargins(0, 0, SPACE_2, 0)  # type: ignore[union-attr]

    def content_of(self, value: JSONObject, name: str) -> JSON:
        return content_of(value, self._entry_fields[name])

    def with_content(self, value: JSONObject, name: str, content: Draft) -> JSONObject:
        return with_content(value, self._entry_fields[name], content)  # type: ignore[arg-type]


class ServerForm(QWidget):
    """The form of a server's settings.

    `draft` is the server as saved; its secrets are named after `server`. `transport_switch` selects the
    transport and is placed by the owner.

    Signals:
        edited: The draft changed.
    """

    edited = Signal()

    def __init__(self, server: str, draft: JSONObject, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.draft = draft
        self._server = server
        self._are_fields_outdated = False  # the fields lag behind the text
        self._is_text_invalid = False  # the text is invalid
        self._other_settings: JSONObject = {}  # of the other transport, restored when switching back
        self.transport_switch = Segments(theme, _SWITCH_LABELS)
        self.transport_switch.setAccessibleName("Transport")
        self.pages = QListWidget()
        self.pages.setAccessibleName("Pages")
        self.pages.setFixedWidth(_PAGES_WIDTH)
        style_list(self.pages, theme)
        self._stack = QStackedWidget()
        self.text = JsonTextView(FormStyle.of(theme), "Server")
        self.fields = EntryForm(server, theme)
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self.fields)
        self._stack.addWidget(self._scroll)
        self._stack.addWidget(self.text)
        hbox(self, self.pages, (self._stack, 1), gap=SPACE_3)
        self._show_draft()
        self.transport_switch.chosen.connect(self._on_transport_chosen)
        self.pages.currentRowChanged.connect(self._on_page)
        self.fields.value_changed.connect(self._on_changed)
        self.text.text_changed.connect(self._on_text)

    def read(self, name: str) -> Entry:
        """Return the server entry of the draft. Raises ConfigError."""
        if self.is_json_shown or self._is_text_invalid:  # also on another page: nothing typed is dropped
            self._read_text()
        self._update_fields()
        entry = read_entry(name, self.draft)
        for editor in self._name_value_editors():
            if missing := editor.without_value():
                raise ConfigError(
                    f"{plural(len(missing), 'secret')} without a value: {one_line(', '.join(missing))}.",
                    "Enter the value, or turn off the key icon to save it as plain text.",
                )
            if emptied := editor.emptied():
                raise ConfigError(
                    f"The stored value of {one_line(', '.join(emptied))} would be deleted.",
                    "Enter the value, turn the key icon back on, or remove the row.",
                )
        return entry

    def secrets(self) -> dict[str, str]:
        """Return the secrets to store, by their names in the store."""
        self._update_fields()
        return {
            ref: value for editor in self._name_value_editors() for ref, value in editor.secrets().items()
        }

    def show_page(self, page: str) -> None:
        """Show one of the `pages_of` the transport, or "JSON"."""
        titles = [self.pages.item(row).text() for row in range(self.pages.count())]
        self.pages.setCurrentRow(titles.index(page) if page in titles else 0)

    def go_to(self, position: str) -> None:
        """Bring the field named by an error to the front, unless the JSON text is shown."""
        field = field_at(position, self._transport)
        if field is not None and not self.is_json_shown:
            self.show_page(field.page)
            self.fields.editor(field.member, PlainEditor).set_focus()

    @property
    def is_json_shown(self) -> bool:
        return self.pages.currentRow() == self.pages.count() - 1

    @property
    def _transport(self) -> Transport:
        return transport_of(self.draft)

    def _name_value_editors(self) -> list[NameValueEditor]:
        shown = (name for name in ("env", "headers") if self.fields.is_shown(name))
        return [self.fields.editor(name, NameValueEditor) for name in shown]

    def _read_text(self) -> None:
        try:
            self.draft = self.text.read_object()
        except FormError as exc:
            self.show_page(JSON_PAGE)
            raise ConfigError("Invalid JSON.", str(exc)) from exc

    def _show_pages(self) -> None:
        """List the pages of the transport, keeping the current one if it has it."""
        before = [self.pages.item(row).text() for row in range(self.pages.count())]
        titles = [*pages_of(self._transport), JSON_PAGE]
        if titles != before:
            current = before[self.pages.currentRow()] if before else ""
            with QSignalBlocker(self.pages):
                self.pages.clear()
                self.pages.addItems(titles)
                self.show_page(current)
            self._show_current_page()

    def _show_current_page(self) -> None:
        self.fields.show_page(self.pages.currentItem().text())
        self._scroll.verticalScrollBar().setValue(0)
        self._stack.setCurrentWidget(self.text if self.is_json_shown else self._scroll)

    def _show_draft(self) -> None:
        self._show_fields()
        self._show_text()

    def _show_text(self) -> None:
        self._is_text_invalid = False
        self.text.set_value(self.draft)

    def _show_fields(self) -> None:
        self._are_fields_outdated = False
        self.transport_switch.choose(_SWITCH_LABELS.index(_COMMAND if self._transport == "stdio" else _URL))
        self.fields.set_value(self.draft)
        self._show_pages()

    def _on_changed(self) -> None:
        self.draft = self.fields.value()
        self._show_pages()  # the URL may have become a WebSocket URL, or stopped being one
        self._show_text()
        self.edited.emit()

    def _on_text(self) -> None:
        transport = self._transport
        try:
            self.draft = self.text.read_object()
        except FormError:
            self._is_text_invalid = True
            self.edited.emit()
            return  # shown below the text, and raised by `read`
        self._is_text_invalid = False
        self._are_fields_outdated = True  # two hundred rows would be rebuilt on each key press
        if self._transport != transport:
            self._show_fields()
        self.edited.emit()

    def _on_page(self, row: int) -> None:
        self._update_fields()
        self._show_current_page()

    def _update_fields(self) -> None:
        """Update the fields from the edited text."""
        if self._are_fields_outdated:
            self._show_fields()

    def _on_transport_chosen(self, index: int) -> None:
        chosen, other = _SWITCH_LABELS[index], _SWITCH_LABELS[1 - index]
        removed = {member: self.draft[member] for member in _MEMBERS_OF[other] if member in self.draft}
        rest = {member: value for member, value in self.draft.items() if member not in removed}
        restored = {
            member: value for member, value in self._other_settings.items() if member in _MEMBERS_OF[chosen]
        }
        first: JSONObject = {"command": ""} if chosen == _COMMAND else {"url": ""}
        self.draft = {**first, **restored, **rest}
        self._other_settings = removed
        self._show_draft()
        self.edited.emit()
