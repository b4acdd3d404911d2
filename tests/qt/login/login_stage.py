"""An Auth panel over views that a test makes by hand, without an engine; its desk notes what is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import QObject, QUrl, Signal

from inspector.base.errors import UserError
from inspector.config.servers.entries import OAuthSettings
from inspector.engine.views import ServerStatus, ServerView
from inspector.oauth.callback import ReceivedCallback
from inspector.oauth.http import LoginRequest, get_document, post_form
from inspector.oauth.login.steps import (
    STEPS,
    BrowserWait,
    Decision,
    HttpExchangeView,
    Input,
    LoginGrant,
    LoginView,
    Overrides,
    Question,
    Step,
    StepId,
    StepState,
    Table,
    TokenInfo,
)
from inspector.protocol.auth.findings.finding import finding
from inspector.protocol.revisions import R5
from inspector.qt.bridge import Bridge
from inspector.qt.link_opener import LinkOpener
from inspector.qt.panels.login.panel import LoginPanel
from inspector.qt.theme import Theme

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


class Harness:
    """Notes what it was asked, and does nothing; `refusal` is raised for all of it."""

    def __init__(self) -> None:
        self.requested: list[tuple[Any, ...]] = []
        self.refusal: UserError | None = None
        self.held: TokenInfo | None = None
        self.configured = OAuthSettings()
        self.remembered = Overrides()

    async def login(self) -> LoginView | None:
        return None

    async def token(self) -> TokenInfo | None:
        return self.held

    async def begin(self, overrides: Overrides, *, runs: bool) -> None:
        self._note("begin", overrides, runs)

    async def settings(self) -> OAuthSettings:
        return self.configured

    async def options(self) -> Overrides:
        return self.remembered

    async def remember(self, options: Overrides) -> None:
        self._note("remember", options)

    async def keep(self, settings: OAuthSettings, secrets: Mapping[str, str]) -> None:
        self._note("keep", settings, dict(secrets))

    async def next(self) -> None:
        self._note("next")

    async def run(self) -> None:
        self._note("run")

    async def run_to(self, step: StepId) -> None:
        self._note("run_to", step)

    async def retry(self) -> None:
        self._note("retry")

    async def back(self, step: StepId) -> None:
        self._note("back", step)

    async def edit(self, request: LoginRequest | None) -> None:
        self._note("edit", request)

    async def cancel(self) -> None:
        self._note("cancel")

    async def paste(self, address: str) -> None:
        self._note("paste", address)

    async def allow_hosts(self, is_allowed: bool, requested: Question | None) -> None:
        self._note("allow_hosts", is_allowed, requested)

    async def give_client(self, client_id: str, secret: str, requested: Question | None) -> None:
        self._note("give_client", client_id, secret, requested)

    async def refresh(self) -> None:
        self._note("refresh")

    async def sign_out(self) -> str:
        self._note("sign_out")
        return "The tokens were revoked."

    async def forget(self) -> None:
        self._note("forget")

    def _note(self, *what: Any) -> None:
        self.requested.append(what)
        if self.refusal is not None:
            raise self.refusal


class _Bridge(QObject):
    """Does a panel's work at once."""

    login_changed = Signal(object)
    tokens_changed = Signal(str)

    def start_when_attached(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        self.start(name, work)

    def start(self, name: str, work: Coroutine[Any, Any, object], owner: object = None) -> None:
        asyncio.run(_whole(work))


async def _whole(work: Coroutine[Any, Any, object]) -> None:
    await work


class AuthStage:
    """A panel, its desk, and the addresses that it opened."""

    def __init__(self, theme: Theme | None = None, actions: Harness | None = None) -> None:
        self.actions = actions or Harness()
        self.opened: list[str] = []
        self.bridge = _Bridge()
        self.panel = LoginPanel(
            cast(Bridge, self.bridge), "notes", self.actions, LinkOpener(self._open), theme or Theme(ICONS)
        )
        self.panel.set_view(server_view())

    def give_token(self, token: TokenInfo | None) -> None:
        """The tokens are others now."""
        self.actions.held = token
        self.bridge.tokens_changed.emit("notes")

    def _open(self, url: QUrl) -> bool:
        self.opened.append(url.toString())
        return True


def server_view(transport: str = "http", **changes: Any) -> ServerView:
    return replace(ServerView("notes", transport, SERVER, ServerStatus.IDLE), **changes)


def seen(
    request: LoginRequest, status: int, body: bytes = b"", *headers: tuple[str, str]
) -> HttpExchangeView:
    kind = (("Content-Type", "application/json"),) if body else ()
    return HttpExchangeView(request, request.url, status, (*kind, *headers), body, 42_000_000, row=7)


def steps_at(current: int, state: StepState = StepState.READY) -> tuple[Step, ...]:
    """Those of a browser login: all before `current` are done."""
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
        ReceivedCallback(1_780_000_000_000_000_000, "GET /favicon.ico", "No answer is expected there."),
        ReceivedCallback(
            1_780_000_001_000_000_000, "GET /callback?code=•••&state=•••", "Its state is not ours."
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
        why="A request without a token shows whether the server wants one.",
        exchanges=(
            seen(
                LoginRequest("POST", SERVER, (("Accept", "application/json"),), b'{"jsonrpc":"2.0"}'),
                401,
                b"",
                ("WWW-Authenticate", 'Bearer realm="notes", scope="notes:read"'),
            ),
        ),
        decisions=(Decision("The server answered 401: a login is required."),),
        differs="2025-11-25 and before probe with initialize.",
    ),
    StepId.CHALLENGE: Step(
        StepId.CHALLENGE,
        why="The challenge says where the login begins.",
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
            seen(
                get_document("https://mcp.example.com/.well-known/oauth-protected-resource/notes/mcp"),
                404,
            ),
            seen(get_document("https://mcp.example.com/.well-known/oauth-protected-resource"), 200, _PRM),
        ),
        tables=(
            Table(
                "Places",
                ("Address", "Why", "Answer"),
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
        decisions=(Decision("The second place has the document."),),
    ),
    StepId.PREPARE: Step(
        StepId.PREPARE,
        why="What the answer will be checked against is made now.",
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
            seen(
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
