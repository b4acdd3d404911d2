"""The SDK's authorization server, current and old: our login, refresh and logout."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from inspector.base.clock import Clock, SystemClock
from inspector.base.errors import NeedsLogin
from inspector.config.servers.entries import HttpEntry
from inspector.engine.engine import Engine
from inspector.engine.views import OutcomeKind
from inspector.oauth.login.steps import LoginView, StepId, StepState
from inspector.oauth.login_reason import LoginReason
from inspector.traffic.records import RecordKind
from tests.peers.netserver import listening
from tests.peers.visit import Visit

SERVER = str(Path(__file__).with_name("sdkloginserver.py"))
NAME = "sdk-login"


class Person:
    """A user at a browser: logs in at the page and decides."""

    def __init__(self) -> None:
        self.response = "allow"
        self.opened: list[str] = []
        self.ended: list[httpx2.Response] = []

    async def open(self, url: str) -> None:
        self.opened.append(url)
        async with httpx2.AsyncClient(trust_env=False, follow_redirects=True) as browser:
            page = await browser.get(url)
            assert "<form" in page.text, page.text
            typed = {"name": "grace", "password": "hopper", "answer": self.response}
            self.ended.append(await browser.post(page.url, data=typed))


@pytest.fixture(scope="module", params=["today", "before"])
def sdk(request: pytest.FixtureRequest) -> str:
    """The Python with the SDK."""
    return sys.executable if request.param == "today" else str(request.getfixturevalue("old_sdk_python"))


@pytest.fixture(scope="module")
def url(sdk: str) -> Iterator[str]:
    with listening([sdk, SERVER], r"listening on (\S+)") as url:
        yield url


@pytest.fixture
def person() -> Person:
    return Person()


@asynccontextmanager
async def engine_for(url: str, person: Person, clock: Clock | None = None) -> AsyncIterator[Engine]:
    engine = Engine(clock=clock)
    try:
        engine.logins.open_url = person.open
        engine.logins.opens_browser = frozenset({LoginReason.CONNECT})  # as the window has it
        engine.servers.add(HttpEntry(name=NAME, url=url))
        yield engine
    finally:
        await engine.close()


@pytest.fixture
async def peer(url: str, person: Person) -> AsyncIterator[Visit]:
    """A server that was connected by logging in."""
    async with engine_for(url, person) as engine:
        await engine.servers.connector.connect(NAME)
        yield Visit(engine, NAME)


async def access_token(peer: Visit) -> str:
    tokens = await peer.engine.logins.tokens(NAME)
    assert tokens is not None
    return tokens.access_token


def problems(view: LoginView | None) -> list[str]:
    """Return the errors among our findings for this login."""
    assert view is not None
    found = [finding for step in view.steps for finding in step.findings]
    return [f"{one.id} {one.seen}" for one in found if one.severity.name == "ERROR"]


async def test_connecting_logs_in_and_a_tool_can_be_called(peer: Visit, person: Person, url: str) -> None:
    assert await peer.text("whoami") == f"MCP Lens user {url}"
    assert len(person.opened) == 1
    assert problems(peer.engine.logins.view(NAME)) == []
    assert peer.complaints() == []


async def test_every_login_step_can_be_run_without_a_connection(url: str, person: Person) -> None:
    async with engine_for(url, person) as engine:
        view = await engine.logins.start(NAME)
        while not view.is_over and not view.failure:
            view = await engine.logins.next(NAME)
        assert view.failure == ""
        assert {step.state for step in view.steps} <= {StepState.DONE, StepState.SKIPPED}
        assert view.result is not None
        assert view.result.scopes == ("user",)
        assert problems(view) == []


async def test_token_the_server_forgot_is_refreshed_and_the_call_continues(
    peer: Visit, person: Person, url: str
) -> None:
    first = await access_token(peer)
    assert await peer.text("lose") == "lost"
    assert await peer.text("whoami") == f"MCP Lens user {url}"
    assert await access_token(peer) != first
    assert len(person.opened) == 1, "the browser was not opened again"


async def test_manual_refresh_rotates_the_refresh_token(peer: Visit) -> None:
    before = await peer.engine.logins.tokens(NAME)
    after = await peer.engine.logins.refresh(NAME)
    assert before is not None
    assert after is not None
    assert (before.access_token, before.refresh_token) != (after.access_token, after.refresh_token)
    assert after.refresh_token
    assert (await peer.text("whoami")).startswith("MCP Lens user")


class Ahead(SystemClock):
    """A clock that is `seconds` ahead."""

    seconds = 0

    def wall_ns(self) -> int:
        return super().wall_ns() + self.seconds * 1_000_000_000


async def test_token_is_refreshed_before_it_expires(sdk: str, person: Person) -> None:
    clock = Ahead()
    with listening([sdk, SERVER], r"listening on (\S+)", {"EXPIRES_IN": "600"}) as url:
        async with engine_for(url, person, clock) as engine:
            await engine.servers.connector.connect(NAME)
            peer = Visit(engine, NAME)
            first = await access_token(peer)
            assert (await peer.text("whoami")).startswith("MCP Lens user")
            assert await access_token(peer) == first, "it is good for a while"
            clock.seconds = 600 - 30
            assert (await peer.text("whoami")).startswith("MCP Lens user")
            assert await access_token(peer) != first
            assert len(person.opened) == 1


async def test_logging_out_revokes_the_token_on_the_server(peer: Visit, url: str) -> None:
    token = await access_token(peer)
    text = await peer.engine.logins.log_out(NAME)
    assert text == "Logged out. Tokens revoked."
    async with httpx2.AsyncClient(trust_env=False) as anybody:
        response = await anybody.post(url, headers={"Authorization": f"Bearer {token}"}, json={})
    assert response.status_code == 401
    assert await peer.engine.logins.tokens(NAME) is None
    outcome = await peer.call("whoami")
    assert outcome.kind is not OutcomeKind.RESULT
    assert "requires login" in outcome.summary


async def test_login_works_again_after_logging_out(peer: Visit, person: Person) -> None:
    await peer.engine.logins.log_out(NAME)
    await peer.engine.servers.connector.disconnect(NAME)
    await peer.engine.servers.connector.connect(NAME)
    assert (await peer.text("whoami")).startswith("MCP Lens user")
    assert len(person.opened) == 2


async def test_denied_consent_is_reported(url: str, person: Person) -> None:
    person.response = "deny"
    async with engine_for(url, person) as engine:
        with pytest.raises(NeedsLogin, match="access_denied") as refused:
            await engine.servers.connector.connect(NAME)
        assert refused.value.next_step
        view = engine.logins.view(NAME)
        assert view is not None
        failed = [step.id for step in view.steps if step.state is StepState.FAILED]
        assert failed == [StepId.CALLBACK]


async def test_login_requests_appear_in_the_traffic(peer: Visit, url: str) -> None:
    rows = [row.raw.decode() for row in peer.engine.log.find(NAME, RecordKind.HTTP)]
    origin = url.removesuffix("/mcp")
    assert rows[:6] == [
        f"POST {url}",  # server/discover
        f"POST {url}",  # initialize: a server may reject only the probe with 401
        f"GET {origin}/.well-known/oauth-protected-resource/mcp",
        f"GET {origin}/.well-known/oauth-authorization-server",
        f"POST {origin}/register",
        f"POST {origin}/token",
    ]
    steps = [row.raw.decode() for row in peer.engine.log.find(NAME, RecordKind.LOGIN)]
    assert "Login · Identify client: Client registered." in steps


async def test_login_works_with_a_server_without_resource_metadata(sdk: str, person: Person) -> None:
    """2025-03-26: the server itself is the authorization server, with metadata at its root."""
    command = [sdk, SERVER, "--no-resource-metadata"]
    with listening(command, r"listening on (\S+)") as url:
        async with engine_for(url, person) as engine:
            await engine.servers.connector.connect(NAME)
            assert (await Visit(engine, NAME).text("whoami")).startswith("MCP Lens user")
