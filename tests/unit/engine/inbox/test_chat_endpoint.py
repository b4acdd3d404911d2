"""An OpenAI-compatible endpoint over real HTTP: requests, responses, and errors without the key."""

from __future__ import annotations

import asyncio
import gzip
import json
import traceback
from dataclasses import replace
from typing import Any

import pytest

from inspector.base.errors import ConfigError, UserError
from inspector.base.json.values import JSONObject
from inspector.config.reply_rules import Endpoint
from inspector.engine.inbox import chat_completions
from inspector.engine.inbox.chat_completions import chat_url, request_completion
from inspector.protocol.server_requests.request import SAMPLING, SamplingRequest, read_server_request
from tests.helpers.httpfaults import JSON_TYPE, Call, Fault, FaultServer, Hangup
from tests.unit.engine.inbox.chat_endpoint_stage import COMPLETION, description
from tests.unit.protocol.server_requests.request_samples import message, sampling, text

KEY = "sk-very-secret-key-1234567890"


def input_request(words: str = "Hi") -> SamplingRequest:
    requested = read_server_request(SAMPLING, sampling(message("user", text(words))))
    assert isinstance(requested, SamplingRequest)
    return requested


async def ask(
    server: FaultServer, fault: Fault, *, key: str | None = KEY, path: str = "/v1", **more: Any
) -> JSONObject:
    server.order("answer", fault)
    endpoint = Endpoint(server.url(path=path), "gpt-9", timeout=20)
    return await request_completion(replace(endpoint, **more), key, input_request())


async def test_sampling_request_is_posted_as_a_chat_and_the_response_becomes_the_reply() -> None:
    async with FaultServer() as server:
        result = await ask(server, description(COMPLETION), extra={"seed": 7})
        (call,) = server.calls
    assert (call.method, call.path) == ("POST", "/v1/chat/completions")
    assert call.headers["authorization"] == f"Bearer {KEY}"
    assert call.headers["content-type"] == "application/json"
    assert call.message == {
        "model": "gpt-9",
        "messages": [{"role": "user", "content": "Hi"}],
        "max_tokens": 100,
        "seed": 7,
    }
    assert result == {
        "role": "assistant",
        "content": text("Hello"),
        "model": "gpt-9",
        "stopReason": "endTurn",
    }


async def test_without_a_key_no_authorization_header_is_sent() -> None:
    async with FaultServer() as server:
        await ask(server, description(COMPLETION), key=None)
        assert "authorization" not in server.calls[0].headers


async def test_compressed_response_is_decompressed() -> None:
    packed = gzip.compress(json.dumps(COMPLETION).encode())
    async with FaultServer() as server:
        result = await ask(server, description(packed, Content_Encoding="gzip"))
    assert result["content"] == text("Hello")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions"),
        ("https://host/v1/ ", "https://host/v1/chat/completions"),
        ("https://host", "https://host/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/d/chat/completions?api-version=1", "https://host/d/chat/completions?api-version=1"),
    ],
)
def test_url_may_be_the_base_url_or_the_chat_endpoint(given: str, wanted: str) -> None:
    assert chat_url(given) == wanted


@pytest.mark.parametrize("given", ["", "file:///etc/passwd", "localhost:11434", "http://", "http://a b/v1"])
def test_non_web_url_is_rejected(given: str) -> None:
    with pytest.raises(ConfigError):
        chat_url(given)


def test_password_in_the_url_is_rejected_and_not_repeated() -> None:
    with pytest.raises(ConfigError, match="user name or password") as caught:
        chat_url("https://me:hunter2@host/v1")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            description({"error": {"message": "Incorrect API key"}}, 401),
            "401: Incorrect API key. Check the rule's API key",
        ),
        (description({"error": "model not found"}, 404), "404: model not found. Check the URL"),
        (description({"detail": "slow down"}, 429), "429: slow down. The rate limit is reached"),
        (description(b"<html>Oops</html>", 500), "500: <html>Oops</html>. Check the rule"),
        (description(b"", 503), "HTTP 503. Check the rule"),
        (description(b"Welcome"), "is invalid: Expecting value"),
        (description(b"\xff"), "is invalid: "),
        (description([]), "is invalid: it is not an object"),
        (description({"choices": []}), "no message in “choices”"),
    ],
)
async def test_failure_is_one_sentence_with_the_next_step(fault: Fault, words: str) -> None:
    async with FaultServer() as server:
        with pytest.raises(UserError) as caught:
            await ask(server, fault)
    assert words in str(caught.value)


async def test_a_redirect_is_not_followed_so_the_key_goes_nowhere_else() -> None:
    async with FaultServer() as alternative, FaultServer() as server:
        with pytest.raises(UserError, match="which MCP Lens does not follow"):
            await ask(server, description(b"", 307, Location=alternative.url()))
        assert alternative.calls == []


async def test_key_appears_in_no_error_or_its_cause() -> None:
    async def broken(call: Call) -> None:
        await call.write(f"HTTP/1.1 200 OK\r\nBad header {KEY}\r\n\r\n".encode())
        raise Hangup

    echoes = description({"error": {"message": "x" * 290 + f" Incorrect API key: {KEY}"}}, 401)
    calls = {"choices": [{"message": {"tool_calls": [{"function": {"name": KEY, "arguments": "{"}}]}}]}
    for fault in (echoes, description(f"no {KEY}".encode(), 500), description(calls), broken):
        async with FaultServer() as server:
            with pytest.raises(UserError) as caught:
                await ask(server, fault)
        assert KEY[:12] not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("key", ["sk-1\r\nX-Evil: 1", "schlüssel", "sk\x00"])
async def test_unsendable_key_is_reported_and_nothing_is_sent(key: str) -> None:
    async with FaultServer() as server:
        with pytest.raises(ConfigError, match="contains invalid characters") as caught:
            await ask(server, description(COMPLETION), key=key)
        assert server.calls == []
    assert key not in str(caught.value)


async def test_unresponsive_endpoint_times_out() -> None:
    never = asyncio.Event()

    async def silent(call: Call) -> None:
        await never.wait()

    async with FaultServer() as server:
        with pytest.raises(UserError, match=r"did not respond within 0.05 s. Raise the rule's timeout."):
            await ask(server, silent, timeout=0.05)


async def test_endless_response_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_completions, "MAX_BYTES", 1000)

    async def endless(call: Call) -> None:
        await call.start(200, JSON_TYPE)
        while True:
            await call.chunk(b" " * 500)

    async with FaultServer() as server:
        with pytest.raises(UserError, match="larger than 1000 B"):
            await ask(server, endless)


async def test_unreachable_endpoint_is_reported() -> None:
    async with FaultServer() as server:
        url = server.url(path="/v1")
    with pytest.raises(UserError, match=r"127\.0\.0\.1"):
        await request_completion(Endpoint(url, "m", timeout=20), KEY, input_request())


async def test_request_that_does_not_fit_a_chat_is_not_sent() -> None:
    requested = read_server_request(SAMPLING, sampling(message("user", {"type": "video"})))
    assert isinstance(requested, SamplingRequest)
    async with FaultServer() as server:
        with pytest.raises(UserError, match="cannot be sent to the endpoint: message 1 has"):
            await request_completion(Endpoint(server.url(), "m"), None, requested)
        assert server.calls == []
