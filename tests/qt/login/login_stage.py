"""A login panel without an engine: views made by hand, and actions that record their calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PySide6.QtCore import QObject, QUrl, Signal

from inspector.base.errors import UserError
from inspector.config.servers.entries import OAuthSettings
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.oauth.callback import ReceivedCallback
from inspector.oauth.http import LoginRequest, get_document, post_form
from inspector.oauth.login.steps import (
    STEPS,
    BrowserWait,
    Decision,
    HttpExchangeView,
    Input,
    LoginGrant,
    LoginPrompt,
    LoginView,
    Overrides,
    Step,
    StepId,
    StepState,
    Table,
    TokenInfo,
)
from inspector.protocol.auth.findings.finding import finding
from inspector.protocol.revisions import R5
from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.login.panel import LoginPanel
from inspector.qt.theme import Theme
from inspector.qt.views.panel import Panel, PanelContext

ICONS = Path(__file__).parents[3] / "resources" / "icons"
SERVER = "https://mcp.example.com/notes/mcp"
ISSUER = "https://login.example.com/tenant1"
CODE, VERIFIER, STATE = "c0de-1a2b3c4d5e6f7a8b", "v" * 64, "st4te-9f8e7d6c5b4a3928"
ACCESS = (
    "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9."
    "eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUuY29tL3RlbmFudDEiLCJpYXQiOjE3ODAwMDAwMDAsImV4cCI6MTc4MDAwMzYwMH0."
    "c2lnbmF0dXJlLW9mLXRoZS1tYXJrZXI"
)
REFRESH = "refresh-7c1f0a9b8d7e6f5a4b3c"


class RecordedActions:
    """Logins that record their calls and do nothing; `error` is raised by each. Also the saved options."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.error: UserError | None = None
        self.token: TokenInfo | None = None
        self.options = self
        self.saved_settings = OAuthSettings()
        self.saved_options = Overrides()

    def view(self, server: str) -> LoginView | None:
        return None

    async def tokens(self, server: str) -> TokenInfo | None:
        return self.token

    def settings(self, server: str) -> OAuthSettings:
        return self.saved_settings

    async def of(self, server: str) -> Overrides:
        return self.saved_options

    async def save(self, server: str, options: Overrides) -> None:
        self._record("save_options", options)

    async def set_auth(self, server: str, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        self._record("save_settings", settings, dict(secrets))

    async def start(self, server: str, overrides: Overrides) -> None:
        self._record("start", overrides)

    async def next(self, server: str) -> None:
        self._record("next")

    async def run(self, server: str) -> None:
        self._record("run")

    async def run_to(self, server: str, step: StepId) -> None:
        self._record("run_to", step)

    async def retry(self, server: str) -> None:
        self._record("retry")

    async def back(self, server: str, step: StepId) -> None:
        self._record("back", step)

    def edit(self, server: str, request: LoginRequest | None) -> None:
        self._record("edit", request)

    def cancel(self, server: str) -> None:
        self._record("cancel")

    def submit_callback_url(self, server: str, url: str) -> None:
        self._record("submit callback URL", url)

    async def allow_hosts(self, server: str, is_allowed: bool, requested: LoginPrompt | None) -> None:
        self._record("allow_hosts", is_allowed, requested)

    async def set_client(
        self, server: str, client_id: str, secret: str, requested: LoginPrompt | None
    ) -> None:
        self._record("set_client", client_id, secret, requested)

    async def refresh(self, server: str) -> None:
        self._record("refresh")

    async def log_out(self, server: str) -> str:
        self._record("log_out")
        return "The tokens were revoked."

    async def delete_tokens(self, server: str) -> None:
        self._record("delete_tokens")

    def _record(self, *call: Any) -> None:
        self.calls.append(call)
        if self.error is not None:
            raise self.error


class _Bridge(QObject):
    """Runs a panel's work at once."""

    login_changed = Signal(object)
    tokens_changed = Signal(str)

    def __init__(self, actions: RecordedActions) -> None:
        super().__init__()
        self._engine = SimpleNamespace(logins=actions, servers=actions)

    async def ask(self, work: Callable[[Any], Any]) -> Any:
        result = work(self._engine)
        return await result if isinstance(result, Coroutine) else result

    def start_when_attached(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        self.start(name, work)

    def start(self, name: str, work: Coroutine[Any, Any, object], owner: object = None) -> None:
        asyncio.run(_run(work))


async def _run(work: Coroutine[Any, Any, object]) -> None:
    await work


class LoginStage:
    """A panel, its recorded actions, and the URLs that it opened."""

    def __init__(self, theme: Theme | None = None, actions: RecordedActions | None = None) -> None:
        self.actions = actions or RecordedActions()
        self.opened: list[str] = []
        self.bridge = _Bridge(self.actions)
        bridge = cast(Bridge, self.bridge)
        theme = theme or Theme(ICONS)
        self.context = PanelContext(bridge, "notes", Actions(theme), theme, lambda server: Panel())
        self.panel = LoginPanel(self.context, LinkOpener(self._open))
        self.panel.set_view(server_view())

    def set_token(self, token: TokenInfo | None) -> None:
        """Change the server's tokens and notify the panel."""
        self.actions.token = token
        self.bridge.tokens_changed.emit("notes")

    def _open(self, url: QUrl) -> bool:
        self.opened.append(url.toString())
        return True


def server_view(transport: str = "http", **changes: Any) -> ServerView:
    return replace(ServerView("notes", transport, SERVER, ServerStatus.IDLE), **changes)


def exchange(
    request: LoginRequest, status: int, body: bytes = b"", *headers: tuple[str, str]
) -> HttpExchangeView:
    kind = (("Content-Type", "application/json"),) if body else ()
    return HttpExchangeView(request, request.url, status, (*kind, *headers), body, 42_000_000, row=7)


def steps_at(current: int, state: StepState = StepState.READY) -> tuple[Step, ...]:
    """Return the steps of a browser login; all before `current` are done."""
    states = [StepState.DONE] * current + [state] + [StepState.WAITING] * 99
    ids = STEPS[LoginGrant.CODE]
    return tuple(replace(_STEPS.get(id, Step(id)), state=states[n]) for n, id in enumerate(ids))


def login(current: int = 0, state: StepState = StepState.READY, **changes: Any) -> LoginView:
    view = LoginView(1, "notes", SERVER, LoginGrant.CODE, R5, True, steps_at(current, state))
    return replace(view, **changes)


def with_step(view: LoginView, step: StepId, **changes: Any) -> LoginView:
    steps = tuple(replace(each, **changes) if each.id is step else each for each in view.steps)
    return replace(view, steps=steps)


def waiting(**changes: Any) -> BrowserWait:
    hits = (
        ReceivedCallback(1_780_000_000_000_000_000, "GET /favicon.ico", "Not the callback path."),
        ReceivedCallback(
            1_780_000_001_000_000_000, "GET /callback?code=•••&state=•••", "Its state does not match."
        ),
    )
    url = f"https://login.example.com/authorize?client_id=abc&state={STATE}"
    return replace(BrowserWait("http://127.0.0.1:43210/callback", url, None, hits, 2), **changes)


def token(**changes: Any) -> TokenInfo:
    info = TokenInfo(
        ISSUER,
        "client-1",
        SERVER,
        "Bearer",
        ("notes:read",),
        ("notes:read", "notes:write"),
        1_780_000_000,
        1_780_003_600,
        ACCESS,
        REFRESH,
    )
    return replace(info, **changes)


_PRM = b'{"resource":"https://mcp.example.com/notes/mcp","authorization_servers":["https://login.example.com/tenant1"]}'
_TOKEN_FORM = (
    ("grant_type", "authorization_code"),
    ("code", CODE),
    ("code_verifier", VERIFIER),
    ("redirect_uri", "http://127.0.0.1:43210/callback"),
    ("resource", SERVER),
)
_STEPS = {
    StepId.PROBE: Step(
        StepId.PROBE,
        why="A request without a token shows whether the server requires one.",
        exchanges=(
            exchange(
                LoginRequest("POST", SERVER, (("Accept", "application/json"),), b'{"jsonrpc":"2.0"}'),
                401,
                b"",
                ("WWW-Authenticate", 'Bearer realm="notes", scope="notes:read"'),
            ),
        ),
        decisions=(Decision("The server returned 401: a login is required."),),
        differs="2025-11-25 and before probe with initialize.",
    ),
    StepId.CHALLENGE: Step(
        StepId.CHALLENGE,
        why="The challenge names the resource metadata.",
        tables=(
            Table(
                "Challenges",
                ("Scheme", "Parameter", "Value"),
                (("Bearer", "realm", "notes"), ("Bearer", "scope", "notes:read")),
            ),
        ),
        findings=(finding("AUTH-004", R5),),
    ),
    StepId.RESOURCE_LOOKUP: Step(
        StepId.RESOURCE_LOOKUP,
        why="The resource metadata names the authorization servers of this MCP server.",
        exchanges=(
            exchange(
                get_document("https://mcp.example.com/.well-known/oauth-protected-resource/notes/mcp"),
                404,
            ),
            exchange(get_document("https://mcp.example.com/.well-known/oauth-protected-resource"), 200, _PRM),
        ),
        tables=(
            Table(
                "URLs",
                ("URL", "Reason", "Status"),
                (
                    (
                        "https://mcp.example.com/.well-known/oauth-protected-resource/notes/mcp",
                        "path inserted",
                        "404",
                    ),
                    ("https://mcp.example.com/.well-known/oauth-protected-resource", "root", "200"),
                ),
            ),
        ),
        decisions=(Decision("The second URL has the metadata."),),
    ),
    StepId.PREPARE: Step(
        StepId.PREPARE,
        why="Create the values that the callback is checked against.",
        inputs=(
            Input("code_verifier", VERIFIER, "64 random characters", is_secret=True),
            Input("state", STATE, "random", is_secret=True),
            Input("resource", SERVER, "from the resource metadata"),
            Input("scope", "notes:read notes:write", "from WWW-Authenticate"),
        ),
    ),
    StepId.TOKEN_REQUEST: Step(
        StepId.TOKEN_REQUEST,
        why="The code is exchanged for a token.",
        inputs=(Input("code", CODE, "from the callback", is_secret=True),),
        exchanges=(
            exchange(
                post_form("https://login.example.com/token", _TOKEN_FORM),
                200,
                b'{"access_token":"'
                + ACCESS.encode()
                + b'","token_type":"Bearer","refresh_token":"'
                + REFRESH.encode()
                + b'"}',
            ),
        ),
    ),
}
