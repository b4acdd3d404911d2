"""Manual tool calls and their outcomes: call, repeat, poll, resend raw bytes.

Every way in which a call can end is a `CallOutcome`, exceptions included. The outcome of raw bytes is
looked up in the traffic log.
Tool annotations are claims of an untrusted server.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.base.clock import Clock
from inspector.base.errors import (
    ConnectionLost,
    LensError,
    RemoteProtocolError,
    RequestCancelled,
    RequestTimedOut,
    UserError,
)
from inspector.base.json.values import JSON, JSONError, JSONObject, shorten, to_wire
from inspector.base.plain_text import one_line, visible
from inspector.engine.calls import output_check, repetition
from inspector.engine.calls.output_check import OutputCheck, OutputState
from inspector.engine.calls.repetition import Observation, PollPlan, RepeatPlan, RepeatReport, poll, repeat
from inspector.engine.server_view import ServerView
from inspector.engine.views import CallOutcome, OutcomeKind, RawOutcome, ServerStatus
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.http_rules import retry_text
from inspector.protocol.jsonrpc import Kind, Message, RequestId, RpcError, error_of
from inspector.protocol.revisions import R4
from inspector.protocol.tasks import Task, tasks_of
from inspector.protocol.types import Tool
from inspector.session.client import ToolCall as ToolCall
from inspector.session.input_rounds import CompletedCall
from inspector.session.pending_requests import CallTimer, OnProgress
from inspector.session.raw_send import RawReply
from inspector.traffic.compare.diff import Diff
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind
from inspector.traffic.records import Status as TrafficStatus

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

# Looked up once: accessing an enum member takes 0.1 µs.
_RESULT, _ERROR, _TOOL_ERROR = OutcomeKind.RESULT, Kind.ERROR, TrafficStatus.TOOL_ERROR

OnTask: TypeAlias = Callable[[Task], None]


class ToolCaller:
    """Manual, repeated and polled calls. Runs on the engine's loop.

    Every way in which a call that was sent can end is an outcome; to cancel a call, cancel the caller.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def call(
        self,
        server: str,
        call: ToolCall,
        *,
        keep: bool = False,
        on_progress: OnProgress | None = None,
        on_task: OnTask | None = None,
    ) -> CallOutcome:
        """Call a tool. `keep` adds it to the history; `on_task` gets status updates of its task.

        Raises UserError if a variable has no value; nothing was sent then.
        """
        started = self._engine.clock.monotonic_ns()
        sent = call.expanded()
        human = CallTimer()
        attempt = self._outcome(server, sent, on_progress, on_task, human, started)
        try:
            outcome = await (attempt if sent.total is None else human.limit(attempt, sent.total))
        except RequestTimedOut as exc:
            outcome = failed(exc, self._since(started))
        except asyncio.CancelledError:
            if keep:
                self._add_to_history(server, call, OutcomeKind.CANCELLED, self._since(started))
            raise
        if human.ns:
            outcome = outcome._replace(waited_ns=human.ns)
        if human.queued_ns:
            outcome = outcome._replace(elapsed_ns=outcome.elapsed_ns - human.queued_ns)
        if keep:
            self._add_to_history(server, call, outcome.kind, outcome.elapsed_ns)
        return outcome

    async def call_for_user(
        self,
        server: str,
        call: ToolCall,
        on_progress: OnProgress | None = None,
        on_task: OnTask | None = None,
    ) -> CallOutcome:
        """Call a tool, add the call to the history and its cost to the outcome."""
        make = partial(self.call, server, call, keep=True, on_progress=on_progress, on_task=on_task)
        return await self._engine.processes.measured(server, make)

    async def _outcome(
        self,
        server: str,
        call: ToolCall,
        on_progress: OnProgress | None,
        on_task: OnTask | None,
        human: CallTimer,
        started: int,
    ) -> CallOutcome:
        engine = self._engine
        client = engine.servers.get(server).client
        try:
            done = await client.call_tool(call, on_progress, human)
            if done.task is not None:
                with self._cancelling(server, done.task):
                    return await engine.tasks.finish(
                        server, call.tool, done, started, on_task, on_progress, human
                    )
        except LensError as exc:
            return failed(exc, self._since(started))
        exchange = done.exchange
        outcome = responded(exchange.response, exchange.row, self._engine.clock.monotonic_ns() - started)
        if outcome.kind is OutcomeKind.RPC_ERROR:
            return outcome._replace(next_step=_retry_step(engine.log, exchange.row) or outcome.next_step)
        # The log also detects isError in messages that were too big to be parsed on arrival.
        is_tool_error = engine.log.status(exchange.row) is _TOOL_ERROR
        return outcome._replace(kind=OutcomeKind.TOOL_ERROR) if is_tool_error else outcome

    @contextmanager
    def _cancelling(self, server: str, task: Task) -> Iterator[None]:
        """Cancel the task that a call became when the call is cancelled, if possible."""
        try:
            yield
        except asyncio.CancelledError:
            self._engine.tasks.cancel_soon(server, task.id)
            raise

    def _add_to_history(self, server: str, call: ToolCall, kind: OutcomeKind, elapsed_ns: int) -> None:
        self._engine.calls.history.add(
            server,
            call.tool,
            call.arguments,
            outcome=kind.value,
            elapsed_ns=elapsed_ns,
            at_ns=self._engine.clock.wall_ns(),
            options=call.options(),
        )

    async def repeat(
        self, server: str, call: ToolCall, plan: RepeatPlan, on_report: Callable[[RepeatReport], None]
    ) -> RepeatReport:
        """Repeat a call (`repetition.repeat`). Variables are expanded once. Raises UserError."""
        return await repeat(partial(self.call, server, call.expanded()), plan, self._engine.clock, on_report)

    async def poll_tool(
        self, server: str, call: ToolCall, plan: PollPlan, on_observation: Callable[[Observation], None]
    ) -> str:
        """Call a tool periodically and report changes; return the reason if the server is lost.

        Variables are expanded once. Raises UserError if it cannot start.
        """
        return await self._poll(server, plan, partial(self.call, server, call.expanded()), on_observation)

    async def poll_resource(
        self, server: str, uri: str, plan: PollPlan, on_observation: Callable[[Observation], None]
    ) -> str:
        """Read a resource periodically; otherwise like `poll_tool`."""
        return await self._poll(
            server, plan, partial(self._engine.read_resource, server, uri), on_observation
        )

    async def _poll(
        self,
        server: str,
        plan: PollPlan,
        call: Callable[[], Awaitable[CallOutcome]],
        on_observation: Callable[[Observation], None],
    ) -> str:
        async def compare(before: CallOutcome, after: CallOutcome) -> Diff:
            packed = repetition.pack(before.response, after.response, plan.ignoring)
            return await self._engine.work(repetition.compare_packed, packed)

        async with self._loss_of(server) as lost:
            return await poll(call, compare, plan, on_observation, lost, self._engine.clock)

    @asynccontextmanager
    async def _loss_of(self, server: str) -> AsyncIterator[asyncio.Future[str]]:
        """Yield a future that is set to the reason as soon as the server is no longer connected."""
        lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_changed(view: ServerView) -> None:
            if view.name == server and view.status is not ServerStatus.CONNECTED and not lost.done():
                lost.set_result(f"The server is {view.status.value}. {view.reason}".strip())

        def on_removed(name: str) -> None:
            if name == server and not lost.done():
                lost.set_result("The server was removed.")

        self._engine.servers.changed.connect(on_changed)
        self._engine.servers.removed.connect(on_removed)
        try:
            on_changed(self._engine.servers.get(server).view)
            yield lost
        finally:
            self._engine.servers.changed.disconnect(on_changed)
            self._engine.servers.removed.disconnect(on_removed)

    async def check_output(self, response: bytes, output_schema: JSON) -> OutputCheck:
        """Check the result against the tool's outputSchema, in another process with a time limit."""
        if output_schema is None:
            return await self._engine.work(output_check.check_packed, output_check.pack(response, None))
        try:
            packed = output_check.pack(response, output_schema)
            return await self._engine.work_limited(output_check.check_packed, packed)
        except UserError as exc:
            return OutputCheck(OutputState.UNCHECKED, reason=exc.summary)
        except RecursionError:
            return OutputCheck(OutputState.UNCHECKED, reason="The output schema is nested too deeply.")

    def _since(self, started: int) -> int:
        return self._engine.clock.monotonic_ns() - started


async def conclude(call: Coroutine[Any, Any, CompletedCall], clock: Clock, human: CallTimer) -> CallOutcome:
    """Await a response; an exception becomes an outcome too. `human` counts the user's time."""
    started = clock.monotonic_ns()
    try:
        exchange = (await call).exchange
    except LensError as exc:
        outcome = failed(exc, clock.monotonic_ns() - started)
    else:
        outcome = responded(exchange.response, exchange.row, clock.monotonic_ns() - started)
    return outcome._replace(elapsed_ns=outcome.elapsed_ns - human.queued_ns, waited_ns=human.ns)


def failed(error: LensError, elapsed_ns: int) -> CallOutcome:
    """Return the outcome of a call without a response."""
    summary = error.summary if isinstance(error, UserError) else str(error)
    if isinstance(error, RemoteProtocolError):
        summary = f"{summary[:1].upper()}{summary[1:].removesuffix('.')}."
    is_lost = type(error) is ConnectionLost  # subclasses are about one request only
    return CallOutcome(OutcomeKind.FAILED, elapsed_ns, b"", None, summary, error.next_step, is_lost=is_lost)


def responded(response: Message, row: int, elapsed_ns: int) -> CallOutcome:
    """Return the outcome of a response: a result, an error, or an unreadable message."""
    kind, summary, next_step = _RESULT, "", ""
    try:
        if response.kind is _ERROR:
            error = error_of(response)
            kind, summary = OutcomeKind.RPC_ERROR, visible(error.text)
            next_step = RpcError(error.code, error.message).next_step
        elif response.parsed is None and response.problem:
            response.body()  # flagged but not parsed on arrival: raises if it cannot be parsed
    except JSONError as exc:
        kind, summary = OutcomeKind.RPC_ERROR, f"Could not parse the response: {response.problem or exc}"
        next_step = RemoteProtocolError.next_step
    return CallOutcome(kind, elapsed_ns, response.raw, row, summary, next_step)


def _retry_step(log: TrafficLog, row: int) -> str:
    """Return when the server asks to retry a request that it rejected with an HTTP status, or ""."""
    http = log.readable_http(row)
    if http is None or http.status not in (429, 503):
        return ""
    return retry_text(
        next((value for name, value in http.response_headers if name.lower() == "retry-after"), "")
    )


async def conclude_task(
    fetching: Coroutine[Any, Any, JSONObject], task_id: str, request_id: RequestId | None, row: int | None
) -> CallOutcome:
    """Await the outcome of a call that became a task; the elapsed time is not set.

    It has the shape of a response to the call itself. One of the two task designs sends the result as part
    of the task state, so the message is composed here (`is_composed`); the original is in the traffic.
    """
    id = task_id if request_id is None else request_id  # a task of another client's call: any id is fine
    outcome = CallOutcome(OutcomeKind.RESULT, 0, row=row, task_id=task_id)
    try:
        result = await fetching
    except RpcError as exc:
        error: JSONObject = {"message": exc.message, "data": exc.data}
        if exc.code is not None:
            error["code"] = exc.code
        outcome = outcome._replace(response=_composed(id, "error", error), is_composed=True)
        return outcome._replace(
            kind=OutcomeKind.RPC_ERROR, summary=visible(str(exc)), next_step=exc.next_step
        )
    except RequestCancelled as exc:
        return outcome._replace(kind=OutcomeKind.CANCELLED, summary=exc.summary, next_step=exc.next_step)
    kind = OutcomeKind.TOOL_ERROR if result.get("isError") is True else OutcomeKind.RESULT
    return outcome._replace(kind=kind, response=_composed(id, "result", result), is_composed=True)


def _composed(id: RequestId | None, member: str, value: JSONObject) -> bytes:
    return to_wire({"jsonrpc": "2.0", "id": id, member: value})


# 2025-06-18, General fields: an optional prefix of labels, then a name.
_META_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_META_KEY = re.compile(
    rf"(?P<prefix>{_META_LABEL}(?:\.{_META_LABEL})*/)?(?P<name>[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
)
_RESERVED_LABELS = frozenset({"modelcontextprotocol", "mcp"})


def meta_warnings(meta: JSONObject) -> tuple[str, ...]:
    """Return a warning for each key that is reserved by the protocol or malformed.

    Such keys are sent anyway: a debugger must be able to. Only `progressToken` is always ours: progress
    could not be matched otherwise.
    """
    return tuple(warning for key in meta if (warning := _meta_warning(key)))


def is_reserved_key(key: str) -> bool:
    """True for a reserved prefix, such as `io.modelcontextprotocol/…` and `tools.mcp.com/…`."""
    prefix, slash, _ = key.rpartition("/")
    return bool(slash) and not _RESERVED_LABELS.isdisjoint(prefix.lower().split("."))


def _meta_warning(key: str) -> str:
    shown = f"“{one_line(shorten(key, 60))}”"
    if key == "progressToken":
        return f"{shown} is replaced by MCP Lens so that progress can be matched to its call."
    if is_reserved_key(key):
        return f"{shown} is reserved for the protocol; it replaces the value MCP Lens would send."
    if not key or _META_KEY.fullmatch(key) is None:
        return f"{shown} is not a valid _meta key; servers may reject it."
    return ""


_CAN_BE_RESENT = (RecordKind.REQUEST, RecordKind.NOTIFICATION)


def require_sent_message(log: TrafficLog, row: int) -> None:
    """Raise UserError unless the row is a request or notification sent by us."""
    is_there = log.first <= row < len(log)
    if is_there and log.kind(row) in _CAN_BE_RESENT and log.direction(row) == Direction.OUT:
        return
    raise UserError(
        f"Message {row + 1} in Traffic is not a request or notification sent by MCP Lens.",
        "Only sent messages can be sent again.",
    )


def raw_outcome(log: TrafficLog, row: int, elapsed_ns: int, reply: RawReply) -> RawOutcome:
    """Return the outcome of the bytes sent in `row`."""
    http = log.readable_http(row)
    failure = reply.failure
    return RawOutcome(
        row,
        _response_row(log, row),
        elapsed_ns,
        failure.summary if failure is not None else "",
        failure.next_step if failure is not None else "",
        http.status if http is not None and log.exchange(row) is not None else None,
    )


def _response_row(log: TrafficLog, row: int) -> int | None:
    """Return the response's row, else the first message received in the same HTTP exchange.

    The latter is for responses that cannot be paired, such as an error without an id. A WebSocket is a
    single exchange, so messages sent on it have none.
    """
    partner, exchange = log.partner(row), log.exchange(row)
    if partner is not None or exchange is None:
        return partner
    columns = log.columns
    for other in range(row + 1, len(log)):
        is_message = columns.kind[other] <= RecordKind.TEXT and columns.direction[other] == Direction.IN
        if is_message and columns.exchange[other] == exchange:
            return other
    return None


@dataclass(frozen=True, slots=True)
class ToolAnnotations:
    """Tool annotations; None is a hint that is absent. The properties apply the defaults.

    2025-03-26, ToolAnnotations: readOnlyHint false, destructiveHint true, idempotentHint false,
    openWorldHint true; the second and third are meaningful only when the first is false.
    """

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    @staticmethod
    def of(tool: Tool) -> ToolAnnotations:
        annotations = tool.source.get("annotations")
        hints = annotations if isinstance(annotations, dict) else {}

        def hint(member: str) -> bool | None:
            value = hints.get(member)
            return value if isinstance(value, bool) else None

        return ToolAnnotations(
            hint("readOnlyHint"), hint("destructiveHint"), hint("idempotentHint"), hint("openWorldHint")
        )

    @property
    def is_read_only(self) -> bool:
        return self.read_only is True

    @property
    def is_marked_destructive(self) -> bool:
        """True if declared: reason to ask before the first call."""
        return not self.is_read_only and self.destructive is True


_TRIVIAL_KEYWORDS = {"type", "title", "description", "$schema", "$id", "additionalProperties", "required"}


def takes_arguments(tool: Tool) -> bool:
    """True if the schema has anything to fill in, i.e. is more than just an object."""
    return any(value for name, value in tool.input_schema.items() if name not in _TRIVIAL_KEYWORDS)


class TaskChoice(Enum):
    """Whether a tool call can run as a task."""

    NO = "no"
    MAY = "may"
    MUST = "must"  # the tool rejects other calls


def task_choice(tool: Tool, negotiated: NegotiationResult | None) -> TaskChoice:
    """Return what the server offers for this tool. In the extension it decides per call."""
    design = tasks_of(negotiated.revision) if negotiated is not None else None
    if negotiated is None or design is None or not design.is_supported(negotiated.capabilities):
        return TaskChoice.NO
    if negotiated.revision != R4:
        return TaskChoice.MAY
    choices = {"optional": TaskChoice.MAY, "required": TaskChoice.MUST}
    return choices.get(tool.task_support, TaskChoice.NO)
