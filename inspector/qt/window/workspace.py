"""Workspace of one server: a status strip above the tabs of its panels.

A panel is created when its tab is first shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from inspector.base.plain_text import one_line
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.panels.server_list import MARKS
from inspector.qt.theme import SPACE_2, SPACE_3, Theme
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import discard, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge, StateDot
from inspector.qt.widgets.text.labels import Heading, PlainLabel
from inspector.qt.window.tabs import RESOURCES, TAB_IDS, TABS, TASKS, TOOLS, PanelT, TabSpec

if TYPE_CHECKING:
    from inspector.config.calls.saved_calls import SavedCall
    from inspector.engine.calls.regression_calls import RegressionView
    from inspector.engine.tasks.views import TaskView

_STREAM = "stream"  # key of the strip


class Workspace(QWidget):
    """The panels of one server. They keep input and selection while another server is shown.

    `make_inbox` creates a server's Inbox. `tab` is shown first.

    Signals:
        tab_changed: The user switched tabs.
    """

    tab_changed = Signal()

    def __init__(
        self,
        bridge: Bridge,
        view: ServerView,
        actions: Actions,
        theme: Theme,
        make_inbox: Callable[[str], Panel],
        tab: str = TAB_IDS[0],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.view = view
        self.context = PanelContext(bridge, view.name, actions, theme, make_inbox, self)
        self._actions = actions
        self._panels: dict[str, Panel] = {}
        self._dot = StateDot(theme, *MARKS[view.status], view.status.value)
        self._title = Heading(theme)
        self._address = PlainLabel(theme, tone="muted", mono=True, elide=Qt.TextElideMode.ElideMiddle)
        self._revision = Badge(theme)
        self._unverified = Badge(theme, tone="warn")
        self.regression_badge = Badge(theme)
        self._login_button = ActionButton(actions["server.login"])
        self._connect_button = ActionButton(actions["server.connect"], "primary")
        self._disconnect_button = ActionButton(actions["server.disconnect"])
        self.strips = Alert(theme, is_compact=True)
        self.tabs = QTabWidget()
        self._disposal = QTimer(self, singleShot=True, interval=0)
        self._disposal.timeout.connect(self._delete_next_panel)
        self._lay_out()
        self.tabs.setCurrentIndex(TAB_IDS.index(tab))
        self._connect()
        self.panel(self._current)
        self.set_view(view)

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self._on_tab_changed)
        self.context.uri_requested.connect(self.open_uri)
        self.context.task_requested.connect(self.show_task)
        self.context.call_requested.connect(self.open_saved)
        self.context.requests_changed.connect(self._show_counts)
        self.context.bridge.tasks_changed.connect(self._on_tasks_changed)
        self.context.bridge.regression_calls_changed.connect(self._on_reruns_changed)

    def set_view(self, view: ServerView) -> None:
        self.view = view
        self._dot.set_state(*MARKS[view.status], view.status.value)
        self._title.setText(one_line(view.name))
        self._address.setText(_short(view.address))
        self._revision.set_text(str(view.negotiated.revision) if view.negotiated else view.status.value)
        self._unverified.set_text("" if view.is_verified else "TLS not verified")
        is_up = view.status in UP_STATUSES
        self._login_button.setVisible(view.status is ServerStatus.NEEDS_LOGIN)
        self._connect_button.setVisible(not is_up)
        self._disconnect_button.setVisible(is_up)
        self._show_stream_problem(view.stream_problem)
        for panel in list(self._panels.values()):
            panel.set_view(view)

    def _show_stream_problem(self, reason: str) -> None:
        if not reason:
            self.strips.close_topic(_STREAM)
            return
        text = f"Server messages are not received: {one_line(reason)}"
        self.strips.show_message(_STREAM, text, "", [self._actions["server.reopen_stream"]], "warn")

    def dispose(self) -> None:
        """Delete the panels one after the other, then the rest: at once, it would block for 0.1 s."""
        self.hide()
        self._disposal.start()

    def _delete_next_panel(self) -> None:
        if self._panels:
            discard(self._panels.popitem()[1])
            self._disposal.start()
        else:
            discard(self)

    def show_tab(self, id: str) -> None:
        self.go_to(TABS[TAB_IDS.index(id)])

    def go_to(self, tab: TabSpec[PanelT]) -> PanelT:
        """Show a tab and return its panel."""
        self.tabs.setCurrentIndex(TAB_IDS.index(tab.id))
        panel = self.panel(tab)
        panel.focus_first()
        return panel

    def is_at(self, id: str) -> bool:
        """Return whether this tab is visible."""
        return self.isVisible() and self.tab_id == id

    @property
    def tab_id(self) -> str:
        """The current tab."""
        return self._current.id

    @property
    def _current(self) -> TabSpec[Any]:
        return TABS[self.tabs.currentIndex()]

    def existing(self, tab: TabSpec[PanelT]) -> PanelT | None:
        """Return a tab's panel if it was created already."""
        return cast("PanelT | None", self._panels.get(tab.id))

    def panel(self, tab: TabSpec[PanelT]) -> PanelT:
        """Return a tab's panel, created on first use."""
        return self.existing(tab) or self._make_panel(tab)

    def _make_panel(self, tab: TabSpec[PanelT]) -> PanelT:
        panel = tab.make_panel(self.context)
        self._panels[tab.id] = panel
        vbox(self.tabs.widget(TAB_IDS.index(tab.id)), panel)
        panel.set_view(self.view)
        panel.show()  # at once: the caller may go to something in it
        return panel

    def _on_tab_changed(self) -> None:
        self.panel(self._current)
        self.tab_changed.emit()

    def open_saved(self, call: SavedCall) -> None:
        self.go_to(TOOLS).open_saved(call)

    def open_uri(self, uri: str) -> None:
        """Read a resource linked from this workspace."""
        self.go_to(RESOURCES).open_uri(uri)

    def show_task(self, id: str) -> None:
        self.go_to(TASKS).show_task(id)

    def _show_counts(self) -> None:
        for position, tab in enumerate(TABS):
            self.tabs.setTabText(position, tab.label(self.context))

    def _on_reruns_changed(self, view: RegressionView) -> None:
        """Show the result of the regression calls as a badge above the tabs."""
        if view.server == self.view.name:
            from inspector.qt.models.regression_calls import badge

            self.regression_badge.set_text(*badge(view))

    def _on_tasks_changed(self, server: str, views: Mapping[str, TaskView | None]) -> None:
        if server != self.view.name:
            return
        running = self.context.running_tasks
        for id, view in views.items():
            is_running = view is not None and view.is_running
            (running.add if is_running else running.discard)(id)
        self._show_counts()

    def _lay_out(self) -> None:
        strip = hbox(
            None,
            self._dot,
            self._title,
            self._revision,
            self._unverified,
            self.regression_badge,
            (self._address, 1),
            self._login_button,
            self._connect_button,
            self._disconnect_button,
            margin=(SPACE_3, SPACE_2),
        )
        for tab in TABS:
            self.tabs.addTab(QWidget(), tab.title)
        vbox(self, strip, self.strips, (self.tabs, 1), gap=0)


def _short(address: str) -> str:
    """Return a command without the program's folders; Overview shows it in full."""
    if "://" in address.partition(" ")[0]:
        return address
    # On Windows, a program in a folder with a space is in double quotes.
    found = re.match(r'"(?P<quoted>[^"]*)"|(?P<plain>[^ ]*)', address)
    assert found is not None
    program = found["quoted"] or found["plain"]
    last = re.split(r"[/\\]", program.rstrip("/\\"))[-1]
    quote = '"' if " " in last and found["quoted"] else ""
    return f"{quote}{last}{quote}{address[found.end() :]}"
