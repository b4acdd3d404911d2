"""Overview panel: a server's name, negotiated version, capabilities and instructions."""

from __future__ import annotations

import sys

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from inspector.base.json.values import JSON, compact, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.engine.server_view import ServerView, counts_text
from inspector.engine.views import ServerStatus
from inspector.protocol.client_capabilities import capabilities_text
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.revisions import Era
from inspector.qt.models.servers import connection_placeholder
from inspector.qt.theme import SPACE_4, SPACE_6
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.key_value_list import Fact, KeyValueList
from inspector.qt.widgets.text.labels import Heading, PlainLabel

_MAX_WIDTH = 900
_MAX_NOTES_LENGTH = 600  # the edit dialog has the rest: long notes must not push the server out of view
_CAPABILITIES = ("tools", "resources", "prompts", "completions", "logging", "tasks")


class OverviewPanel(Panel):
    """Shows one ServerView; update it with `set_view`."""

    help_page = "servers"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        actions, theme = context.actions, context.theme
        self._actions = actions
        self._theme = theme
        self._plain: tuple[str, ...] = ()
        self._accepted_plain: tuple[str, ...] = ()
        self.move_action = QAction("Move to the secret store…", self)
        self.move_action.triggered.connect(actions["server.secrets"].trigger)
        self.keep_action = QAction("Keep as plain text", self)
        self.keep_action.triggered.connect(self._keep_plain)
        self._configured = KeyValueList(theme)
        self._configured_heading = Heading(theme, "Configuration")
        self._disconnected_facts = KeyValueList(theme)  # the same, while disconnected
        self._disconnected_facts.setContentsMargins(SPACE_6, SPACE_4, SPACE_6, 0)
        self._server = KeyValueList(theme)
        self._connection = KeyValueList(theme)
        self._capabilities = KeyValueList(theme)
        self._instructions = PlainLabel(theme, wrap=True, selectable=True)
        self._instructions_heading = Heading(theme, "Instructions")
        self._findings = KeyValueList(theme)
        self._findings_heading = Heading(theme, "Findings")
        self.alert = Alert(theme)
        self._stack = ContentStack(theme, self._make_content())
        vbox(self, self.alert, self._disconnected_facts, (self._stack, 1), gap=0)

    def set_view(self, view: ServerView) -> None:
        self._show_secrets_note(view.plain_secrets)
        self._show_outdated_note(view)
        self._show_configured(view)
        placeholder = connection_placeholder(view)
        if placeholder is None and view.negotiated is not None:
            self._show(view, view.negotiated)
            self._stack.open()
            return
        assert placeholder is not None
        action = self._actions[placeholder.command]
        other = self._actions.find(placeholder.other_command)
        if view.status is ServerStatus.FAILED:
            other = self._actions["server.doctor"]
        text = (placeholder.title, placeholder.text, placeholder.next_step)
        self._stack.explain(placeholder.appearance, "server", *text, action, other)

    def _show_secrets_note(self, names: tuple[str, ...]) -> None:
        if not names or names == self._accepted_plain:
            self.alert.close_topic("secrets")
            return
        self._plain = names
        text = plain_secrets_text(names)
        self.alert.show_message("secrets", text, actions=(self.move_action, self.keep_action))

    def _show_outdated_note(self, view: ServerView) -> None:
        if not view.is_outdated:
            self.alert.close_topic("outdated")
            return
        action = self._actions["server.reconnect"]
        text = "The configuration changed after the server was connected."
        self.alert.show_message("outdated", text, f"{action.text()} to apply it.", (action,), tone="wait")

    def _show_configured(self, view: ServerView) -> None:
        facts = _configured_facts(view)
        has_connection = connection_placeholder(view) is None
        self._configured.set_facts(facts)
        self._disconnected_facts.set_facts(facts)
        for widget in (self._configured, self._configured_heading):
            widget.setVisible(bool(facts))
        self._disconnected_facts.setVisible(bool(facts) and not has_connection)

    def _keep_plain(self) -> None:
        """Keep plain-text secrets: no more warnings until the app exits or there are new ones."""
        self._accepted_plain = self._plain
        self.alert.close_topic("secrets")

    def _show(self, view: ServerView, negotiated: NegotiationResult) -> None:
        self._server.set_facts(_server_facts(negotiated))
        self._connection.set_facts(_connection_facts(view, negotiated))
        self._capabilities.set_facts(_capability_facts(negotiated))
        for widget in (self._instructions, self._instructions_heading):
            widget.setVisible(bool(negotiated.instructions))
        self._instructions.setText(shorten(negotiated.instructions, 20_000))
        self._findings.set_facts([Fact("", finding, tone="warn") for finding in negotiated.problems])
        self._findings.setVisible(bool(negotiated.problems))
        self._findings_heading.setVisible(bool(negotiated.problems))

    def _make_content(self) -> QWidget:
        page = QWidget()
        page.setMaximumWidth(_MAX_WIDTH)
        column = vbox(page, margin=(SPACE_6, SPACE_4, SPACE_6, SPACE_6))
        sections = [
            (self._configured_heading, self._configured),
            (Heading(self._theme, "Server"), self._server),
            (Heading(self._theme, "Connection"), self._connection),
            (Heading(self._theme, "Server capabilities"), self._capabilities),
            (self._instructions_heading, self._instructions),
            (self._findings_heading, self._findings),
        ]
        for heading, body in sections:
            column.addWidget(heading)
            column.addWidget(body)
            column.addSpacing(SPACE_4)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        return scroll


def _configured_facts(view: ServerView) -> list[Fact]:
    """Return facts from the configuration; none of them come from the server."""
    names = ", ".join(f"${{{name}}}" for name in view.expands)
    facts = [
        Fact("Notes", shorten(view.notes, _MAX_NOTES_LENGTH)) if view.notes.strip() else None,
        Fact("Defined in", f"{one_line(view.origin)} (read-only, trusted)") if view.origin else None,
        Fact("Resolved variables", shorten(one_line(names), 500), mono=True) if names else None,
        Fact("PATH", view.path_source) if view.path_source else None,
        Fact("Requests", "one at a time") if view.is_sequential else None,
        Fact("On startup", "connects when MCP Lens starts") if view.auto_connect else None,
        None if view.is_saved or view.origin else Fact("Saved", "no (until you close MCP Lens)"),
    ]
    return [fact for fact in facts if fact is not None]


def _server_facts(negotiated: NegotiationResult) -> list[Fact]:
    server = negotiated.server
    facts = [Fact("Name", server.name or "not specified", mono=True)]
    if server.title:
        facts.insert(0, Fact("Title", server.title))
    return [*facts, Fact("Version", server.version or "not specified", mono=True)]


def _connection_facts(view: ServerView, negotiated: NegotiationResult) -> list[Fact]:
    facts = [
        _status_fact(view),
        Fact("Protocol version", f"{negotiated.revision} · {_session_text(negotiated)}", mono=True),
        Fact("Negotiation", negotiated.description),
        Fact("Transport", view.transport),
        Fact("Command" if view.transport == "stdio" else "URL", view.address, mono=True),
    ]
    others = [date for date in negotiated.supported_versions if date != negotiated.revision.date]
    if others:
        facts.insert(3, Fact("Also supports", ", ".join(others), mono=True))
    if view.client_side is not None and view.client_side.sent is not None:
        facts.append(Fact("Client capabilities", shorten(capabilities_text(view.client_side.sent), 300)))
    if not view.is_verified:
        facts.append(Fact("TLS", "certificate not verified", tone="warn"))
    return [*facts, Fact("PID", str(view.pid), mono=True)] if view.pid is not None else facts


def _status_fact(view: ServerView) -> Fact:
    text = " · ".join(filter(None, (view.status.value, counts_text(view.counts))))
    if view.stream_problem:
        return Fact("Status", f"{text}; server messages are not received", tone="warn")
    return Fact("Status", text, tone="ok" if view.status is ServerStatus.CONNECTED else "text")


def plain_secrets_text(names: tuple[str, ...], platform: str = sys.platform) -> str:
    """Return the warning about secrets in the server list. On POSIX systems, the file's mode is 0600."""
    shown = shorten(one_line(", ".join(names)), 200)
    text = f"The server list contains {plural(len(names), 'secret')} as plain text: {shown}."
    if platform == "win32":
        text += " On Windows the file has the permissions of its folder; MCP Lens does not restrict them."
    return text


def _session_text(negotiated: NegotiationResult) -> str:
    return "stateless" if negotiated.era is Era.STATELESS else "session"


def _capability_facts(negotiated: NegotiationResult) -> list[Fact]:
    """Return the known capabilities, declared or not, then the other declared ones."""
    declared = negotiated.capabilities
    names = [*_CAPABILITIES, *(name for name in declared if name not in _CAPABILITIES)]
    return [_capability_fact(name, declared) for name in names]


def _capability_fact(name: str, declared: dict[str, JSON]) -> Fact:
    label = shorten(one_line(name), 100)
    if name not in declared:
        return Fact(label, "not declared", tone="muted")
    detail = declared[name]
    text = f"declared  {shorten(compact(detail), 200)}" if detail not in ({}, True) else "declared"
    return Fact(label, text)
