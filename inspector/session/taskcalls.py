"""What can be asked about the tasks of one connected server, alike in both designs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from inspector.base.errors import ConnectionLost, NotOffered, RemoteProtocolError, RequestCancelled
from inspector.base.jsonvalue import JSONObject
from inspector.protocol.handshake import Agreement
from inspector.protocol.methods import TASKS_EXTENSION, missing_capability
from inspector.protocol.rounds import fault_of
from inspector.protocol.tasks import Call, Task, TaskDesign, TaskStatus, TaskWatch, tasks_of
from inspector.protocol.types import InputRequest, Listing
from inspector.session.answers import result_of, task_error, task_of
from inspector.session.lists import list_all
from inspector.session.session import Session

# Answers what the task of this id asks. Raises RequestCancelled when one of the answers was refused.
AnswerTask: TypeAlias = Callable[[str, Mapping[str, InputRequest]], Awaitable[Mapping[str, JSONObject]]]


class TaskCalls:
    """`capabilities` gives those that we declare at the moment."""

    def __init__(
        self,
        session: Session,
        capabilities: Callable[[], JSONObject],
        answer: AnswerTask,
        most_pages: int,
    ) -> None:
        self._session = session
        self._capabilities = capabilities
        self._answer = answer
        self._most_pages = most_pages

    async def get(self, id: str) -> Task:
        return task_of(await self._run(self.design_for("tasks/get").get(id)))

    async def list(self) -> Listing[Task]:
        """The server's tasks, where the design has a list."""
        call = self.design_for("tasks/list").list(self._agreement.capabilities)
        if call is None:
            revision = self._agreement.revision
            raise NotOffered(f"Revision {revision} has no list of tasks.", "Nothing was sent.")
        return await list_all(self._session, call[0], "tasks", Task.read, self._most_pages)

    async def cancel(self, id: str) -> None:
        call = self.design_for("tasks/cancel").cancel(id, self._agreement.capabilities)
        assert call is not None, "the capability is there"
        await self._run(call)

    async def finish(self, task: Task, on_news: Callable[[Task], None] | None = None) -> JSONObject:
        """Poll as often as the server wishes, answer what it asks, and give the outcome.

        Raises RpcError when the task failed, RequestCancelled when it was cancelled.
        """
        design, watch = self.design_for("tasks/get"), TaskWatch(task)
        problems: set[str] = set()
        while not watch.task.status.is_terminal:
            outcome = design.outcome(task.id)
            if outcome is not None and watch.task.status is TaskStatus.INPUT_REQUIRED:
                # The server asks while this waits, and the person may take their time.
                return await self._run(outcome, timeout=math.inf)
            await asyncio.sleep(watch.task.next_poll_ms / 1000)
            news = watch.receive(await self.get(task.id))
            for problem in set(news.problems) - problems:
                self._session.remark(problem)
            problems.update(news.problems)
            if on_news is not None:
                on_news(news.task)
            await self._answer_task(design, task.id, news.asked)
        return await self._outcome(design, watch.task)

    async def _answer_task(self, design: TaskDesign, id: str, asked: Mapping[str, InputRequest]) -> None:
        """The same rules as for what is asked in a call's own result."""
        faults = (fault_of(request, self._capabilities()) for request in asked.values())
        if fault := next(filter(None, faults), ""):
            raise RemoteProtocolError(f"the task cannot go on: {fault}")
        update = design.update(id, await self._answer(id, asked)) if asked else None
        if update is not None:
            await self._run(update)

    async def _outcome(self, design: TaskDesign, task: Task) -> JSONObject:
        if task.status is TaskStatus.CANCELLED:
            raise RequestCancelled(f"The task was cancelled. {task.message}".strip())
        call = design.outcome(task.id)
        if call is not None:
            return await self._run(call)
        if task.status is TaskStatus.FAILED:
            raise task_error(task)
        return task.result or {}

    # -------------------------------------------------------------- calls that become tasks

    def declared(self) -> JSONObject:
        """Said only where a task is wanted: a server may make one of any call that says so."""
        capabilities = self._capabilities()
        extensions = capabilities.get("extensions")
        own = extensions if isinstance(extensions, dict) else {}
        return {**capabilities, "extensions": {TASKS_EXTENSION: {}, **own}}

    def design_for_calls(self) -> TaskDesign:
        """The design, when tools may run as tasks. Raises NotOffered."""
        design = self.design_for("tasks/get")
        if not design.is_offered(self._agreement.capabilities):
            raise NotOffered(
                "The server does not offer to run tools as tasks: "
                "it did not declare the capability “tasks.requests.tools.call”.",
                "Nothing was sent.",
            )
        return design

    def design_for(self, method: str) -> TaskDesign:
        """The design, when this method of it may be called. Raises NotOffered."""
        agreement = self._agreement
        design = tasks_of(agreement.revision)
        if design is None:
            raise NotOffered(f"Revision {agreement.revision} has no tasks.", "Nothing was sent.")
        missing = missing_capability(method, agreement.capabilities, agreement.revision)
        if missing:
            raise NotOffered(
                f"The server does not offer {method}: it did not declare the capability “{missing}”.",
                "Nothing was sent.",
            )
        return design

    # --------------------------------------------------------------

    @property
    def _agreement(self) -> Agreement:
        agreement = self._session.state.agreement
        if agreement is None:
            raise ConnectionLost("The server is not connected.", "Connect first.")
        return agreement

    async def _run(self, call: Call, timeout: float | None = None) -> JSONObject:
        method, params = call
        exchange = await self._session.request(method, params, timeout=timeout, capabilities=self.declared())
        return result_of(exchange.answer)
