"""A call through all its rounds: what the server asks on the way is answered, and the call repeated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from inspector.base.errors import RemoteProtocolError
from inspector.base.jsonvalue import JSONObject
from inspector.protocol.jsonrpc import Kind, Message
from inspector.protocol.rounds import Complete, Invalid, NeedInput, Rounds, TaskCreated
from inspector.protocol.tasks import Task
from inspector.session.answers import result_of
from inspector.session.inquiry import Inquiry
from inspector.session.waiting import Exchange

# A server that only wants to be asked again gets a moment to get on with it.
_PAUSE = 0.1


class Concluded(NamedTuple):
    """How a call ended: its last exchange, how many rounds it took, and the task that it became."""

    exchange: Exchange
    rounds: int = 1
    task: Task | None = None


async def run_rounds(
    rounds: Rounds,
    params: JSONObject | None,
    send: Callable[[JSONObject | None], Awaitable[Exchange]],
    inquiry: Inquiry,
) -> Concluded:
    """Send, and send again with the answers, until there is an outcome.

    Raises RemoteProtocolError when a result breaks the rules, RequestCancelled when an answer was refused.
    """
    count = 1
    while True:
        exchange = await send(params)
        if not may_ask(exchange.answer):
            return Concluded(exchange, count)
        result = result_of(exchange.answer)
        match rounds.receive(result):
            case Complete():
                return Concluded(exchange, count)
            case TaskCreated(task):
                return Concluded(exchange, count, task)
            case Invalid(reason):
                if result.get("resultType") == "input_required":
                    inquiry.refuse(result.get("inputRequests"), exchange, reason)
                raise RemoteProtocolError(f"the result cannot be used: {reason}")
            case NeedInput(requests):
                params = rounds.retry(await inquiry.ask(requests, exchange) if requests else {})
                count += 1
                if not requests:
                    inquiry.skip()
                    await asyncio.sleep(_PAUSE)


def may_ask(answer: Message) -> bool:
    """Only a result can; megabytes are not parsed to find out what their bytes tell already."""
    if answer.kind is not Kind.RESULT:
        return False
    return answer.parsed is not None or b'"input_required"' in answer.raw or b'"task"' in answer.raw
