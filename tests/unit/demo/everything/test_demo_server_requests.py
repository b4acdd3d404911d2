"""Tools that send server requests, in the session and the stateless shape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess, Message

CAPABILITIES: Message = {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}}


@pytest.fixture(scope="module")
def shared_server() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.initialize(CAPABILITIES)
        yield server


@pytest.fixture
def server(shared_server: DemoProcess) -> DemoProcess:
    shared_server.responses.clear()
    shared_server.received.clear()
    return shared_server


def test_sampling_request_returns_the_reply_of_the_model(server: DemoProcess) -> None:
    def response(params: Message) -> Message:
        assert params["messages"][0]["content"]["text"] == "Name a fruit."
        assert params["maxTokens"] == 9
        return {"role": "assistant", "model": "toy", "content": {"type": "text", "text": "Quince."}}

    server.responses["sampling/createMessage"] = response
    assert server.call_text("sampling", prompt="Name a fruit.", max_tokens=9) == "toy said: Quince."


def test_form_elicitation_has_a_flat_schema(server: DemoProcess) -> None:
    requested: list[Message] = []

    def response(params: Message) -> Message:
        requested.append(params)
        return {"action": "accept", "content": {"name": "Ada", "topics": ["news"]}}

    server.responses["elicitation/create"] = response
    assert '"name": "Ada"' in server.call_text("elicit_form", message="Who are you?")
    assert (requested[0]["mode"], requested[0]["message"]) == ("form", "Who are you?")
    kinds = {schema["type"] for schema in requested[0]["requestedSchema"]["properties"].values()}
    assert kinds == {"string", "integer", "boolean", "array"}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_unsubmitted_form_says_how_it_ended(server: DemoProcess, action: str) -> None:
    server.responses["elicitation/create"] = lambda params: {"action": action}
    assert server.call_text("elicit_form") == f"The form was not submitted: {action}."


def test_accepted_url_elicitation_is_followed_by_its_completion(server: DemoProcess) -> None:
    server.responses["elicitation/create"] = lambda params: {"action": "accept"}
    assert (
        server.call_text("elicit_url", url="https://example.org/x") == "The URL elicitation returned accept."
    )
    requested, completed = server.received
    assert (requested["params"]["mode"], requested["params"]["url"]) == ("url", "https://example.org/x")
    assert completed["method"] == "notifications/elicitation/complete"
    assert completed["params"]["elicitationId"] == requested["params"]["elicitationId"]


def test_declined_url_is_not_completed(server: DemoProcess) -> None:
    server.responses["elicitation/create"] = lambda params: {"action": "decline"}
    assert server.call_text("elicit_url") == "The URL elicitation returned decline."
    assert len(server.received) == 1


def test_roots_are_listed(server: DemoProcess) -> None:
    server.responses["roots/list"] = lambda params: {
        "roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]
    }
    assert server.call_text("list_roots") == "file:///a  A\nfile:///b"


def test_client_rejection_is_a_tool_error(server: DemoProcess) -> None:
    call = server.start("tools/call", {"name": "sampling"})
    requested = server.read()
    server.send({"id": requested["id"], "error": {"code": -1, "message": "User rejected sampling request"}})
    result = server.finish(call)["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "The client returned error -1: User rejected sampling request"


def test_stateless_server_asks_by_input_required_result_and_notifies_on_a_listen_stream() -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    }
    with DemoProcess("everything") as server:
        discovered = server.request("server/discover", {"_meta": meta})
        assert discovered["supportedVersions"] == ["2026-07-28"]
        call = {"name": "elicit_form", "arguments": {}, "_meta": meta}
        interim = server.request("tools/call", call)
        assert interim["resultType"] == "input_required"
        ((key, requested),) = interim["inputRequests"].items()
        assert requested["method"] == "elicitation/create"
        filled_in = {key: {"action": "accept", "content": {"name": "Ada"}}}
        result = server.request("tools/call", {**call, "inputResponses": filled_in})
        assert '"name": "Ada"' in result["content"][0]["text"]

        server.start(
            "subscriptions/listen",
            {"notifications": {"resourceSubscriptions": ["demo://counter"]}, "_meta": meta},
        )
        assert server.read()["method"] == "notifications/subscriptions/acknowledged"
        server.request("tools/call", {"name": "bump_counter", "_meta": meta})
        while not server.received:
            server.received.append(server.read())
        assert server.received[0]["method"] == "notifications/resources/updated"
