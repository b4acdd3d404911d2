"""Slots of the commands, and the dialogs opened from traffic: resend and compare.

The window creates the parts; here the actions are connected to them and enabled while they apply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QObject, QSettings
from PySide6.QtGui import QAction

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.engine.views import ServerStatus
from inspector.qt.actions import COPY_TOOLS, Actions
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import UP_STATUSES
from inspector.qt.theme import Scheme, Theme
from inspector.qt.window.tabs import DOCTOR, PROCESS, PROMPTS, RAW, RESOURCES, TOOLS, PanelT, TabSpec

if TYPE_CHECKING:
    from inspector.engine.server_view import ServerView
    from inspector.qt.models.compare.comparison import CompareOptions, Side
    from inspector.qt.panels.traffic.panel import TrafficPanel
    from inspector.qt.window.main_window import MainWindow
    from inspector.traffic.log import TrafficLog

_SET_LEFT, _COMPARE_LEFT = "traffic.left_side", "traffic.compare_left"


class Commands(QObject):
    """Connects every action of the table, and enables those that apply."""

    def __init__(self, window: MainWindow, bridge: Bridge, actions: Actions) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._actions = actions
        for id, slot in self._slots().items():
            actions[id].triggered.connect(slot)
        for id, action in actions.starting_with("view."):
            action.triggered.connect(partial(window.show_tab, id.removeprefix("view.")))
        self._connect_traffic()
        self.update_traffic()
        self.update(None)

    def update(self, view: ServerView | None) -> None:
        """Update the actions after the current server or its state changed."""
        is_up = view is not None and view.status in UP_STATUSES
        is_enabled = view is not None and view.status is not ServerStatus.DISABLED
        for id, can in {
            "server.connect": is_enabled and not is_up,
            "server.wait_longer": view is not None and view.can_wait_longer,
            "server.disconnect": is_up,
            "server.reconnect": is_enabled,
            "server.continue_as": view is not None and bool(view.continue_as),
            "server.reopen_stream": view is not None and bool(view.stream_problem),
            "server.login": view is not None and view.transport != "stdio",
            "server.secrets": view is not None and bool(view.plain_secrets or view.secret_references),
            "server.drift": view is not None,
            "server.doctor": view is not None,
            "server.enable": view is not None,
            "server.edit": view is not None and not view.origin,
            "server.duplicate": view is not None and not view.origin,
            "server.remove": view is not None and not view.origin,
            "server.export": self._window.servers.model.rowCount() > 0,
            "server.copy_claude": view is not None,
            "server.copy_fragment": view is not None,
            "tool.refresh": view is not None and view.status is ServerStatus.CONNECTED,
            "tool.search": view is not None,
            "call.rerun": view is not None and view.status is ServerStatus.CONNECTED,
            "resource.refresh": view is not None and view.offers("resources"),
            "resource.search": view is not None,
            "resource.tree": view is not None,
            "prompt.refresh": view is not None and view.offers("prompts"),
            "prompt.search": view is not None,
            "raw.send": view is not None,
        }.items():
            self._actions[id].setEnabled(can)
        is_logging_in = view is not None and view.status is ServerStatus.LOGGING_IN
        self._actions["server.disconnect"].setText("Cancel login" if is_logging_in else "Disconnect")
        version = view.continue_as if view is not None else ""
        self._actions["server.continue_as"].setText(f"Continue as {version or 'a known version'}")
        enable = self._actions["server.enable"]
        enable.setChecked(is_enabled)
        enable.setText("Enabled" if is_enabled or view is None else "Enable")
        self.update_calls()

    def update_calls(self) -> None:
        """Update whether the current tool can be called; calls of other servers do not matter."""
        workspace = self._window.workspace()
        tools = workspace.existing(TOOLS) if workspace is not None else None
        view = tools.call_view if tools is not None else None
        can_call = view is not None and view.can_call
        self._actions["tool.call"].setEnabled(can_call)
        self._actions["tool.call_anyway"].setEnabled(can_call)
        self._actions["tool.cancel"].setEnabled(view is not None and view.is_running)
        of_tool = ("history", "save", "options", "repeat", "watch")
        for id in (*(f"call.{each}" for each in of_tool), "tool.copy_name"):
            self._actions[id].setEnabled(view is not None and view.tool is not None)
        self.update_copying()
        self._actions["call.saved"].setEnabled(workspace is not None)
        self.update_resources()

    def update_resources(self) -> None:
        """Update whether the current resource or prompt can be requested."""
        workspace = self._window.workspace()
        resources = workspace.existing(RESOURCES) if workspace is not None else None
        prompts = workspace.existing(PROMPTS) if workspace is not None else None
        subscribe = self._actions["resource.subscribe"]
        self._actions["resource.watch"].setEnabled(resources is not None and bool(resources.head.uri))
        self._actions["resource.read"].setEnabled(resources is not None and resources.can_read)
        subscribe.setEnabled(resources is not None and resources.can_subscribe)
        is_subscribed = resources is not None and resources.is_subscribed
        subscribe.setText("Unsubscribe" if is_subscribed else "Subscribe")
        can_get = prompts is not None and prompts.view.can_get
        self._actions["prompt.get"].setEnabled(can_get)
        self._actions["prompt.get_anyway"].setEnabled(can_get)

    def _connect_traffic(self) -> None:
        """Forward Traffic menu commands to the front panel, which has its own actions."""
        for id, action in self._actions.starting_with("traffic."):
            action.triggered.connect(partial(self._trigger_in_front, id))
        self.watch_traffic(self._window.traffic)

    def watch_traffic(self, panel: TrafficPanel) -> None:
        """Keep the menu in sync with a panel's actions, and handle its requests."""
        for id, own in panel.local_actions.items():
            own.changed.connect(partial(self._on_traffic_changed, panel, id))
        self._window.traffic_commands.watch(panel)
        panel.local_actions["traffic.inbox"].setEnabled(False)  # until a server request is selected
        panel.help_requested.connect(self._actions["help.filters"].trigger)
        panel.rules_requested.connect(partial(self._window.dialogs.open_color_rules, panel))

    def _trigger_in_front(self, id: str) -> None:
        self._window.traffic_in_front().local_actions[id].trigger()

    def _on_traffic_changed(self, panel: TrafficPanel, id: str) -> None:
        if panel is self._window.traffic_in_front():
            _copy_state(panel.local_actions[id], self._actions[id])

    def update_traffic(self) -> None:
        """Copy the action states of the current traffic panel into the menu."""
        for id, own in self._window.traffic_in_front().local_actions.items():
            _copy_state(own, self._actions[id])
        captures = self._window.captures
        self._actions["capture.close"].setEnabled(captures.of(captures.in_front()) is not None)
        self._actions["capture.side_by_side"].setEnabled(bool(captures.all))

    def _is_checked(self, id: str) -> bool:
        return self._actions[id].isChecked()

    def _slots(self) -> dict[str, Callable[[], object]]:
        window = self._window
        return {
            "server.add": window.add_commands.open,
            "app.found": window.servers.choose_discovered,
            "server.open_file": window.add_commands.choose_file,
            "server.export": window.add_commands.open_export,
            "server.demo": window.demo_requested.emit,
            "server.connect": self._connect,
            "server.wait_longer": self._wait_longer,
            "server.disconnect": self._disconnect,
            "server.reconnect": self._connect,  # connecting ends the old connection first
            "server.continue_as": self._continue_as,
            "server.reopen_stream": self._reopen_stream,
            "server.login": lambda: window.show_tab("auth"),
            "server.secrets": window.dialogs.open_server_secrets,
            "server.drift": self._open_drift,
            "server.doctor": self._run_doctor,
            "server.connect_all": self._connect_all,
            "server.enable": self._toggle_enabled,
            "server.edit": window.server_commands.edit,
            "server.duplicate": window.server_commands.duplicate,
            "server.remove": window.server_commands.remove,
            "server.copy_claude": window.server_commands.copy_claude_command,
            "server.copy_fragment": window.server_commands.copy_fragment,
            "tool.copy_name": window.server_commands.copy_tool_name,
            **self._copy_slots(),
            "app.features": window.servers.choose_features,
            "app.answers": window.dialogs.open_reply_rules,
            "app.secrets": window.dialogs.open_secrets,
            "app.settings": window.dialogs.open_settings,
            "app.quit": window.close,
            "tool.call": self._in(TOOLS, lambda panel: panel.call_view.call()),
            "tool.call_anyway": self._in(TOOLS, lambda panel: panel.call_view.call(force=True)),
            "tool.cancel": self._in(TOOLS, lambda panel: panel.call_view.cancel()),
            "call.history": self._in(TOOLS, lambda panel: panel.call_view.open_history()),
            "call.saved": self._in(TOOLS, lambda panel: panel.call_view.open_saved()),
            "call.save": self._in(TOOLS, lambda panel: panel.call_view.ask_name()),
            "call.manage": window.dialogs.open_saved_calls,
            "call.options": self._in(TOOLS, lambda panel: panel.call_view.toggle_options()),
            "call.repeat": self._in(TOOLS, lambda panel: panel.call_view.toggle_repeat_bar()),
            "call.watch": self._in(TOOLS, lambda panel: panel.call_view.toggle_interval_bar()),
            "call.rerun": self._in(PROCESS, lambda panel: panel.regression_calls.run_now()),
            "call.variables": window.dialogs.open_variables,
            "app.palette": window.command_palette.open_palette,
            "app.inbox": window.servers.choose_inbox,
            "tool.search": self._in(TOOLS, lambda panel: panel.search.setFocus()),
            "tool.refresh": self._in(TOOLS, lambda panel: panel.refresh()),
            "resource.read": self._in(RESOURCES, lambda panel: panel.read()),
            "resource.subscribe": self._in(RESOURCES, lambda panel: panel.toggle_subscription()),
            "resource.watch": self._in(RESOURCES, lambda panel: panel.periodic_read.toggle()),
            "resource.search": self._in(RESOURCES, lambda panel: panel.search.setFocus()),
            "resource.tree": self._in(RESOURCES, lambda panel: panel.lists.toggle_tree()),
            "resource.refresh": self._in(RESOURCES, lambda panel: panel.refresh()),
            "prompt.get": self._in(PROMPTS, lambda panel: panel.view.get()),
            "prompt.get_anyway": self._in(PROMPTS, lambda panel: panel.view.get(force=True)),
            "prompt.search": self._in(PROMPTS, lambda panel: panel.search.setFocus()),
            "prompt.refresh": self._in(PROMPTS, lambda panel: panel.refresh()),
            "capture.open": window.captures.choose_and_open,
            "capture.save": window.captures.choose_and_save,
            "capture.export": window.captures.open_export,
            "capture.kept": window.captures.open_manager,
            "capture.compare": window.traffic_commands.open_compare_captures,
            "capture.side_by_side": lambda: window.set_side_by_side(self._is_checked("capture.side_by_side")),
            "capture.close": lambda: window.captures.close(window.traffic_in_front()),
            "raw.send": window.traffic_commands.send_raw,
            "theme.system": lambda: window.set_scheme(Scheme.SYSTEM),
            "theme.light": lambda: window.set_scheme(Scheme.LIGHT),
            "theme.dark": lambda: window.set_scheme(Scheme.DARK),
            "help.manual": lambda: window.dialogs.open_manual(),
            "help.filters": window.dialogs.open_filter_help,
            "help.shortcuts": window.dialogs.open_shortcuts,
            "help.news": window.dialogs.open_whats_new,
            "help.about": window.dialogs.open_about,
        }

    def _copy_slots(self) -> dict[str, Callable[[], object]]:
        """Return the slots that copy tools: `tool.copy_mcp` the selected ones, `tool.copy_all_mcp` all."""
        copy = self._window.server_commands.copy_definitions
        slots: dict[str, Callable[[], object]] = {}
        for id in COPY_TOOLS:
            format = id.rpartition("_")[2]
            slots[id] = partial(copy, format, everything=id.startswith("tool.copy_all_"))
        return slots

    def update_copying(self) -> None:
        """Update whether there are tools to copy."""
        can_copy = bool(self._window.server_commands.tools())
        for id in COPY_TOOLS:
            self._actions[id].setEnabled(can_copy)

    def _in(self, tab: TabSpec[PanelT], act: Callable[[PanelT], object]) -> Callable[[], None]:
        """Return a function that shows a tab of the current server and runs a command in its panel."""

        def run() -> None:
            if (workspace := self._window.workspace()) is not None:
                act(workspace.go_to(tab))

        return run

    def _connect(self) -> None:
        if (view := self._window.current_view()) is not None:
            self._start_connecting(view.name)

    def _start_connecting(self, name: str) -> None:
        work = self._bridge.ask(lambda engine: engine.servers.connector.connect_soon(name))
        self._bridge.start(f"connect {name}", work)

    def _continue_as(self) -> None:
        if (view := self._window.current_view()) is not None:
            self._bridge.start(f"continue with {view.name}", self._set_continue_as(view))

    async def _set_continue_as(self, view: ServerView) -> None:
        name, version = view.name, view.continue_as
        await self._bridge.ask(lambda engine: engine.servers.set_continue_as(name, version))
        await self._bridge.ask(lambda engine: engine.servers.connector.connect_soon(name))

    def _reopen_stream(self) -> None:
        if (view := self._window.current_view()) is not None:
            self._bridge.start(f"reopen the stream of {view.name}", self._try_to_reopen(view.name))

    async def _try_to_reopen(self, name: str) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.servers.get(name).session.reopen_stream())
        except UserError as exc:
            text = f"Could not reconnect the stream of {one_line(name)}: {exc.summary}"
            raise UserError(text, exc.next_step) from exc

    def _wait_longer(self) -> None:
        if (view := self._window.current_view()) is not None:
            name = view.name
            work = self._bridge.ask(lambda engine: engine.servers.connector.wait_longer(name))
            self._bridge.start(f"wait for {name}", work)

    def _open_drift(self) -> None:
        if (view := self._window.current_view()) is not None:
            self._window.drift_notice.open(view.name)

    def _run_doctor(self) -> None:
        self._window.servers.go_back()
        self._in(DOCTOR, lambda panel: panel.run())()

    def _connect_all(self) -> None:
        for view in self._window.servers.model.views():
            if view.status not in (*UP_STATUSES, ServerStatus.DISABLED):
                self._start_connecting(view.name)

    def _disconnect(self) -> None:
        if (view := self._window.current_view()) is not None:
            name = view.name
            work = self._bridge.ask(lambda engine: engine.servers.connector.disconnect(name))
            self._bridge.start(f"disconnect {name}", work)

    def _toggle_enabled(self) -> None:
        if (view := self._window.current_view()) is not None:
            enabled = view.status is ServerStatus.DISABLED
            self._bridge.start(f"enable {view.name}", self._set_enabled(view.name, enabled))

    async def _set_enabled(self, name: str, enabled: bool) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.servers.set_enabled(name, enabled))
        except UserError:
            if shiboken6.isValid(self._window):
                self.update(self._window.current_view())  # the click has toggled the check mark
            raise


def _copy_state(own: QAction, shown: QAction) -> None:
    shown.setText(own.text())
    shown.setChecked(own.isChecked())
    shown.setEnabled(own.isEnabled())


class TrafficCommands(QObject):
    """Opens dialogs for traffic. They are imported on demand; none of them is modal.

    Also stores the row selected for compare: the other one may be in another capture.
    """

    def __init__(self, window: MainWindow, bridge: Bridge, theme: Theme, layout: QSettings) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = bridge
        self._theme = theme
        self._layout = layout
        self._left: Side | None = None

    @cached_property
    def _options(self) -> CompareOptions:
        from inspector.qt.models.compare.comparison import CompareOptions

        return CompareOptions(self._layout, self)

    def watch(self, panel: TrafficPanel) -> None:
        """Connect a new traffic panel."""
        panel.resend_requested.connect(partial(self.open_resend, panel))
        panel.compare_requested.connect(partial(self._on_compare_requested, panel))
        panel.local_actions[_SET_LEFT].triggered.connect(partial(self._on_left_set, panel))
        panel.local_actions[_COMPARE_LEFT].triggered.connect(partial(self._on_compare_with_left, panel))
        panel.current_changed.connect(partial(self._update, panel))
        self._update(panel)

    def forget(self, log: TrafficLog) -> None:
        """Forget the row selected for compare if it is in this log, whose capture was closed."""
        if self._left is not None and self._left.log is log:
            self._left = None
            for panel in self._window.captures.panels():
                self._update(panel)

    def show_in_traffic(self, row: int) -> None:
        """Go to a row of the running traffic."""
        window = self._window
        window.captures.bring_to_front(window.traffic)
        window.traffic.go_to(row)

    def send_raw(self) -> None:
        """Show the current server's Raw tab and send what is typed there."""
        workspace = self._window.workspace()
        if workspace is not None:
            workspace.go_to(RAW).send()

    def open_resend(self, panel: TrafficPanel, row: int) -> None:
        """Edit and resend a sent message."""
        from inspector.qt.dialogs.traffic.resend import ResendDialog

        window, source = self._window, panel.source
        views = window.servers.model.views()
        try:
            dialog = ResendDialog(self._bridge, self._theme, source, row, views, window)
        except UserError as exc:
            self._bridge.problem_found.emit(str(exc))
            return
        dialog.row_requested.connect(self.show_in_traffic)
        dialog.compare_requested.connect(partial(self._on_compare_with_old, panel, row))
        dialog.show()

    def _on_compare_with_old(self, panel: TrafficPanel, old: int, new: int) -> None:
        response, new_response = panel.source.log.partner(old), self._bridge.log.partner(new)
        left = self._side(panel, old if response is None else response)
        self.open_compare(
            left, self._side(self._window.traffic, new if new_response is None else new_response)
        )

    def open_compare(self, left: Side, right: Side) -> None:
        from inspector.qt.dialogs.traffic.compare import CompareDialog

        CompareDialog(self._bridge, self._theme, left, right, self._options, self._window).show()

    def open_compare_captures(self) -> None:
        """Compare two of the open captures."""
        from inspector.qt.dialogs.traffic.compare_captures import CompareCapturesDialog

        sources = [panel.source for panel in self._window.captures.panels()]
        dialog = CompareCapturesDialog(self._theme, sources, self._options, self._window)
        dialog.pair_requested.connect(self.open_compare)
        dialog.show()

    def _on_compare_requested(self, panel: TrafficPanel, rows: Sequence[int]) -> None:
        if len(rows) == 2:
            first, second = sorted(rows)
            self.open_compare(self._side(panel, first), self._side(panel, second))

    def _on_left_set(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        if row is not None:
            self._left = self._side(panel, row)
            panel.strips.show_message("selected for compare", f"Row {row + 1:,} is selected for compare.")
        for each in self._window.captures.panels():
            self._update(each)

    def _on_compare_with_left(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        if row is None or self._left is None:
            return
        for each in self._window.captures.panels():
            each.strips.close_topic("selected for compare")
        self.open_compare(self._left, self._side(panel, row))

    def _update(self, panel: TrafficPanel) -> None:
        row = panel.current_number()
        panel.local_actions[_SET_LEFT].setEnabled(row is not None)
        panel.local_actions[_COMPARE_LEFT].setEnabled(row is not None and self._left is not None)

    def _side(self, panel: TrafficPanel, row: int) -> Side:
        from inspector.qt.models.compare.comparison import Side

        return Side(panel.source.log, row, panel.source.title)
