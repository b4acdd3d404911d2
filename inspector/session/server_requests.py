"""Pending server requests of one connection, their replies, and tasks made of them.

There is always a response, whatever goes wrong. While a server request is pending, the timeouts of the
call that waits for it are paused, so that the user can take their time. A task-augmented request
(2025-11-25) is answered with a task at once, and with its result when the server fetches it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Protocol, TypeAlias

from inspector.base.errors import ConnectionLost, LocalProtocolError, RequestCancelled, RpcError, UserError
from inspector.base.json.values import JSON, JSONObject, JSONProblem, shorten
from inspector.base.plain_text import one_line
from inspector.protocol.connection import Connection
from inspector.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RequestId
from inspector.protocol.revisions import R4, Revision
from inspector.protocol.round_trips import missing_for
from inspector.protocol.server_requests.request import read_server_request
from inspector.protocol.tasks import (
    STATUS_NOTIFICATION,
    TASK_METHODS,
    ClientTask,
    ClientTasks,
    check_offered,
    is_augmented,
)
from inspector.protocol.types import InputRequest
from inspector.session.pending_requests import HumanWaitTime, PendingRequests
from inspector.session.state import Answerer
from inspector.transport.task_scope import TaskScope

_log = logging.getLogger(__name__)


def read_once(request: Message) -> Message:
    """Return the request with its body parsed, if possible, so that large ones are parsed once."""
    try:
        return request._replace(parsed=request.body())
    except JSONProblem:
        return request


def asked_by(request: Message) -> InputRequest:
    """Return a request as an `InputRequest`.

    An unreadable one becomes empty, and is rejected as such.
    """
    try:
        return InputRequest(request.method, request.params, request.body())
    except JSONProblem:
        return InputRequest(request.method, {}, {})


async def compose_reply(
    request: Message,
    asking: ServerRequest,
    connection: Connection,
    desk: PendingServerRequests,
    declared: JSONObject,
) -> Message | None:
    """Return the response to send; None if it is no longer wanted.

    `declared` are our declared capabilities.
    """
    assert request.id is not None
    try:
        return await _compose(request, request.id, asking, connection, desk, declared)
    except LocalProtocolError:
        return None


async def _compose(
    request: Message,
    id: RequestId,
    asking: ServerRequest,
    connection: Connection,
    desk: PendingServerRequests,
    declared: JSONObject,
) -> Message | None:
    if request.method == "ping" and _fault_of_frame(request) is None:
        return connection.answer(id, {})
    if fault := fault_of(request, asking, declared):
        desk.refuse(asking, fault.message)
        return connection.refuse(id, fault.code, fault.message)
    try:
        return connection.answer(id, (await desk.ask_own(asking, id))[OWN])
    except RpcError as exc:
        return connection.refuse(id, exc.code, exc.message, exc.data)
    except (ConnectionLost, RequestCancelled):
        return None
    except LocalProtocolError:
        raise
    except Exception:
        _log.exception("could not answer %s", request.method)
        return connection.refuse(id, INTERNAL_ERROR, "Internal error")


def fault_of(request: Message, asking: ServerRequest, declared: JSONObject) -> RpcError | None:
    """Return why a request is to be rejected; None if it is acceptable.

    `declared` are our declared capabilities.
    """
    return _fault_of_frame(request) or _fault_of(asking, declared)


def _fault_of_frame(request: Message) -> RpcError | None:
    try:
        request.body()
    except JSONProblem as exc:
        return RpcError(INVALID_PARAMS, f"The params cannot be read: {exc}")
    return None


def _fault_of(asking: ServerRequest, declared: JSONObject) -> RpcError | None:
    question = asking.questions[OWN]
    method, missing = question.method, missing_for(question, declared)
    if missing:
        if "." in missing:
            return RpcError(INVALID_PARAMS, f"We do not offer that in {method}: {missing} was not declared")
        return RpcError(METHOD_NOT_FOUND, f"We do not offer {method}: no such capability was declared")
    try:
        read_server_request(method, question.source.get("params"), asking.revision)
    except ValueError as exc:
        return RpcError(INVALID_PARAMS, f"Invalid params of {method}: {exc}")
    return None


Answers: TypeAlias = Mapping[str, JSONObject]

# The key of the single question in a server request.
OWN = ""


@dataclass(frozen=True, slots=True, eq=False)
class ServerRequest:
    """All requests that a server makes at one moment.

    `row` is that of the requesting frame; `operation` is the first row of the call that waits for the
    replies, None if unknown, and `method` and `subject` are those of that call. `round` is 0 for a server
    request, else it counts the rounds of this call. With `awaits_pages` the replies are due only when the
    pages that they consent to are completed. `size` is that of the frame.
    """

    questions: Mapping[str, InputRequest]
    revision: Revision
    row: int | None = None
    operation: int | None = None
    method: str = ""
    subject: str = ""
    round: int = 0
    most_rounds: int = 0
    task_id: str = ""
    awaits_pages: bool = False
    size: int = 0


class ServerRequestEnd(Enum):
    """Why no reply is wanted, or no longer wanted."""

    REFUSED = auto()  # by us, without asking: malformed, or requires an undeclared capability
    WITHDRAWN = auto()  # by the server
    CALL_ENDED = auto()
    SERVER_GONE = auto()
    BY_HAND = auto()  # the user sent a hand-written response


class RequestRefused(RpcError):
    """One request was answered with an error."""

    def __init__(self, key: str, code: int, message: str, data: JSON = None) -> None:
        super().__init__(code, message, data)
        self.key = key


class Responder(Protocol):
    """Answers server requests."""

    async def respond(self, asking: ServerRequest) -> Answers:
        """Return a reply for each request, by key. Raises Refusal; cancelled when `ended` is called."""
        ...

    def ended(self, asking: ServerRequest, end: ServerRequestEnd, why: str) -> None:
        """Handle that no reply is wanted: the request has ended, or was rejected and never asked."""
        ...

    def noted(self, asking: ServerRequest, text: str) -> None:
        """Handle a note for the user. The reply is still wanted."""
        ...

    def sent(self, asking: ServerRequest, problem: str) -> None:
        """Handle that the reply to a server request was sent, or why it could not be."""
        ...


def responder_of(answerers: Mapping[str, Answerer]) -> Responder:
    """Return a responder that answers each method with its answerer, all requests concurrently."""
    return _Answering(answerers)


class _Answering:
    def __init__(self, answerers: Mapping[str, Answerer]) -> None:
        self._answerers = answerers

    async def respond(self, asking: ServerRequest) -> Answers:
        """Answer all requests; the first one that is refused cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    key: group.create_task(self._answer(key, question))
                    for key, question in asking.questions.items()
                }
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return {key: task.result() for key, task in tasks.items()}

    async def _answer(self, key: str, question: InputRequest) -> JSONObject:
        answerer = self._answerers.get(question.method)
        if answerer is None:
            raise RequestRefused(key, METHOD_NOT_FOUND, f"We do not offer {question.method}")
        try:
            return await answerer(question.params)
        except RpcError as exc:
            raise RequestRefused(key, exc.code, exc.message, exc.data) from exc

    def ended(self, asking: ServerRequest, end: ServerRequestEnd, why: str) -> None:
        pass

    def noted(self, asking: ServerRequest, text: str) -> None:
        pass

    def sent(self, asking: ServerRequest, problem: str) -> None:
        pass


_CALL_ENDED = "The call that caused it has ended; the server may still want the answer."


class PendingServerRequests:
    """Pending server requests of one connection, in either era."""

    def __init__(self, responder: Responder, waiting: PendingRequests) -> None:
        self._responder = responder
        self._waiting = waiting
        self._open: dict[ServerRequest, asyncio.Task[Answers]] = {}
        self._own: dict[RequestId, ServerRequest] = {}  # server requests
        self._over: dict[ServerRequest, UserError] = {}
        self._lost: ConnectionLost | None = None

    # -------------------------------------------------------------- asking

    async def ask(self, asking: ServerRequest, human: HumanWaitTime | None = None) -> Answers:
        """Return the replies to what a result asks for. `human` accumulates the time that took.

        Raises Refusal, and ConnectionLost if the connection ends meanwhile.
        """
        if human is None:
            return await self._ask(asking)
        human.begin()
        try:
            return await self._ask(asking)
        finally:
            human.end()

    def take(self, id: RequestId, asking: ServerRequest) -> None:
        """Register a server request. It may be cancelled before the user is asked."""
        self._own[id] = asking

    def leave(self, id: RequestId, asking: ServerRequest) -> None:
        """Unregister a server request that was answered or needs no response."""
        self._over.pop(asking, None)
        if self._own.get(id) is asking:
            del self._own[id]

    async def ask_own(self, asking: ServerRequest, id: RequestId) -> Answers:
        """Return the reply to a server request.

        Raises as `ask` does, and RequestCancelled if the server cancelled it, or the user has already
        responded by hand.
        """
        self.take(id, asking)
        try:
            with self._paused(asking):
                return await self._ask(asking)
        finally:
            self.leave(id, asking)

    async def _ask(self, asking: ServerRequest) -> Answers:
        if error := self._over.pop(asking, None) or self._lost:
            raise error
        # A separate task: it can be cancelled while its waiter goes on.
        task = asyncio.get_running_loop().create_task(self._respond(asking), name="ask")
        self._open[asking] = task
        try:
            return await task
        except asyncio.CancelledError:
            error = self._over.pop(asking, None)
            if error is None:
                self._responder.ended(asking, ServerRequestEnd.CALL_ENDED, "")
            current = asyncio.current_task()
            if error is None or (current is not None and current.cancelling()):
                raise
            raise error from None
        finally:
            del self._open[asking]

    async def _respond(self, asking: ServerRequest) -> Answers:
        return await self._responder.respond(asking)

    @contextmanager
    def _paused(self, asking: ServerRequest) -> Iterator[None]:
        """Pause the timeouts of the call that the request is for; of all calls if unknown."""

        def on_over(answer: asyncio.Future[Message]) -> None:
            if asking in self._open and asking not in self._over:
                self._responder.noted(asking, _CALL_ENDED)

        waiters = self._waiting.of_operation(asking.operation)
        for waiter in waiters:
            waiter.pause()
            if asking.operation is not None:
                waiter.answer.add_done_callback(on_over)
        try:
            yield
        finally:
            for waiter in waiters:
                waiter.unpause()
                waiter.answer.remove_done_callback(on_over)  # a call may go through this for hours

    def sent(self, asking: ServerRequest, problem: str = "") -> None:
        """Report that the reply to a server request was sent, or why not."""
        self._responder.sent(asking, problem)

    # -------------------------------------------------------------- without an answer

    def refuse(self, asking: ServerRequest, why: str) -> None:
        """Reject without asking: the user only sees the request and why it was not answered."""
        if asking not in self._over:
            self._responder.ended(asking, ServerRequestEnd.REFUSED, why)

    def withdraw(self, id: RequestId, reason: str) -> None:
        """Cancel a pending request on behalf of the server."""
        words = shorten(one_line(reason), 300)
        self._end(
            self._own.get(id), ServerRequestEnd.WITHDRAWN, words, RequestCancelled("The server took it back.")
        )

    def answered_by_hand(self, id: RequestId) -> None:
        error = RequestCancelled("It was answered by hand.")
        self._end(self._own.get(id), ServerRequestEnd.BY_HAND, "The answer was written by hand.", error)

    def close(self, error: ConnectionLost) -> None:
        """End all pending requests: the connection is over."""
        if self._lost is None:
            self._lost = error
            for asking in tuple(self._open):
                self._end(asking, ServerRequestEnd.SERVER_GONE, error.summary, error)

    def _end(self, asking: ServerRequest | None, end: ServerRequestEnd, why: str, error: UserError) -> None:
        task = self._open.get(asking) if asking is not None else None
        if asking is None or asking in self._over or (task is not None and task.done()):
            return
        self._over[asking] = error
        self._responder.ended(asking, end, why)
        if task is not None:
            task.cancel()


class ServerRequestTasks:
    """Task-augmented server requests of one connection.

    `declared` returns what we declare on it; `send` sends a message that nothing waits for.
    """

    def __init__(
        self,
        connection: Connection,
        desk: PendingServerRequests,
        declared: Callable[[], JSONObject],
        books: ClientTasks,
        scope: TaskScope,
        send: Callable[[Message], Awaitable[object]],
    ) -> None:
        self._connection = connection
        self._desk = desk
        self._declared = declared
        self._books = books
        self._scope = scope
        self._send = send
        self._requests: dict[str, RequestId] = {}  # by task id
        self._ended: dict[str, asyncio.Event] = {}

    def takes(self, asking: ServerRequest) -> bool:
        """True if a request is about a task, or is to become one."""
        question = asking.questions[OWN]
        if question.method in TASK_METHODS:
            return _has_tasks(asking.revision)
        return is_augmented(question.method, question.params, self._declared(), asking.revision)

    async def answer(self, request: Message, asking: ServerRequest) -> Message | None:
        """Return the response to send; None if it is no longer wanted."""
        assert request.id is not None
        question = asking.questions[OWN]
        try:
            try:
                if question.method in TASK_METHODS:
                    check_offered(question.method, self._declared())
                    result = await self._about_task(question.method, question.params)
                else:
                    result = self._begin(request, asking)
            except RpcError as exc:
                return self._connection.refuse(request.id, exc.code, exc.message, exc.data)
            return self._connection.answer(request.id, result)
        except LocalProtocolError:
            return None  # cancelled meanwhile

    # -------------------------------------------------------------- becoming one

    def _begin(self, request: Message, asking: ServerRequest) -> JSONObject:
        assert request.id is not None
        if fault := fault_of(request, asking, self._declared()):
            self._desk.refuse(asking, fault.message)
            raise fault
        question = asking.questions[OWN]
        try:
            task = self._books.create(question.method, question.params)
        except RpcError as exc:
            self._desk.refuse(asking, exc.message)
            raise
        self._requests[task.id], self._ended[task.id] = request.id, asyncio.Event()
        work = self._ask(task, replace(asking, task_id=task.id), request.id)
        self._scope.spawn(f"answer task {task.id}", work)
        return {"task": task.to_json()}

    async def _ask(self, task: ClientTask, asking: ServerRequest, id: RequestId) -> None:
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(task.ttl_ms / 1000, self._desk.withdraw, id, "Its time to live is over.")
        try:
            outcome: JSONObject | RpcError = (await self._desk.ask_own(asking, id))[OWN]
        except RpcError as exc:
            outcome = exc
        except (ConnectionLost, RequestCancelled):  # cancelled, or expired
            self._books.expire(task)
            return
        except Exception:
            _log.exception("could not answer %s", task.method)
            outcome = RpcError(INTERNAL_ERROR, "Internal error")
        finally:
            expiry.cancel()
            self._desk.sent(asking)  # the server fetches it
            del self._requests[task.id]
            self._ended.pop(task.id).set()
        if self._books.settle(task, outcome):
            await self._tell(task)

    # -------------------------------------------------------------- asked about one

    async def _about_task(self, method: str, params: JSONObject) -> JSONObject:
        if method == "tasks/list":
            return self._books.list(params)
        if method == "tasks/cancel":
            return self._cancel(params)
        task = self._books.find(params)
        if method == "tasks/get":
            return task.to_json()
        ended = self._ended.get(task.id)
        if ended is not None:
            await ended.wait()
            task = self._books.find(params)  # it may have expired
        return self._books.result(task)

    def _cancel(self, params: JSONObject) -> JSONObject:
        task = self._books.cancel(params)
        request_id = self._requests.get(task.id)
        if request_id is not None:
            self._desk.withdraw(request_id, "The server cancelled the task.")
        return task.to_json()

    async def _tell(self, task: ClientTask) -> None:
        await self._send(self._connection.notify(STATUS_NOTIFICATION, task.to_json()))


def _has_tasks(revision: Revision) -> bool:
    return revision == R4
