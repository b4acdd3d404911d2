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
    """Await an answer; what is raised instead of one is an outcome too. `human` is what the asking tells."""
    started = clock.monotonic_ns()
    try:
        exchange = (await asking).exchange
    except LensError as exc:
        outcome = failed(exc, clock.monotonic_ns() - started)
    else:
        outcome = answered(exchange.answer, exchange.row, clock.monotonic_ns() - started)
    return replace(outcome, waited_ns=human.ns)


def failed(error: LensError, elapsed_ns: int) -> CallOutcome:
    """No answer came."""
    next_step = error.next_step if isinstance(error, UserError) else ""
    summary = error.summary if isinstance(error, UserError) else str(error)
    is_lost = type(error) is ConnectionLost  # its kinds are about one request: others may fare better
    return CallOutcome(OutcomeKind.FAILED, elapsed_ns, b"", None, summary, next_step, is_lost=is_lost)


def answered(answer: Message, row: int, elapsed_ns: int) -> CallOutcome:
    """An answer came: a result, an error, or what cannot be read."""
    kind, summary = OutcomeKind.RESULT, ""
    try:
        if answer.kind is Kind.ERROR:
            error = error_of(answer)
            kind, summary = OutcomeKind.RPC_ERROR, f"{visible(error.message)} ({error.code})"
        elif answer.parsed is None and answer.problem:
            answer.body()  # something is wrong with it, and it was not read at arrival: can it be at all?
    except JSONProblem as exc:
        kind, summary = OutcomeKind.RPC_ERROR, f"The answer cannot be read: {answer.problem or exc}"
    return CallOutcome(kind, elapsed_ns, answer.raw, row, summary)


# ------------------------------------------------------------------ calls that became tasks


async def conclude_task(
    fetching: Coroutine[Any, Any, JSONObject], task_id: str, request_id: RequestId | None, row: int | None
) -> CallOutcome:
    """Await the outcome of the task that a call became; the time that it took is not known here.

    It has the shape of an answer to the call itself. One of the two designs sends it as a part of the
    task's state, so the message is put together here (`is_composed`); what was sent is in the traffic.
    """
    id = task_id if request_id is None else request_id  # a task of somebody else's call: any id will do
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
