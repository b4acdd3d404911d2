"""The tasks of this process, whatever design they are spoken of in."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from inspector.demo.everything.background import Background

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
Answer = TypeVar("Answer", bound=BaseModel)
Report = Callable[[int, int, str], Awaitable[None]]
Body = Callable[["Work"], Awaitable[types.CallToolResult]]

_FINAL: tuple[Status, ...] = ("completed", "failed", "cancelled")


class Work:
    """A task tool's view of the call that it works for. `run` is None for a plain call."""

    def __init__(self, arguments: dict[str, Any], report: Report, run: Run | None = None) -> None:
        self.arguments = arguments
        self._report = report
        self._run = run

    async def step(self, number: int, total: int) -> None:
        message = f"Step {number} of {total}"
        if self._run is not None:
            self._run.tell(message)
        await self._report(number, total, message)

    async def ask(self, key: str, request: types.InputRequest, answer_type: type[Answer]) -> Answer:
        assert self._run is not None, "only a tool that always runs as a task asks on the way"
        return answer_type.model_validate(await self._run.ask(key, request), by_name=False)


@dataclass(slots=True)
class Question:
    """A request that a task needs answered before it goes on."""

    request: types.InputRequest
    is_with_client: bool = False
    answer: dict[str, Any] | MCPError | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)


class Run:
    """One task. `version` counts its changes."""

    def __init__(self, ttl_ms: int, poll_ms: int) -> None:
        self.id = str(uuid.uuid4())
        self.ttl_ms = ttl_ms
        self.poll_ms = poll_ms
        self.status: Status = "working"
        self.message = "Started"
        self.created_at = self.updated_at = _now()
        self.result: types.CallToolResult | None = None
        self.error: MCPError | None = None
        self.questions: dict[str, Question] = {}
        self.version = 0
        self.scope = anyio.CancelScope()
        self._changed = anyio.Event()

    @property
    def is_final(self) -> bool:
        return self.status in _FINAL

    async def news(self, seen: int) -> int:
        """Wait until the version differs from `seen`; return the current version."""
        while self.version == seen:
            await self._changed.wait()
        return self.version

    # -------------------------------------------------------------- what happens to it

    def tell(self, message: str) -> None:
        self._stand(self.status, message)

    async def ask(self, key: str, request: types.InputRequest) -> dict[str, Any]:
        """Ask the client and return its reply. Raises MCPError if it rejects the request."""
        question = self.questions[key] = Question(request)
        self._stand("input_required", "Waiting for an answer")
        await question.answered.wait()
        del self.questions[key]
        if not self.questions:
            self._stand("working", "Got an answer")
        if isinstance(question.answer, MCPError):
            raise question.answer
        return question.answer or {}

    def answer(self, key: str, answer: dict[str, Any] | MCPError) -> None:
        """Deliver a reply. A key that is not pending is ignored: it was answered before."""
        question = self.questions.get(key)
        if question is not None and question.answer is None:
            question.answer = answer
            question.answered.set()

    def complete(self, result: types.CallToolResult) -> None:
        self.result = result
        self._stand("completed", "The tool reported an error" if result.is_error else "Done")

    def fail(self, error: MCPError) -> None:
        self.error = error
        self._stand("failed", error.message)

    def cancel(self, message: str) -> None:
        self._stand("cancelled", message)
        self.scope.cancel()

    def _stand(self, status: Status, message: str) -> None:
        if self.is_final:
            return
        self.status, self.message, self.updated_at = status, message, _now()
        self.version += 1
        self._changed.set()
        self._changed = anyio.Event()


class Runs:
    """All tasks that are still stored. Over HTTP they outlive the connection that started them."""

    def __init__(self, background: Background) -> None:
        self._background = background
        self._runs: dict[str, Run] = {}

    def start(self, run: Run, body: Body, work: Work) -> None:
        self._runs[run.id] = run
        self._background.start(self._keep, run, body, work)

    def watch(self, watching: Callable[[Run], Coroutine[Any, Any, None]], run: Run) -> None:
        """Follow a task until it ends."""
        self._background.start(watching, run)

    def get(self, id: str) -> Run:
        run = self._runs.get(id)
        if run is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown task", {"taskId": id})
        return run

    def all(self) -> list[Run]:
        return list(self._runs.values())

    async def _keep(self, run: Run, body: Body, work: Work) -> None:
        with anyio.move_on_after(run.ttl_ms / 1000):
            with run.scope:
                await self._execute(run, body, work)
            await anyio.sleep_forever()  # "may delete the task after its ttl": until then it can be requested
        run.cancel("Its time was over")
        del self._runs[run.id]

    async def _execute(self, run: Run, body: Body, work: Work) -> None:
        try:
            run.complete(await body(work))
        except MCPError as error:
            run.fail(error)
        except Exception as error:  # one failing task must not take the others down
            run.fail(MCPError(types.INTERNAL_ERROR, f"The tool broke: {error}"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
