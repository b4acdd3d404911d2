"""Logins that a server requires: failures are reported, and requested scopes are included."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from inspector.base.errors import NeedsLogin
from inspector.config.servers.entries import HttpEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.engine import Engine
from inspector.engine.login.logins import LoginRequested
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.oauth.login_reason import LoginReason
from tests.helpers.servers import server_views
from tests.unit.demo.login.login_client import LoginDemo

NAME = "notes"
FIRST = {"notes:read", "offline_access"}


@pytest.fixture(scope="module")
def shared_demo() -> Iterator[LoginDemo]:
    with LoginDemo() as demo:
        yield demo


class User:
    """The user at the browser."""

    def __init__(self, demo: LoginDemo) -> None:
        self._demo = demo
        self.response = "allow"
        self.pages: list[str] = []

    async def open(self, url: str) -> None:
        self.pages.append(url)
        sent = self._demo.decide(self._demo.http.get(url), decision=self.response)
        async with httpx2.AsyncClient(trust_env=False) as browser:
            await browser.get(sent.headers["location"])


@pytest.fixture
def demo(shared_demo: LoginDemo) -> LoginDemo:
    shared_demo.forget()
    return shared_demo


@pytest.fixture
def user(demo: LoginDemo) -> User:
    return User(demo)


@pytest.fixture
async def engine(demo: LoginDemo, user: User) -> AsyncIterator[Engine]:
    engine = Engine()
    engine.logins.open_url = user.open
    engine.logins.opens_browser = frozenset({LoginReason.CONNECT})
    engine.servers.add(HttpEntry(name=NAME, url=demo.url))
    yield engine
    await engine.close()


async def write(engine: Engine) -> CallOutcome:
    return await engine.tool_caller.call(NAME, ToolCall("write_note", {"text": "Tea at five"}))


def scopes_at(page: str) -> set[str]:
    """Return the scopes in the authorization request."""
    return set(dict(parse_qsl(urlsplit(page).query))["scope"].split())


async def test_denied_login_is_the_reason_the_server_is_not_connected(engine: Engine, user: User) -> None:
    user.response = "deny"
    with pytest.raises(NeedsLogin) as failed:
        await engine.servers.connector.connect(NAME)
    (view,) = server_views(engine)
    assert view.status is ServerStatus.NEEDS_LOGIN
    assert "rejected the login" in view.reason, view.reason
    assert (view.reason, view.next_step) == (failed.value.summary, failed.value.next_step)
    assert view.next_step == "Reconnect, or go through the login in the Auth tab."


async def test_server_says_so_while_connecting_waits_for_the_browser(engine: Engine, user: User) -> None:
    seen: list[ServerView] = []
    engine.servers.changed.connect(seen.append)
    await engine.servers.connector.connect(NAME)
    states = [(view.status, view.waits_for) for view in seen]
    location = states.index((ServerStatus.LOGGING_IN, "a login in the browser"))
    assert ServerStatus.NEEDS_LOGIN not in [status for status, _ in states[location:]]
    assert (seen[location].reason, seen[location].next_step) == ("", "")
    assert states[-1][0] is ServerStatus.CONNECTED


async def test_login_cancelled_while_connecting_leaves_a_server_that_needs_one(
    engine: Engine,
) -> None:
    opened = asyncio.Event()

    async def ignore_url(url: str) -> None:
        opened.set()

    engine.logins.open_url = ignore_url
    connecting = asyncio.create_task(engine.servers.connector.connect(NAME))
    await opened.wait()
    assert engine.servers.get(NAME).view.status is ServerStatus.LOGGING_IN
    await engine.servers.connector.disconnect(NAME)
    with pytest.raises(NeedsLogin, match="cancelled"):
        await connecting
    view = engine.servers.get(NAME).view
    assert view.status is ServerStatus.NEEDS_LOGIN
    assert view.next_step == "Reconnect, or go through the login in the Auth tab."


async def test_call_with_insufficient_scope_says_so_and_the_next_login_requests_it(
    engine: Engine, user: User
) -> None:
    wanted: list[LoginRequested] = []
    engine.logins.login_requested.connect(wanted.append)
    await engine.servers.connector.connect(NAME)
    outcome = await write(engine)
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary == "The server requires “notes:write”, which the token does not have."
    assert outcome.next_step == "Log in and retry."
    assert [one.occasion for one in wanted] == [LoginReason.STEP_UP]
    assert len(user.pages) == 1, "nothing was pressed that opens the browser"
    await engine.logins.start(NAME)
    view = await engine.logins.run(NAME)
    assert view.failure == ""
    assert scopes_at(user.pages[-1]) == {*FIRST, "notes:write"}
    assert (await write(engine)).kind is OutcomeKind.RESULT


async def test_retry_without_a_login_gives_the_same_error(engine: Engine) -> None:
    await engine.servers.connector.connect(NAME)
    first = await write(engine)
    for _ in range(3):
        again = await write(engine)
        assert (again.summary, again.next_step) == (first.summary, first.next_step)


async def test_login_after_a_logout_requests_no_more_than_the_first(engine: Engine, user: User) -> None:
    await engine.servers.connector.connect(NAME)
    await write(engine)
    await engine.logins.log_out(NAME)
    await engine.logins.start(NAME)
    await engine.logins.run(NAME)
    assert [scopes_at(page) for page in user.pages] == [FIRST, FIRST]
