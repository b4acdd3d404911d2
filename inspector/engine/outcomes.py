"""How something that was asked of a server ended, in every way that it can."""

from __future__ import annotations

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost, LensError, RequestCancelled, RpcError, UserError
from inspector.base.jsonvalue import JSONObject, JSONProblem, to_wire
from inspector.base.plaintext import visible
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.jsonrpc import Kind, Message, RequestId, error_of
from inspector.session.rounds import Concluded
from inspector.session.waiting import HumanTime


async def conclude(asking: Coroutine[Any, Any, Concluded], clock: Clock, human: HumanTime) -> CallOutcome:
    """Await a response; an exception becomes an outcome too. `human` counts the user's time."""
    started = clock.monotonic_ns()
    try:
        exchange = (await asking).exchange
    except LensError as exc:
        outcome = failed(exc, clock.monotonic_ns() - started)
    else:
        outcome = answered(exchange.answer, exchange.row, clock.monotonic_ns() - started)
    return replace(outcome, waited_ns=human.ns)


def failed(error: LensError, elapsed_ns: int) -> CallOutcome:
    """Return the outcome of a call without a response."""
    next_step = error.next_step if isinstance(error, UserError) else ""
    summary = error.summary if isinstance(error, UserError) else str(error)
    is_lost = type(error) is ConnectionLost  # subclasses are about one request only
    return CallOutcome(OutcomeKind.FAILED, elapsed_ns, b"", None, summary, next_step, is_lost=is_lost)


def answered(answer: Message, row: int, elapsed_ns: int) -> CallOutcome:
    """Return the outcome of a response: a result, an error, or an unreadable message."""
    kind, summary = OutcomeKind.RESULT, ""
    try:
        if answer.kind is Kind.ERROR:
            error = error_of(answer)
            kind, summary = OutcomeKind.RPC_ERROR, f"{visible(error.message)} ({error.code})"
        elif answer.parsed is None and answer.problem:
            answer.body()  # flagged but not parsed on arrival: raises if it cannot be parsed
    except JSONProblem as exc:
        kind, summary = OutcomeKind.RPC_ERROR, f"The answer cannot be read: {answer.problem or exc}"
    return CallOutcome(kind, elapsed_ns, answer.raw, row, summary)


# ------------------------------------------------------------------ calls that became tasks


async def conclude_task(
    fetching: Coroutine[Any, Any, JSONObject], task_id: str, request_id: RequestId | None, row: int | None
) -> CallOutcome:
    """Await the outcome of a call that became a task; the elapsed time is not set.

    It has the shape of a response to the call itself. One of the two task designs sends the result as part
    of the task state, so the message is composed here (`is_composed`); the original is in the traffic.
    """
    id = task_id if request_id is None else request_id  # a task of another client's call: any id will do
    outcome = CallOutcome(OutcomeKind.RESULT, 0, row=row, task_id=task_id)
    try:
        result = await fetching
    except RpcError as exc:
        error: JSONObject = {"code": exc.code, "message": exc.message, "data": exc.data}
        outcome = replace(outcome, answer=_composed(id, "error", error), is_composed=True)
        summary = f"{visible(exc.message)} ({exc.code})"
        return replace(outcome, kind=OutcomeKind.RPC_ERROR, summary=summary)
    except RequestCancelled as exc:
        return replace(outcome, kind=OutcomeKind.CANCELLED, summary=exc.summary, next_step=exc.next_step)
    kind = OutcomeKind.TOOL_ERROR if result.get("isError") is True else OutcomeKind.RESULT
    return replace(outcome, kind=kind, answer=_composed(id, "result", result), is_composed=True)


def _composed(id: RequestId | None, member: str, value: JSONObject) -> bytes:
    return to_wire({"jsonrpc": "2.0", "id": id, member: value})
