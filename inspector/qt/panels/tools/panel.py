"""Tools panel: the list, the call and the result, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QMenu, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONObject, pretty
from inspector.base.plain_text import one_line
from inspector.config.calls.history import RecordedCall
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.calls.variables import names_in
from inspector.engine.calls.repetition import PollPlan, RepeatPlan
from inspector.engine.calls.tool_calls import TaskChoice, ToolCall, task_choice
from inspector.engine.inbox.views import InboxRequest
from inspector.engine.server_view import ServerView
from inspector.engine.servers.views import DiscoveryReport
from inspector.engine.views import CallOutcome, ServerStatus
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.types import Listing, Malformed, Tool
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.models.feature_list import Item, ToolsModel, finding_notes
from inspector.qt.panels.tools.arguments import ToolArguments, VariablesBar
from inspector.qt.panels.tools.call_options import CallDrawer
from inspector.qt.panels.tools.call_runner import ArgumentsCheck, CallRunner, ProgressStrip
from inspector.qt.panels.tools.header import PendingRequestStrip, ToolHeader
from inspector.qt.panels.tools.saved_calls import CallPickers, CallSaver
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.feature_list import add_copy_menu
from inspector.qt.views.feature_panel import SingleListPanel
from inspector.qt.views.panel import PanelContext
from inspector.qt.views.result_view import ResultView
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.layout import hbox, hsplit, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.schema.tool_names import tool_findings
from inspector.schema.values import FieldError, FormError

if TYPE_CHECKING:
    pass


class ToolsPanel(SingleListPanel):
    """The tools of one server."""

    help_page = "tools"
    kind = "tool"
    list_method = "tools/list"

    def __init__(self, context: PanelContext) -> None:
        self.model = ToolsModel()
        super().__init__(context, self.model)
        bridge = context.bridge
        self._awaited_call: SavedCall | None = None
        self._findings: dict[str, tuple[str, ...]] = {}
        self._report = DiscoveryReport()
        self.call_view = CallView(bridge, context.server, context.actions, context.theme)
        self.call_view.saved_picked.connect(self.open_saved)
        self.call_view.readiness_changed.connect(context.call_readiness_changed)
        self.call_view.reply_requested.connect(context.reply_requested)
        self.call_view.result.uri_requested.connect(context.uri_requested)
        self.call_view.result.task_requested.connect(context.task_requested)
        self.call_view.show_requests(context.requests)
        context.requests_changed.connect(self.call_view.show_requests)
        self._lay_out_side_by_side(self.call_view, 240)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.list.customContextMenuRequested.connect(self._on_menu_requested)
        bridge.discovered_servers_changed.connect(self._on_discovered)
        bridge.start_when_attached("load permission rules", self._load_rules())

    def set_view(self, view: ServerView) -> None:
        self.call_view.set_connected(view.status is ServerStatus.CONNECTED, view.negotiated)
        self.call_view.drawer.options.set_client_side(view.client_side)
        super().set_view(view)

    def open_saved(self, call: SavedCall) -> None:
        """Select a saved call's tool and load its arguments."""
        self._awaited_call = call
        self.select_when_listed(call.tool)
        if self._awaited and self.total:
            text = (
                f"“{one_line(call.name)}” needs the tool “{one_line(call.tool)}”, which this server does "
                "not have."
            )
            self.call_view.alert.show_message("saved", text)

    async def _fetch(self) -> Listing[Tool]:
        return await self._bridge.ask(lambda engine: engine.list_tools(self._server))

    def selected_tools(self) -> list[Tool]:
        """Return the selected tools; the shown one if it is no longer in the list."""
        selected = [item for item in self.list.selected_items() if isinstance(item, Tool)]
        shown = self.call_view.tool
        return selected or ([shown] if shown is not None else [])

    async def _show_listing(self, listing: Listing[Any]) -> None:
        tools = [(self._server, tool) for tool in listing.items]
        found = zip(tools, tool_findings(tools), strict=True)
        self._findings = {tool.name: findings for (_, tool), findings in found if findings}
        self.model.set_notes(finding_notes(self._findings.items()))
        await asyncio.sleep(0)
        await super()._show_listing(listing)
        self._show_findings()

    def _show_findings(self) -> None:
        tool = self.call_view.tool
        self.call_view.head.show_findings(self._findings.get(tool.name, ()) if tool is not None else ())

    def _on_menu_requested(self, position: QPoint) -> None:
        if not self.list.indexAt(position).isValid():
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(self._actions["tool.copy_name"])
        add_copy_menu(menu, self._actions)
        menu.popup(self.list.viewport().mapToGlobal(position))

    def _show_item(self, item: Item) -> None:
        if isinstance(item, Tool):
            self.call_view.set_tool(item)
            self._show_findings()
            self._show_permission()
        elif isinstance(item, Malformed):
            self.call_view.set_malformed(item)

    def _show_nothing(self) -> None:
        self.call_view.set_nothing()

    async def _load_rules(self) -> None:
        """Load the permission rules that were found before the panel was opened."""
        report = await self._bridge.ask(lambda engine: engine.discovery.report)
        if shiboken6.isValid(self):
            self._on_discovered(report)

    def _on_discovered(self, report: DiscoveryReport) -> None:
        self._report = report
        self._show_permission()

    def _show_permission(self) -> None:
        tool = self.call_view.tool
        permission = self._report.permission(self._server, tool.name) if tool is not None else None
        self.call_view.head.show_permission(permission)

    def _on_connected(self, negotiated: NegotiationResult) -> None:
        if not self.total:  # an item of an earlier connection
            self._current = None
            self._show_nothing()

    def _keeps_current(self) -> bool:
        return self._current is not None and self.call_view.has_result

    def _restore_selection(self) -> None:
        running = self.call_view.runner.running_tool
        if not self.total and running is not None:
            self._go_to(running)  # it can no longer be selected to see its result
        super()._restore_selection()
        self.call_view.set_listed(bool(self.total))

    def _on_listed_selected(self, name: str) -> None:
        if (call := self._awaited_call) is not None and call.tool == name:
            self._awaited_call = None
            self.call_view.load_saved(call)


class CallView(QWidget):
    """Arguments of the selected tool on the left, the result on the right. One run at a time.

    Signals:
        readiness_changed: `tool`, `can_call` or `is_running` may have changed.
        saved_picked: The user picked a saved call of this server; carries the SavedCall.
        reply_requested: The user wants to reply to the pending request; carries its Inbox ID.
    """

    readiness_changed = Signal()
    saved_picked = Signal(object)
    reply_requested = Signal(int)

    def __init__(
        self, bridge: Bridge, server: str, actions: Actions, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._server = server
        self._actions = actions
        self._theme = theme
        self._tool: Tool | None = None
        self._negotiated: NegotiationResult | None = None
        self._is_connected = False
        self._is_listed = True
        self.head = ToolHeader(theme)
        self.arguments_stack = ToolArguments(bridge, server, theme, self.head.description)
        self.variables_bar = VariablesBar(theme, actions["call.variables"])
        self.alert = Alert(theme)
        self.drawer = CallDrawer(theme)
        self.result = ResultView(bridge, theme)
        self.pending_strip = PendingRequestStrip(theme)
        self.progress = ProgressStrip(theme, actions["tool.cancel"])
        self._summary = MutedLabel(theme)
        self._saved_button = icon_button(actions["call.saved"])
        self.pickers = CallPickers(bridge, server, theme, self._saved_button)
        self.saver = CallSaver(bridge, server, theme, self.alert, self._saved_button)
        self.runner = CallRunner(
            bridge, server, self.saver.variables, self.drawer, self.progress, self.alert, self.result
        )
        self._lay_out()
        self._connect()

    @property
    def tool(self) -> Tool | None:
        return self._tool

    @property
    def arguments(self) -> ArgumentsEditor:
        """The current editor."""
        return self.arguments_stack.current

    @property
    def folder(self) -> Path | None:
        """The folder of the saved call in use, if any: its variables apply."""
        return self.saver.folder_of(self._tool.name) if self._tool is not None else None

    @property
    def can_call(self) -> bool:
        is_available = self._is_connected and self._is_listed
        return self._tool is not None and is_available and not self.is_running

    @property
    def has_result(self) -> bool:
        """Whether the tool is being called, or was: its result is shown."""
        return self._tool is not None and self.runner.has_result(self._tool.name)

    @property
    def is_running(self) -> bool:
        return self.runner.is_running

    def set_tool(self, tool: Tool) -> None:
        """Show a tool, its arguments and latest result. Those of the previous one are kept."""
        if self._tool is None or self._tool.name != tool.name:
            self.alert.close_all()
        self._tool = tool
        self.head.show_tool(tool)
        self.runner.set_tool(tool)
        self.arguments_stack.show_tool(tool)
        self._show_options()
        self.readiness_changed.emit()

    def set_malformed(self, item: Malformed) -> None:
        """Show a list entry that cannot be called: why, and what was sent."""
        self.set_nothing()
        self.head.show_malformed(item)
        self.result.show_text(pretty(item.value))

    def set_nothing(self) -> None:
        """Show that there is no tool to call."""
        self._tool = None
        self.alert.close_all()
        self.runner.set_tool(None)
        self.arguments_stack.show_none()
        self.readiness_changed.emit()

    def set_listed(self, listed: bool) -> None:
        """Set whether the server still lists tools: without any, the result stays, but nothing is called."""
        if listed != self._is_listed:
            self._is_listed = listed
            self.readiness_changed.emit()

    def show_requests(self, inbox_requests: tuple[InboxRequest, ...]) -> None:
        """Set the pending server requests: some may belong to the running call."""
        self.pending_strip.show_requests(inbox_requests)

    def set_connected(self, connected: bool, negotiated: NegotiationResult | None = None) -> None:
        self._is_connected = connected
        self._negotiated = negotiated
        self._show_options()
        self.readiness_changed.emit()

    def _show_options(self) -> None:
        choice = task_choice(self._tool, self._negotiated) if self._tool is not None else TaskChoice.NO
        self.drawer.show_options(self._tool.name if self._tool is not None else "", choice)
        self._summary.setText(self.drawer.options.summary())

    def call(self, *, force: bool = False) -> None:
        """Call the tool with the current arguments.

        Invalid arguments are marked and nothing is sent, except with `force`.
        """
        self._start(self.runner.call, force=force)

    def repeat(self, plan: RepeatPlan) -> None:
        """Call the tool many times."""
        self._start(partial(self.runner.repeat, plan))

    def poll(self, plan: PollPlan) -> None:
        """Call the tool at an interval and show what changes."""
        self._start(partial(self.runner.poll, plan))

    def cancel(self) -> None:
        self.runner.cancel()

    def _start(self, start: Callable[[Tool, ToolCall, ArgumentsCheck], None], *, force: bool = False) -> None:
        tool = self._tool
        if tool is None or not self.can_call:
            return
        self.alert.close_all()
        check: ArgumentsCheck = asyncio.get_running_loop().create_future()
        try:
            if force:
                arguments = self.arguments.arguments(force=True)
                check.set_result(())
            else:
                arguments = self.arguments.submit(partial(_finish, check))
            call = self._composed_call(tool, arguments)
        except FormError:
            return
        except UserError as exc:
            self.drawer.open(self.drawer.options)
            self.alert.show_message("options", exc.summary, exc.next_step)
            return
        start(tool, call, check)

    def _composed_call(self, tool: Tool, arguments: JSONObject) -> ToolCall:
        """Return the call as composed. Raises UserError for invalid options."""
        options = self.drawer.options.options()
        return ToolCall(
            tool.name,
            arguments,
            options.timeout,
            options.read_meta(),
            options.as_task,
            capabilities=options.read_capabilities(),
            total=options.total,
        )

    def toggle_options(self) -> None:
        self.drawer.toggle(self.drawer.options)

    def toggle_repeat_bar(self) -> None:
        self.drawer.toggle(self.drawer.repeat_bar)

    def toggle_interval_bar(self) -> None:
        self.drawer.toggle(self.drawer.interval_bar)

    def open_history(self) -> None:
        if self._tool is not None:
            self.pickers.open_history(self._tool.name)

    def open_saved(self) -> None:
        self.pickers.open_saved()

    def ask_name(self) -> None:
        """Save the arguments under a name the user enters."""
        if self._tool is not None:
            self.saver.ask(self._tool, self.save_as)

    def save_as(
        self,
        name: str,
        description: str | None = None,
        folder: Path | None = None,
        is_regression: bool | None = None,
    ) -> None:
        arguments = self.arguments_stack.typed()
        if not name or self._tool is None:
            return
        if arguments is None:
            self.saver.show_refusal("the arguments can't be read.", "Correct them first.")
            return
        try:
            self.saver.save(
                name, self._composed_call(self._tool, arguments), description, folder, is_regression
            )
        except UserError as exc:
            self.saver.show_refusal(exc.summary, exc.next_step)

    def load_saved(self, call: SavedCall) -> None:
        """Load the arguments and options of a saved call of the current tool."""
        self.saver.set_origin(call)
        self.drawer.load_saved(call)
        self._show_options()
        self.arguments_stack.load(call.arguments)

    def load_recorded(self, call: RecordedCall) -> None:
        """Load the arguments and options of an earlier call of the current tool."""
        options, arguments = call.recorded_options(), call.arguments()
        if self._tool is not None and options is not None:
            self.drawer.load_recorded(self._tool.name, options)
            self._summary.setText(self.drawer.options.summary())
        if arguments is not None:
            self.arguments_stack.load(arguments)

    def refresh_variables(self) -> None:
        """Update the variables: their values, or which are used, may have changed."""
        if not names_in(self._texts_with_variables()):
            self.variables_bar.hide()
        tool = self._tool.name if self._tool is not None else ""
        self._bridge.start("variables", self._show_variables(tool), self)

    async def _show_variables(self, tool: str) -> None:
        variables = await self.saver.variables(tool)
        self.arguments_stack.set_variables(tool, variables)
        if self._tool is not None and self._tool.name == tool:
            self.variables_bar.show_used(self._texts_with_variables(), variables)
            if not self.variables_bar.has_unknown:
                self.alert.close_topic("sending")

    def _texts_with_variables(self) -> JSON:
        """Return everything that may contain variables."""
        return [self.arguments_stack.typed() or {}, self.drawer.options.options().meta]

    def _on_secrets_omitted(self, pointers: tuple[str, ...]) -> None:
        self.alert.close_topic("marks")
        if pointers:
            shown = ", ".join(one_line(position.lstrip("/")) for position in pointers[:5])
            text = f"Secrets were not saved: {shown}."
            self.alert.show_message("marks", text, "Enter them again, or use a variable.", tone="wait")

    def _action(self, text: str, slot: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.triggered.connect(slot)
        return action

    def _connect(self) -> None:
        self.runner.changed.connect(self.readiness_changed)
        self.arguments_stack.settled.connect(self.refresh_variables)
        self.arguments_stack.secrets_omitted.connect(self._on_secrets_omitted)
        self.drawer.options.changed.connect(self._on_options_changed)
        self.drawer.repeat_bar.run_requested.connect(self.repeat)
        self.drawer.repeat_bar.error_requested.connect(self._on_error_requested)
        self.drawer.interval_bar.repeat_requested.connect(self.poll)
        self.pickers.recorded_picked.connect(self.load_recorded)
        self.pickers.saved_picked.connect(self.saved_picked)
        self.pending_strip.reply_requested.connect(self.reply_requested)
        self.readiness_changed.connect(self._on_readiness_changed)

    def _on_options_changed(self) -> None:
        self._summary.setText(self.drawer.options.summary())
        self.refresh_variables()

    def _on_readiness_changed(self) -> None:
        running = self.runner.running_tool
        self.pending_strip.set_running(running.name if running is not None else "")
        for action in (self.drawer.repeat_bar.run_action, self.drawer.interval_bar.repeat_action):
            action.setEnabled(self.can_call)

    def _on_error_requested(self, outcome: CallOutcome) -> None:
        self._bridge.start("show the first error", self.result.show_outcome(outcome), self)

    def _lay_out(self) -> None:
        left = QWidget()
        vbox(
            left,
            self.head,
            (self.arguments_stack, 1),
            self.variables_bar,
            self.drawer,
            self.alert,
            self.pending_strip,
            self.progress,
            self._make_buttons(),
            gap=SPACE_1,
            margin=(0, SPACE_2, 0, 0),
        )
        splitter = hsplit(left, self.result, sizes=[420, 480])
        vbox(self, splitter)

    def _make_buttons(self) -> QHBoxLayout:
        return hbox(
            None,
            ActionButton(self._actions["tool.call"], "primary"),
            SPACE_1,
            (self._summary, 1),
            icon_button(self._actions["call.history"]),
            self._saved_button,
            icon_button(self._actions["call.options"]),
            self._make_more(),
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_2, SPACE_2, SPACE_2),
        )

    def _make_more(self) -> QToolButton:
        more = self._action("More actions", lambda: None)
        self._theme.set_icon(more, "more")
        menu = QMenu(self)
        for id in ("call.save", "call.manage", "call.repeat", "call.watch", "call.variables"):
            menu.addAction(self._actions[id])
        more.setMenu(menu)
        button = icon_button(more)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button


def _finish(check: ArgumentsCheck, errors: tuple[FieldError, ...]) -> None:
    if not check.done():  # the call may be cancelled
        check.set_result(errors)
