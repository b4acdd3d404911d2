"""Reply rules: which one matches a server request, and its reply."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.reply_rules import Endpoint, ReplyRule, RuleKind
from inspector.engine.inbox.reply_rules import CANNED_MODEL, ECHO_MODEL, ReplyRules, RuleInput
from inspector.engine.inbox.views import Reply, RequestItem
from inspector.protocol.revisions import R4, R5, Revision
from inspector.protocol.server_requests.request import ELICITATION, ROOTS, SAMPLING, server_request_of
from tests.helpers.fakes import FakeClock
from tests.helpers.httpfaults import FaultServer
from tests.unit.engine.inbox.chat_endpoint_stage import COMPLETION, description
from tests.unit.protocol.server_requests.request_samples import form, message, page, sampling, text

ECHO = ReplyRule("e", "Parrot", RuleKind.ECHO, is_on=True)
DECLINE: JSONObject = {"action": "decline"}


def canned(response: JSON, filter: str = "", name: str = "Canned", **more: Any) -> ReplyRule:
    return ReplyRule(name, name, RuleKind.CANNED, filter, **{"is_on": True, "reply": response, **more})


def input_request(method: str = SAMPLING, params: JSONObject | None = None) -> RequestItem:
    return RequestItem("", server_request_of(method, sampling() if params is None else params))


FORM = input_request(ELICITATION, form(name={"type": "string"}))


async def with_rules(*rules: ReplyRule, path: Path | None = None) -> ReplyRules:
    responses = ReplyRules(path)
    await responses.save(rules)
    return responses


async def replied(responses: ReplyRules, requested: RequestItem, revision: Revision = R4) -> Reply | None:
    return await responses.reply("demo", requested, revision)


async def test_without_rules_everything_is_left_to_the_user() -> None:
    assert await replied(ReplyRules(), input_request()) is None


async def test_disabled_rule_does_not_reply() -> None:
    assert await replied(await with_rules(replace(ECHO, is_on=False)), input_request()) is None


async def test_first_matching_enabled_rule_replies_and_is_named() -> None:
    responses = await with_rules(
        canned("off", name="Off", is_on=False),
        canned("other", "server:elsewhere", name="Other"),
        canned("first", "server:demo", name="First"),
        canned("second", name="Second"),
    )
    reply = await replied(responses, input_request())
    assert reply == Reply(
        {"role": "assistant", "content": text("first"), "model": CANNED_MODEL, "stopReason": "endTurn"},
        rule="First",
    )


@pytest.mark.parametrize("revision", [R4, R5])
@pytest.mark.parametrize(
    ("filter", "is_fitting"),
    [
        ("server:demo", True),
        ("server:other", False),
        (f"method:{SAMPLING}", True),
        ("method:elicitation/create", False),
        ("kind:request dir:in", True),
        ("kind:result", False),
        ("params.maxTokens>50", True),
        ("params.maxTokens>500", False),
        ("weather", True),
        ("snow", False),
        ("not weather", False),
    ],
)
async def test_filter_sees_the_same_request_in_session_and_stateless_mode(
    revision: Revision, filter: str, is_fitting: bool
) -> None:
    requested = input_request(params=sampling(message("user", text("How is the weather?"))))
    reply = await replied(await with_rules(canned("x", filter)), requested, revision)
    assert (reply is not None) == is_fitting


async def test_filter_can_distinguish_protocol_versions() -> None:
    responses = await with_rules(canned("x", "rev:2025-11-25"))
    assert await replied(responses, input_request(), R4) is not None
    assert await replied(responses, input_request(), R5) is None


async def test_invalid_filter_matches_nothing_and_the_next_rule_replies() -> None:
    responses = await with_rules(canned("bad", "dur>>", name="Bad"), ECHO)
    reply = await replied(responses, input_request())
    assert reply is not None
    assert reply.rule == "Parrot"


@pytest.mark.parametrize(
    ("response", "suited"),
    [
        ("a string", SAMPLING),
        ({"role": "assistant", "content": {}, "model": "m"}, SAMPLING),
        (DECLINE, ELICITATION),
        ({"roots": []}, ROOTS),
    ],
)
async def test_reply_is_used_only_for_the_kind_of_request_it_fits(response: JSON, suited: str) -> None:
    responses = await with_rules(canned(response))
    for requested in (input_request(), FORM, input_request(ROOTS, {})):
        assert (await replied(responses, requested) is not None) == (requested.method == suited)


async def test_unrecognizable_reply_is_sent_as_it_is_to_any_request() -> None:
    responses = await with_rules(canned({"odd": 1}))
    for requested in (input_request(), FORM):
        assert await replied(responses, requested) == Reply({"odd": 1}, rule="Canned")


async def test_form_reply_is_not_consent_to_a_url_elicitation() -> None:
    filled: JSONObject = {"action": "accept", "content": {"name": "Ada"}}
    visit = input_request(ELICITATION, page())
    assert await replied(await with_rules(canned(filled)), visit) is None
    assert await replied(await with_rules(canned({"action": "accept"})), visit) is not None
    assert await replied(await with_rules(canned(filled)), FORM) == Reply(filled, rule="Canned")


async def test_canned_error_rejects_the_request() -> None:
    reply = await replied(await with_rules(canned({"error": {"code": -1, "message": "No"}})), input_request())
    assert reply == Reply(code=-1, message="No", rule="Canned")
    assert reply.is_error


async def test_echo_repeats_the_last_user_message() -> None:
    requested = sampling(
        message("user", text("First")),
        message("user", [text("Last"), {"type": "image", "data": "", "mimeType": "image/png"}, text("word")]),
        message("assistant", text("Yes?")),
    )
    reply = await replied(await with_rules(ECHO), input_request(params=requested))
    assert reply is not None
    assert reply.result == {
        "role": "assistant",
        "content": text("Last\nword"),
        "model": ECHO_MODEL,
        "stopReason": "endTurn",
    }


async def test_nothing_to_echo_is_a_failure_that_names_the_rule() -> None:
    requested = sampling(message("assistant", text()))
    with pytest.raises(UserError, match="Rule “Parrot”: Nothing to echo"):
        await replied(await with_rules(ECHO), input_request(params=requested))


def script(path: Path, *responses: JSON, **more: Any) -> ReplyRule:
    path.write_text("\n".join(map(json.dumps, responses)))
    return ReplyRule("s", "Book", RuleKind.SCRIPT, **{"is_on": True, "script": str(path), **more})


def reported(reply: Reply | None) -> str:
    assert reply is not None
    assert reply.result is not None
    content = reply.result["content"]
    assert isinstance(content, dict)
    return str(content["text"])


async def test_script_replies_in_order_and_then_the_user_is_asked(tmp_path: Path) -> None:
    rule = script(tmp_path / "s.jsonl", "one", "two")
    responses = await with_rules(rule)
    assert [reported(await replied(responses, input_request())) for _ in range(2)] == ["one", "two"]
    with pytest.raises(UserError, match=r"Rule “Book”: All replies of its script \(2\) have been used"):
        await replied(responses, input_request())
    assert (await responses.script_position(rule)).used == 2
    await responses.start_over(rule)
    assert reported(await replied(responses, input_request())) == "one"


async def test_script_can_restart_automatically(tmp_path: Path) -> None:
    responses = await with_rules(script(tmp_path / "s.jsonl", "one", "two", loops=True))
    assert [reported(await replied(responses, input_request())) for _ in range(5)] == [
        "one",
        "two",
        "one",
        "two",
        "one",
    ]


async def test_simultaneous_requests_each_get_their_own_reply(tmp_path: Path) -> None:
    words = [f"{n}" for n in range(20)]
    responses = await with_rules(script(tmp_path / "s.jsonl", *words))
    found = await asyncio.gather(*(replied(responses, input_request()) for _ in words))
    assert sorted(map(reported, found), key=int) == words


async def test_unsuitable_script_reply_is_kept_for_later(tmp_path: Path) -> None:
    responses = await with_rules(script(tmp_path / "s.jsonl", "a string", DECLINE))
    with pytest.raises(UserError, match="Reply 1 of its script is not valid for elicitation/create"):
        await replied(responses, FORM)
    assert reported(await replied(responses, input_request())) == "a string"
    assert await replied(responses, FORM) == Reply(DECLINE, rule="Book")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "It has no script"),
        ("/nowhere/at/all", "Could not read the script"),
        ("a\0b", "The script path is invalid"),
        ("~nobody/x", ""),
    ],
)
async def test_missing_script_is_a_failure_reason(path: str, words: str) -> None:
    rule = ReplyRule("s", "Book", RuleKind.SCRIPT, is_on=True, script=path)
    with pytest.raises(UserError, match=f"Rule “Book”: .*{words}"):
        await replied(await with_rules(rule), input_request())


async def test_script_path_is_relative_to_the_rules_file(tmp_path: Path) -> None:
    rule = replace(script(tmp_path / "s.jsonl", "one"), script="s.jsonl")
    responses = await with_rules(rule, path=tmp_path / "answers.json")
    assert reported(await replied(responses, input_request())) == "one"


async def test_endpoint_is_called_with_its_stored_key() -> None:
    names: list[str] = []

    async def secret(name: str) -> str | None:
        names.append(name)
        return "API key"

    async with FaultServer() as server:
        server.order("answer", description(COMPLETION))
        rule = ReplyRule(
            "m",
            "Model",
            RuleKind.ENDPOINT,
            is_on=True,
            endpoint=Endpoint(server.url(), "gpt-9", "answers/endpoint/m", 20),
        )
        responses = ReplyRules(secret=secret)
        await responses.save([rule])
        assert reported(await replied(responses, input_request())) == "Hello"
        assert await replied(responses, FORM) is None, "a model fills in no forms"
        assert server.calls[0].headers["authorization"] == "Bearer API key"
    assert names == ["answers/endpoint/m"]


async def test_endpoint_with_a_missing_key_is_not_called() -> None:
    async with FaultServer() as server:
        endpoint = Endpoint(server.url(), "gpt-9", "answers/endpoint/m", 20)
        rule = ReplyRule("m", "Model", RuleKind.ENDPOINT, is_on=True, endpoint=endpoint)
        with pytest.raises(UserError, match="Rule “Model”: The API key of its endpoint is not available"):
            await replied(await with_rules(rule), input_request())
        assert server.calls == []


async def test_endpoint_is_rate_limited_unless_the_user_calls_it() -> None:
    clock = FakeClock()
    async with FaultServer() as server:
        server.order("answer", *[description(COMPLETION)] * 5)
        endpoint = Endpoint(server.url(), "gpt-9", per_minute=2)
        rule = ReplyRule("m", "Model", RuleKind.ENDPOINT, is_on=True, endpoint=endpoint)
        responses = ReplyRules(clock=clock)
        await responses.save([rule])
        for _ in range(2):
            assert await replied(responses, input_request()) is not None
            clock.advance(29)
        with pytest.raises(UserError, match="called 2 times within a minute, which is the rule's limit"):
            await replied(responses, input_request())
        assert len(server.calls) == 2
        await responses.draft(rule, RuleInput("demo", input_request(), R4))
        assert (await responses.attempt(rule)).reply is not None
        clock.advance(3)
        assert await replied(responses, input_request()) is not None
        with pytest.raises(UserError, match="limit"):
            await replied(responses, input_request())
    assert len(server.calls) == 5


async def test_rule_applied_to_an_unsuitable_form_says_so() -> None:
    with pytest.raises(UserError, match="only answers sampling requests"):
        await ReplyRules().draft(ECHO, RuleInput("demo", FORM, R4))


async def test_rule_can_be_tried_on_the_last_request(tmp_path: Path) -> None:
    responses = ReplyRules()
    with pytest.raises(UserError, match="No server request received yet"):
        await responses.attempt(ECHO)
    await replied(responses, FORM)
    assert (await responses.attempt(ECHO)).reason == "This rule does not apply to elicitation/create."
    filled = await responses.attempt(canned({"action": "accept", "content": {"nome": "Ada"}}, is_on=False))
    assert filled.request.server == "demo"
    assert filled.reply is not None
    assert filled.notes == ("Not a field of the form: “nome”.",)
    assert (
        await responses.attempt(canned(DECLINE, "server:x"))
    ).reason == "The filter does not match this server request."
    unreadable = await responses.attempt(canned(DECLINE, "dur>>"))
    assert unreadable.reply is None
    assert unreadable.reason
    book = script(tmp_path / "s.jsonl", DECLINE)
    await responses.attempt(book)
    assert (await responses.script_position(book)).used == 0


async def test_manually_edited_rules_apply_to_the_next_request(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    responses = ReplyRules(path)
    problems: list[str] = []
    responses.problem_found.connect(problems.append)
    assert await replied(responses, input_request()) is None
    path.write_text(json.dumps({"rules": [{"kind": "canned", "on": True, "answer": "by hand"}]}))
    assert reported(await replied(responses, input_request())) == "by hand"
    path.write_text(
        json.dumps({"rules": [{"kind": "nothing"}, {"kind": "echo", "on": True, "filter": "a>>"}]})
    )
    assert await replied(responses, input_request()) is None
    await replied(responses, input_request())
    assert len(problems) == 2, "told once"
    assert "rule 1" in problems[0]
    assert "is invalid, so the rule never matches" in problems[1]


async def test_saved_rules_are_available_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    await with_rules(ECHO, path=path)
    assert await ReplyRules(path).rules() == (ECHO,)
