"""The book of tasks: followed in both designs, asked and answered, cancelled, kept over a lost connection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from inspector.base.errors import ConfigError, NotOffered, RpcError
from inspector.base.json.values import JSON, JSONObject
from inspector.engine.servers import server as server_module
from inspector.engine.tasks.views import TaskOrigin, TrackingState
from inspector.engine.views import OutcomeKind
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.tasks import TaskStatus
from inspector.session.server_requests import ServerRequest, ServerRequestEnd
from tests.unit.engine.tasks.task_stage import OUTCOME, STREAM, TaskDesk, state, task_desk

ASK: JSONObject = {
    "method": "elicitation/create",
    "params": {"message": "ok?", "requestedSchema": {"type": "object"}},
}
ACCEPT: JSONObject = {"action": "accept", "content": {}}
BOTH = pytest.mark.parametrize("revision", [R4, R5], ids=str)


async def accept(params: JSONObject) -> JSONObject:
    return ACCEPT


async def refuse(params: JSONObject) -> JSONObject:
    raise RpcError(-1, "not today")


def params_of(request: JSONObject) -> JSONObject:
    params = request["params"]
    assert isinstance(params, dict)
    return {name: value for name, value in params.items() if name != "_meta"}


async def end(desk: TaskDesk, seconds: float = 1.1) -> None:
    """The task completes, and its outcome is fetched if need be."""
    if desk.revision is R4:
        await desk.poll("completed", seconds)
        assert (await desk.reply(**OUTCOME))["method"] == "tasks/result"
    else:
        await desk.poll("completed", seconds, result=OUTCOME)


# ------------------------------------------------------------------ both designs


@pytest.mark.parametrize(
    ("revision", "interval"), [(R4, {"pollInterval": 5000}), (R5, {"pollIntervalMs": 5000})], ids=str
)
async def test_task_is_polled_at_the_interval_set_by_the_server(
    monkeypatch: pytest.MonkeyPatch, revision: Revision, interval: JSONObject
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run(**interval)
        for _ in range(2):
            assert desk.view.next_poll_ns == desk.clock.monotonic_ns() + 5_000_000_000
            await desk.advance(4.9)
            assert await desk.sends_nothing()
            request = await desk.poll("working", 0.2, statusMessage="still at it", **interval)
            assert params_of(request) == {"taskId": "t"}
        await end(desk, 5.1)
        outcome = await calling
    assert (outcome.kind, outcome.task_id, outcome.is_composed) == (OutcomeKind.RESULT, "t", True)
    assert read(outcome.answer).result == OUTCOME
    assert [task.status.value for task in desk.news] == ["working", "working", "completed"]
    assert (desk.view.standing, desk.view.outcome) == (TrackingState.ENDED, outcome)


@BOTH
async def test_without_a_poll_interval_a_task_is_polled_every_second(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run()
        await desk.advance(0.9)
        assert await desk.sends_nothing()
        await end(desk, 0.2)
        assert (await calling).kind is OutcomeKind.RESULT


@BOTH
async def test_task_cancelled_elsewhere_has_no_result(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("cancelled", statusMessage="By another client.")
        outcome = await calling
        assert await desk.sends_nothing()
    assert (outcome.kind, outcome.summary) == (
        OutcomeKind.CANCELLED,
        "The task was cancelled. By another client.",
    )


@BOTH
async def test_notification_is_equivalent_to_polling(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run()
        await desk.advance(0.9)
        assert await desk.sends_nothing()
        method = "notifications/tasks/status" if revision is R4 else "notifications/tasks"
        meta: JSONObject = {STREAM: desk.listens[0]["id"]} if desk.listens else {}
        desk.wire.say(method=method, params=state("working", statusMessage="halfway", _meta=meta))
        await desk.advance(0.9)  # the time until it is asked after counts from here
        assert await desk.sends_nothing()
        assert desk.view.task.message == "halfway"
        more: JSONObject = {} if revision is R4 else {"result": OUTCOME}
        desk.wire.say(method=method, params=state("completed", _meta=meta, **more))
        if revision is R4:
            await desk.reply(**OUTCOME)
        assert read((await calling).answer).result == OUTCOME
        assert await desk.sends_nothing()


@BOTH
async def test_a_task_outlives_the_connection_and_is_followed_again(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run()
        desk.wire.end("The server fell over.")
        outcome = await calling
        assert (outcome.kind, outcome.is_lost) == (OutcomeKind.FAILED, True)
        assert "is kept" in outcome.next_step
        await desk.settle()
        assert (desk.view.standing, desk.view.note) == (TrackingState.WAITING, "The server fell over.")
        await desk.connect()
        assert desk.view.standing is TrackingState.FOLLOWED
        request = await desk.reply(**state("completed", result=OUTCOME))  # at once
        assert request["method"] == "tasks/get"
        if revision is R4:
            await desk.reply(**OUTCOME)
        assert desk.view.outcome is not None
        assert read(desk.view.outcome.answer).result == OUTCOME


@BOTH
async def test_a_server_that_forgot_its_task_is_believed(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run(ttlMs=60_000, ttl=60_000)
        desk.wire.end()
        await calling
        await desk.settle()
        await desk.connect()
        await desk.refuse(-32602, "Unknown task")
        assert desk.view.standing is TrackingState.UNKNOWN
        assert desk.view.note == "The server no longer knows the task: Unknown task"
        await desk.advance(61)
        assert await desk.sends_nothing()
        await desk.book.poll("srv", "t")
        await desk.settle()
        await desk.refuse(-32602, "Unknown task")
        assert desk.view.note == "The server no longer knows the task: its time to live is over"


async def test_ttl_counts_from_the_creation(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        await desk.run(ttlMs=60_000)
        made = desk.clock.monotonic_ns()
        assert desk.view.expires_ns == made + 60_000_000_000
        await desk.poll("working", ttlMs=90_000)
        assert desk.view.expires_ns == made + 90_000_000_000
        await desk.poll("working", ttlMs=None)
        assert desk.view.expires_ns is None


async def test_failed_poll_is_retried_and_abandoned_after_five_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        for _ in range(4):
            await desk.advance(1.1)
            await desk.refuse(-32603, "busy")
        assert desk.view.note == "Asking after it failed: busy (-32603)"
        await desk.poll("working")
        assert desk.view.note == ""
        for _ in range(5):
            await desk.advance(1.1)
            await desk.refuse(-32603, "busy")
        outcome = await calling
        assert outcome.summary == "busy (-32603)"
        assert desk.view.standing is TrackingState.STOPPED
        assert desk.view.note == "Asking after it failed 5 times in a row: busy (-32603)"
        await desk.advance(5)
        assert await desk.sends_nothing()


async def test_status_of_another_task_is_reported_once_and_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        for _ in range(3):
            await desk.advance(1.1)
            await desk.reply(taskId="u", status="completed", result={})
        await end(desk)
        assert read((await calling).answer).result == OUTCOME
    assert desk.notes() == ["The state is that of another task, “u”."]
    assert desk.view.problems == ("The state is that of another task, “u”.",)


# ------------------------------------------------------------------ what the person does


@BOTH
async def test_cancelling_the_call_cancels_the_task_and_detaching_does_not(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_desk(revision, monkeypatch) as desk:
        calling = await desk.run()
        await desk.book.leave("srv", "t")
        outcome = await calling
        assert (outcome.kind, outcome.task_id) == (OutcomeKind.LEFT, "t")
        await end(desk)
        assert desk.view.outcome is not None
        calling = await desk.run()  # the same id anew: it replaces the old one
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        answer = state("cancelled") if revision is R4 else {}
        assert (await desk.reply(**answer))["method"] == "tasks/cancel"
        assert desk.view.wants_cancel
        if revision is R4:
            assert desk.view.task.status is TaskStatus.CANCELLED
        else:  # cooperative: it may still come to its end
            await end(desk)
            assert desk.view.task.status is TaskStatus.COMPLETED
    assert desk.removed == ["t"]


async def test_poll_now_does_not_wait_for_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run(pollIntervalMs=3_600_000)
        await desk.book.poll("srv", "t")
        await desk.reply(**state("completed", result=OUTCOME))
        assert (await calling).kind is OutcomeKind.RESULT


async def test_a_task_can_be_added_by_its_id_and_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        adding = asyncio.get_running_loop().create_task(desk.book.add("srv", "t"))
        await desk.reply(**state("working"))
        assert (await adding).origin is TaskOrigin.ADDED
        await end(desk)
        assert desk.view.outcome is not None
        await desk.book.forget("srv", "t")
        assert desk.book.views("srv") == ()
        with pytest.raises(ConfigError, match="not in the list any more"):
            await desk.book.poll("srv", "t")
        adding = asyncio.get_running_loop().create_task(desk.book.add("srv", "nope"))
        await desk.refuse(-32602, "Unknown task")
        with pytest.raises(RpcError, match="Unknown task"):
            await adding
    assert desk.removed == ["t"]


async def test_server_task_list_is_followed_but_results_only_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        refreshing = asyncio.get_running_loop().create_task(desk.book.refresh("srv"))
        made = "2023-11-14T22:13:10Z"  # ten seconds before the clock's time
        await desk.reply(tasks=[state("working", taskId="a", createdAt=made), state("completed", taskId="b")])
        assert await refreshing == 2
        a, b = desk.book.views("srv")
        assert (a.standing, b.standing) == (TrackingState.FOLLOWED, TrackingState.STOPPED)
        assert a.created_ns == desk.clock.monotonic_ns() - 10_000_000_000
        await desk.advance(1.1)
        assert (await desk.reply(**state("input_required", taskId="a")))["params"] == {"taskId": "a"}
        assert await desk.sends_nothing()  # tasks/result would make the server ask us
        await desk.book.fetch("srv", "b")
        assert (await desk.reply(**OUTCOME))["method"] == "tasks/result"
        outcome = desk.book.views("srv")[1].outcome
        assert outcome is not None
        assert read(outcome.answer).result == OUTCOME
        await desk.book.forget_ended("srv")
        assert [view.id for view in desk.book.views("srv")] == ["a"]


async def test_long_lists_are_truncated_and_the_omission_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        problems: list[str] = []
        desk.engine.problem_found.connect(problems.append)
        refreshing = asyncio.get_running_loop().create_task(desk.book.refresh("srv"))
        await desk.reply(tasks=[state("working", taskId=f"t{number}") for number in range(10_002)])
        assert await refreshing == 10_000
        assert problems == [
            "“srv” lists 10,002 tasks; 2 of them are not shown. "
            "Forget those that have ended, or add one by its id."
        ]
        views = desk.book.views("srv")
        assert sum(view.standing is TrackingState.FOLLOWED for view in views) == 50


async def test_the_extension_has_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        with pytest.raises(NotOffered):
            await desk.book.refresh("srv")


async def test_removing_the_server_forgets_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        await desk.engine.remove("srv")
        assert (await calling).kind is OutcomeKind.FAILED
        assert desk.book.views("srv") == ()


async def test_progress_on_a_later_connection_does_not_belong_to_an_earlier_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        calling = desk.call()
        request = await desk.reply(task=state("working"))
        desk.wire.end("The server fell over.")
        await calling
        await desk.settle()
        await desk.connect()
        await desk.reply(**state("working"))
        assert desk.view.standing is TrackingState.FOLLOWED
        desk.wire.say(method="notifications/progress", params={"progressToken": request["id"], "progress": 3})
        await desk.settle()
        assert desk.view.progress is None


# ------------------------------------------------------------------ 2025-11-25


async def test_progress_continues_under_the_token_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        calling = desk.call()
        request = await desk.reply(task=state("working"))
        params = request["params"]
        assert isinstance(params, dict)
        meta = params["_meta"]
        assert isinstance(meta, dict)
        token = meta["progressToken"]
        told: JSONObject = {"progressToken": token, "progress": 3, "total": 4, "message": "reading"}
        desk.wire.say(method="notifications/progress", params=told)
        view = desk.view
        assert (view.progress, view.total, view.progress_message) == (3, 4, "reading")
        assert [step.progress for step in desk.progress] == [3]
        await end(desk)
        await calling
        desk.wire.say(method="notifications/progress", params={"progressToken": token, "progress": 4})
        assert len(desk.progress) == 1  # it has ended


async def test_a_failed_task_gives_what_the_call_would_have_given(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("failed")
        await desk.refuse(-32000, "the disk is full")
        outcome = await calling
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "the disk is full (-32000)")


async def test_task_that_needs_input_is_awaited_and_still_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server asks with requests of its own while tasks/result waits."""
    async with task_desk(R4, monkeypatch, {"elicitation/create": accept}) as desk:
        calling = await desk.run()
        await desk.poll("input_required")
        waiting = await desk.next()
        assert waiting["method"] == "tasks/result"
        related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
        question: JSONObject = {"message": "ok?", "requestedSchema": {"type": "object"}, "_meta": related}
        desk.wire.say(id="q", method="elicitation/create", params=question)
        assert (await desk.next())["result"] == ACCEPT
        await desk.poll("working", statusMessage="thank you")
        assert desk.view.task.message == "thank you"
        for _ in range(40):  # however long it takes
            await desk.poll("working", statusMessage="thank you")
        assert not calling.done()
        desk.wire.say(id=waiting["id"], result=OUTCOME)
        assert read((await calling).answer).result == OUTCOME
        await desk.reply(**state("completed"))  # asked at once, to know the end
        assert desk.view.standing is TrackingState.ENDED


async def test_a_result_that_is_refused_too_early_is_fetched_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R4, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("input_required")
        await desk.refuse(-32602, "not yet")
        await desk.reply(**state("input_required"))
        assert await desk.sends_nothing()
        await end(desk)
        assert read((await calling).answer).result == OUTCOME
        assert desk.view.problems == ("tasks/result was refused while the task was input_required.",)


# ------------------------------------------------------------------ the extension


async def test_task_changes_are_listened_for_while_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        assert await desk.sends_nothing()
        (listen,) = desk.listens
        assert params_of(listen) == {"notifications": {"taskIds": ["t"]}}
        await end(desk)
        await calling
        assert await desk.sends_nothing()
        assert len(desk.listens) == 1


async def test_each_task_request_is_answered_once_however_often_it_is_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_desk(R5, monkeypatch, {"elicitation/create": accept}) as desk:
        calling = await desk.run()
        questions: list[Mapping[str, JSON]] = [{"k1": ASK}, {"k1": ASK, "k2": ASK}, {"k2": ASK, "k1": ASK}]
        updates = []
        for requests in questions:
            await desk.poll("input_required", inputRequests=dict(requests))
            if requests is not questions[2]:
                updates.append(await desk.reply())
        await end(desk)
        assert read((await calling).answer).result == OUTCOME
        assert await desk.sends_nothing()  # the outcome is inside: nothing is fetched
    assert [update["method"] for update in updates] == ["tasks/update"] * 2
    assert [params_of(update) for update in updates] == [
        {"taskId": "t", "inputResponses": {"k1": ACCEPT}},
        {"taskId": "t", "inputResponses": {"k2": ACCEPT}},
    ]


async def test_task_request_is_pending_until_answered_and_closes_with_the_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        try:
            return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
        finally:
            ended.set()

    async with task_desk(R5, monkeypatch, {"elicitation/create": think}) as desk:
        calling = await desk.run()
        await desk.poll("input_required", inputRequests={"k": ASK})
        await desk.poll("input_required", inputRequests={"k": ASK})
        assert desk.view.open_questions == 1
        assert not ended.is_set()
        await desk.poll("cancelled")
        await desk.settle()
        assert ended.is_set()
        assert desk.view.open_questions == 0
        assert (await calling).kind is OutcomeKind.CANCELLED
        assert await desk.sends_nothing()


async def test_rejected_request_ends_the_wait_and_can_be_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answerers = {"elicitation/create": refuse}
    async with task_desk(R5, monkeypatch, answerers) as desk:
        calling = await desk.run()
        await desk.poll("input_required", inputRequests={"k": ASK})
        outcome = await calling
        assert outcome.kind is OutcomeKind.FAILED
        assert "not today" in outcome.summary
        assert "not today" in desk.view.note
        await desk.poll("input_required", inputRequests={"k": ASK})
        assert "not today" in desk.view.note  # it still waits for that
        assert await desk.sends_nothing()
        asked = 0

        async def accept_now(params: JSONObject) -> JSONObject:
            nonlocal asked
            asked += 1
            return ACCEPT

        answerers["elicitation/create"] = accept_now
        await desk.book.poll("srv", "t")
        await desk.reply(**state("input_required", inputRequests={"k": ASK}))


async def test_undeclared_request_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("input_required", inputRequests={"k": ASK})
        assert "did not declare elicitation" in (await calling).summary
        assert await desk.sends_nothing()


async def test_malformed_request_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        await desk.run()
        await desk.poll("input_required", inputRequests=[1])
        words = 'The task asks for what cannot be read: "inputRequests" must be an object.'
        assert desk.notes() == [words]
        assert desk.view.problems == (words,)


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        ({"code": -32000, "message": "the disk is full"}, "the disk is full (-32000)"),
        ({"code": "x"}, "as the status says (-32603)"),
        (None, "as the status says (-32603)"),
    ],
)
async def test_failed_task_gives_its_embedded_error(
    monkeypatch: pytest.MonkeyPatch, error: JSON, summary: str
) -> None:
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("failed", error=error, statusMessage="as the status says")
        outcome = await calling
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, summary)


# ------------------------------------------------------------------ human time


@BOTH
async def test_user_time_is_counted_separately(monkeypatch: pytest.MonkeyPatch, revision: Revision) -> None:
    answered = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        await answered.wait()
        return ACCEPT

    async with task_desk(revision, monkeypatch, {"elicitation/create": think}) as desk:
        calling = await desk.run(pollInterval=60_000, pollIntervalMs=60_000)
        await desk.advance(60.1)
        more: JSONObject = {"inputRequests": {"k": ASK}} if revision is R5 else {}
        await desk.reply(**state("input_required", pollInterval=60_000, pollIntervalMs=60_000, **more))
        waiting: JSONObject = {}
        if revision is R4:
            waiting = await desk.next()
            related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
            question: JSONObject = {"message": "ok?", "requestedSchema": {"type": "object"}, "_meta": related}
            desk.wire.say(id="q", method="elicitation/create", params=question)
        await desk.advance(30)
        answered.set()
        await desk.settle()
        if revision is R4:
            assert (await desk.next())["result"] == ACCEPT
            desk.wire.say(id=waiting["id"], result=OUTCOME)
        else:
            assert (await desk.reply())["method"] == "tasks/update"
            await desk.book.poll("srv", "t")
            await desk.reply(**state("completed", result=OUTCOME))
        outcome = await calling
    assert outcome.waited_ns == pytest.approx(30e9)
    assert outcome.elapsed_ns == pytest.approx(90.1e9)


async def test_undeclared_request_is_shown_as_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[ServerRequestEnd, str, str]] = []

    class Watching:
        async def respond(self, asking: ServerRequest) -> Mapping[str, JSONObject]:
            raise AssertionError("nobody is asked")

        def ended(self, asking: ServerRequest, end: ServerRequestEnd, why: str) -> None:
            ended.append((end, asking.task_id, why))

        def noted(self, asking: ServerRequest, text: str) -> None:
            raise AssertionError("there is nothing to note")

        def sent(self, asking: ServerRequest, problem: str) -> None:
            raise AssertionError("there is nothing to send")

    monkeypatch.setattr(server_module, "responder_of", lambda known: Watching())
    async with task_desk(R5, monkeypatch) as desk:
        calling = await desk.run()
        await desk.poll("input_required", inputRequests={"k": ASK})
        await calling
        why = "it asks for elicitation/create, and the request did not declare elicitation"
        assert ended == [(ServerRequestEnd.REFUSED, "t", why)]
