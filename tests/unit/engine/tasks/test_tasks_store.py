"""Task store: polling in both task designs, input requests, cancellation, lost connections."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from inspector.base.errors import CapabilityMissing, ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.engine.servers import server as server_module
from inspector.engine.tasks.views import TaskOrigin, TrackingState
from inspector.engine.views import OutcomeKind
from inspector.protocol.jsonrpc import RpcError, read
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.server_requests.request import RequestEnd
from inspector.protocol.tasks import TaskStatus
from inspector.session.server_requests import ServerRequest
from tests.unit.engine.tasks.task_stage import OUTCOME, STREAM, TaskDesk, state, task_harness

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


async def end(harness: TaskDesk, seconds: float = 1.1) -> None:
    """Complete the task; its result is fetched where that takes a request."""
    if harness.revision is R4:
        await harness.poll("completed", seconds)
        assert (await harness.reply(**OUTCOME))["method"] == "tasks/result"
    else:
        await harness.poll("completed", seconds, result=OUTCOME)


@pytest.mark.parametrize(
    ("revision", "interval"), [(R4, {"pollInterval": 5000}), (R5, {"pollIntervalMs": 5000})], ids=str
)
async def test_task_is_polled_at_the_interval_set_by_the_server(
    monkeypatch: pytest.MonkeyPatch, revision: Revision, interval: JSONObject
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run(**interval)
        for _ in range(2):
            assert harness.view.next_poll_ns == harness.clock.monotonic_ns() + 5_000_000_000
            await harness.advance(4.9)
            assert await harness.sends_nothing()
            request = await harness.poll("working", 0.2, statusMessage="still at it", **interval)
            assert params_of(request) == {"taskId": "t"}
        await end(harness, 5.1)
        outcome = await calling
    assert (outcome.kind, outcome.task_id, outcome.is_composed) == (OutcomeKind.RESULT, "t", True)
    assert read(outcome.response).result == OUTCOME
    assert [task.status.value for task in harness.change_strip] == ["working", "working", "completed"]
    assert (harness.view.tracking, harness.view.outcome) == (TrackingState.ENDED, outcome)


@BOTH
async def test_without_a_poll_interval_a_task_is_polled_every_second(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run()
        await harness.advance(0.9)
        assert await harness.sends_nothing()
        await end(harness, 0.2)
        assert (await calling).kind is OutcomeKind.RESULT


@BOTH
async def test_task_cancelled_elsewhere_has_no_result(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("cancelled", statusMessage="By another client.")
        outcome = await calling
        assert await harness.sends_nothing()
    assert (outcome.kind, outcome.summary) == (
        OutcomeKind.CANCELLED,
        "The task was cancelled. By another client.",
    )


@BOTH
async def test_notification_is_equivalent_to_polling(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run()
        await harness.advance(0.9)
        assert await harness.sends_nothing()
        method = "notifications/tasks/status" if revision is R4 else "notifications/tasks"
        meta: JSONObject = {STREAM: harness.listens[0]["id"]} if harness.listens else {}
        harness.wire.show_message(method=method, params=state("working", statusMessage="halfway", _meta=meta))
        await harness.advance(0.9)  # the polling interval starts here
        assert await harness.sends_nothing()
        assert harness.view.task.message == "halfway"
        more: JSONObject = {} if revision is R4 else {"result": OUTCOME}
        harness.wire.show_message(method=method, params=state("completed", _meta=meta, **more))
        if revision is R4:
            await harness.reply(**OUTCOME)
        assert read((await calling).response).result == OUTCOME
        assert await harness.sends_nothing()


@BOTH
async def test_a_task_outlives_the_connection_and_is_followed_again(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run()
        harness.wire.end("The server fell over.")
        outcome = await calling
        assert (outcome.kind, outcome.is_lost) == (OutcomeKind.FAILED, True)
        assert "stays in the list" in outcome.next_step
        await harness.settle()
        assert (harness.view.tracking, harness.view.note) == (TrackingState.WAITING, "The server fell over.")
        await harness.connect()
        assert harness.view.tracking is TrackingState.FOLLOWED
        request = await harness.reply(**state("completed", result=OUTCOME))  # at once
        assert request["method"] == "tasks/get"
        if revision is R4:
            await harness.reply(**OUTCOME)
        assert harness.view.outcome is not None
        assert read(harness.view.outcome.response).result == OUTCOME


@BOTH
async def test_task_unknown_to_the_server_is_marked_as_unknown(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run(ttlMs=60_000, ttl=60_000)
        harness.wire.end()
        await calling
        await harness.settle()
        await harness.connect()
        await harness.refuse(-32602, "Unknown task")
        assert harness.view.tracking is TrackingState.UNKNOWN
        assert harness.view.note == "The server no longer knows the task: Unknown task"
        await harness.advance(61)
        assert await harness.sends_nothing()
        await harness.store.poll("srv", "t")
        await harness.settle()
        await harness.refuse(-32602, "Unknown task")
        assert harness.view.note == "The server no longer knows the task: its time to live has expired"


async def test_ttl_counts_from_the_creation(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        await harness.run(ttlMs=60_000)
        made = harness.clock.monotonic_ns()
        assert harness.view.expires_ns == made + 60_000_000_000
        await harness.poll("working", ttlMs=90_000)
        assert harness.view.expires_ns == made + 90_000_000_000
        await harness.poll("working", ttlMs=None)
        assert harness.view.expires_ns is None


async def test_failed_poll_is_retried_and_abandoned_after_five_attempts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        for _ in range(4):
            await harness.advance(1.1)
            await harness.refuse(-32603, "busy")
        assert harness.view.note == "Polling failed: -32603 (internal error): busy"
        await harness.poll("working")
        assert harness.view.note == ""
        for _ in range(5):
            await harness.advance(1.1)
            await harness.refuse(-32603, "busy")
        outcome = await calling
        assert outcome.summary == "-32603 (internal error): busy"
        assert harness.view.tracking is TrackingState.STOPPED
        assert harness.view.note == "Polling failed 5 times in a row: -32603 (internal error): busy"
        await harness.advance(5)
        assert await harness.sends_nothing()


async def test_status_of_another_task_is_reported_once_and_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        for _ in range(3):
            await harness.advance(1.1)
            await harness.reply(taskId="u", status="completed", result={})
        await end(harness)
        assert read((await calling).response).result == OUTCOME
    assert harness.notes() == ["The server sent the state of another task, “u”."]
    assert harness.view.problems == ("The server sent the state of another task, “u”.",)


@BOTH
async def test_cancelling_the_call_cancels_the_task_and_detaching_does_not(
    monkeypatch: pytest.MonkeyPatch, revision: Revision
) -> None:
    async with task_harness(revision, monkeypatch) as harness:
        calling = await harness.run()
        await harness.store.detach("srv", "t")
        outcome = await calling
        assert (outcome.kind, outcome.task_id) == (OutcomeKind.DETACHED, "t")
        await end(harness)
        assert harness.view.outcome is not None
        calling = await harness.run()  # the same id again: it replaces the old task
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        response = state("cancelled") if revision is R4 else {}
        assert (await harness.reply(**response))["method"] == "tasks/cancel"
        assert harness.view.wants_cancel
        if revision is R4:
            assert harness.view.task.status is TaskStatus.CANCELLED
        else:  # cooperative: it may still complete
            await end(harness)
            assert harness.view.task.status is TaskStatus.COMPLETED
    assert harness.removed == ["t"]


async def test_poll_now_does_not_wait_for_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run(pollIntervalMs=3_600_000)
        await harness.store.poll("srv", "t")
        await harness.reply(**state("completed", result=OUTCOME))
        assert (await calling).kind is OutcomeKind.RESULT


async def test_task_can_be_added_by_its_id_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        adding = asyncio.get_running_loop().create_task(harness.store.add("srv", "t"))
        await harness.reply(**state("working"))
        assert (await adding).origin is TaskOrigin.ADDED
        await end(harness)
        assert harness.view.outcome is not None
        await harness.store.forget("srv", "t")
        assert harness.store.views("srv") == ()
        with pytest.raises(ConfigError, match="no longer in the list"):
            await harness.store.poll("srv", "t")
        adding = asyncio.get_running_loop().create_task(harness.store.add("srv", "nope"))
        await harness.refuse(-32602, "Unknown task")
        with pytest.raises(RpcError, match="Unknown task"):
            await adding
    assert harness.removed == ["t"]


async def test_server_task_list_is_followed_but_results_only_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        refreshing = asyncio.get_running_loop().create_task(harness.store.refresh("srv"))
        made = "2023-11-14T22:13:10Z"  # ten seconds before the clock's time
        await harness.reply(
            tasks=[state("working", taskId="a", createdAt=made), state("completed", taskId="b")]
        )
        assert await refreshing == 2
        a, b = harness.store.views("srv")
        assert (a.tracking, b.tracking) == (TrackingState.FOLLOWED, TrackingState.STOPPED)
        assert a.created_ns == harness.clock.monotonic_ns() - 10_000_000_000
        await harness.advance(1.1)
        assert (await harness.reply(**state("input_required", taskId="a")))["params"] == {"taskId": "a"}
        assert await harness.sends_nothing()  # tasks/result would make the server send its requests
        await harness.store.fetch("srv", "b")
        assert (await harness.reply(**OUTCOME))["method"] == "tasks/result"
        outcome = harness.store.views("srv")[1].outcome
        assert outcome is not None
        assert read(outcome.response).result == OUTCOME
        await harness.store.forget_ended("srv")
        assert [view.id for view in harness.store.views("srv")] == ["a"]


async def test_long_lists_are_truncated_and_the_omission_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        problems: list[str] = []
        harness.engine.servers.problem_found.connect(problems.append)
        refreshing = asyncio.get_running_loop().create_task(harness.store.refresh("srv"))
        await harness.reply(tasks=[state("working", taskId=f"t{number}") for number in range(10_002)])
        assert await refreshing == 10_000
        assert problems == [
            "“srv” lists 10,002 tasks; 2 of them are not shown. Remove ended tasks, or add one by its id."
        ]
        views = harness.store.views("srv")
        assert sum(view.tracking is TrackingState.FOLLOWED for view in views) == 50


async def test_the_extension_has_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        with pytest.raises(CapabilityMissing):
            await harness.store.refresh("srv")


async def test_removing_the_server_forgets_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        await harness.engine.servers.remove("srv")
        assert (await calling).kind is OutcomeKind.FAILED
        assert harness.store.views("srv") == ()


async def test_progress_on_a_later_connection_does_not_belong_to_an_earlier_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        calling = harness.call()
        request = await harness.reply(task=state("working"))
        harness.wire.end("The server fell over.")
        await calling
        await harness.settle()
        await harness.connect()
        await harness.reply(**state("working"))
        assert harness.view.tracking is TrackingState.FOLLOWED
        harness.wire.show_message(
            method="notifications/progress", params={"progressToken": request["id"], "progress": 3}
        )
        await harness.settle()
        assert harness.view.progress is None


async def test_progress_continues_under_the_token_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        calling = harness.call()
        request = await harness.reply(task=state("working"))
        params = request["params"]
        assert isinstance(params, dict)
        meta = params["_meta"]
        assert isinstance(meta, dict)
        token = meta["progressToken"]
        reported: JSONObject = {"progressToken": token, "progress": 3, "total": 4, "message": "reading"}
        harness.wire.show_message(method="notifications/progress", params=reported)
        view = harness.view
        assert (view.progress, view.total, view.progress_message) == (3, 4, "reading")
        assert [step.progress for step in harness.progress] == [3]
        await end(harness)
        await calling
        harness.wire.show_message(
            method="notifications/progress", params={"progressToken": token, "progress": 4}
        )
        assert len(harness.progress) == 1  # it has ended


async def test_a_failed_task_gives_what_the_call_would_have_given(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("failed")
        await harness.refuse(-32000, "the disk is full")
        outcome = await calling
    assert (outcome.kind, outcome.summary) == (
        OutcomeKind.RPC_ERROR,
        "-32000 (server error): the disk is full",
    )


async def test_task_that_needs_input_is_awaited_and_still_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server sends server requests while tasks/result is pending."""
    async with task_harness(R4, monkeypatch, {"elicitation/create": accept}) as harness:
        calling = await harness.run()
        await harness.poll("input_required")
        waiting = await harness.next()
        assert waiting["method"] == "tasks/result"
        related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
        input_request: JSONObject = {
            "message": "ok?",
            "requestedSchema": {"type": "object"},
            "_meta": related,
        }
        harness.wire.show_message(id="q", method="elicitation/create", params=input_request)
        assert (await harness.next())["result"] == ACCEPT
        await harness.poll("working", statusMessage="thank you")
        assert harness.view.task.message == "thank you"
        for _ in range(40):  # however long it takes
            await harness.poll("working", statusMessage="thank you")
        assert not calling.done()
        harness.wire.show_message(id=waiting["id"], result=OUTCOME)
        assert read((await calling).response).result == OUTCOME
        await harness.reply(**state("completed"))  # polled at once, to get the final state
        assert harness.view.tracking is TrackingState.ENDED


async def test_a_result_that_is_refused_too_early_is_fetched_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R4, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("input_required")
        await harness.refuse(-32602, "not yet")
        await harness.reply(**state("input_required"))
        assert await harness.sends_nothing()
        await end(harness)
        assert read((await calling).response).result == OUTCOME
        assert harness.view.problems == ("tasks/result was rejected while the task was input_required.",)


async def test_task_changes_are_listened_for_while_tasks_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        assert await harness.sends_nothing()
        (listen,) = harness.listens
        assert params_of(listen) == {"notifications": {"taskIds": ["t"]}}
        await end(harness)
        await calling
        assert await harness.sends_nothing()
        assert len(harness.listens) == 1


async def test_each_task_request_is_answered_once_however_often_it_is_polled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with task_harness(R5, monkeypatch, {"elicitation/create": accept}) as harness:
        calling = await harness.run()
        input_requests: list[Mapping[str, JSON]] = [
            {"k1": ASK},
            {"k1": ASK, "k2": ASK},
            {"k2": ASK, "k1": ASK},
        ]
        updates = []
        for requests in input_requests:
            await harness.poll("input_required", inputRequests=dict(requests))
            if requests is not input_requests[2]:
                updates.append(await harness.reply())
        await end(harness)
        assert read((await calling).response).result == OUTCOME
        assert await harness.sends_nothing()  # the outcome is inside: nothing is fetched
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

    async with task_harness(R5, monkeypatch, {"elicitation/create": think}) as harness:
        calling = await harness.run()
        await harness.poll("input_required", inputRequests={"k": ASK})
        await harness.poll("input_required", inputRequests={"k": ASK})
        assert harness.view.open_requests == 1
        assert not ended.is_set()
        await harness.poll("cancelled")
        await harness.settle()
        assert ended.is_set()
        assert harness.view.open_requests == 0
        assert (await calling).kind is OutcomeKind.CANCELLED
        assert await harness.sends_nothing()


async def test_rejected_request_ends_the_wait_and_can_be_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handlers = {"elicitation/create": refuse}
    async with task_harness(R5, monkeypatch, handlers) as harness:
        calling = await harness.run()
        await harness.poll("input_required", inputRequests={"k": ASK})
        outcome = await calling
        assert outcome.kind is OutcomeKind.FAILED
        assert "not today" in outcome.summary
        assert "not today" in harness.view.note
        await harness.poll("input_required", inputRequests={"k": ASK})
        assert "not today" in harness.view.note  # still waiting for input
        assert await harness.sends_nothing()
        requested = 0

        async def accept_now(params: JSONObject) -> JSONObject:
            nonlocal requested
            requested += 1
            return ACCEPT

        handlers["elicitation/create"] = accept_now
        await harness.store.poll("srv", "t")
        await harness.reply(**state("input_required", inputRequests={"k": ASK}))


async def test_undeclared_request_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("input_required", inputRequests={"k": ASK})
        assert "did not declare elicitation" in (await calling).summary
        assert await harness.sends_nothing()


async def test_malformed_request_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        await harness.run()
        await harness.poll("input_required", inputRequests=[1])
        words = 'The task has invalid input requests: "inputRequests" must be an object.'
        assert harness.notes() == [words]
        assert harness.view.problems == (words,)


@pytest.mark.parametrize(
    ("error", "summary"),
    [
        ({"code": -32000, "message": "the disk is full"}, "-32000 (server error): the disk is full"),
        ({"code": "x"}, "as the status says (no error code)"),
        (None, "as the status says (no error code)"),
    ],
)
async def test_failed_task_gives_its_embedded_error(
    monkeypatch: pytest.MonkeyPatch, error: JSON, summary: str
) -> None:
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("failed", error=error, statusMessage="as the status says")
        outcome = await calling
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, summary)


@BOTH
async def test_user_time_is_counted_separately(monkeypatch: pytest.MonkeyPatch, revision: Revision) -> None:
    responded = asyncio.Event()

    async def think(params: JSONObject) -> JSONObject:
        await responded.wait()
        return ACCEPT

    async with task_harness(revision, monkeypatch, {"elicitation/create": think}) as harness:
        calling = await harness.run(pollInterval=60_000, pollIntervalMs=60_000)
        await harness.advance(60.1)
        more: JSONObject = {"inputRequests": {"k": ASK}} if revision is R5 else {}
        await harness.reply(**state("input_required", pollInterval=60_000, pollIntervalMs=60_000, **more))
        waiting: JSONObject = {}
        if revision is R4:
            waiting = await harness.next()
            related: JSONObject = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
            input_request: JSONObject = {
                "message": "ok?",
                "requestedSchema": {"type": "object"},
                "_meta": related,
            }
            harness.wire.show_message(id="q", method="elicitation/create", params=input_request)
        await harness.advance(30)
        responded.set()
        await harness.settle()
        if revision is R4:
            assert (await harness.next())["result"] == ACCEPT
            harness.wire.show_message(id=waiting["id"], result=OUTCOME)
        else:
            assert (await harness.reply())["method"] == "tasks/update"
            await harness.store.poll("srv", "t")
            await harness.reply(**state("completed", result=OUTCOME))
        outcome = await calling
    assert outcome.waited_ns == pytest.approx(30e9)
    assert outcome.elapsed_ns == pytest.approx(90.1e9)


async def test_undeclared_request_is_shown_as_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[RequestEnd, str, str]] = []

    class RecordingResponder:
        async def respond(self, server_request: ServerRequest) -> Mapping[str, JSONObject]:
            raise AssertionError("the user must not be asked")

        def ended(self, server_request: ServerRequest, end: RequestEnd, why: str) -> None:
            ended.append((end, server_request.task_id, why))

        def noted(self, server_request: ServerRequest, text: str) -> None:
            raise AssertionError("there is nothing to note")

        def sent(self, server_request: ServerRequest, problem: str) -> None:
            raise AssertionError("there is nothing to send")

    monkeypatch.setattr(server_module, "responder_of", lambda known: RecordingResponder())
    async with task_harness(R5, monkeypatch) as harness:
        calling = await harness.run()
        await harness.poll("input_required", inputRequests={"k": ASK})
        await calling
        why = "it requests elicitation/create, but the request did not declare elicitation"
        assert ended == [(RequestEnd.REFUSED, "t", why)]
