"""List of the servers found in pasted text, each with all its effects and a check box.

Shows the complete command or URL of a server, with fields for what the text leaves open.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QFrame, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from inspector.base.errors import ConfigError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line, visible
from inspector.base.units import plural
from inspector.config.foreign.discovery import DiscoveredServer, InputSpec
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_diff import flattened, masked
from inspector.config.servers.placeholders import input_secret, moved_to_store, names_in, plain_secrets_of
from inspector.config.servers.server_list import write_entry
from inspector.config.servers.trust import warnings_for
from inspector.engine.servers.inspection import size_problem
from inspector.qt.forms.server.input_fields import InputFields
from inspector.qt.models.discovered_servers import arguments_text
from inspector.qt.theme import SPACE_2, SPACE_4, Theme
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel
from inspector.qt.widgets.text.long_text import FullText

_SLICE = 4  # servers shown per step: a file may hold hundreds
_SHOWN_ELSEWHERE = ("type", "command", "args", "url")
_MAX_ROWS, _MAX_ROW_LENGTH = 20, 500
_CONFIG_SUFFIXES = (".json", ".jsonc", ".toml")


class PastedList(QScrollArea):
    """The servers found in pasted text. `servers` are those already shown; more follow shortly.

    Signals:
        changed: More servers were shown, or the user checked or typed something.
        laid_out: The content may need another height.
    """

    changed = Signal()
    laid_out = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._found: tuple[DiscoveredServer, ...] = ()
        self._used_names: Collection[str] = ()
        self._is_typed = True
        self.servers: list[PastedServer] = []
        self._inside = QWidget()
        self._column = vbox(self._inside, STRETCH, gap=SPACE_4, margin=(0, 0, SPACE_2, 0))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidget(self._inside)
        self._inside.installEventFilter(self)
        self._more = QTimer(self, interval=0)
        self._more.timeout.connect(self._show_more)

    @property
    def is_complete(self) -> bool:
        """True once all servers are shown."""
        return len(self.servers) == len(self._found)

    def chosen(self) -> list[PastedServer]:
        return [server for server in self.servers if server.is_chosen]

    def show_servers(
        self, found: tuple[DiscoveredServer, ...], used_names: Collection[str], *, is_typed: bool
    ) -> None:
        """Replace the servers; `used_names` are not suggested."""
        self._found, self._used_names, self._is_typed = found, used_names, is_typed
        for extra in self.servers[len(found) :]:
            discard(extra)
        del self.servers[len(found) :]
        self._show_some(0)

    def wanted_height(self, width: int) -> int:
        """Return the height at which nothing has to scroll, for this width."""
        if not self.servers:
            return 0
        self._column.activate()
        by_width = self._column.totalHeightForWidth(width)
        return max(by_width, self._column.totalMinimumSize().height())

    def read(self, *, with_inputs: bool) -> list[tuple[Entry, dict[str, str]]]:
        """Return the checked servers with their secrets.

        Raises ConfigError, also for a missing input value.
        """
        chosen: list[tuple[Entry, dict[str, str]]] = []
        for server in self.chosen():
            missing = server.missing() if with_inputs else None
            if missing is not None:
                what = shorten(one_line(missing.description or missing.id), 200)
                raise ConfigError(
                    f"{server.quoted_name()} needs a value: {what}.",
                    "Enter it, or add the server without connecting.",
                )
            entry, secrets = server.read()
            if entry.name in [each.name for each, _ in chosen]:
                text = f"Two servers are named {server.quoted_name()}."
                raise ConfigError(text, "Rename one of them.")
            chosen.append((entry, secrets))
        return chosen

    def uncheck(self, names: Sequence[str]) -> None:
        for server in self.servers:
            if server.shown_name() in names:
                server.check_box.setChecked(False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._inside and event.type() is QEvent.Type.LayoutRequest:
            self.laid_out.emit()
        return super().eventFilter(watched, event)

    def _show_more(self) -> None:
        self._show_some(len(self.servers))
        self.changed.emit()

    def _show_some(self, start: int) -> None:
        end = min(max(start + _SLICE, len(self.servers)), len(self._found))
        names = {*self._used_names, *(server.suggested for server in self.servers[:start])}
        for position in range(start, end):
            if position == len(self.servers):
                self._add_server()
            suggested = _unique_name(self._found[position].name, names)
            names.add(suggested)
            self.servers[position].show_server(
                self._found[position],
                suggested,
                is_single=len(self._found) == 1,
                is_typed=self._is_typed,
            )
        if end < len(self._found):
            self._more.start()
        else:
            self._more.stop()

    def _add_server(self) -> None:
        server = PastedServer(self._theme)
        server.changed.connect(self.changed)
        self.servers.append(server)
        self._column.insertWidget(len(self.servers) - 1, server)
        server.show()


def dropped_config_files(data: QMimeData) -> list[Path]:
    """Return the dropped files that may contain servers, by their names."""
    paths = [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    return [path for path in paths if path.suffix.lower() in _CONFIG_SUFFIXES]


def _unique_name(name: str, used_names: Collection[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    if name not in used_names:
        return name
    return next(
        each for number in range(2, len(used_names) + 3) if (each := f"{name} {number}") not in used_names
    )


class PastedServer(QWidget):
    """One server found in pasted text.

    `name` is empty while the suggested name is used. What was typed into it stays when the text is parsed
    again.

    Signals:
        changed: The user checked it or typed something.
    """

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.found: DiscoveredServer | None = None
        self._is_typed = True
        self.suggested = ""
        self.check_box = QCheckBox()
        self.check_box.setChecked(True)
        self.name = QLineEdit()
        self.name.setAccessibleName("Name")
        self.inputs: InputFields | None = None
        self.store_box: QCheckBox | None = None
        self._badge = Badge(theme, "", parent=self)
        self._label = MutedLabel(theme, "Name")
        self._inside = QWidget()
        head = hbox(None, self.check_box, self._label, (self.name, 1), self._badge)
        self._column = vbox(self, head, self._inside)
        self.check_box.toggled.connect(self.changed)
        self.name.textEdited.connect(self.changed)

    @property
    def entry(self) -> Entry | None:
        return self.found.entry if self.found is not None else None

    @property
    def is_chosen(self) -> bool:
        return self.check_box.isChecked() and self.entry is not None

    def shown_name(self) -> str:
        """Return the typed name, or the suggested one."""
        return self.name.text().strip() or self.suggested

    def quoted_name(self) -> str:
        """Return the name quoted, for messages."""
        return f"“{shorten(one_line(self.shown_name()), 80)}”"

    def show_server(
        self, found: DiscoveredServer, suggested: str, *, is_single: bool, is_typed: bool
    ) -> None:
        """Show a server; `suggested` is its default name.

        A typed command needs no explanation; for others, the less obvious settings are listed.
        """
        self.suggested = suggested
        self.name.setPlaceholderText(shorten(one_line(suggested), 200))
        self.check_box.setVisible(not is_single)
        self._label.setVisible(is_single)
        self.check_box.setAccessibleName(f"Add {shorten(one_line(suggested), 200)}")
        if found.entry is not None and (problem := size_problem(found.entry)):
            found = replace(found, entry=None, problem=problem)
        if (found, is_typed) == (self.found, self._is_typed):
            return
        self.found, self._is_typed = found, is_typed
        self.check_box.setEnabled(found.entry is not None)
        self.check_box.setChecked(found.entry is not None)
        self.name.setEnabled(found.entry is not None)
        self._badge.setVisible(found.entry is not None)
        self._badge.set_text(found.entry.transport if found.entry is not None else "")
        self._show(found)

    def missing(self) -> InputSpec | None:
        """Return the first input without a value."""
        values = self.inputs.values() if self.inputs is not None else {}
        return next((each for each in self._required_inputs() if each.id not in values), None)

    def read(self) -> tuple[Entry, dict[str, str]]:
        """Return the entry and the secrets it refers to, by name. Raises ConfigError."""
        entry = self.entry
        if entry is None:
            raise ConfigError(self.found.problem if self.found is not None else "No command or URL entered.")
        entry = replace(entry, name=self.shown_name())
        values = self.inputs.values() if self.inputs is not None else {}
        secrets = {input_secret(entry.name, id): value for id, value in values.items()}
        if self.moves_secrets:
            entry, moved = moved_to_store(entry, plain_secrets_of(entry))
            secrets |= moved
        return entry, secrets

    @property
    def moves_secrets(self) -> bool:
        """True if its plain-text secrets are to be moved to the store."""
        return self.store_box is not None and self.store_box.isChecked()

    def _required_inputs(self) -> tuple[InputSpec, ...]:
        """Return the inputs it uses, whether or not they are described."""
        if self.found is None or self.found.entry is None:
            return ()
        known = {each.id: each for each in self.found.inputs}
        return tuple(known.get(id, InputSpec(id)) for id in names_in(self.found.entry).inputs)

    def _show(self, found: DiscoveredServer) -> None:
        self.inputs, self.store_box = None, None
        inside = QWidget()
        column = vbox(inside)
        if found.problem:
            position = f"Line {found.line}: " if found.line else ""
            text = f"{position}{visible(found.problem)}"
            column.addWidget(PlainLabel(self._theme, text, tone="error", wrap=True, selectable=True))
        if found.entry is not None:
            for warning in () if self._is_typed else warnings_for(found.entry):
                column.addWidget(PlainLabel(self._theme, visible(warning), tone="warn", wrap=True))
            self._add_entry(column, found.entry)
        for note in found.notes:
            column.addWidget(MutedLabel(self._theme, visible(note), wrap=True))
        self._column.replaceWidget(self._inside, inside)
        self._inside.hide()
        self._inside.deleteLater()
        self._inside = inside
        inside.show()

    def _add_entry(self, column: QVBoxLayout, entry: Entry) -> None:
        column.addWidget(self._summary(entry))
        self._add_settings(column, entry)
        if required := self._required_inputs():
            self.inputs = InputFields(self._theme, required)
            column.addWidget(self.inputs)
        if plain := plain_secrets_of(entry):
            self.store_box = QCheckBox(f"Save {plural(len(plain), 'secret')} in the secret store")
            self.store_box.setChecked(True)
            column.addWidget(self.store_box)
            column.addWidget(MutedLabel(self._theme, shorten(one_line(", ".join(plain)), 300), wrap=True))

    def _add_settings(self, column: QVBoxLayout, entry: Entry) -> None:
        """Show all settings: in rows if they are few, else as text."""
        content = {name: value for name, value in write_entry(entry).items() if name not in _SHOWN_ELSEWHERE}
        rows = [(position, text) for position, text in flattened(masked(content)) if position]
        names = names_in(entry)
        if resolved := [f"${{{name}}}" for name in (*names.variables, *names.known)]:
            rows.append(("Resolved variables", ", ".join(resolved)))
        if len(rows) > _MAX_ROWS or any(len(text) > _MAX_ROW_LENGTH for row in rows for text in row):
            text = arguments_text([f"{position} = {text}" for position, text in rows])
            column.addWidget(FullText(self._theme, text, "Settings"))
        elif rows:
            facts = [Fact(one_line(position), visible(text), mono=True) for position, text in rows]
            column.addWidget(KeyValueList(self._theme, facts))

    def _summary(self, entry: Entry) -> FullText:
        if isinstance(entry, StdioEntry):
            count = len(entry.args)
            name = f"Runs this command, with {plural(count, 'argument')}" if count else "Runs this command"
            return FullText(self._theme, arguments_text((entry.command, *entry.args)), name)
        return FullText(self._theme, arguments_text([entry.url]), "Connects to")
