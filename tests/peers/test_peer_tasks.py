"""Tasks with real peers: server-everything (2025-11-25), and `taskserver.py`, both designs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.views import InboxRequest, Reply
from inspector.engine.tasks.views import TaskOrigin, TaskView, TrackingState
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.client_capabilities import ALL
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.jsonrpc import RpcError
from inspector.protocol.tasks import TaskStatus
from tests.peers.visit import Visit, visiting

pytestmark = pytest.mark.timeout(240)  # the first run installs the peers

SERVER = Path(__file__).parent.parent / "helpers" / "taskserver.py"
DESIGNS = ("core", "extension")


async def elicit(params: JSONObject) -> JSONObject:
    schema = params["requestedSchema"]
    assert isinstance(schema, dict)
    requested = schema["properties"]
    assert isinstance(requested, dict)
    content: JSONObject = {"name": "Ann"} if "name" in requested else {"interpretation": "snake"}
    return {"action": "accept", "content": content}


async def sample(params: JSONObject) -> JSONObject:
    return {"role": "assistant", "content": {"type": "text", "text": "by a person"}, "model": "by hand"}


ANSWERERS = {"elicitation/create": elicit, "sampling/createMessage": sample}


def entry(design: str, file: Path | None = None) -> StdioEntry:
    args = ("-I", "-S", str(SERVER), design, *((str(file),) if file else ()))
    return StdioEntry(name="tasks", command=sys.executable, args=args)


class TaskVisit:
    """A visit with helpers for tasks."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.book = visit.engine.tasks
        self.seen: list[TaskView] = []
        self.progress: list[ProgressReceived] = []
        self._changed = asyncio.Event()
        self.book.changed.connect(self._on_changed)

    def _on_changed(self, view: TaskView) -> None:
        self.seen.append(view)
        self._changed.set()

    def start(self, tool: str, **arguments: JSON) -> asyncio.Task[CallOutcome]:
        work = self.visit.engine.tool_caller.call(
            self.visit.name, ToolCall(tool, arguments, as_task=True), on_progress=self.progress.append
        )
        return asyncio.get_running_loop().create_task(work)

    async def until(self, is_so: Callable[[TaskView], bool]) -> TaskView:
        """Return the first task that matches, now or later."""
        while True:
            for view in self.book.views(self.visit.name):
                if is_so(view):
                    return view
            self._changed.clear()
            await self._changed.wait()

    def statuses(self) -> list[str]:
        """Return each status once, in order."""
        return list(dict.fromkeys(view.task.status.value for view in self.seen))


@asynccontextmanager
async def tasks_of(entry: StdioEntry) -> AsyncIterator[TaskVisit]:
    async with visiting(entry, ANSWERERS) as visit:
        yield TaskVisit(visit)


@pytest.fixture(params=DESIGNS)
async def by_hand(request: pytest.FixtureRequest) -> AsyncIterator[TaskVisit]:
    async with tasks_of(entry(request.param)) as visit:
        yield visit


async def test_task_is_followed_to_its_result(by_hand: TaskVisit) -> None:
    outcome = await by_hand.start("count", polls=3)
    assert (outcome.kind, b"Counted to 3" in outcome.response) == (OutcomeKind.RESULT, True)
    view = await by_hand.until(lambda view: view.tracking is TrackingState.ENDED)
    assert (view.tool, view.origin, view.outcome) == ("count", TaskOrigin.CALLED, outcome)
    assert by_hand.statuses() == ["working", "completed"]
    is_core = by_hand.visit.negotiated.revision.date == "2025-11-25"
    assert [step.progress for step in by_hand.progress] == ([1, 2, 3] if is_core else [])
    assert by_hand.visit.complaints() == []


async def test_task_continues_after_its_input_request_is_answered(by_hand: TaskVisit) -> None:
    outcome = await by_hand.start("ask")
    assert b"Hello Ann" in outcome.response
    await by_hand.until(lambda view: view.tracking is TrackingState.ENDED)
    assert by_hand.statuses() == ["working", "input_required", "completed"]
    assert by_hand.visit.complaints() == []


async def test_failed_task_returns_its_error(by_hand: TaskVisit) -> None:
    outcome = await by_hand.start("fail")
    assert (outcome.kind, outcome.summary) == (
        OutcomeKind.RPC_ERROR,
        "-32000 (server error): the disk is full",
    )


async def test_task_continues_without_its_call_and_can_be_cancelled(by_hand: TaskVisit) -> None:
    calling = by_hand.start("stay")
    view = await by_hand.until(lambda view: view.task.message == "Step 2")
    await by_hand.book.detach(view.server, view.id)
    assert (await calling).kind is OutcomeKind.DETACHED
    await by_hand.until(lambda view: view.task.message == "Step 3")
    await by_hand.book.cancel(view.server, view.id)
    view = await by_hand.until(lambda view: view.tracking is TrackingState.ENDED)
    assert view.task.status is TaskStatus.CANCELLED


@pytest.mark.parametrize("design", DESIGNS)
async def test_a_task_that_outlives_the_process_is_found_again(design: str, tmp_path: Path) -> None:
    async with tasks_of(entry(design, tmp_path / "tasks.json")) as visit:
        calling = visit.start("count", polls=100)
        view = await visit.until(lambda view: view.task.message == "Step 2")
        await visit.visit.engine.servers.connector.disconnect("tasks")
        assert (await calling).is_lost
        waiting = await visit.until(lambda view: view.tracking is TrackingState.WAITING)
        assert waiting.id == view.id
        await visit.visit.engine.servers.connector.connect("tasks")
        await visit.until(
            lambda view: view.tracking is TrackingState.FOLLOWED and view.task.message == "Step 5"
        )


@pytest.mark.parametrize("design", DESIGNS)
async def test_a_task_that_ended_with_the_process_is_unknown(design: str) -> None:
    async with tasks_of(entry(design)) as visit:
        visit.start("stay")
        await visit.until(lambda view: view.task.message == "Step 1")
        await visit.visit.engine.servers.connector.connect("tasks")
        view = await visit.until(lambda view: view.tracking is TrackingState.UNKNOWN)
        assert view.note == "The server no longer knows the task: Unknown task"


@pytest.mark.parametrize("design", DESIGNS)
async def test_task_from_an_earlier_run_is_added_by_id(design: str, tmp_path: Path) -> None:
    async with tasks_of(entry(design, tmp_path / "tasks.json")) as visit:
        calling = visit.start("stay")
        id = (await visit.until(lambda view: view.task.message == "Step 1")).id
        await visit.book.detach("tasks", id)
        await calling
    async with tasks_of(entry(design, tmp_path / "tasks.json")) as visit:
        with pytest.raises(RpcError, match="Unknown task"):
            await visit.book.add("tasks", "unknown-task")
        view = await visit.book.add("tasks", id)
        assert view.origin is TaskOrigin.ADDED
        await visit.until(lambda view: view.task.message == "Step 4")


async def test_server_task_list_includes_tasks_we_did_not_create(tmp_path: Path) -> None:
    async with tasks_of(entry("core", tmp_path / "tasks.json")) as visit:
        await visit.start("count", polls=1)
    async with tasks_of(entry("core", tmp_path / "tasks.json")) as visit:
        assert await visit.book.refresh("tasks") == 1
        (view,) = visit.book.views("tasks")
        assert (view.origin, view.task.status, view.outcome) == (
            TaskOrigin.LISTED,
            TaskStatus.COMPLETED,
            None,
        )
        await visit.book.fetch("tasks", view.id)
        view = await visit.until(lambda view: view.outcome is not None)
        assert view.outcome is not None
        assert b"Counted to 1" in view.outcome.response


@pytest.fixture
async def everything(node_modules: Path, short_stdin_grace: None) -> AsyncIterator[TaskVisit]:
    script = str(node_modules / "server-everything/dist/index.js")
    args, declared = (script, "stdio"), ALL.members
    entry = StdioEntry(name="everything", command="node", args=args, capabilities=declared)
    async with tasks_of(entry) as visit:
        yield visit


async def test_everything_runs_its_research_as_a_task(everything: TaskVisit) -> None:
    outcome = await everything.start("simulate-research-query", topic="python", ambiguous=True)
    assert b"Research Report: python (snake)" in outcome.response
    view = await everything.until(lambda view: view.tracking is TrackingState.ENDED)
    assert view.task.status is TaskStatus.COMPLETED
    assert "input_required" in everything.statuses()
    assert view.expires_ns is not None
    assert everything.visit.complaints() == []


async def test_everything_lists_its_tasks_and_cancels_one(everything: TaskVisit) -> None:
    calling = everything.start("simulate-research-query", topic="ants")
    view = await everything.until(lambda view: view.origin is TaskOrigin.CALLED)
    assert await everything.book.refresh("everything") == 0  # it is known already
    await everything.book.cancel("everything", view.id)
    assert (await calling).kind is OutcomeKind.CANCELLED
    view = await everything.until(lambda view: view.tracking is TrackingState.ENDED)
    assert view.task.status is TaskStatus.CANCELLED


async def test_everything_sends_a_request_as_a_task_and_polls_for_the_reply(everything: TaskVisit) -> None:
    visit = everything.visit
    words = await visit.text("trigger-elicitation-request-async")
    assert "[COMPLETED] User provided the requested information!" in words
    assert "- Name: Ann" in words
    assert visit.reported("notifications/tasks/status")
    words = await visit.text("trigger-sampling-request-async", prompt="who?", maxTokens=10)
    assert "by a person" in words
    assert "Task created" in words
    assert visit.complaints() == []


@asynccontextmanager
async def requested(design: str) -> AsyncIterator[tuple[TaskVisit, asyncio.Task[CallOutcome], InboxRequest]]:
    """Call a tool that becomes a task and elicits input."""
    inbox = Inbox()
    opened: asyncio.Queue[InboxRequest] = asyncio.Queue()
    inbox.changed.connect(opened.put_nowait)
    async with visiting(entry(design), inbox=inbox) as visit:
        tasks = TaskVisit(visit)
        calling = tasks.start("ask")
        yield tasks, calling, await opened.get()


@pytest.mark.parametrize("design", DESIGNS)
async def test_card_names_its_task_and_the_reply_completes_the_task(design: str) -> None:
    async with requested(design) as (visit, calling, inbox_request):
        view = await visit.until(lambda view: view.task.status is TaskStatus.INPUT_REQUIRED)
        assert inbox_request.task_id == view.id
        (input_request,) = inbox_request.input_requests
        response: JSONObject = {"action": "accept", "content": {"name": "Bea"}}
        visit.visit.engine.inbox.reply(inbox_request.id, input_request.key, Reply(response))
        assert b"Hello Bea" in (await calling).response


@pytest.mark.parametrize("design", DESIGNS)
async def test_card_closes_with_its_task(design: str) -> None:
    async with requested(design) as (visit, calling, inbox_request):
        await visit.book.cancel("tasks", inbox_request.task_id)
        assert (await calling).kind is OutcomeKind.CANCELLED
        if design == "extension":
            assert visit.visit.engine.inbox.inbox_requests() == ()
