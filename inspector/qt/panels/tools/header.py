"""Header of a tool (name, annotations, description), and the strip for pending requests.

The strip appears while a running call is waiting for the user's reply to a server request.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QWidget

from inspector.base.plain_text import one_line
from inspector.engine.calls.tool_calls import ToolAnnotations
from inspector.engine.inbox.views import InboxRequest
from inspector.protocol.types import Malformed, Tool
from inspector.qt.theme import SPACE_1, SPACE_3, Theme, Tone
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel, plain_tooltip

if TYPE_CHECKING:
    from inspector.config.foreign.permissions import ToolPermission

_MAX_DESCRIPTION_LENGTH = 600
_MAX_HINTS = 3
_OTHER_CONDITIONS = "Its permission mode, hooks and command-line options can change this."
_TOPIC = "request"
_PERMISSION_TONES: dict[str | None, Tone] = {"deny": "error", "ask": "warn", "allow": "ok", None: "muted"}
_UNVERIFIED = "Claimed by the server, not verified."


class ToolHeader(QWidget):
    """The tool's title and description, from the server: plain text, limited in length."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = Heading(theme)
        self._name = MutedLabel(theme)
        self.description = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.hints = [Badge(theme) for _ in range(_MAX_HINTS)]
        self.permission = Badge(theme)
        self.findings = PlainLabel(theme, tone="warn", wrap=True, selectable=True)
        self._lay_out()

    def show_tool(self, tool: Tool) -> None:
        self._show_text(tool.title or tool.name, tool.name if tool.title else "", tool.description)
        self._show_hints(annotation_labels(ToolAnnotations.of(tool)))

    def show_malformed(self, item: Malformed) -> None:
        """Show why a list entry cannot be called."""
        self._show_text("Invalid", "", f"{item.reason}.")
        self._show_hints([])
        self.show_permission(None)
        self.show_findings(())

    def show_findings(self, findings: Sequence[str]) -> None:
        """Show what is wrong with the tool; hosts may drop or confuse it."""
        self.findings.setText("\n".join(f"Finding: {text}" for text in findings))
        self.findings.setVisible(bool(findings))

    def show_permission(self, permission: ToolPermission | None) -> None:
        """Show what Claude Code's permission rules say about the tool; None for nothing."""
        if permission is None:
            self.permission.set_text("")
            return
        tip = "\n".join((*permission.details, _OTHER_CONDITIONS))
        self.permission.set_text(permission.label, _PERMISSION_TONES[permission.action])
        self.permission.setToolTip(plain_tooltip(tip))
        self.permission.setAccessibleDescription(tip)

    def _show_text(self, title: str, name: str, description: str) -> None:
        self._title.setText(one_line(title))
        self._name.setText(one_line(name))
        self._name.setVisible(bool(name))
        self.description.setText(description.strip()[:_MAX_DESCRIPTION_LENGTH])
        self.description.setVisible(bool(description.strip()))

    def _show_hints(self, labels: list[AnnotationLabel]) -> None:
        for badge in self.hints:
            badge.set_text("")
        for badge, label in zip(self.hints, labels, strict=False):
            badge.set_text(label.text, label.tone)
            badge.setToolTip(plain_tooltip(label.tip))
            badge.setAccessibleDescription(label.tip)

    def _lay_out(self) -> None:
        vbox(
            self,
            hbox(None, self._title, (self._name, 1)),
            hbox(None, *self.hints, STRETCH, gap=SPACE_1),
            (self.permission, 0, Qt.AlignmentFlag.AlignLeft),
            self.findings,
            self.description,
            gap=SPACE_1,
            margin=(SPACE_3, 0, SPACE_3, SPACE_1),
        )


@dataclass(frozen=True, slots=True)
class AnnotationLabel:
    text: str
    tip: str
    tone: Tone = "muted"


def annotation_labels(hints: ToolAnnotations) -> list[AnnotationLabel]:
    """Return the tool's claims; without any, one entry with the specification's defaults."""
    labels = [*_effect_labels(hints), *_world_labels(hints)]
    rest = _defaults(hints)
    if not labels:
        return [AnnotationLabel("no hints", f"The tool declares no hints. {rest}")]
    return [
        AnnotationLabel(label.text, f"{label.tip} {_UNVERIFIED} {rest}".strip(), label.tone)
        for label in labels
    ]


def _effect_labels(hints: ToolAnnotations) -> list[AnnotationLabel]:
    if hints.is_read_only:
        return [AnnotationLabel("read-only", "It does not modify anything (readOnlyHint).", "ok")]
    labels = []
    if hints.destructive is True:
        labels.append(
            AnnotationLabel("destructive", "It may delete or overwrite data (destructiveHint).", "warn")
        )
    elif hints.destructive is False:
        labels.append(AnnotationLabel("additive", "It only adds data (destructiveHint is false)."))
    if hints.idempotent is True:
        tip = "Repeated calls with the same arguments have no further effect (idempotentHint)."
        labels.append(AnnotationLabel("idempotent", tip))
    return labels


def _world_labels(hints: ToolAnnotations) -> list[AnnotationLabel]:
    if hints.open_world is None:
        return []
    if hints.open_world:
        return [
            AnnotationLabel(
                "open world", "It interacts with external systems, such as the web (openWorldHint)."
            )
        ]
    return [
        AnnotationLabel(
            "closed world", "It does not interact with external systems (openWorldHint is false)."
        )
    ]


def _defaults(hints: ToolAnnotations) -> str:
    """Return what the specification says about the missing hints."""
    defaults = []
    if not hints.is_read_only:
        defaults += ["may modify data"] if hints.read_only is None else []
        defaults += ["may be destructive"] if hints.destructive is None else []
        defaults += ["not idempotent"] if hints.idempotent is None else []
    defaults += ["open world"] if hints.open_world is None else []
    return f"Spec defaults: {', '.join(defaults)}." if defaults else ""


class PendingRequestStrip(QWidget):
    """A line with a button that leads to the Inbox. Hidden unless the call is waiting.

    Signals:
        reply_requested: Carries the Inbox ID of the request.
    """

    reply_requested = Signal(int)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._requests: tuple[InboxRequest, ...] = ()
        self._tool = ""
        self._since = 0
        self._inbox_id = 0
        self._strips = Alert(theme, is_compact=True)
        self._reply_action = QAction("Reply", self)
        self._reply_action.triggered.connect(lambda: self.reply_requested.emit(self._inbox_id))
        vbox(self, self._strips)
        self.hide()

    @property
    def text(self) -> str:
        return self._strips.text(_TOPIC)

    def show_requests(self, requests: tuple[InboxRequest, ...]) -> None:
        """Set the server's pending requests."""
        self._requests = requests
        self._update()

    def set_running(self, tool: str) -> None:
        """Set the tool being called; "" for none."""
        if tool and not self._tool:
            self._since = time.monotonic_ns()
        self._tool = tool
        self._update()

    def _update(self) -> None:
        if not self._requests or not self._tool:
            self.hide()
            self._strips.close_topic(_TOPIC)
            return
        from inspector.qt.models.inbox import request_of_call, waiting_text

        request = request_of_call(self._requests, self._tool, self._since)
        self.setVisible(request is not None)
        if request is None:
            self._strips.close_topic(_TOPIC)
        else:
            self._inbox_id = request.id
            self._strips.show_message(_TOPIC, waiting_text(request), "", [self._reply_action])
