"""What a server asks of us as a task: answered with one at once, with its outcome when it comes for that."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from inspector.base.errors import ConnectionLost, LocalProtocolError, RequestCancelled, RpcError
from inspector.base.jsonvalue import JSONObject
from inspector.protocol.connection import Connection
from inspector.protocol.jsonrpc import INTERNAL_ERROR, Message, RequestId
from inspector.protocol.ourtasks import (
    STATUS_NOTIFICATION,
    TASK_METHODS,
    OurTask,
    OurTasks,
    check_offered,
    is_augmented,
)
from inspector.protocol.revisions import R4, Revision
from inspector.session.answering import fault_of
from inspector.session.asking import OWN, Asking
from inspector.session.desk import Desk
from inspector.transport.tasks import TaskScope

_log = logging.getLogger(__name__)


class AskedTasks:
    """Task-augmented server requests of one connection.

    `declared` returns what we declare on it; `send` sends a message that nothing waits for.
    """

    def __init__(
        self,
        connection: Connection,
        desk: Desk,
        declared: Callable[[], JSONObject],
        books: OurTasks,
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

    def takes(self, asking: Asking) -> bool:
        """True if a request is about a task, or is to become one."""
        question = asking.questions[OWN]
        if question.method in TASK_METHODS:
            return _has_tasks(asking.revision)
        return is_augmented(question.method, question.params, self._declared(), asking.revision)

    async def answer(self, request: Message, asking: Asking) -> Message | None:
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

    def _begin(self, request: Message, asking: Asking) -> JSONObject:
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

    async def _ask(self, task: OurTask, asking: Asking, id: RequestId) -> None:
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

    async def _tell(self, task: OurTask) -> None:
        await self._send(self._connection.notify(STATUS_NOTIFICATION, task.to_json()))


def _has_tasks(revision: Revision) -> bool:
    return revision == R4
