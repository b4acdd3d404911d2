"""Tools with several or unusual server requests, in both shapes of the protocol."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess, Message

CAPABILITIES: Message = {
    "sampling": {"tools": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {},
}
WISH: Message = {
    "role": "assistant",
    "model": "toy",
    "stopReason": "toolUse",
    "content": [
        {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Lima"}},
        {"type": "tool_use", "id": "b", "name": "nothing", "input": {}},
    ],
}
SAID: Message = {"role": "assistant", "model": "toy", "content": {"type": "text", "text": "In Lima."}}
TRIP = ({"city": "Oslo"}, {"day": "2026-11-16"}, {"seats": 2})


@pytest.fixture(scope="module")
def shared_handshake() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.initialize(CAPABILITIES)
        yield server


@pytest.fixture
def handshake(shared_handshake: DemoProcess) -> DemoProcess:
    shared_handshake.responses.clear()
    shared_handshake.received.clear()
    return shared_handshake


@pytest.fixture(scope="module")
def stateless() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.speak_stateless(CAPABILITIES)
        yield server


def accepting(content: Message | None = None) -> Callable[[Message], Message]:
    return lambda requested: {"action": "accept", "content": content or {}}


def declining(requested: Message) -> Message:
    return {"action": "decline"}


def words(result: Message) -> str:
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    ("second", "method", "response"),
    [
        ("sampling", "sampling/createMessage", SAID),
        ("form", "elicitation/create", {"action": "decline"}),
        ("roots", "roots/list", {"roots": [{"uri": "file:///a"}]}),
    ],
)
def test_two_pending_requests_are_answered_in_any_order(
    handshake: DemoProcess, second: str, method: str, response: Message
) -> None:
    call = handshake.start("tools/call", {"name": "ask_twice", "arguments": {"second": second}})
    first, other = sorted((handshake.read(), handshake.read()), key=lambda requested: requested["id"])
    assert (first["method"], other["method"]) == ("elicitation/create", method)
    handshake.send({"id": other["id"], "result": response})
    handshake.send({"id": first["id"], "error": {"code": -1, "message": "No"}})
    blocks = handshake.finish(call)["result"]["content"]
    assert blocks[0]["text"] == "name: error -1: No"
    assert json.loads(blocks[1]["text"].removeprefix("second: ")) == response


def test_two_input_requests_are_in_one_result(stateless: DemoProcess) -> None:
    responses: dict[str, Message] = {
        "elicitation/create": {"action": "accept", "content": {"name": "Ada"}},
        "roots/list": {"roots": []},
    }
    requested, result = stateless.rounds("ask_twice", lambda one: responses[one["method"]], second="roots")
    assert set(requested["inputRequests"]) == {"name", "second"}
    assert json.loads(words(result).removeprefix("name: ")) == responses["elicitation/create"]


def test_trip_is_booked_by_three_requests(handshake: DemoProcess) -> None:
    given = iter(TRIP)
    handshake.responses["elicitation/create"] = lambda params: {"action": "accept", "content": next(given)}
    assert json.loads(handshake.call_text("book_trip").removeprefix("Booked:\n")) == {
        "city": "Oslo",
        "day": "2026-11-16",
        "seats": 2,
    }
    assert [requested["params"]["message"][:11] for requested in handshake.received] == [
        "Step 1 of 3",
        "Step 2 of 3",
        "Step 3 of 3",
    ]


def test_trip_is_booked_in_three_rounds_with_client_carried_state(stateless: DemoProcess) -> None:
    *requested, result = stateless.rounds("book_trip", *(accepting(content) for content in TRIP))
    assert [list(one["inputRequests"]) for one in requested] == [["city"], ["day"], ["seats"]]
    assert len({one["requestState"] for one in requested}) == 3
    assert '"seats": 2' in words(result)


def test_trip_is_not_booked_when_a_step_is_declined(stateless: DemoProcess) -> None:
    *_, result = stateless.rounds("book_trip", accepting(TRIP[0]), declining)
    assert words(result) == "Nothing was booked: declined at step 2."


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (str.strip, "must be sent back exactly as received"),
        (lambda state: state.replace("{}", '{"city": "Oslo"}'), "must be sent back exactly as received"),
        (lambda state: state.replace("ü", "u\u0308"), "must be sent back exactly as received"),
        (lambda state: None, "did not send requestState back."),
    ],
    ids=["trimmed", "forged", "normalized", "dropped"],
)
def test_tampered_state_is_detected(
    stateless: DemoProcess, change: Callable[[str], str | None], error: str
) -> None:
    (requested,) = stateless.rounds("book_trip")
    state = change(requested["requestState"])
    assert state != requested["requestState"]
    responses = {"city": {"action": "accept", "content": {"city": "Oslo"}}}
    params = {"name": "book_trip", "arguments": {}, "inputResponses": responses}
    result = stateless.request("tools/call", params if state is None else {**params, "requestState": state})
    assert result["isError"] is True
    assert error in words(result)


def test_endless_requests_end_when_declined(handshake: DemoProcess, stateless: DemoProcess) -> None:
    given = iter(["accept"] * 12 + ["decline"])
    handshake.responses["elicitation/create"] = lambda params: {"action": next(given)}
    assert handshake.call_text("ask_forever") == "Stopped by the user (declined) at request 13."
    *_, result = stateless.rounds("ask_forever", *[accepting()] * 12, declining)
    assert words(result) == "Stopped by the user (declined) at request 13."


def check_conversation(messages: list[Message]) -> None:
    """A message with tool results contains nothing else, and one result per tool use id."""
    question, use, results = messages
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in use["content"]] == ["tool_use", "tool_use"]
    good, bad = results["content"]
    assert [block["toolUseId"] for block in results["content"]] == ["a", "b"]
    assert json.loads(good["content"][0]["text"]) == {"city": "Lima", "temperature": 19.5}
    assert bad["isError"] is True
    assert question["content"]["text"] == "Where is it warm?"


def test_model_uses_a_tool_and_is_asked_again_with_its_result(
    handshake: DemoProcess, stateless: DemoProcess
) -> None:
    given = iter([WISH, SAID])
    handshake.responses["sampling/createMessage"] = lambda params: next(given)
    assert handshake.call_text("sampling_tools", prompt="Where is it warm?") == "toy said: In Lima."
    first, again = [requested["params"] for requested in handshake.received]
    assert (first["tools"][0]["name"], first["toolChoice"]) == ("weather", {"mode": "auto"})
    check_conversation(again["messages"])

    *requested, result = stateless.rounds(
        "sampling_tools", lambda one: WISH, lambda one: SAID, prompt="Where is it warm?"
    )
    assert words(result) == "toy said: In Lima."
    check_conversation(requested[1]["inputRequests"]["model"]["params"]["messages"])


def test_model_that_only_calls_tools_is_stopped(handshake: DemoProcess, stateless: DemoProcess) -> None:
    handshake.responses["sampling/createMessage"] = lambda params: WISH
    result = handshake.call("sampling_tools")
    assert (result["isError"], words(result)[:30]) == (True, "The model called tools in 5 tu")
    *_, result = stateless.rounds("sampling_tools", *[lambda one: WISH] * 5)
    assert (result["isError"], words(result)[:30]) == (True, "The model called tools in 5 tu")


def test_request_is_cancelled_after_a_moment(handshake: DemoProcess) -> None:
    call = handshake.start("tools/call", {"name": "ask_and_withdraw", "arguments": {"seconds": 0.05}})
    requested, cancelled = handshake.read(), handshake.read()
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == requested["id"]
    assert words(handshake.finish(call)["result"]) == "The request was cancelled after 0.05 s."


def test_request_answered_immediately_is_not_cancelled(handshake: DemoProcess) -> None:
    handshake.responses["elicitation/create"] = lambda params: {"action": "cancel"}
    assert handshake.call_text("ask_and_withdraw", seconds=60) == "The response came in time: cancel."
    assert len(handshake.received) == 1


def test_reply_in_a_later_round_may_be_too_late(stateless: DemoProcess) -> None:
    *_, result = stateless.rounds("ask_and_withdraw", accepting(), seconds=60)
    assert words(result) == "The response came in time: accept."

    def late(requested: Message) -> Message:
        stateless.call("slow", seconds=0.05, steps=1)
        return {"action": "accept"}

    *_, result = stateless.rounds("ask_and_withdraw", late, seconds=0.01)
    assert words(result) == "The response came too late: the request expired after 0.01 s."


def test_malformed_requests_are_sent_as_they_are(handshake: DemoProcess, stateless: DemoProcess) -> None:
    listed = {tool["name"]: tool for tool in handshake.request("tools/list")["tools"]}
    faults = listed["ask_malformed"]["inputSchema"]["properties"]["fault"]["enum"]
    assert len(faults) == 7
    for fault in faults:
        call = handshake.start("tools/call", {"name": "ask_malformed", "arguments": {"fault": fault}})
        requested = handshake.read()
        (interim,) = stateless.rounds("ask_malformed", fault=fault)
        assert interim["inputRequests"]["odd"] == {
            "method": requested["method"],
            "params": requested["params"],
        }
        handshake.send({"id": requested["id"], "error": {"code": -32602, "message": "What?"}})
        result = handshake.finish(call)["result"]
        assert words(result) == "The client returned error -32602: What?"


def test_reply_to_a_malformed_request_is_shown(handshake: DemoProcess) -> None:
    handshake.responses["elicitation/create"] = lambda params: {"any": ["thing"]}
    assert handshake.call_text("ask_malformed") == 'The client responded anyway:\n{"any": ["thing"]}'


def fields(requested: Message) -> Message:
    properties: Message = requested["requestedSchema"]["properties"]
    return properties


def test_every_field_type_is_requested(handshake: DemoProcess, stateless: DemoProcess) -> None:
    handshake.responses["elicitation/create"] = accepting({"text": "x"})
    handshake.call_text("elicit_all_fields")
    requested = fields(handshake.received[0]["params"])
    (interim,) = stateless.rounds("elicit_all_fields")
    assert fields(interim["inputRequests"]["question"]["params"]) == requested
    assert {field.get("format") for field in requested.values()} >= {"email", "uri", "date", "date-time"}
    assert {field["type"] for field in requested.values()} == {
        "string",
        "number",
        "integer",
        "boolean",
        "array",
    }
    assert {"enum", "enumNames", "oneOf", "minLength", "maxLength"} <= {
        key for field in requested.values() for key in field
    }
    assert {key for field in requested.values() for key in field.get("items", {})} >= {"enum", "anyOf"}
    kinds = [field["type"] for field in requested.values() if "default" in field]
    assert set(kinds) == {"string", "number", "integer", "boolean", "array"}


def test_older_protocol_version_is_asked_only_for_its_own_field_types() -> None:
    with DemoProcess("everything") as server:
        server.initialize({"elicitation": {"url": {}, "form": {}}}, revision="2025-06-18")
        server.responses["elicitation/create"] = accepting()
        server.call_text("elicit_all_fields")
        requested = fields(server.received[0]["params"])
        assert "array" not in {field["type"] for field in requested.values()}
        assert [name for name, field in requested.items() if "default" in field] == ["boolean_default"]
        assert "did not declare the elicitation (url)" in words(server.call("url_required"))


def test_submitted_password_is_not_repeated(handshake: DemoProcess) -> None:
    handshake.responses["elicitation/create"] = accepting({"user": "ada", "password": "hunter2"})
    assert "hunter2" not in handshake.call_text("elicit_password")
    assert "password" in fields(handshake.received[0]["params"])
