"""One switch for each thing that can be declared, with what a server may do when it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QMouseEvent
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, compact, shorten
from inspector.protocol.declared import SWITCHES, Declared, Switch
from inspector.protocol.revisions import Revision, is_between
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.labels import Muted, PlainLabel

_EXTENSIONS = "extensions"
_MOST_EXTENSIONS = 200


class SwitchRow(QWidget):
    """A check box with a name and a description. A click on the text toggles it too."""

    def __init__(self, theme: Theme, name: str, sentence: str, on_toggled: Callable[[bool], None]) -> None:
        super().__init__()
        self._sentence = sentence
        self.box = QCheckBox()
        self.box.setAccessibleName(f"Declare {shorten(name, 200)}")
        self.box.setAccessibleDescription(sentence)
        self.box.clicked.connect(lambda: on_toggled(self.box.isChecked()))
        self._words = Muted(theme, sentence, wrap=True)
        column = QVBoxLayout()
        column.setSpacing(0)
        column.addWidget(PlainLabel(theme, name, mono=True, elide=Qt.TextElideMode.ElideMiddle))
        column.addWidget(self._words)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, SPACE_1, 0, SPACE_1)
        row.setSpacing(SPACE_2)
        row.addWidget(self.box, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(column, 1)

    def show_state(self, is_on: bool, note: str = "") -> None:
        self.box.setChecked(is_on)
        self._words.setText(f"{self._sentence} {note}".strip())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.box.click()


class SwitchList(QWidget):
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
        self.rows: dict[tuple[str, ...], SwitchRow] = {}
        self.name = QLineEdit()
        self.name.setFont(theme.mono_font(0.95))
        self.name.setPlaceholderText("example.com/name")
        self.name.setAccessibleName("Name of an extension")
        self.name.returnPressed.connect(self.add_extension)
        self.name.textChanged.connect(self._on_name_changed)
        self._add = QAction("Add extension", self)
        self._add.setEnabled(False)
        self._add.triggered.connect(self.add_extension)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._lay_out()

    def show_declared(self, declared: Declared, revision: Revision | None) -> None:
        extensions = declared.whole.get(_EXTENSIONS)
        if isinstance(extensions, dict):
            for name, settings in list(extensions.items())[:_MOST_EXTENSIONS]:
                self._remember(name, settings)
        for switch in SWITCHES:
            self.rows[switch.path].show_state(declared.has(switch.path), _note(switch, revision))
        for name, settings in self._extensions.items():
            words = f"Settings: {shorten(compact(settings), 120)}" if settings != {} else ""
            self.rows[_EXTENSIONS, name].show_state(declared.has((_EXTENSIONS, name)), words)

    def add_extension(self) -> None:
        name = self.name.text().strip()
        if name:
            self.name.clear()
            self.switched.emit((_EXTENSIONS, name), self._extensions.get(name, {}))

    # --------------------------------------------------------------

    def _remember(self, name: str, settings: JSON) -> None:
        path = (_EXTENSIONS, name)
        if any(switch.path == path for switch in SWITCHES):
            return
        self._extensions[name] = settings
        if path not in self.rows:
            on_toggled = partial(self._on_extension_toggled, name)
            row = self.rows[path] = SwitchRow(self._theme, f"{_EXTENSIONS}.{name}", "", on_toggled)
            self._column.insertWidget(self._column.count() - 1, row)

    def _on_name_changed(self, text: str) -> None:
        self._add.setEnabled(bool(text.strip()))

    def _on_toggled(self, switch: Switch, is_on: bool) -> None:
        self.switched.emit(switch.path, switch.value if is_on else None)

    def _on_extension_toggled(self, name: str, is_on: bool) -> None:
        self.switched.emit((_EXTENSIONS, name), self._extensions[name] if is_on else None)

    def _lay_out(self) -> None:
        group = SWITCHES[0].path[0]
        for switch in SWITCHES:
            if switch.path[0] != group:
                group = switch.path[0]
                self._column.addSpacing(SPACE_3)
            row = SwitchRow(self._theme, switch.name, switch.sentence, partial(self._on_toggled, switch))
            self.rows[switch.path] = row
            self._column.addWidget(row)
        adding = QHBoxLayout()
        adding.setContentsMargins(0, SPACE_2, 0, 0)
        adding.setSpacing(SPACE_2)
        adding.addWidget(self.name, 1)
        adding.addWidget(ActionButton(self._add))
        self._column.addLayout(adding)


def _note(switch: Switch, revision: Revision | None) -> str:
    if revision is None or is_between(revision, switch.since, switch.until):
        return ""
    return f"Not in {revision}."
