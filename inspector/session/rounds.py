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

# A server that only asks for a retry gets a moment to make progress.
_PAUSE = 0.1


class Concluded(NamedTuple):
    """How a call ended: its last exchange, the number of rounds, and its task, if any."""

    exchange: Exchange
    rounds: int = 1
    task: Task | None = None


async def run_rounds(
    rounds: Rounds,
    params: JSONObject | None,
    send: Callable[[JSONObject | None], Awaitable[Exchange]],
    inquiry: Inquiry,
) -> Concluded:
    """Send a call, and repeat it with the replies, until it has a result.

    Raises RemoteProtocolError if a result violates the protocol, RequestCancelled if a reply was refused.
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
    """True if a response may ask for input: only results can.

    Looks at the raw bytes first, so that megabytes are not parsed in vain.
    """
    if answer.kind is not Kind.RESULT:
        return False
    return answer.parsed is not None or b'"input_required"' in answer.raw or b'"task"' in answer.raw
