"""What we say to one server about ourselves, and what it may ask for: the person's choice."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QSplitter, QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.engine.views import OurSide, ServerView
from inspector.protocol.declared import ALL, NOTHING, Declared, exactly
from inspector.protocol.revisions import Era
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.panels.client.exact import ExactDeclaration
from inspector.qt.panels.client.roots import RootsList
from inspector.qt.panels.client.switches import SwitchList
from inspector.qt.theme import SPACE_2, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Heading

# When narrower, the switches and the JSON are stacked.
_WIDE = 760


class ClientPanel(QWidget):
    """Client capabilities: switches and roots on the left, the JSON on the right.

    Every switch takes effect at once as far as the era allows; changes that need a reconnect are listed at
    the top.
    """

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._theme = theme
        self._ours: OurSide | None = None
        self._declared = NOTHING
        self._sending = 0
        self.alert = Alert(theme)
        self.switches = SwitchList(theme)
        self.roots = RootsList(theme)
        self.exact = ExactDeclaration(theme)
        self.everything = QAction("Everything", self)
        self.everything.setToolTip("Declare all that can be answered in the Inbox")
        self.nothing = QAction("Nothing", self)
        self.nothing.setToolTip("Declare an empty object")
        self._reconnect = actions["server.reconnect"]
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._lay_out()
        self.everything.triggered.connect(lambda: self._choose(None))
        self.nothing.triggered.connect(lambda: self._choose(NOTHING))
        self.switches.switched.connect(self._on_switched)
        self.exact.wanted.connect(self._on_exact_wanted)
        self.exact.edited.connect(self._show_readiness)
        self.roots.changed.connect(self._on_roots_changed)

    def set_view(self, view: ServerView) -> None:
        """Show the view, unless a change is being sent: an older view would revert it briefly."""
        if view.ours is None or self._sending:
            return
        self._ours = view.ours
        self._declared = view.ours.declared
        self._show()

    # -------------------------------------------------------------- what the person wants

    def _on_switched(self, path: tuple[str, ...], value: JSON) -> None:
        self._choose(self._declared.switched(path, value))

    def _on_exact_wanted(self, capabilities: JSONObject) -> None:
        self._send("declare", self._bridge.set_declared(self._server, exactly(capabilities)))

    def _choose(self, declared: Declared | None) -> None:
        self._declared = ALL if declared is None else declared
        self._show_declared()
        self._send("declare", self._bridge.set_declared(self._server, declared))

    def _on_roots_changed(self, roots: tuple[str, ...]) -> None:
        self._send("roots", self._bridge.set_roots(self._server, roots))

    def _send(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        self._sending += 1
        self._bridge.start(f"{name} {self._server}", self._sent(work), self)

    async def _sent(self, work: Coroutine[Any, Any, None]) -> None:
        """Send a change, then show the resulting state whether or not it failed. Raises UserError."""
        problem: UserError | None = None
        try:
            await work
        except UserError as exc:
            problem = exc
        await self._bridge.caught_up()  # older views may still be on their way
        self._sending -= 1
        self.set_view(await self._bridge.view(self._server))
        if problem is not None:
            raise problem

    # -------------------------------------------------------------- showing

    def _show(self) -> None:
        assert self._ours is not None
        ours = self._ours
        self._show_declared()
        self.roots.show_roots(ours.roots, _about_roots(ours))
        if ours.differs:
            self.alert.say("differs", _DIFFERS, "Reconnect to apply.", [self._reconnect], "wait")
        else:
            self.alert.close_about("differs")
        self._show_readiness()

    def _show_declared(self) -> None:
        revision = self._ours.revision if self._ours is not None else None
        self.switches.show_declared(self._declared, revision)
        self.exact.show_declared(self._declared, revision, _when(self._ours))

    def _show_readiness(self) -> None:
        """Disable the switches during an edit: using one would lose it."""
        is_free, ours = not self.exact.is_edited, self._ours
        self.switches.setEnabled(is_free)
        self.everything.setEnabled(is_free and ours is not None and not ours.is_usual)
        self.nothing.setEnabled(is_free and ours is not None and ours.declared.whole != {})
        if self.exact.is_edited:
            self.alert.say("writing", _WRITING, tone="wait")
        else:
            self.alert.close_about("writing")

    # --------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= _WIDE
        wanted = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if wanted is not self._split.orientation():
            self._split.setOrientation(wanted)
            whole = self.width() if is_wide else self.height()
            self._split.setSizes([whole // 2, whole - whole // 2])

    def _lay_out(self) -> None:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(SPACE_3, SPACE_4, SPACE_3, SPACE_6)
        column.setSpacing(SPACE_2)
        head = QHBoxLayout()
        head.setSpacing(SPACE_2)
        head.addWidget(Heading(self._theme, "What we declare"), 1)
        head.addWidget(ActionButton(self.nothing))
        head.addWidget(ActionButton(self.everything))
        column.addLayout(head)
        column.addWidget(self.switches)
        column.addSpacing(SPACE_4)
        column.addWidget(Heading(self._theme, "Roots"))
        column.addWidget(self.roots)
        column.addStretch(1)
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(scroll)
        self._split.addWidget(self.exact)
        self._split.setSizes([500, 500])
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.alert)
        whole.addWidget(self._split, 1)


_DIFFERS = "The server was told something else when it was connected."
_WRITING = "You are writing JSON: declare or discard that before you switch."


def _about_roots(ours: OurSide) -> str:
    if not ours.declared.has(("roots",)):
        return "Not declared: the server may not ask for them."
    return "" if ours.roots else "No folders: a server that asks gets an empty list."


def _when(ours: OurSide | None) -> str:
    """Return when the capabilities are sent, in the terms of the server's protocol version."""
    if ours is None or ours.revision is None:
        return "Each revision is told what it has a word for; which one it is shows when connecting."
    if ours.revision.era is Era.STATELESS:
        return f"Every request says this, at {ours.revision}: a change holds from the next one on."
    return f"Said once, by initialize at {ours.revision}."
