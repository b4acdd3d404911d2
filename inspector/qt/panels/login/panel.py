"""Login panel of one server: steps, diagram, findings, token and options of its login.

Shows every login of the server, including those started by connecting, and works without a connection.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QGuiApplication, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QWidget

from inspector.base.errors import UserError
from inspector.config.servers.entries import OAuthSettings
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.oauth.login.report import login_text, login_trace
from inspector.oauth.login.steps import LoginView, Overrides, StepId
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.login.diagram import DiagramView
from inspector.qt.panels.login.findings import FindingList
from inspector.qt.panels.login.options import OptionsForm
from inspector.qt.panels.login.step_card import StepCard
from inspector.qt.panels.login.step_list import LoginControls, StepList
from inspector.qt.panels.login.step_parts import RawHttp
from inspector.qt.panels.login.tokens import TokenView
from inspector.qt.panels.login.user_prompts import BrowserWaitBox, LoginPromptBar
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.code.save_file import save_bytes
from inspector.qt.widgets.inputs.controls import Segments, bind_keys, icon_button
from inspector.qt.widgets.layout import STRETCH, hbox, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack, EmptyState
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.badge import Badge

if TYPE_CHECKING:
    from inspector.engine.login.logins import LoginController

VIEWS = ("Steps", "Diagram", "Findings", "Token", "Options")
# Below this width, the card and its HTTP are not side by side.
_MIN_WIDTH = 860
_MIN_STACK_HEIGHT = 88
_NO_LOGIN = (
    "Log in to use a protected server, or go step by step to see every request, every decision with "
    "its reason, and the findings. No connection is needed."
)
_STDIO = (
    "This server runs as a local process and takes its credentials from its environment. Set them as "
    "environment variables of the server."
)


class LoginPanel(Panel):
    """The login panel of one server."""

    help_page = "login"

    def __init__(self, context: PanelContext, opener: LinkOpener | None = None) -> None:
        super().__init__()
        bridge, server, theme = context.bridge, context.server, context.theme
        self._bridge = bridge
        self._server = server
        self._opener = opener or LinkOpener()
        self._theme = theme
        self.login: LoginView | None = None  # the latest
        self._saved_options = Overrides()
        self.steps = StepList(theme)
        self.card = StepCard(theme)
        self.http = RawHttp(theme)
        self.diagram = DiagramView(theme)
        self.findings = FindingList(theme)
        self.token = TokenView(theme)
        self.options = OptionsForm(theme)
        self.controls = LoginControls(theme)
        self.browser_wait = BrowserWaitBox(theme)
        self.prompt = LoginPromptBar(theme)
        self.alert = Alert(theme)
        self.views = Segments(theme, VIEWS)
        self.sides = Segments(theme, ("Step", "HTTP"))
        self.rules = Badge(theme)
        self.copy_action = QAction("Copy login as text", self)
        self.copy_action.setToolTip("All steps as text, without secrets")
        self.export_action = QAction("Export trace…", self)
        self.export_action.setToolTip("All steps as JSON, without secrets")
        theme.set_icon(self.copy_action, "copy")
        theme.set_icon(self.export_action, "export")
        self._empty = EmptyState(theme)
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._stack = QStackedWidget()
        self._stack.setMinimumHeight(
            _MIN_STACK_HEIGHT
        )  # its pages scroll; their size hints would enlarge a small window
        self._content = ContentStack(theme, self._make_page())
        vbox(self, self._content)
        self._connect()
        self.http.row_requested.connect(context.row_requested)
        self.show_login(None)
        bridge.start_when_attached(f"login of {server}", self._load())

    async def _load(self) -> None:
        """Load the state from before the panel was opened."""
        try:
            login = await self._bridge.ask(lambda engine: engine.logins.view(self._server))
            token = await self._bridge.ask(lambda engine: engine.logins.tokens(self._server))
            settings = await self._bridge.ask(lambda engine: engine.logins.settings(self._server))
        except UserError:
            return  # the server has no login
        self.options.grants.show_settings(self._server, settings)
        if login is not None and self.login is None:
            self.show_login(login)
        self.token.show_token(token)
        self._saved_options = await self._bridge.ask(lambda engine: engine.logins.options.of(self._server))
        self.options.show_overrides(self._saved_options)

    def set_view(self, view: ServerView) -> None:
        if view.transport == "stdio":
            self._content.explain("empty", "key", "Local servers have no login", _STDIO)
            return
        self._content.open()
        self._show_empty(view)

    def show_login(self, login: LoginView | None) -> None:
        is_new = login is not None and (self.login is None or login.flow_id != self.login.flow_id)
        self.login = login
        self._steps_page.setCurrentIndex(0 if login is None else 1)
        for action in (self.copy_action, self.export_action):
            action.setEnabled(login is not None)
        self.browser_wait.show_waiting(login.waiting if login is not None else None)
        self.prompt.show_prompt(login.prompt if login is not None else None)
        self.diagram.show_view(login)
        self.findings.show_view(login)
        count = len(login.findings) if login is not None else 0
        self.views.button(VIEWS.index("Findings")).setText(f"Findings {count}" if count else "Findings")
        if login is not None:
            self._show_rules(login)
            self.steps.show_view(login)
        if is_new:
            self.alert.close_all()
            if self.views.index() == VIEWS.index("Options"):
                self.show_view("Steps")
        self._show_failure(login)
        self._show_controls()
        self._show_step()

    def show_view(self, name: str) -> None:
        self.views.choose(VIEWS.index(name))
        self._on_view_chosen(VIEWS.index(name))

    def show_step(self, step: StepId) -> None:
        self.show_view("Steps")
        self.steps.choose(step)

    def log_in(self) -> None:
        """Start a login, as from the server's header."""
        self.controls.log_in.trigger()

    def _on_login_changed(self, login: LoginView) -> None:
        if login.server == self._server:
            self.show_login(login)

    def _on_tokens_changed(self, server: str) -> None:
        if server == self._server:
            self._bridge.start(f"tokens of {server}", self._load_token(), self)

    async def _load_token(self) -> None:
        self.token.show_token(await self._bridge.ask(lambda engine: engine.logins.tokens(self._server)))

    def _on_start_requested(self, runs_to_end: bool) -> None:
        try:
            overrides = self.options.overrides()
        except UserError as exc:
            self.show_view("Options")
            self._show_error(exc)
            return
        self._start("start", self._log_in(overrides, runs_to_end))

    async def _log_in(self, overrides: Overrides, runs_to_end: bool) -> None:
        await self._bridge.ask(lambda engine: engine.logins.start(self._server, overrides))
        if runs_to_end:
            await self._bridge.ask(lambda engine: engine.logins.run(self._server))

    def _on_options_edited(self) -> None:
        try:
            overrides = self.options.overrides()
        except UserError:
            return  # incomplete input: starting a login reports it
        if overrides != self._saved_options:
            self._saved_options = overrides
            self._ask("save options", lambda logins: logins.options.save(self._server, overrides))

    def _on_hosts_decided(self, allowed: bool) -> None:
        shown = self.prompt.shown
        self._ask("hosts", lambda logins: logins.allow_hosts(self._server, allowed, shown))

    def _on_client_entered(self, id: str, secret: str) -> None:
        shown = self.prompt.shown
        self._ask("client", lambda logins: logins.set_client(self._server, id, secret, shown))

    def _on_command_requested(self, command: str) -> None:
        self._ask(command, lambda logins: getattr(logins, command)(self._server))

    def _on_step_command_requested(self, command: str, step: StepId | None) -> None:
        if step is not None:
            self._ask(command, lambda logins: getattr(logins, command)(self._server, step))

    def _ask(self, name: str, work: Callable[[LoginController], object]) -> None:
        self._start(name, self._bridge.ask(lambda engine: work(engine.logins)))

    def _start(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        self.alert.close_topic("command")
        self._bridge.start(f"login: {name}", self._run(work), self)

    def _ask_for_token(self, name: str, work: Callable[[LoginController], object]) -> None:
        self.token.set_busy(True)
        self._start(name, self._run_for_token(work))

    async def _run_for_token(self, work: Callable[[LoginController], object]) -> object:
        try:
            return await self._bridge.ask(lambda engine: work(engine.logins))
        finally:
            self.token.set_busy(False)

    async def _run(self, work: Coroutine[Any, Any, object]) -> None:
        """Await a command and show its error, or its result if that is a message."""
        result = None
        with reported(self.alert, "command", "error"):
            result = await work
        if isinstance(result, str):
            self.alert.show_message("command", result, tone="ok")

    async def _save_settings(self, settings: OAuthSettings, secrets: dict[str, str]) -> str:
        await self._bridge.ask(lambda engine: engine.servers.set_auth(self._server, settings, secrets))
        self.options.grants.show_settings(self._server, settings)
        # Saving ended a running login.
        self.show_login(await self._bridge.ask(lambda engine: engine.logins.view(self._server)))
        return "Saved. Applies at the next login."

    def _show_error(self, exc: UserError) -> None:
        self.alert.show_message("command", exc.summary, exc.next_step, tone="error")

    def _on_open(self, url: str) -> None:
        with reported(self.alert, "command", "error"):
            self._opener.open(url)

    def _copy(self) -> None:
        if self.login is not None:
            QGuiApplication.clipboard().setText(login_text(self.login))

    def _export(self) -> None:
        if self.login is not None:
            save_bytes(self, "Export trace", "login.json", login_trace(self.login))

    def _show_empty(self, view: ServerView) -> None:
        actions = [self.controls.log_in, self.controls.begin]
        if view.status is ServerStatus.NEEDS_LOGIN:
            text = f"{view.reason} {view.next_step}".strip() or "Log in to use this server."
            self._empty.show_empty("key", "Login required", text, actions)
        else:
            self._empty.show_empty("key", "No login yet", _NO_LOGIN, actions)

    def _show_rules(self, login: LoginView) -> None:
        mode = "strict mode" if login.is_strict else "observe mode"
        self.rules.set_text(f"{login.revision} · {mode}")

    def _show_failure(self, login: LoginView | None) -> None:
        if login is not None and login.failure:
            self.alert.show_message("failure", login.failure, login.next_step, tone="error")
        else:
            self.alert.close_topic("failure")

    def _show_step(self) -> None:
        login, chosen = self.login, self.steps.chosen()
        self.controls.show_view(login, chosen)
        self.diagram.show_step(chosen)
        step = next((each for each in login.steps if each.id is chosen), None) if login is not None else None
        if login is not None and step is not None:
            self.card.show_step(login, step)
            self.http.show_step(step)

    def _on_exchange_chosen(self, position: int) -> None:
        self.http.choose(position)
        self.sides.choose(1)
        self._show_sides()

    def _on_view_chosen(self, position: int) -> None:
        self._stack.setCurrentIndex(position)
        self._show_controls()

    def _show_controls(self) -> None:
        """Hide the controls where the empty page has its own buttons to start a login."""
        self.controls.setVisible(self.login is not None or self._stack.currentIndex() != 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_sides()

    def _show_sides(self) -> None:
        is_wide = self.width() >= _MIN_WIDTH
        self._sides_row.setVisible(not is_wide)
        is_http = self.sides.index() == 1
        self.card.setVisible(is_wide or not is_http)
        self.http.setVisible(is_wide or is_http)

    def _connect(self) -> None:
        self._bridge.login_changed.connect(self._on_login_changed)
        self._bridge.tokens_changed.connect(self._on_tokens_changed)
        self.controls.start_requested.connect(self._on_start_requested)
        self.controls.command_requested.connect(self._on_command_requested)
        self.controls.step_command_requested.connect(self._on_step_command_requested)
        self.steps.step_chosen.connect(self._show_step)
        self.card.exchange_chosen.connect(self._on_exchange_chosen)
        self.card.edited.connect(
            lambda request: self._ask("edit", lambda logins: logins.edit(self._server, request))
        )
        self.diagram.step_requested.connect(self.show_step)
        self.findings.step_requested.connect(self.show_step)
        self.browser_wait.open_requested.connect(self._on_open)
        self.browser_wait.pasted.connect(
            lambda url: self._ask(
                "submit callback URL", lambda logins: logins.submit_callback_url(self._server, url)
            )
        )
        self.prompt.hosts_decided.connect(self._on_hosts_decided)
        self.prompt.client_entered.connect(self._on_client_entered)
        self.token.refresh_requested.connect(
            lambda: self._ask_for_token("refresh", lambda logins: logins.refresh(self._server))
        )
        self.token.log_out_requested.connect(
            lambda: self._ask_for_token("log out", lambda logins: logins.log_out(self._server))
        )
        self.token.delete_requested.connect(
            lambda: self._ask_for_token("delete", lambda logins: logins.delete_tokens(self._server))
        )
        self.options.grants.save_requested.connect(
            lambda settings, secrets: self._start("save settings", self._save_settings(settings, secrets))
        )
        self.options.grants.error_found.connect(self._show_error)
        self.options.editing_finished.connect(self._on_options_edited)
        self.views.chosen.connect(self._on_view_chosen)
        self.sides.chosen.connect(self._show_sides)
        self.copy_action.triggered.connect(self._copy)
        self.export_action.triggered.connect(self._export)
        for keys in ("Ctrl+Return", "Ctrl+Enter"):
            bind_keys(self, keys, self.controls.next.trigger)

    def _make_page(self) -> QWidget:
        for view in (self._make_steps(), self.diagram, self.findings, self.token, self.options):
            self._stack.addWidget(view)
        page = QWidget()
        head = hbox(
            None,
            self.views,
            self.rules,
            STRETCH,
            *(icon_button(action) for action in (self.copy_action, self.export_action)),
            margin=(SPACE_3, SPACE_2, SPACE_3, SPACE_1),
        )
        vbox(
            page,
            head,
            self.controls,
            self.alert,
            self.prompt,
            self.browser_wait,
            Divider(self._theme),
            (self._stack, 1),
            gap=0,
        )
        return page

    def _make_steps(self) -> QWidget:
        splitter = hsplit(self.card, self.http, sizes=[520, 420])
        self.card.setMinimumSize(QSize(200, 80))
        self.http.setMinimumSize(QSize(200, 80))
        right = QWidget()
        self._sides_row = QWidget()
        hbox(self._sides_row, self.sides, STRETCH, gap=-1, margin=(SPACE_3, SPACE_1, SPACE_3, 0))
        vbox(right, self._sides_row, (splitter, 1), gap=0)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(self.steps)
        self._split.addWidget(right)
        self._split.setStretchFactor(1, 1)
        self._split.setSizes([250, 870])
        self.steps.setMinimumWidth(150)
        self._steps_page = QStackedWidget()
        self._steps_page.addWidget(self._empty)
        self._steps_page.addWidget(self._split)
        return self._steps_page


class Divider(QWidget):
    """A horizontal line between the fixed part of the panel and the views."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setFixedHeight(1)
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        QPainter(self).fillRect(self.rect(), self._theme.color("line"))
