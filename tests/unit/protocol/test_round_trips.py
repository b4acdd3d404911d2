"""Multi round-trip requests: their eight rules, and result types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.connection import Connection
from inspector.protocol.handshake import ClientProfile, StatelessDialect
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import R5
from inspector.protocol.round_trips import (
    INPUT_REQUIRED_METHODS,
    Complete,
    InputRequired,
    Invalid,
    RoundOutcome,
    RoundTrips,
    TaskCreated,
    violation_of,
)
from inspector.protocol.types import InputRequest

EVERYTHING: JSONObject = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}
CALL: JSONObject = {"name": "greet", "arguments": {"x": 1}, "_meta": {"progressToken": 1}}
WHO: JSONObject = {"method": "elicitation/create", "params": {"mode": "form", "message": "Name?"}}
DIRS: JSONObject = {"method": "roots/list"}
YES: JSONObject = {"action": "accept", "content": {"n": "Ann"}}
DONE: JSONObject = {"resultType": "complete", "content": []}


def ask(state: JSON = "opaque", **requests: JSON) -> JSONObject:
    return {"resultType": "input_required", "requestState": state, "inputRequests": requests}


def rounds(
    method: str = "tools/call", params: JSONObject | None = None, capabilities: JSONObject = EVERYTHING
) -> RoundTrips:
    return RoundTrips(method, CALL if params is None else params, capabilities)


def reason(outcome: RoundOutcome) -> str:
    assert isinstance(outcome, Invalid), outcome
    return outcome.reason


def test_input_requests_are_bare_objects_by_key() -> None:
    outcome = rounds().receive(ask(who=WHO, dirs=DIRS))
    assert outcome == InputRequired(
        {
            "who": InputRequest("elicitation/create", {"mode": "form", "message": "Name?"}, WHO),
            "dirs": InputRequest("roots/list", {}, DIRS),
        },
        round=1,
    )


def test_replies_are_sent_bare_under_the_same_keys() -> None:
    play = rounds()
    play.receive(ask(who=WHO, dirs=DIRS))
    params = play.retry({"dirs": {"roots": []}, "who": YES})
    assert params["inputResponses"] == {"who": YES, "dirs": {"roots": []}}


def test_an_envelope_around_a_request_is_tolerated() -> None:
    outcome = rounds().receive(ask(who=WHO | {"jsonrpc": "2.0", "id": 4}))
    assert isinstance(outcome, InputRequired)


def test_state_without_requests_may_be_sent_back_immediately() -> None:
    play = rounds()
    assert play.receive({"resultType": "input_required", "requestState": "s"}) == InputRequired({}, round=1)
    assert play.retry({}) == CALL | {"requestState": "s"}


@pytest.mark.parametrize(
    "members",
    [
        {},
        {"inputRequests": {}},
        {"inputRequests": None, "requestState": None},
    ],
)
def test_empty_input_request_is_invalid(members: JSONObject) -> None:
    outcome = rounds().receive({**members, "resultType": "input_required"})
    assert reason(outcome) == "it requests input with neither inputRequests nor requestState"


@pytest.mark.parametrize(
    "responses", [{}, {"who": YES}, {"who": YES, "dirs": {}, "more": {}}, {"WHO": YES, "dirs": {}}]
)
def test_every_request_must_be_answered_and_no_other(responses: dict[str, JSONObject]) -> None:
    play = rounds()
    play.receive(ask(who=WHO, dirs=DIRS))
    with pytest.raises(LocalProtocolError, match="expected responses for exactly: dirs, who"):
        play.retry(responses)
    assert play.retry({"who": YES, "dirs": {}}), "a mistake of ours must not cost the round"


@pytest.mark.parametrize(
    ("requests", "fault"),
    [
        ([], '"inputRequests" must be an object'),
        ({"who": "roots/list"}, "the input request “who” cannot be used: not an object: roots/list"),
        ({"who": {}}, 'the input request “who” cannot be used: "method" must be a non-empty string'),
        (
            {"who": {"method": 5}},
            'the input request “who” cannot be used: "method" must be a non-empty string',
        ),
    ],
)
def test_unreadable_requests_are_invalid(requests: JSON, fault: str) -> None:
    result: JSONObject = {"resultType": "input_required", "inputRequests": requests, "requestState": "s"}
    assert reason(rounds().receive(result)).startswith(fault)


@given(st.text())
def test_state_round_trips_unchanged(state: str) -> None:
    response = read(Connection().request("x", {"result": ask(state, who=WHO)}).raw).params["result"]
    assert isinstance(response, dict)
    play = rounds()
    play.receive(response)
    sent = read(Connection().request("tools/call", play.retry({"who": YES})).raw)
    assert sent.params["requestState"] == state


@pytest.mark.parametrize(
    "state", ["\ud800", "", " ", "0", "null", "\x00", "é\u0301", "a" * 100_000, '{"a": 1.10}']
)
def test_states_of_every_kind_are_only_echoed(state: str) -> None:
    play = rounds()
    play.receive(ask(state, who=WHO))
    sent = read(Connection().request("tools/call", play.retry({"who": YES})).raw)
    assert sent.params["requestState"] == state


@pytest.mark.parametrize("members", [{}, {"requestState": None}])
def test_an_absent_state_stays_absent(members: JSONObject) -> None:
    play = rounds()
    play.receive({**members, "resultType": "input_required", "inputRequests": {"who": WHO}})
    assert play.retry({"who": YES}) == CALL | {"inputResponses": {"who": YES}}


@pytest.mark.parametrize("state", [5, {"a": 1}, [], True, 1.5])
def test_non_string_state_is_invalid(state: JSON) -> None:
    assert reason(rounds().receive(ask(state, who=WHO))) == "its requestState is not a string"


def test_each_round_replaces_the_state_and_replies_of_the_previous_one() -> None:
    play = rounds()
    play.receive(ask("first", who=WHO))
    assert play.retry({"who": YES}) == CALL | {"requestState": "first", "inputResponses": {"who": YES}}
    assert play.receive(ask("second", dirs=DIRS)) == InputRequired(
        {"dirs": InputRequest("roots/list", {}, DIRS)}, 2
    )
    assert play.retry({"dirs": {}}) == CALL | {"requestState": "second", "inputResponses": {"dirs": {}}}
    play.receive({"resultType": "input_required", "inputRequests": {"who": WHO}})
    assert play.retry({"who": YES}) == CALL | {"inputResponses": {"who": YES}}


def test_a_retry_is_the_original_request_under_a_new_id() -> None:
    connection = Connection(
        StatelessDialect(ClientProfile("lens", "Lens", "0.1", exact_capabilities(EVERYTHING)), R5)
    )
    play = rounds()
    first = connection.request("tools/call", CALL)
    play.receive(ask(who=WHO))
    second = connection.request("tools/call", play.retry({"who": YES}))
    assert first.id != second.id
    assert second.params == first.params | {"requestState": "opaque", "inputResponses": {"who": YES}}


def test_a_round_leaks_neither_into_its_params_nor_into_another_call() -> None:
    original = dict(CALL)
    one, other = (
        RoundTrips("tools/call", original, EVERYTHING),
        RoundTrips("tools/call", original, EVERYTHING),
    )
    one.receive(ask("mine", who=WHO))
    one.retry({"who": YES})
    assert original == CALL
    with pytest.raises(LocalProtocolError, match="the server has not requested any input"):
        other.retry({})


def test_state_and_replies_in_the_original_params_are_not_sent_in_a_retry() -> None:
    play = RoundTrips("tools/call", CALL | {"requestState": "old", "inputResponses": {"a": {}}}, EVERYTHING)
    play.receive({"resultType": "input_required", "inputRequests": {"who": WHO}})
    assert play.retry({"who": YES}) == CALL | {"inputResponses": {"who": YES}}


@pytest.mark.parametrize("result", [DONE, {"resultType": "zzz"}])
def test_nothing_to_retry_after_the_result(result: JSONObject) -> None:
    play = rounds()
    play.receive(ask(who=WHO))
    play.retry({"who": YES})
    play.receive(result)
    with pytest.raises(LocalProtocolError):
        play.retry({"who": YES})


def test_a_round_is_answered_once() -> None:
    play = rounds()
    play.receive(ask(who=WHO))
    play.retry({"who": YES})
    with pytest.raises(LocalProtocolError):
        play.retry({"who": YES})


def test_the_tenth_round_is_the_last() -> None:
    play = rounds()
    for number in range(1, 11):
        outcome = play.receive(ask(f"s{number}", who=WHO))
        assert isinstance(outcome, InputRequired)
        assert outcome.round == number
        play.retry({"who": YES})
    assert reason(play.receive(ask(who=WHO))) == "the server requested input more than 10 times in a row"


def test_round_limit_is_configurable() -> None:
    play = RoundTrips("tools/call", CALL, EVERYTHING, max_rounds=0)
    assert reason(play.receive(ask(who=WHO))) == "the server requested input more than 0 times in a row"


def test_only_a_result_without_rounds_may_be_cached() -> None:
    play = rounds()
    assert play.receive(DONE) == Complete(DONE, is_cacheable=True)
    play.receive(ask(who=WHO))
    play.retry({"who": YES})
    assert play.receive(DONE) == Complete(DONE, is_cacheable=False)


FORM: JSONObject = {"message": "Name?"}
URL: JSONObject = {"mode": "url", "message": "Go", "url": "https://x"}


@pytest.mark.parametrize(
    ("method", "params", "capabilities", "missing"),
    [
        ("elicitation/create", FORM, {}, "elicitation"),
        ("elicitation/create", FORM, {"elicitation": {}}, ""),
        ("elicitation/create", FORM, {"elicitation": {"form": {}}}, ""),
        ("elicitation/create", FORM, {"elicitation": {"url": {}}}, "elicitation.form"),
        ("elicitation/create", FORM | {"mode": "form"}, {"elicitation": {}}, ""),
        ("elicitation/create", URL, {"elicitation": {}}, "elicitation.url"),
        ("elicitation/create", URL, {"elicitation": {"form": {}}}, "elicitation.url"),
        ("elicitation/create", URL, {"elicitation": {"url": {}}}, ""),
        ("elicitation/create", {"mode": 5}, {"elicitation": {}}, "elicitation.5"),
        ("sampling/createMessage", {}, {}, "sampling"),
        ("sampling/createMessage", {}, {"sampling": True}, "sampling"),
        ("sampling/createMessage", {}, {"sampling": {}}, ""),
        ("sampling/createMessage", {"tools": []}, {"sampling": {}}, "sampling.tools"),
        ("sampling/createMessage", {"toolChoice": {}}, {"sampling": {}}, "sampling.tools"),
        ("sampling/createMessage", {"tools": []}, {"sampling": {"tools": {}}}, ""),
        ("roots/list", {}, {"sampling": {}}, "roots"),
        ("roots/list", {}, {"roots": {}}, ""),
    ],
)
def test_request_needs_its_capability(
    method: str, params: JSONObject, capabilities: JSONObject, missing: str
) -> None:
    fault = violation_of(InputRequest(method, params, {}), capabilities)
    assert fault == (f"it requests {method}, but the request did not declare {missing}" if missing else "")


def test_one_undeclared_request_makes_the_whole_result_invalid() -> None:
    outcome = rounds(capabilities={"roots": {}}).receive(ask(dirs=DIRS, who=WHO))
    assert reason(outcome) == "it requests elicitation/create, but the request did not declare elicitation"


@pytest.mark.parametrize("method", ["ping", "tools/list", "notifications/cancelled", "x\x1b"])
def test_other_methods_cannot_be_requested(method: str) -> None:
    outcome = rounds().receive(ask(a={"method": method}))
    assert "is not allowed inside a result" in reason(outcome)
    assert "\x1b" not in reason(outcome)


@pytest.mark.parametrize("method", INPUT_REQUIRED_METHODS)
def test_three_methods_may_request_input(method: str) -> None:
    assert isinstance(rounds(method).receive(ask(who=WHO)), InputRequired)


@pytest.mark.parametrize("method", ["tools/list", "completion/complete", "server/discover", "tasks/get"])
def test_no_other_method_may_request_input(method: str) -> None:
    assert reason(rounds(method).receive(ask(who=WHO))) == f"a result of {method} must not request input"


@pytest.mark.parametrize("result", [{}, {"content": []}, {"resultType": None}, {"resultType": "complete"}])
def test_missing_result_type_means_complete(result: JSONObject) -> None:
    assert rounds().receive(result) == Complete(result, is_cacheable=True)


@pytest.mark.parametrize("kind", ["", "COMPLETE", "partial", 5, True, [], {}])
def test_an_unknown_result_type_is_invalid(kind: JSON) -> None:
    assert "is not allowed for this request" in reason(rounds().receive({"resultType": kind}))


TASK: JSONObject = {"resultType": "task", "taskId": "t-9", "status": "working"}


def test_call_may_become_a_task_even_after_rounds() -> None:
    play = rounds()
    play.receive(ask(who=WHO))
    play.retry({"who": YES})
    outcome = play.receive(TASK)
    assert isinstance(outcome, TaskCreated)
    assert outcome.task.id == "t-9"


@pytest.mark.parametrize(
    ("method", "capabilities", "result", "fault"),
    [
        ("prompts/get", EVERYTHING, TASK, "a result of prompts/get must not be a task"),
        ("tools/call", {}, TASK, "it is a task, but the request did not declare the tasks extension"),
        ("tools/call", EVERYTHING, TASK | {"taskId": 5}, "it is an invalid task: "),
        ("tools/call", EVERYTHING, TASK | {"status": "zzz"}, "it is an invalid task: "),
    ],
)
def test_task_where_none_is_allowed_is_invalid(
    method: str, capabilities: JSONObject, result: JSONObject, fault: str
) -> None:
    assert reason(rounds(method, capabilities=capabilities).receive(result)).startswith(fault)


json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["input_required", "task", "roots/list"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["method", "k"]), inner),
    max_leaves=5,
)
results = st.dictionaries(
    st.sampled_from(["resultType", "inputRequests", "requestState", "taskId", "status"]), json_values
)


@given(results, st.sampled_from(INPUT_REQUIRED_METHODS))
def test_any_result_has_an_outcome(result: JSONObject, method: str) -> None:
    outcome = rounds(method).receive(result)
    assert isinstance(outcome, Complete | InputRequired | TaskCreated | Invalid)
    assert not isinstance(outcome, Invalid) or outcome.reason
