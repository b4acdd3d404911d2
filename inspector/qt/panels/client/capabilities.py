"""Client capabilities as switches with descriptions, and as the exact JSON that is sent.

The JSON follows the switches until it is edited; edited JSON is declared as it is, after confirmation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QMouseEvent
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from inspector.base.json.values import JSON, JSONObject, compact, shorten
from inspector.protocol.client_capabilities import (
    CAPABILITY_SWITCHES,
    CapabilitySwitch,
    ClientCapabilities,
    notes,
)
from inspector.protocol.revisions import Revision, is_between
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import FormStyle, Heading, MutedLabel, PlainLabel
from inspector.schema.values import FormError

_MAX_NOTES = 3
_EXTENSIONS = "extensions"
_MAX_EXTENSIONS = 200


class CapabilityList(QWidget):
    """The capability switches, and the extensions that were named.

    Signals:
        switched: The user set a member, or removed it with None; carries its path and value.
    """

    switched = Signal(object, object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._revision: Revision | None = None
        self._extensions: dict[str, JSON] = {}  # with their settings, including those now off
        self.rows: dict[tuple[str, ...], CapabilityRow] = {}
        self.name = QLineEdit()
        self.name.setFont(theme.mono_font(0.95))
        self.name.setPlaceholderText("example.com/name")
        self.name.setAccessibleName("Extension name")
        self.name.returnPressed.connect(self.add_extension)
        self.name.textChanged.connect(self._on_name_changed)
        self._add = QAction("Add extension", self)
        self._add.setEnabled(False)
        self._add.triggered.connect(self.add_extension)
        self._column = vbox(self, gap=0)
        self._lay_out()

    def show_declared(self, declared: ClientCapabilities, revision: Revision | None) -> None:
        extensions = declared.members.get(_EXTENSIONS)
        if isinstance(extensions, dict):
            for name, settings in list(extensions.items())[:_MAX_EXTENSIONS]:
                self._add_extension_row(name, settings)
        for switch in CAPABILITY_SWITCHES:
            self.rows[switch.path].show_state(declared.has(switch.path), _note(switch, revision))
        for name, settings in self._extensions.items():
            text = f"Settings: {shorten(compact(settings), 120)}" if settings != {} else ""
            self.rows[_EXTENSIONS, name].show_state(declared.has((_EXTENSIONS, name)), text)

    def add_extension(self) -> None:
        name = self.name.text().strip()
        if name:
            self.name.clear()
            self.switched.emit((_EXTENSIONS, name), self._extensions.get(name, {}))

    def _add_extension_row(self, name: str, settings: JSON) -> None:
        path = (_EXTENSIONS, name)
        if any(switch.path == path for switch in CAPABILITY_SWITCHES):
            return
        self._extensions[name] = settings
        if path not in self.rows:
            on_toggled = partial(self._on_extension_toggled, name)
            row = self.rows[path] = CapabilityRow(self._theme, f"{_EXTENSIONS}.{name}", "", on_toggled)
            self._column.insertWidget(self._column.count() - 1, row)

    def _on_name_changed(self, text: str) -> None:
        self._add.setEnabled(bool(text.strip()))

    def _on_toggled(self, switch: CapabilitySwitch, is_on: bool) -> None:
        self.switched.emit(switch.path, switch.value if is_on else None)

    def _on_extension_toggled(self, name: str, is_on: bool) -> None:
        self.switched.emit((_EXTENSIONS, name), self._extensions[name] if is_on else None)

    def _lay_out(self) -> None:
        group = CAPABILITY_SWITCHES[0].path[0]
        for switch in CAPABILITY_SWITCHES:
            if switch.path[0] != group:
                group = switch.path[0]
                self._column.addSpacing(SPACE_3)
            row = CapabilityRow(
                self._theme, switch.name, switch.description, partial(self._on_toggled, switch)
            )
            self.rows[switch.path] = row
            self._column.addWidget(row)
        add_row = hbox(None, (self.name, 1), ActionButton(self._add), margin=(0, SPACE_2, 0, 0))
        self._column.addLayout(add_row)


class CapabilityRow(QWidget):
    """A check box with a name and a description. A click on the text toggles it too."""

    def __init__(self, theme: Theme, name: str, sentence: str, on_toggled: Callable[[bool], None]) -> None:
        super().__init__()
        self._sentence = sentence
        self.box = QCheckBox()
        self.box.setAccessibleName(f"Declare {shorten(name, 200)}")
        self.box.setAccessibleDescription(sentence)
        self.box.clicked.connect(lambda: on_toggled(self.box.isChecked()))
        self._label = MutedLabel(theme, sentence, wrap=True)
        column = vbox(
            None, PlainLabel(theme, name, mono=True, elide=Qt.TextElideMode.ElideMiddle), self._label, gap=0
        )
        hbox(self, (self.box, 0, Qt.AlignmentFlag.AlignTop), (column, 1), margin=(0, SPACE_1))

    def show_state(self, is_on: bool, note: str = "") -> None:
        self.box.setChecked(is_on)
        self._label.setText(f"{self._sentence} {note}".strip())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.box.click()


def _note(switch: CapabilitySwitch, revision: Revision | None) -> str:
    if revision is None or is_between(revision, switch.since, switch.until):
        return ""
    return f"Not available in {revision}."


class ExactCapabilities(QWidget):
    """The client capabilities as JSON.

    Follows the switches until edited. An edit waits for confirmation and stays until it is declared.

    Signals:
        apply_requested: The user wants exactly this declared; carries the object.
        edited: `is_edited` may have changed.
    """

    apply_requested = Signal(object)
    edited = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: JSONObject = {}
        self._revision: Revision | None = None
        self._pending: tuple[str, JSONObject] | None = None  # the text to declare, and its value
        self.is_edited = False
        self._when_label = MutedLabel(theme, wrap=True)
        self._edited_badge = Badge(theme, tone="accent")
        self.text = JsonTextView(FormStyle.of(theme), "Capabilities")
        self.text.text_changed.connect(self._on_text_changed)
        self.text.text_read.connect(self._show_notes)
        self._notes = PlainLabel(theme, tone="warn", wrap=True)
        self.apply_action = QAction("Apply", self)
        self.apply_action.triggered.connect(self._on_apply)
        self.discard_action = QAction("Discard", self)
        self.discard_action.triggered.connect(self._on_discard)
        self._lay_out(theme)
        self._show_edited()

    def show_declared(self, declared: ClientCapabilities, revision: Revision | None, when: str) -> None:
        """Show what is declared; `when` says when it is sent to the server. Edits in progress stay."""
        self._revision = revision
        self._when_label.setText(when)
        self._edited_badge.set_text("edited as JSON" if declared.is_exact else "")
        capabilities, previous = declared.capabilities(revision), self._shown
        self._shown = capabilities  # also what discarding restores
        if declared.is_exact and self._pending == (self.text.text(), capabilities):
            self._end_editing()
        elif not self.is_edited and capabilities != previous:
            self.text.set_value(capabilities)
        self._show_notes()

    def _on_text_changed(self) -> None:
        self.is_edited = True
        self._show_edited()
        self.edited.emit()

    def _on_apply(self) -> None:
        try:
            capabilities = self.text.read_object()
        except FormError:
            return  # shown below the text
        self._pending = (self.text.text(), capabilities)
        self.apply_requested.emit(capabilities)

    def _on_discard(self) -> None:
        self.text.set_value(self._shown)
        self._end_editing()
        self._show_notes()

    def _end_editing(self) -> None:
        self._pending = None
        self.is_edited = False
        self._show_edited()
        self.edited.emit()

    def _show_edited(self) -> None:
        for action in (self.apply_action, self.discard_action):
            action.setEnabled(self.is_edited)

    def _show_notes(self) -> None:
        try:
            warnings = notes(self.text.read_object(), self._revision)
        except FormError:
            warnings = ()
        more = f" And {len(warnings) - _MAX_NOTES} more." if len(warnings) > _MAX_NOTES else ""
        self._notes.setText(" ".join(warnings[:_MAX_NOTES]) + more)
        self._notes.setVisible(bool(warnings))

    def _lay_out(self, theme: Theme) -> None:
        head = hbox(
            None,
            Heading(theme, "As JSON"),
            self._edited_badge,
            STRETCH,
            ActionButton(self.discard_action),
            ActionButton(self.apply_action, "primary"),
        )
        inner = vbox(None, head, self._when_label, margin=(SPACE_3, SPACE_4, SPACE_3, 0))
        below = vbox(None, self._notes, gap=-1, margin=(SPACE_3, 0, SPACE_3, SPACE_4))
        vbox(self, inner, (self.text, 1), below, gap=0)
