"""Drives a negotiation over a live wire: what came of each question, told to it in its own words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from inspector.base.errors import ConnectFailed, ConnectionLost, HttpRefused, RequestTimedOut
from inspector.protocol.handshake import Agreement, Ask, Negotiation, NoAnswer, Reply
from inspector.protocol.httprules import suggests_http_sse
from inspector.protocol.jsonrpc import Message


class WrongRoute(ConnectFailed):
    """The server rejected the connection as one with an older transport would."""


class Negotiator:
    """Negotiates the protocol version.

    Raises ConnectFailed and NeedsLogin; WrongRoute unless this is the last route.
    """

    def __init__(
        self,
        ask: Callable[[Ask], Awaitable[Message]],
        restart: Callable[[], Awaitable[None]],
        *,
        is_process: bool,
        is_last_route: bool,
    ) -> None:
        self._ask = ask
        self._restart = restart
        self._is_process = is_process
        self._is_last_route = is_last_route
        self._lost: ConnectionLost | None = None

    async def run(self, negotiation: Negotiation) -> Agreement:
        step: Ask | Agreement = negotiation.first()
        while isinstance(step, Ask):
            if step.needs_restart:
                await self._restart()
            step = self._judge(negotiation, await self._reply(step))
        return step

    def _judge(self, negotiation: Negotiation, reply: Reply) -> Ask | Agreement:
        try:
            return negotiation.receive(reply)
        except ConnectFailed as exc:
            if isinstance(reply, NoAnswer) and self._lost is not None:
                # The exit code and the last lines of stderr say more than "no response".
                raise ConnectFailed(self._lost.summary, self._lost.next_step) from exc
            raise

    async def _reply(self, ask: Ask) -> Reply:
        self._lost = None
        try:
            return await self._ask(ask)
        except RequestTimedOut:
            return NoAnswer("timeout")
        except HttpRefused as exc:
            if (
                ask.method == "initialize"
                and not self._is_last_route
                and suggests_http_sse(exc.status, exc.body)
            ):
                raise WrongRoute(exc.summary, exc.next_step) from exc
            return exc
        except ConnectionLost as exc:
            if not self._is_process:
                raise  # an outage says nothing about the protocol version
            self._lost = exc
            return NoAnswer("exited")
