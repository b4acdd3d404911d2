"""Review page of one discovered server: everything needed to decide about it, in full."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line, visible, visible_line
from inspector.config.foreign.discovery import DiscoveredFile
from inspector.config.servers.entry_diff import FieldChange
from inspector.engine.servers.views import DiscoveredServerView, Trust
from inspector.qt.forms.server.input_fields import InputFields
from inspector.qt.models.discovered_servers import TONES, action_text, command_text, location_text, order_text
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.qt.widgets.text.long_text import FullText

_MAX_WIDTH = 900
_MAX_LENGTH = 20_000
_MAX_NAME_LENGTH = 200
# Larger or more demanding servers can be neither trusted nor imported (`engine.servers.inspection`).
_MAX_SHOWN = 300_000
_MAX_FIELDS = 100
_ABSENT = "not present"
_MAX_ROWS = 40  # more of a kind are shown as text, which is complete and fast
_SHOWN_ELSEWHERE = re.compile(r"(?:file|folder|name|command|args|url|cwd|program|env|headers)(?:$|[.\[])")


class ReviewPage(QWidget):
    """Shows what a discovered server would do, with the buttons always visible below.

    `variables` and `inputs` are the fields for what it would be given.

    Signals:
        trust_requested: The user trusts what is shown; carries the view.
        import_requested: The user wants a copy in the server list; carries the view.
        check_requested: Check it without starting it; carries the view.
        distrust_requested: Stop trusting it; carries the view.
        server_requested: Show its entry in the server list; carries that name.
    """

    trust_requested = Signal(object)
    import_requested = Signal(object)
    check_requested = Signal(object)
    distrust_requested = Signal(object)
    server_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.view: DiscoveredServerView | None = None
        self.variables: dict[str, QCheckBox] = {}
        self.inputs: dict[str, QLineEdit | QComboBox] = {}
        self._input_fields: InputFields | None = None
        self.trust_action = self._action("Trust and connect", lambda view: self.trust_requested.emit(view))
        self.import_action = self._action("Import a copy", lambda view: self.import_requested.emit(view))
        self.import_action.setToolTip("Add a copy to your server list; the file is not changed")
        self.check_action = self._action(
            "Check without starting", lambda view: self.check_requested.emit(view)
        )
        self.check_action.setToolTip(
            "Check whether the server could start, without starting or contacting it"
        )
        self.distrust_action = self._action("Stop trusting", lambda view: self.distrust_requested.emit(view))
        self.show_action = self._action("Show server", lambda view: self.server_requested.emit(view.server))
        self._scroll = QScrollArea()
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._buttons = QWidget()
        self._trust_button = ActionButton(self.trust_action)
        self._show_button = ActionButton(self.show_action)
        self._distrust_button = ActionButton(self.distrust_action)
        self._import_button = ActionButton(self.import_action)
        self._check_button = ActionButton(self.check_action)
        self._lay_out()

    def input_values(self) -> dict[str, str]:
        """Return what was typed for its inputs."""
        return self._input_fields.values() if self._input_fields is not None else {}

    def selected_variables(self) -> list[str]:
        """Return the environment variables it may have."""
        return [name for name, box in self.variables.items() if box.isChecked()]

    def show_file(self, file: DiscoveredFile) -> None:
        self.view = None
        self._buttons.hide()
        page, column = self._new_page()
        column.addWidget(Heading(self._theme, one_line(file.source.tool)))
        column.addWidget(self._text(str(file.source.path or ""), mono=True))
        if file.problem:
            column.addWidget(
                PlainLabel(self._theme, visible(file.problem), tone="error", wrap=True, selectable=True)
            )
        for note in file.notes:
            column.addWidget(self._text(visible(note)))
        message = "Read-only: MCP Lens never writes to other clients' files."
        column.addWidget(MutedLabel(self._theme, message, wrap=True))
        self._show_page(page, column)

    def show_server(self, view: DiscoveredServerView) -> None:
        """Show a server. Does nothing if it is already shown, so that input stays."""
        if view == self.view:
            return
        self.view = view
        page, column = self._new_page()
        column.addLayout(self._head(view))
        column.addWidget(
            self._text(f"{location_text(view.source)}{f', line {view.line}' if view.line else ''}")
        )
        if message := order_text(view):
            column.addWidget(self._text(message))
        if view.problem:
            column.addWidget(
                PlainLabel(self._theme, visible(view.problem), tone="error", wrap=True, selectable=True)
            )
        for warning in view.cautions:
            column.addWidget(PlainLabel(self._theme, warning, tone="warn", wrap=True, selectable=True))
        self._add_changes(column, view)
        self._add_target(column, view)
        self._add_settings(column, view)
        self._add_environment(column, view)
        self._add_variables(column, view)
        self._add_inputs(column, view)
        for note in view.notes:
            column.addWidget(self._text(visible(note)))
        self._show_page(page, column)
        self._show_buttons(view)

    def _new_page(self) -> tuple[QWidget, QVBoxLayout]:
        """Create a new page, which `_show_page` puts in place of the old one."""
        self.variables, self.inputs, self._input_fields = {}, {}, None
        page = QWidget()
        page.setMaximumWidth(_MAX_WIDTH)
        return page, vbox(page, margin=SPACE_4)

    def _show_page(self, page: QWidget, column: QVBoxLayout) -> None:
        column.addStretch(1)
        self._scroll.setWidget(page)
        page.show()

    def _head(self, view: DiscoveredServerView) -> QHBoxLayout:
        return hbox(
            None,
            Heading(self._theme, shorten(one_line(view.name), _MAX_NAME_LENGTH)),
            Badge(self._theme, view.trust.value, TONES[view.trust], parent=self),
            Badge(self._theme, view.transport, parent=self),
            STRETCH,
        )

    def _add_changes(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        if not view.changes:
            return
        message = "Changes since you trusted it"
        if len(view.changes) > _MAX_ROWS:
            self._add_lines(column, message, [_change_line(change) for change in view.changes])
            return
        column.addWidget(Heading(self._theme, message))
        facts: list[Fact] = []
        for change in view.changes:
            before, after = (
                _ABSENT if text is None else shorten(visible(text), _MAX_LENGTH)
                for text in (change.before, change.after)
            )
            facts.append(Fact(shorten(one_line(change.field), 200), before, mono=True, tone="muted"))
            facts.append(Fact("now", after, mono=True, tone="warn"))
        column.addWidget(KeyValueList(self._theme, facts))

    def _add_target(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        if not view.command and not view.url:
            return
        column.addWidget(Heading(self._theme, action_text(view)))
        text = visible_line(view.url) if view.url else command_text(view)
        column.addWidget(FullText(self._theme, shorten(text, _MAX_SHOWN), action_text(view)))

    def _add_settings(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        digest = dict(view.facts).get("program.sha256", "")
        others = [(position, text) for position, text in view.facts if not _SHOWN_ELSEWHERE.match(position)]
        facts = [
            Fact("Program", visible(view.program), mono=True) if view.program else None,
            Fact("SHA-256", digest, mono=True) if digest else None,
            Fact("Working directory", visible(view.folder or view.cwd), mono=True) if view.command else None,
            Fact("Predefined variables", one_line(", ".join(view.other_names)), mono=True)
            if view.other_names
            else None,
            *(Fact(one_line(position), visible(text), mono=True) for position, text in others[:_MAX_ROWS]),
        ]
        column.addWidget(KeyValueList(self._theme, [fact for fact in facts if fact is not None]))
        if len(others) > _MAX_ROWS:
            self._add_lines(column, "All settings", [f"{position} = {text}" for position, text in others])
        if view.scripts:
            self._add_lines(column, "Script files in the arguments", view.scripts)

    def _add_environment(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        """Add environment variables and headers as text: the last matters as much as the first."""
        for member, message in (("env.", "Environment variables"), ("headers.", "Headers")):
            pairs = [(position, text) for position, text in view.facts if position.startswith(member)]
            if lines := [f"{position.removeprefix(member)} = {text}" for position, text in pairs]:
                self._add_lines(column, message, lines)

    def _add_lines(self, column: QVBoxLayout, message: str, lines: Sequence[str]) -> None:
        count = f" ({len(lines)})" if len(lines) > 1 else ""
        column.addWidget(Heading(self._theme, f"{message}{count}"))
        text = shorten("\n".join(map(visible_line, lines)), _MAX_SHOWN)
        column.addWidget(FullText(self._theme, text, message))

    def _add_variables(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        if not view.variables:
            return
        column.addWidget(Heading(self._theme, "Referenced environment variables"))
        message = (
            "Only the selected variables are passed to the server, which can read their values. An "
            "imported copy needs all of them."
        )
        column.addWidget(MutedLabel(self._theme, message, wrap=True))
        for name in view.variables[:_MAX_FIELDS]:
            box = QCheckBox(one_line(name).replace("&", "&&"))
            box.setFont(self._theme.mono_font())
            self.variables[name] = box
            column.addWidget(box)

    def _add_inputs(self, column: QVBoxLayout, view: DiscoveredServerView) -> None:
        if view.inputs:
            self._input_fields = InputFields(self._theme, view.inputs[:_MAX_FIELDS])
            self.inputs = self._input_fields.fields
            column.addWidget(self._input_fields)

    def _show_buttons(self, view: DiscoveredServerView) -> None:
        is_trusted = view.trust is Trust.GIVEN
        self._trust_button.setVisible(not is_trusted)
        self._show_button.setVisible(is_trusted and bool(view.server))
        self._distrust_button.setVisible(is_trusted)
        self._check_button.setVisible(not is_trusted)  # or it has a Doctor tab, which does more
        self.trust_action.setEnabled(not view.problem)
        self.import_action.setEnabled(view.is_importable)
        self._buttons.show()

    def _lay_out(self) -> None:
        # No default button: no key must trust by accident.
        buttons = (self._trust_button, self._show_button, self._distrust_button)
        margin = (SPACE_4, SPACE_2, SPACE_4, SPACE_3)
        hbox(self._buttons, *buttons, self._import_button, self._check_button, STRETCH, margin=margin)
        vbox(self, (self._scroll, 1), self._buttons, gap=0)

    def _text(self, text: str, *, mono: bool = False) -> PlainLabel:
        return PlainLabel(self._theme, text, tone="muted", mono=mono, wrap=True, selectable=True)

    def _action(self, message: str, act: Callable[[DiscoveredServerView], object]) -> QAction:
        action = QAction(message, self)

        def run() -> None:
            if self.view is not None:
                act(self.view)

        action.triggered.connect(run)
        return action


def _change_line(change: FieldChange) -> str:
    before, after = (_ABSENT if text is None else text for text in (change.before, change.after))
    return f"{change.field}: {before} → {after}"
