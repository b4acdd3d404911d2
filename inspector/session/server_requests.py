"""Pending server requests of one connection, their replies, and tasks made of them.

Every server request gets a response, also after an internal error. While one is pending, the timeouts of
the call that waits for it are paused. A task-augmented request (2025-11-25) is answered with a task at
once, and with its result when the server fetches it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from inspector.base.errors import ConnectionLost, LocalProtocolError, RequestCancelled, UserError
from inspector.base.json.values import JSON, JSONError, JSONObject, shorten
from inspector.base.plain_text import one_line
from inspector.protocol.client_tasks import (
    STATUS_NOTIFICATION,
    TASK_METHODS,
    ClientTask,
    ClientTasks,
    is_augmented,
    require_declared,
)
from inspector.protocol.connection import Connection
from inspector.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    Message,
    RequestId,
    RpcError,
)
from inspector.protocol.revisions import R4, Revision
from inspector.protocol.round_trips import missing_capability_for
from inspector.protocol.server_requests.request import (
    ParsedRequest,
    RequestEnd,
    UnreadableRequest,
    server_request_of,
)
from inspector.session.pending_requests import CallTimer, PendingRequests
from inspector.session.state import RequestHandler
from inspector.transport.task_scope import TaskScope

_log = logging.getLogger(__name__)
Replies: TypeAlias = Mapping[str, JSONObject]
# Key of the only input request in a JSON-RPC server request.
ONLY_KEY = ""
_CALL_ENDED = "The call that caused it has ended; the server may still expect a response."


@dataclass(frozen=True, slots=True, eq=False)
class ServerRequest:
    """A JSON-RPC request of the server, or all input requests of one result.

    `row` and `size` are those of the message; `operation` is the first row of the call that waits for the
    replies, None if unknown, and `method` and `subject` are those of that call. `round` is 0 for a JSON-RPC
    request, else it counts the input rounds of the call. With `awaits_urls` the replies are sent only when
    the accepted URL elicitations are completed.
    """

    input_requests: Mapping[str, ParsedRequest]
    revision: Revision
    row: int | None = None
    operation: int | None = None
    method: str = ""
    subject: str = ""
    round: int = 0
    max_rounds: int = 0
    task_id: str = ""
    awaits_urls: bool = False
    size: int = 0


class RequestRefused(RpcError):
    """One request was answered with an error."""

    def __init__(self, key: str, code: int | None, message: str, data: JSON = None) -> None:
        super().__init__(code, message, data)
        self.key = key


class Responder(Protocol):
    """Replies to server requests."""

    async def respond(self, server_request: ServerRequest) -> Replies:
        """Return a reply for each input request, by key.

        Raises RequestRefused. Cancelled when `ended` is called.
        """
        ...

    def ended(self, server_request: ServerRequest, end: RequestEnd, why: str) -> None:
        """Called when the request needs no reply: it has ended, or was rejected without `respond`."""
        ...

    def noted(self, server_request: ServerRequest, text: str) -> None:
        """Called with a note for the user; the request still needs a reply."""
        ...

    def sent(self, server_request: ServerRequest, error: str) -> None:
        """Called when the reply was sent, or with the reason why it could not be sent."""
        ...


def responder_of(handlers: Mapping[str, RequestHandler]) -> Responder:
    """Return a responder that calls the handler of each method, for all requests concurrently."""
    return _HandlerResponder(handlers)


class _HandlerResponder:
    def __init__(self, handlers: Mapping[str, RequestHandler]) -> None:
        self._handlers = handlers

    async def respond(self, server_request: ServerRequest) -> Replies:
        """Reply to all requests; the first one that is refused cancels the others."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {
                    key: group.create_task(self._response(key, input_request))
                    for key, input_request in server_request.input_requests.items()
                }
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return {key: task.result() for key, task in tasks.items()}

    async def _response(self, key: str, input_request: ParsedRequest) -> JSONObject:
        handler = self._handlers.get(input_request.method)
        if handler is None:
            raise RequestRefused(key, METHOD_NOT_FOUND, f"The client does not support {input_request.method}")
        try:
            return await handler(input_request.source)
        except RpcError as exc:
            raise RequestRefused(key, exc.code, exc.message, exc.data) from exc

    def ended(self, server_request: ServerRequest, end: RequestEnd, why: str) -> None:
        pass

    def noted(self, server_request: ServerRequest, text: str) -> None:
        pass

    def sent(self, server_request: ServerRequest, error: str) -> None:
        pass


class PendingServerRequests:
    """Pending server requests of one connection, in either era."""

    def __init__(self, responder: Responder, client_requests: PendingRequests) -> None:
        self._responder = responder
        self._client_requests = client_requests
        self._open: dict[ServerRequest, asyncio.Task[Replies]] = {}
        self._by_id: dict[RequestId, ServerRequest] = {}  # JSON-RPC requests
        self._over: dict[ServerRequest, UserError] = {}
        self._lost: ConnectionLost | None = None

    async def ask(self, server_request: ServerRequest, human: CallTimer | None = None) -> Replies:
        """Return the replies to the input requests of a result; `human` accumulates the time it takes.

        Raises RequestRefused, and ConnectionLost if the connection ends meanwhile.
        """
        if human is None:
            return await self._ask(server_request)
        human.begin()
        try:
            return await self._ask(server_request)
        finally:
            human.end()

    def register(self, id: RequestId, server_request: ServerRequest) -> None:
        """Register a JSON-RPC request. It may be cancelled before the responder gets it."""
        self._by_id[id] = server_request

    def unregister(self, id: RequestId, server_request: ServerRequest) -> None:
        """Unregister a JSON-RPC request that was answered or needs no response."""
        self._over.pop(server_request, None)
        if self._by_id.get(id) is server_request:
            del self._by_id[id]

    async def ask_single(self, server_request: ServerRequest, id: RequestId) -> Replies:
        """Return the reply to a JSON-RPC request.

        Raises as `ask` does, and RequestCancelled if the server cancelled it or the user has already sent a
        raw response.
        """
        self.register(id, server_request)
        try:
            with self._paused(server_request):
                return await self._ask(server_request)
        finally:
            self.unregister(id, server_request)

    async def _ask(self, server_request: ServerRequest) -> Replies:
        if error := self._over.pop(server_request, None) or self._lost:
            raise error
        # A separate task: it can be cancelled without cancelling the caller.
        task = asyncio.get_running_loop().create_task(self._respond(server_request), name="reply")
        self._open[server_request] = task
        try:
            return await task
        except asyncio.CancelledError:
            error = self._over.pop(server_request, None)
            if error is None:
                self._responder.ended(server_request, RequestEnd.CALL_ENDED, "")
            current = asyncio.current_task()
            if error is None or (current is not None and current.cancelling()):
                raise
            raise error from None
        finally:
            del self._open[server_request]

    async def _respond(self, server_request: ServerRequest) -> Replies:
        return await self._responder.respond(server_request)

    @contextmanager
    def _paused(self, server_request: ServerRequest) -> Iterator[None]:
        """Pause the timeouts of the call that the request is for; of all calls if unknown."""

        def on_over(response: asyncio.Future[Message]) -> None:
            if server_request in self._open and server_request not in self._over:
                self._responder.noted(server_request, _CALL_ENDED)

        paused = self._client_requests.of_operation(server_request.operation)
        for request in paused:
            request.pause()
            if server_request.operation is not None:
                request.response.add_done_callback(on_over)
        try:
            yield
        finally:
            for request in paused:
                request.resume()
                request.response.remove_done_callback(on_over)  # a long call may cause many requests

    def sent(self, server_request: ServerRequest, error: str = "") -> None:
        """Report that the reply to a server request was sent, or why not."""
        self._responder.sent(server_request, error)

    def refuse(self, server_request: ServerRequest, why: str) -> None:
        """Report a request that was rejected without calling the responder."""
        if server_request not in self._over:
            self._responder.ended(server_request, RequestEnd.REFUSED, why)

    def withdraw(self, id: RequestId, reason: str) -> None:
        """Handle the server's cancellation of a pending request."""
        text = shorten(one_line(reason), 300)
        error = RequestCancelled("The server cancelled it.")
        self._end(self._by_id.get(id), RequestEnd.WITHDRAWN, text, error)

    def answered_manually(self, id: RequestId) -> None:
        """Handle a raw response of the user to a pending request."""
        error = RequestCancelled("It was answered manually.")
        why = "The response was written manually."
        self._end(self._by_id.get(id), RequestEnd.ANSWERED, why, error)

    def close(self, error: ConnectionLost) -> None:
        """End all pending requests: the connection is over."""
        if self._lost is None:
            self._lost = error
            for server_request in tuple(self._open):
                self._end(server_request, RequestEnd.SERVER_GONE, error.summary, error)

    def _end(self, server_request: ServerRequest | None, end: RequestEnd, why: str, error: UserError) -> None:
        task = self._open.get(server_request) if server_request is not None else None
        if server_request is None or server_request in self._over or (task is not None and task.done()):
            return
        self._over[server_request] = error
        self._responder.ended(server_request, end, why)
        if task is not None:
            task.cancel()


async def compose_reply(
    request: Message,
    server_request: ServerRequest,
    connection: Connection,
    server_requests: PendingServerRequests,
    declared: JSONObject,
) -> Message | None:
    """Return the response to send; None if none is needed any more.

    `declared` are the declared client capabilities.
    """
    assert request.id is not None
    try:
        return await _compose(request, request.id, server_request, connection, server_requests, declared)
    except LocalProtocolError:
        return None


async def _compose(
    request: Message,
    id: RequestId,
    server_request: ServerRequest,
    connection: Connection,
    server_requests: PendingServerRequests,
    declared: JSONObject,
) -> Message | None:
    if request.method == "ping" and _fault_of_frame(request) is None:
        return connection.response(id, {})
    if fault := fault_of(request, server_request, declared):
        server_requests.refuse(server_request, fault.message)
        return connection.refuse(id, fault.code, fault.message)
    try:
        return connection.response(id, (await server_requests.ask_single(server_request, id))[ONLY_KEY])
    except RpcError as exc:
        return connection.refuse(id, exc.code, exc.message, exc.data)
    except (ConnectionLost, RequestCancelled):
        return None
    except LocalProtocolError:
        raise
    except Exception:
        _log.exception("could not reply to %s", request.method)
        return connection.refuse(id, INTERNAL_ERROR, "Internal error")


def fault_of(request: Message, server_request: ServerRequest, declared: JSONObject) -> RpcError | None:
    """Return the error with which a request is rejected; None if it is acceptable.

    `declared` are the declared client capabilities.
    """
    return _fault_of_frame(request) or _fault_of(server_request, declared)


def _fault_of_frame(request: Message) -> RpcError | None:
    try:
        request.body()
    except JSONError as exc:
        return RpcError(INVALID_PARAMS, f"Could not parse the params: {exc}")
    return None


def _fault_of(server_request: ServerRequest, declared: JSONObject) -> RpcError | None:
    input_request = server_request.input_requests[ONLY_KEY]
    method = input_request.method
    missing = missing_capability_for(method, input_request.source, declared)
    if missing:
        if "." in missing:
            return RpcError(
                INVALID_PARAMS, f"The client does not support this in {method}: {missing} was not declared"
            )
        return RpcError(
            METHOD_NOT_FOUND, f"The client does not support {method}: the capability was not declared"
        )
    if isinstance(input_request, UnreadableRequest):
        return RpcError(INVALID_PARAMS, f"Invalid params for {method}: {input_request.reason}")
    return None


def with_parsed_body(request: Message) -> Message:
    """Return the request with its body parsed, if possible, so that large ones are parsed once."""
    try:
        return request._replace(parsed=request.body())
    except JSONError:
        return request


def input_request_of(request: Message) -> ParsedRequest:
    """Parse a JSON-RPC request of the server; one that is no valid JSON has no params."""
    try:
        return server_request_of(request.method, request.body().get("params"))
    except JSONError:
        return server_request_of(request.method, None)


class ServerRequestTasks:
    """Task-augmented server requests of one connection.

    `declared` returns the declared client capabilities; `send` sends a message without awaiting a response.
    """

    def __init__(
        self,
        connection: Connection,
        server_requests: PendingServerRequests,
        declared: Callable[[], JSONObject],
        client_tasks: ClientTasks,
        scope: TaskScope,
        send: Callable[[Message], Awaitable[object]],
    ) -> None:
        self._connection = connection
        self._server_requests = server_requests
        self._declared = declared
        self._client_tasks = client_tasks
        self._scope = scope
        self._send = send
        self._requests: dict[str, RequestId] = {}  # by task id
        self._ended: dict[str, asyncio.Event] = {}

    def handles(self, server_request: ServerRequest) -> bool:
        """True if a request is a task method, or is task-augmented."""
        input_request = server_request.input_requests[ONLY_KEY]
        if input_request.method in TASK_METHODS:
            return _has_tasks(server_request.revision)
        return is_augmented(
            input_request.method, input_request.source, self._declared(), server_request.revision
        )

    async def response(self, request: Message, server_request: ServerRequest) -> Message | None:
        """Return the response to send; None if none is needed any more."""
        assert request.id is not None
        input_request = server_request.input_requests[ONLY_KEY]
        try:
            try:
                if input_request.method in TASK_METHODS:
                    require_declared(input_request.method, self._declared())
                    result = await self._call_task_method(input_request.method, input_request.source)
                else:
                    result = self._create_task(request, server_request)
            except RpcError as exc:
                return self._connection.refuse(request.id, exc.code, exc.message, exc.data)
            return self._connection.response(request.id, result)
        except LocalProtocolError:
            return None  # cancelled meanwhile

    def _create_task(self, request: Message, server_request: ServerRequest) -> JSONObject:
        assert request.id is not None
        if fault := fault_of(request, server_request, self._declared()):
            self._server_requests.refuse(server_request, fault.message)
            raise fault
        input_request = server_request.input_requests[ONLY_KEY]
        try:
            task = self._client_tasks.create(input_request.method, input_request.source)
        except RpcError as exc:
            self._server_requests.refuse(server_request, exc.message)
            raise
        self._requests[task.id], self._ended[task.id] = request.id, asyncio.Event()
        work = self._run(task, replace(server_request, task_id=task.id), request.id)
        self._scope.spawn(f"run task {task.id}", work)
        return {"task": task.to_json()}

    async def _run(self, task: ClientTask, server_request: ServerRequest, id: RequestId) -> None:
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(
            task.ttl_ms / 1000, self._server_requests.withdraw, id, "Its time to live has expired."
        )
        try:
            outcome: JSONObject | RpcError = (await self._server_requests.ask_single(server_request, id))[
                ONLY_KEY
            ]
        except RpcError as exc:
            outcome = exc
        except (ConnectionLost, RequestCancelled):  # cancelled, or expired
            self._client_tasks.expire(task)
            return
        except Exception:
            _log.exception("could not reply to %s", task.method)
            outcome = RpcError(INTERNAL_ERROR, "Internal error")
        finally:
            expiry.cancel()
            self._server_requests.sent(server_request)  # the server fetches the reply itself
            del self._requests[task.id]
            self._ended.pop(task.id).set()
        if self._client_tasks.finish(task, outcome):
            await self._report(task)

    async def _call_task_method(self, method: str, params: JSONObject) -> JSONObject:
        if method == "tasks/list":
            return self._client_tasks.list(params)
        if method == "tasks/cancel":
            return self._cancel(params)
        task = self._client_tasks.find(params)
        if method == "tasks/get":
            return task.to_json()
        ended = self._ended.get(task.id)
        if ended is not None:
            await ended.wait()
            task = self._client_tasks.find(params)  # it may have expired
        return self._client_tasks.result(task)

    def _cancel(self, params: JSONObject) -> JSONObject:
        task = self._client_tasks.cancel(params)
        request_id = self._requests.get(task.id)
        if request_id is not None:
            self._server_requests.withdraw(request_id, "The server cancelled the task.")
        return task.to_json()

    async def _report(self, task: ClientTask) -> None:
        await self._send(self._connection.notify(STATUS_NOTIFICATION, task.to_json()))


def _has_tasks(revision: Revision) -> bool:
    return revision == R4
