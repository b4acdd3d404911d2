"""Tasks in both designs: parsing, requests, and tracking to the end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.revisions import R1, R2, R3, R4, R5
from inspector.protocol.tasks import (
    CoreTasks,
    ExtensionTasks,
    Task,
    TaskStatus,
    TaskTracker,
    related_task,
    tasks_of,
)
from inspector.protocol.types import InputRequest, read_items

CORE: JSONObject = {
    "taskId": "t-9",
    "status": "working",
    "statusMessage": "half way",
    "createdAt": "2026-11-16T10:00:00Z",
    "lastUpdatedAt": "2026-11-16T10:00:01Z",
    "ttl": 3600000,
    "pollInterval": 2000,
}
EXTENSION: JSONObject = {
    **{name: value for name, value in CORE.items() if name not in ("ttl", "pollInterval")},
    "ttlMs": 3600000,
    "pollIntervalMs": 2000,
}
OFFERS_CORE: JSONObject = {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
OFFERS_EXTENSION: JSONObject = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
core, extension = CoreTasks(), ExtensionTasks()


@pytest.mark.parametrize("source", [CORE, EXTENSION])
def test_both_designs_give_the_same_task(source: JSONObject) -> None:
    assert Task.read(source) == Task(
        id="t-9",
        status=TaskStatus.WORKING,
        message="half way",
        created_at="2026-11-16T10:00:00Z",
        updated_at="2026-11-16T10:00:01Z",
        ttl_ms=3600000,
        poll_interval_ms=2000,
        result=None,
        error=None,
        source=source,
    )


def test_extension_task_contains_its_result() -> None:
    done = Task.read(EXTENSION | {"status": "completed", "result": {"content": [], "isError": True}})
    assert done.result == {"content": [], "isError": True}
    failed = Task.read(EXTENSION | {"status": "failed", "error": {"code": -32603, "message": "no"}})
    assert failed.error == {"code": -32603, "message": "no"}


def test_task_with_only_id_and_status_is_usable() -> None:
    task = Task.read({"taskId": "t", "status": "completed", "ttl": None, "createdAt": 5, "result": []})
    assert (task.ttl_ms, task.poll_interval_ms, task.created_at, task.result) == (None, None, "", None)


@pytest.mark.parametrize(
    ("but", "reason"),
    [
        ({"taskId": ""}, '"taskId" must be a non-empty string'),
        ({"taskId": 9}, '"taskId" must be a non-empty string'),
        ({"status": "done\x1b"}, '"status" is unknown: “done␛”'),
        ({"status": None}, '"status" is unknown: “null”'),
        ({"status": ["working"]}, '"status" is unknown'),
    ],
)
def test_task_that_cannot_be_followed_is_malformed(but: JSONObject, reason: str) -> None:
    items, malformed = read_items([CORE | but, CORE], Task.read)
    assert [task.id for task in items] == ["t-9"]
    assert malformed[0].reason.startswith(reason)


@pytest.mark.parametrize(
    ("interval", "wait"),
    [
        *((2000, 2000), (5000.0, 5000), (0, 100), (1, 100), (10**12, 3_600_000)),
        *((None, 1000), (-5, 1000), ("2000", 1000), (True, 1000), (float("nan"), 1000), (float("inf"), 1000)),
    ],
)
def test_poll_interval_of_the_server_is_clamped(interval: JSON, wait: int) -> None:
    assert Task.read(CORE | {"pollInterval": interval}).next_poll_ms == wait
    assert Task.read(EXTENSION | {"pollIntervalMs": interval}).next_poll_ms == wait


def test_three_statuses_are_final() -> None:
    final = {status.value for status in TaskStatus if status.is_terminal}
    assert final == {"completed", "failed", "cancelled"}


def test_task_message_names_its_task_in_meta() -> None:
    assert related_task({"io.modelcontextprotocol/related-task": {"taskId": "t-9"}}) == "t-9"
    assert related_task({"io.modelcontextprotocol/related-task": "t-9"}) == ""
    assert related_task({}) == related_task([]) == related_task(None) == ""


json_values: st.SearchStrategy[JSON] = (
    st.none() | st.integers() | st.floats() | st.text() | st.lists(st.integers())
)


@given(st.dictionaries(st.sampled_from([*CORE, *EXTENSION, "inputRequests", "result", "error"]), json_values))
def test_any_object_reads_as_a_task_or_says_why_not(source: JSONObject) -> None:
    items, malformed = read_items([source], Task.read)
    assert len(items) + len(malformed) == 1
    assert all(100 <= task.next_poll_ms <= 3_600_000 for task in items)


def test_in_core_the_caller_requests_a_task() -> None:
    call: JSONObject = {"name": "slow", "arguments": {}}
    assert core.augment(call) == call | {"task": {}}
    assert core.augment(call, 60_000) == call | {"task": {"ttl": 60_000}}
    assert "task" not in call


def test_in_the_core_a_created_task_is_nested() -> None:
    task = core.created({"task": CORE, "_meta": {}})
    assert task == Task.read(CORE)
    assert core.created({"content": []}) is None
    assert core.created({"content": [], "task": CORE}) is None, "a tool's own member is no task"
    with pytest.raises(ValueError, match="taskId"):
        core.created({"task": {}})


def test_core_has_its_own_methods() -> None:
    assert core.get("t") == ("tasks/get", {"taskId": "t"})
    assert core.outcome("t") == ("tasks/result", {"taskId": "t"})
    assert core.cancel("t", OFFERS_CORE) == ("tasks/cancel", {"taskId": "t"})
    assert core.list(OFFERS_CORE) == ("tasks/list", {})
    assert core.list(OFFERS_CORE, "") == ("tasks/list", {"cursor": ""}), "an empty cursor is one"
    assert core.update("t", {}) is None
    assert core.notification == "notifications/tasks/status"


def test_core_requests_only_what_is_offered() -> None:
    assert core.is_supported(OFFERS_CORE)
    bare: JSONObject = {"tasks": {}}
    assert not core.is_supported(bare)
    assert not core.is_supported(OFFERS_EXTENSION)
    assert (core.cancel("t", bare), core.list(bare)) == (None, None)


def test_in_the_extension_the_server_decides() -> None:
    call: JSONObject = {"name": "slow"}
    assert extension.augment(call, 60_000) == call


def test_in_the_extension_a_created_task_is_flat() -> None:
    created = EXTENSION | {"resultType": "task"}
    assert extension.created(created) == Task.read(created)
    assert extension.created({"content": []}) is None
    assert extension.created({"task": CORE}) is None
    with pytest.raises(ValueError, match="status"):
        extension.created({"resultType": "task", "taskId": "t"})


def test_extension_has_its_own_methods() -> None:
    assert extension.get("t") == ("tasks/get", {"taskId": "t"})
    assert extension.cancel("t", {}) == ("tasks/cancel", {"taskId": "t"})
    responses: dict[str, JSONObject] = {"k1": {"action": "accept"}}
    update = ("tasks/update", {"taskId": "t", "inputResponses": {"k1": {"action": "accept"}}})
    assert extension.update("t", responses) == update
    assert extension.outcome("t") is None
    assert extension.list(OFFERS_EXTENSION) is None
    assert extension.notification == "notifications/tasks"


def test_the_extension_is_offered_by_its_name() -> None:
    assert extension.is_supported(OFFERS_EXTENSION)
    assert not extension.is_supported(OFFERS_CORE)


def test_each_version_has_one_task_design_or_none() -> None:
    designs = [tasks_of(revision) for revision in (R1, R2, R3, R4, R5)]
    assert [type(design) for design in designs] == [
        *(type(None), type(None), type(None), CoreTasks, ExtensionTasks),
    ]


def state(status: str, **members: JSON) -> Task:
    return Task.read(EXTENSION | {"status": status} | members)


WHO: JSONObject = {"method": "elicitation/create", "params": {"message": "ok?"}}
DIRS: JSONObject = {"method": "roots/list"}


def test_a_task_is_followed_to_its_end() -> None:
    watch = TaskTracker(state("working"))
    for status in ("working", "input_required", "working", "completed"):
        changes = watch.receive(state(status))
        assert (changes.task, changes.requested, changes.problems) == (state(status), {}, ())
    assert watch.task.status is TaskStatus.COMPLETED


@pytest.mark.parametrize("before", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("after", ["working", "input_required", "completed", "failed", "cancelled"])
def test_nothing_follows_a_final_status(before: str, after: str) -> None:
    watch = TaskTracker(state("working"))
    watch.receive(state(before))
    changes = watch.receive(state(after, inputRequests={"k": WHO}))
    assert (changes.task.status.value, changes.requested) == (before, {})
    problem = f"The task was {before}, which is final, but now reports {after}."
    assert changes.problems == (() if before == after else (problem,))


def test_each_request_is_reported_once_however_often_it_is_polled() -> None:
    watch = TaskTracker(state("working"))
    first = watch.receive(state("input_required", inputRequests={"k1": WHO}))
    assert first.requested == {"k1": InputRequest("elicitation/create", {"message": "ok?"}, WHO)}
    again = watch.receive(state("input_required", inputRequests={"k1": WHO, "k2": DIRS}))
    assert list(again.requested) == ["k2"]
    assert watch.receive(state("working")).requested == {}
    assert watch.receive(state("input_required", inputRequests={"k1": WHO})).requested == {}


def test_key_reused_for_another_request_is_a_violation() -> None:
    watch = TaskTracker(state("working"))
    watch.receive(state("input_required", inputRequests={"k1": WHO}))
    changes = watch.receive(state("input_required", inputRequests={"k1": DIRS}))
    assert (changes.requested, changes.problems) == (
        {},
        ("The task reuses the key “k1” for a different request.",),
    )


def test_requests_with_another_status_are_ignored() -> None:
    assert TaskTracker(state("working")).receive(state("working", inputRequests={"k1": WHO})).requested == {}


@pytest.mark.parametrize("requests", [[], None, {"k": 5}])
def test_unreadable_requests_are_reported(requests: JSON) -> None:
    changes = TaskTracker(state("working")).receive(state("input_required", inputRequests=requests))
    assert changes.requested == {}
    assert changes.problems[0].startswith("The task has invalid input requests: ")


def test_status_of_another_task_is_ignored() -> None:
    watch = TaskTracker(state("working"))
    changes = watch.receive(state("completed", taskId="t-1"))
    assert (changes.task.id, changes.problems) == (
        "t-9",
        ("The server sent the state of another task, “t-1”.",),
    )
