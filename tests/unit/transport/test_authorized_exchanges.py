"""Authorized requests: their credentials, and retries with new ones."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from inspector.base.clock import SystemClock
from inspector.base.errors import NeedsLogin
from inspector.transport.base import Headers, HttpEnded, WireEvent
from inspector.transport.http_exchange import Exchange, Exchanges
from inspector.transport.http_transport import run_exchange
from inspector.transport.network import Network
from tests.helpers.httpfaults import Call, FaultServer

CHALLENGE = 'Bearer error="invalid_token"'


async def refuse(call: Call) -> None:
    await call.reply(401, b"who are you?", "text/plain", WWW_Authenticate=CHALLENGE)


class Sender:
    """An authorization with numbered tokens that records its calls."""

    def __init__(self, maximum: int = 1, error: Exception | None = None) -> None:
        self.begun: list[str] = []
        self.refusals: list[tuple[int, bytes]] = []
        self.statuses: list[int] = []
        self._most = maximum
        self._error = error
        self._number = 0

    def begin(self, operation: str) -> Sender:
        self.begun.append(operation)
        return self

    async def headers(self, method: str, url: str) -> Headers:
        self._number += 1
        return (("Authorization", f"Bearer {self._number}"),)

    def responded(self, status: int, url: str, headers: Headers) -> None:
        self.statuses.append(status)

    async def refused(self, status: int, headers: Headers, body: bytes) -> bool:
        assert ("www-authenticate", CHALLENGE) in [(name.lower(), value) for name, value in headers]
        self.refusals.append((status, body))
        if self._error is not None:
            raise self._error
        return len(self.refusals) <= self._most


class Stage:
    def __init__(self, server: FaultServer) -> None:
        self.server = server
        self.events: list[WireEvent] = []
        self.taken: list[tuple[int, bytes]] = []

    async def run(
        self,
        sender: Sender | None,
        method: str = "GET",
        headers: Headers = (),
        configured: Headers = (),
        operation: str = "something",
    ) -> None:
        async def take(exchange: Exchange) -> None:
            self.taken.append((exchange.status, await exchange.read_body()))

        network = Network(headers=configured)
        http = Exchanges(self.server.url(), network, SystemClock(), self.events.append, authorization=sender)
        try:
            await run_exchange(http, method, self.server.url(), headers, take, operation=operation)
        finally:
            await http.close()

    @property
    def sent(self) -> list[str]:
        return [call.headers.get("authorization", "") for call in self.server.calls]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with FaultServer() as server:
        yield Stage(server)


async def test_a_refused_request_is_sent_again_with_other_credentials(stage: Stage) -> None:
    stage.server.order("GET", refuse)
    sender = Sender()
    await stage.run(sender)
    assert stage.sent == ["Bearer 1", "Bearer 2"]
    assert sender.begun == ["something"]
    assert sender.refusals == [(401, b"who are you?")]
    assert sender.statuses[0] == 401
    assert len(stage.taken) == 1


async def test_last_rejection_is_returned_with_its_body(stage: Stage) -> None:
    stage.server.order("GET", refuse, refuse)
    await stage.run(Sender(maximum=1))
    assert stage.taken == [(401, b"who are you?")]
    kept = [event.body for event in stage.events if isinstance(event, HttpEnded)]
    assert kept == [b"who are you?", b"who are you?"], "both are recorded"


async def test_exception_from_the_authorization_ends_the_request(stage: Stage) -> None:
    stage.server.order("GET", refuse)
    with pytest.raises(NeedsLogin):
        await stage.run(Sender(error=NeedsLogin("Log in.")))
    assert stage.taken == []


@pytest.mark.parametrize(("headers", "configured"), [(True, False), (False, True)])
async def test_own_authorization_header_disables_automatic_authorization(
    stage: Stage, headers: bool, configured: bool
) -> None:
    stage.server.order("GET", refuse)
    own: Headers = (("authorization", "Basic mine"),)
    sender = Sender()
    await stage.run(sender, headers=own if headers else (), configured=own if configured else ())
    assert stage.sent == ["Basic mine"]
    assert sender.begun == []
    assert stage.taken == [(401, b"who are you?")]


async def test_session_delete_is_authorized_and_not_repeated(stage: Stage) -> None:
    stage.server.order("DELETE", refuse)
    sender = Sender()
    await stage.run(sender, "DELETE", operation="")
    assert stage.sent == ["Bearer 1"]
    assert sender.refusals == []
