"""URL elicitation: by request, by error -32042, and by an `input_required` result."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess, Message

CAPABILITIES: Message = {"elicitation": {"form": {}, "url": {}}}


@pytest.fixture(scope="module")
def shared_handshake() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.initialize(CAPABILITIES)
        yield server


@pytest.fixture
def handshake(shared_handshake: DemoProcess) -> DemoProcess:
    shared_handshake.received.clear()
    return shared_handshake


@pytest.fixture(scope="module")
def stateless() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.speak_stateless(CAPABILITIES)
        yield server


def required(server: DemoProcess, **arguments: float) -> list[Message]:
    """Return the URL elicitations that a rejected call requires."""
    error = server.error("tools/call", {"name": "url_required", "arguments": arguments})
    assert error["code"] == -32042
    pages: list[Message] = error["data"]["elicitations"]
    return pages


def consent(requested: Message) -> Message:
    return {"action": "accept"}


def test_call_is_rejected_until_its_url_elicitations_are_complete(handshake: DemoProcess) -> None:
    pages = required(handshake, count=2, seconds=0)
    assert [page["url"] for page in pages] == [
        "https://example.com/sign-in?page=1",
        "https://example.com/sign-in?page=2",
    ]
    assert {page["mode"] for page in pages} == {"url"}
    assert required(handshake, count=2, seconds=0) == pages
    assert handshake.call_text("finish_pages") == "Completed 2 pages."
    done = handshake.take_received("notifications/elicitation/complete")
    assert [one["elicitationId"] for one in done] == [page["elicitationId"] for page in pages]
    assert handshake.call_text("url_required", count=2, seconds=0) == "Welcome: 2 of 2 pages completed."
    assert required(handshake, count=2, seconds=0) != pages
    handshake.call_text("finish_pages")


def test_url_elicitation_completes_after_a_moment(handshake: DemoProcess) -> None:
    (page,) = required(handshake, seconds=0.05)
    done = handshake.read()
    assert done["method"] == "notifications/elicitation/complete"
    assert done["params"] == {"elicitationId": page["elicitationId"]}
    assert handshake.call_text("url_required", seconds=0.05) == "Welcome: 1 of 1 pages completed."


def test_url_elicitation_in_a_result_is_awaited_by_the_next_round(stateless: DemoProcess) -> None:
    requested, result = stateless.rounds("url_required", consent, count=2, seconds=0.05)
    questions = [question["params"] for question in requested["inputRequests"].values()]
    assert [question["mode"] for question in questions] == ["url", "url"]
    assert not any("elicitationId" in question for question in questions)
    assert result["content"][0]["text"] == "Welcome: 2 of 2 pages completed."


def test_round_continues_when_another_call_completes_the_url_elicitation(stateless: DemoProcess) -> None:
    (requested,) = stateless.rounds("url_required", seconds=0)
    ((key, _),) = requested["inputRequests"].items()
    params = {"name": "url_required", "arguments": {"seconds": 0}, "requestState": requested["requestState"]}
    call = stateless.start("tools/call", {**params, "inputResponses": {key: {"action": "accept"}}})
    stateless.call("finish_pages")
    while not (responses := [one for one in stateless.received if one.get("id") == call]):
        stateless.received.append(stateless.read())
    assert responses[0]["result"]["content"][0]["text"] == "Welcome: 1 of 1 pages completed."


def test_declined_url_elicitation_ends_the_call(stateless: DemoProcess) -> None:
    *_, result = stateless.rounds("url_required", lambda requested: {"action": "decline"}, seconds=0)
    assert result["content"][0]["text"] == "The URL elicitation returned decline."


def test_client_without_url_elicitation_gets_an_error() -> None:
    with DemoProcess("everything") as server:
        server.initialize({"elicitation": {"form": {}}})
        assert "did not declare the elicitation (url)" in server.call("url_required")["content"][0]["text"]
