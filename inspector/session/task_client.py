"""Task methods of a connected server, the same for both task designs (`protocol.tasks`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from inspector.base.errors import CapabilityMissing, ConnectionLost, RemoteProtocolError, RequestCancelled
from inspector.base.json.values import JSONObject
from inspector.protocol.handshake import NegotiationResult
from inspector.protocol.revisions import TASKS_EXTENSION, missing_capability
from inspector.protocol.round_trips import violation_of
from inspector.protocol.tasks import Call, Task, TaskDesign, TaskStatus, tasks_of
from inspector.protocol.types import InputRequest, Listing
from inspector.session.input_rounds import InputCollector, result_of, task_error, task_of
from inspector.session.pagination import list_all
from inspector.session.pending_requests import CallTimer
from inspector.session.session import Session

# Makes the collector for a task id, a wait time to add to, and the row of the call that became the task.
MakeCollector: TypeAlias = Callable[[str, CallTimer | None, int | None], InputCollector]


class TaskClient:
    """Task methods of a connected server.

    `capabilities` returns the declared client capabilities.
    """

    def __init__(
        self,
        session: Session,
        capabilities: Callable[[], JSONObject],
        make_collector: MakeCollector,
        max_pages: int,
    ) -> None:
        self._session = session
        self._capabilities = capabilities
        self._make_collector = make_collector
        self.max_pages = max_pages

    async def get(self, id: str) -> Task:
        return task_of(await self._run(self.design_for("tasks/get").get(id)))

    async def list(self) -> Listing[Task]:
        """List the server's tasks. Raises CapabilityMissing if the protocol version has no such list."""
        call = self.design_for("tasks/list").list(self._negotiated.capabilities)
        if call is None:
            revision = self._negotiated.revision
            raise CapabilityMissing(f"Protocol version {revision} cannot list tasks.", "Nothing was sent.")
        return await list_all(self._session, call[0], "tasks", Task.read, self.max_pages)

    async def cancel(self, id: str) -> Task | None:
        """Cancel a task. Returns its new state, if the design reports it."""
        call = self.design_for("tasks/cancel").cancel(id, self._negotiated.capabilities)
        assert call is not None, "design_for checked the capability"
        result = await self._run(call)
        return task_of(result) if "taskId" in result else None

    @property
    def can_wait_for_result(self) -> bool:
        """True if the design has a request that waits for the result (`tasks/result`)."""
        negotiated = self._session.state.negotiated
        design = tasks_of(negotiated.revision) if negotiated is not None else None
        return design is not None and design.outcome("") is not None

    async def outcome(self, task: Task, human: CallTimer | None = None) -> JSONObject:
        """Return the result of the call, fetching it if the task does not hold it.

        May wait without a timeout until the task ends; the server may send requests meanwhile. Raises
        RpcError if the task failed, RequestCancelled if it was cancelled.
        """
        if task.status is TaskStatus.CANCELLED:
            summary = f"The task was cancelled. {task.message}".strip()
            raise RequestCancelled(summary, "Call the tool again to start a new task.")
        call = self.design_for("tasks/get").outcome(task.id)
        if call is not None:
            return await self._run(call, None if task.status.is_terminal else math.inf, human)
        if task.status is TaskStatus.FAILED:
            raise task_error(task)
        return task.result or {}

    async def replies_to(
        self,
        id: str,
        requested: Mapping[str, InputRequest],
        human: CallTimer | None = None,
        row: int | None = None,
    ) -> Mapping[str, JSONObject]:
        """Return the replies to a task's input requests, by the rules for those of a call.

        `row` is that of the call that became the task; `human` accumulates the time that the replies took.
        Raises RemoteProtocolError for an undeclared capability, RequestCancelled if one was refused.
        """
        collector = self._make_collector(id, human, row)
        faults = (violation_of(request, self._capabilities()) for request in requested.values())
        if fault := next(filter(None, faults), ""):
            collector.refuse_all(requested, fault)
            raise RemoteProtocolError(f"the task cannot continue: {fault}")
        return await collector.ask(requested)

    async def update(self, id: str, responses: Mapping[str, JSONObject]) -> None:
        """Send the replies to the server."""
        call = self.design_for("tasks/update").update(id, responses)
        assert call is not None, "only the tasks extension has input requests"
        await self._run(call)

    def note(self, text: str) -> None:
        """Add a local note to the log."""
        self._session.note(text)

    def declared(self) -> JSONObject:
        """Return the capabilities with the tasks extension.

        Declared only where a task is wanted: a server may turn any call that declares it into a task.
        """
        capabilities = self._capabilities()
        extensions = capabilities.get("extensions")
        own = extensions if isinstance(extensions, dict) else {}
        return {**capabilities, "extensions": {TASKS_EXTENSION: {}, **own}}

    def design_for_calls(self) -> TaskDesign:
        """Return the task design, if tools may run as tasks. Raises CapabilityMissing."""
        design = self.design_for("tasks/get")
        if not design.is_supported(self._negotiated.capabilities):
            raise CapabilityMissing(
                "The server cannot run tools as tasks: it did not declare the capability "
                "“tasks.requests.tools.call”.",
                "Nothing was sent.",
            )
        return design

    def design_for(self, method: str) -> TaskDesign:
        """Return the task design, if this method of it may be called. Raises CapabilityMissing."""
        negotiated = self._negotiated
        design = tasks_of(negotiated.revision)
        if design is None:
            raise CapabilityMissing(
                f"Protocol version {negotiated.revision} has no tasks.", "Nothing was sent."
            )
        missing = missing_capability(method, negotiated.capabilities, negotiated.revision)
        if missing:
            raise CapabilityMissing(
                f"The server does not offer {method}: it did not declare the capability “{missing}”.",
                "Nothing was sent.",
            )
        return design

    @property
    def _negotiated(self) -> NegotiationResult:
        negotiated = self._session.state.negotiated
        if negotiated is None:
            raise ConnectionLost("The server is not connected.", "Connect first.")
        return negotiated

    async def _run(
        self, call: Call, timeout: float | None = None, human: CallTimer | None = None
    ) -> JSONObject:
        method, params = call
        exchange = await self._session.request(
            method, params, timeout=timeout, capabilities=self.declared(), human=human
        )
        return result_of(exchange.response)
