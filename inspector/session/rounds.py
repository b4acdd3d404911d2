"""A call through all its rounds: what the server asks on the way is answered, and the call repeated."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from inspector.base.errors import RemoteProtocolError, RequestCancelled, RpcError
from inspector.base.jsonvalue import JSONObject
from inspector.protocol.jsonrpc import Kind, Message
from inspector.protocol.rounds import Complete, Invalid, NeedInput, Rounds, TaskCreated
from inspector.protocol.tasks import Task
from inspector.protocol.types import InputRequest
from inspector.session.answers import result_of
from inspector.session.route import Answerer
from inspector.session.waiting import Exchange

_log = logging.getLogger(__name__)

# A server that only wants to be asked again gets a moment to get on with it.
_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class Concluded:
    """How a call ended: its last exchange, how many rounds it took, and the task that it became."""

    exchange: Exchange
    rounds: int = 1
    task: Task | None = None


async def run_rounds(
    rounds: Rounds,
    params: JSONObject | None,
    send: Callable[[JSONObject | None], Awaitable[Exchange]],
    answerers: Mapping[str, Answerer],
) -> Concluded:
    """Send, and send again with the answers, until there is an outcome.

    Raises RemoteProtocolError when a result breaks the rules, RequestCancelled when an answer was refused.
    """
    count = 1
    while True:
        exchange = await send(params)
        if not may_ask(exchange.answer):
            return Concluded(exchange, count)
        match rounds.receive(result_of(exchange.answer)):
            case Complete():
                return Concluded(exchange, count)
            case TaskCreated(task):
                return Concluded(exchange, count, task)
            case Invalid(reason):
                raise RemoteProtocolError(f"the result cannot be used: {reason}")
            case NeedInput(requests):
                params = rounds.retry(await answer_all(requests, answerers))
                count += 1
                if not requests:
                    await asyncio.sleep(_PAUSE)


def may_ask(answer: Message) -> bool:
    """Only a result can; megabytes are not parsed to find out what their bytes tell already."""
    if answer.kind is not Kind.RESULT:
        return False
    return answer.parsed is not None or b'"input_required"' in answer.raw or b'"task"' in answer.raw


async def answer_all(
    requests: Mapping[str, InputRequest], answerers: Mapping[str, Answerer]
) -> dict[str, JSONObject]:
    """The answers to what a server asks inside a result, all together. There is no way to say no to one:
    the first that is refused ends the others. Raises RequestCancelled.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {key: group.create_task(_answer(asked, answerers)) for key, asked in requests.items()}
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {key: task.result() for key, task in tasks.items()}


async def _answer(request: InputRequest, answerers: Mapping[str, Answerer]) -> JSONObject:
    try:
        return await answerers[request.method](request.params)
    except RpcError as exc:
        raise RequestCancelled(
            f"The server asked for {request.method}, and that was refused: {exc.message}.",
            "The call was not repeated.",
        ) from exc
    except Exception as exc:  # a bug of ours: whoever waits for the call must hear of it all the same
        _log.exception("could not answer %s", request.method)
        raise RequestCancelled(
            f"The server asked for {request.method}, and we could not answer: {exc!r}.",
            "This is a mistake of ours: report it. The call was not repeated.",
        ) from exc
