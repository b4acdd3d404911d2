"""What can be asked about the tasks of one connected server, alike in both designs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from inspector.base.errors import ConnectionLost, NotOffered, RemoteProtocolError, RequestCancelled
from inspector.base.jsonvalue import JSONObject
from inspector.protocol.handshake import Agreement
from inspector.protocol.methods import TASKS_EXTENSION, missing_capability
from inspector.protocol.rounds import fault_of
from inspector.protocol.tasks import Call, Task, TaskDesign, TaskStatus, tasks_of
from inspector.protocol.types import InputRequest, Listing
from inspector.session.answers import result_of, task_error, task_of
from inspector.session.inquiry import Inquiry
from inspector.session.lists import list_all
from inspector.session.session import Session
from inspector.session.waiting import HumanTime

# Puts what the task of this id asks to who answers. The time that takes is counted; the row is the call's.
InquireOf: TypeAlias = Callable[[str, HumanTime | None, int | None], Inquiry]


class TaskCalls:
    """`capabilities` gives those that we declare at the moment."""

    def __init__(
        self,
        session: Session,
        capabilities: Callable[[], JSONObject],
        inquire: InquireOf,
        most_pages: int,
    ) -> None:
        self._session = session
        self._capabilities = capabilities
        self._inquire = inquire
        self.most_pages = most_pages

    async def get(self, id: str) -> Task:
        return task_of(await self._run(self.design_for("tasks/get").get(id)))

    async def list(self) -> Listing[Task]:
        """The server's tasks, where the design has a list."""
        call = self.design_for("tasks/list").list(self._agreement.capabilities)
        if call is None:
            revision = self._agreement.revision
            raise NotOffered(f"Revision {revision} has no list of tasks.", "Nothing was sent.")
        return await list_all(self._session, call[0], "tasks", Task.read, self.most_pages)

    async def cancel(self, id: str) -> Task | None:
        """Ask the server to end it. Gives how it stands now, where the design tells."""
        call = self.design_for("tasks/cancel").cancel(id, self._agreement.capabilities)
        assert call is not None, "the capability is there"
        result = await self._run(call)
        return task_of(result) if "taskId" in result else None

    @property
    def has_waiting_result(self) -> bool:
        """Is there a request that waits for the outcome, and lets the server ask meanwhile?"""
        agreement = self._session.state.agreement
        design = tasks_of(agreement.revision) if agreement is not None else None
        return design is not None and design.outcome("") is not None

    async def outcome(self, task: Task, human: HumanTime | None = None) -> JSONObject:
        """What the call would have given, fetched where it is not inside the task. That may wait: the server
        asks its questions meanwhile, and the person may take their time.

        Raises RpcError when the task failed, RequestCancelled when it was cancelled.
        """
        if task.status is TaskStatus.CANCELLED:
            raise RequestCancelled(f"The task was cancelled. {task.message}".strip())
        call = self.design_for("tasks/get").outcome(task.id)
        if call is not None:
            return await self._run(call, None if task.status.is_terminal else math.inf, human)
        if task.status is TaskStatus.FAILED:
            raise task_error(task)
        return task.result or {}

    async def answers_to(
        self,
        id: str,
        asked: Mapping[str, InputRequest],
        human: HumanTime | None = None,
        row: int | None = None,
    ) -> Mapping[str, JSONObject]:
        """What is to be answered to the questions of a task, by the rules for what a call's own result asks.

        `row` is that of the call that became the task; `human` is told how long the answers took.

        Raises RemoteProtocolError for what we did not declare, RequestCancelled when one was refused.
        """
        inquiry = self._inquire(id, human, row)
        faults = (fault_of(request, self._capabilities()) for request in asked.values())
        if fault := next(filter(None, faults), ""):
            inquiry.refuse_all(asked, fault)
            raise RemoteProtocolError(f"the task cannot go on: {fault}")
        return await inquiry.ask(asked)

    async def update(self, id: str, responses: Mapping[str, JSONObject]) -> None:
        """Hand the answers over."""
        call = self.design_for("tasks/update").update(id, responses)
        assert call is not None, "only the extension asks inside a task"
        await self._run(call)

    def remark(self, text: str) -> None:
        """Put a sentence of ours into the log."""
        self._session.remark(text)

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

    async def _run(
        self, call: Call, timeout: float | None = None, human: HumanTime | None = None
    ) -> JSONObject:
        method, params = call
        exchange = await self._session.request(
            method, params, timeout=timeout, capabilities=self.declared(), human=human
        )
        return result_of(exchange.answer)
