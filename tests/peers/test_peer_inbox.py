"""Server requests of real servers: the current SDK in both shapes, and server-everything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.config.servers.entries import Entry, HttpEntry, StdioEntry
from inspector.demo.servers import command
from inspector.engine.engine import Engine
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.views import SAMPLING_REJECTED, InboxRequest, Reply
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.revisions import Era
from inspector.protocol.server_requests.replies import (
    cancel_reply,
    decline_reply,
    form_reply,
    sampling_reply,
    url_reply,
)
from inspector.protocol.server_requests.request import RequestEnd
from tests.peers.netserver import listening
from tests.peers.visit import Visit, visiting

ERAS = ("auto", "legacy-first")
NAMED = form_reply({"name": "Ada"})
BLUE = sampling_reply("assistant", {"type": "text", "text": "blue"}, "by hand")


class Person:
    """A user at the window: waits for requests and for their end."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.inbox = visit.engine.inbox
        self._changed = asyncio.Event()
        self.inbox.changed.connect(lambda inbox_request: self._changed.set())

    def call(self, tool: str, **arguments: JSON) -> asyncio.Task[CallOutcome]:
        return asyncio.get_running_loop().create_task(self.visit.call(tool, **arguments))

    async def text(self, outcome: asyncio.Task[CallOutcome]) -> str:
        done = await outcome
        assert done.kind is OutcomeKind.RESULT, (done.kind, done.summary, done.response[:500])
        return "\n".join(block["text"] for block in json.loads(done.response)["result"]["content"])

    async def inbox_requests(self, count: int = 1) -> tuple[InboxRequest, ...]:
        while len(self.inbox.inbox_requests()) < count:
            await self.changed()
        return self.inbox.inbox_requests()

    async def ended(self, count: int = 1) -> InboxRequest:
        """Return the latest of this many ended requests."""
        while len(self.inbox.past()) < count or self.inbox.inbox_requests():
            await self.changed()
        return self.inbox.past()[-1]

    async def changed(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def awaits_completion(self) -> InboxRequest:
        while not (self.inbox.inbox_requests() and self.inbox.inbox_requests()[0].awaits_completion):
            await self.changed()
        return self.inbox.inbox_requests()[0]

    def response(self, inbox_request: InboxRequest, *results: JSONObject) -> None:
        """Reply to the input requests in their order."""
        for input_request, result in zip(inbox_request.input_requests, results, strict=True):
            self.inbox.reply(inbox_request.id, input_request.key, Reply(result=result))


@pytest.fixture(scope="module")
def http_url() -> Iterator[str]:
    with listening(command("everything", http=True), r"listening on (\S+)") as url:
        yield url


def over_stdio(era: str, name: str = "sdk") -> StdioEntry:
    program, *args = command("everything")
    return StdioEntry(name=name, command=program, args=tuple(args), era=era)


@pytest.fixture(params=[(transport, era) for transport in ("stdio", "http") for era in ERAS], ids="-".join)
def entry(request: pytest.FixtureRequest, http_url: str) -> Entry:
    transport, era = request.param
    return HttpEntry(name="sdk", url=http_url, era=era) if transport == "http" else over_stdio(era)


@asynccontextmanager
async def at_the_window(entry: Entry) -> AsyncIterator[Person]:
    async with visiting(entry, inbox=Inbox()) as visit:
        yield Person(visit)


@pytest.fixture
async def person(entry: Entry) -> AsyncIterator[Person]:
    async with at_the_window(entry) as person:
        yield person
        assert person.inbox.inbox_requests() == ()


async def test_form_elicitation_is_accepted_declined_and_cancelled(person: Person) -> None:
    for response in (NAMED, decline_reply(), cancel_reply()):
        call = person.call("elicit_form")
        (inbox_request,) = await person.inbox_requests()
        assert (inbox_request.server, inbox_request.method, inbox_request.subject) == (
            "sdk",
            "tools/call",
            "elicit_form",
        )
        assert inbox_request.input_requests[0].notes == ()
        person.response(inbox_request, response)
        text = await person.text(call)
        assert ("Ada" if response is NAMED else str(response["action"])) in text


async def test_sampling_is_answered_and_rejected(person: Person) -> None:
    call = person.call("sampling", prompt="A color?")
    (inbox_request,) = await person.inbox_requests()
    person.response(inbox_request, BLUE)
    assert await person.text(call) == "by hand said: blue"
    call = person.call("sampling", prompt="A color?")
    (inbox_request,) = await person.inbox_requests()
    person.inbox.reply(inbox_request.id, inbox_request.input_requests[0].key, SAMPLING_REJECTED)
    outcome = await call
    assert "The user rejected the sampling request" in outcome.summary + outcome.response.decode()
    is_stateless = person.visit.negotiated.era is Era.STATELESS
    assert (outcome.kind is OutcomeKind.FAILED) is is_stateless


async def test_two_simultaneous_requests_are_one_card_or_two_depending_on_the_protocol(
    person: Person,
) -> None:
    call = person.call("ask_twice", second="sampling")
    if person.visit.negotiated.era is Era.STATELESS:
        (inbox_request,) = await person.inbox_requests()
        person.inbox.reply(inbox_request.id, "second", Reply(result=BLUE))
        person.inbox.reply(inbox_request.id, "name", Reply(result=NAMED))
    else:
        inbox_requests = await person.inbox_requests(2)
        by_method = {
            inbox_request.input_requests[0].method: inbox_request for inbox_request in inbox_requests
        }
        person.response(by_method["sampling/createMessage"], BLUE)
        person.response(by_method["elicitation/create"], NAMED)
    text = await person.text(call)
    assert "Ada" in text
    assert "blue" in text


async def test_a_call_goes_through_several_rounds(person: Person) -> None:
    call = person.call("book_trip")
    is_stateless = person.visit.negotiated.era is Era.STATELESS
    steps: list[JSONObject] = [{"city": "Oslo"}, {"day": "2026-11-16"}, {"seats": 2}]
    for number, content in enumerate(steps):
        (inbox_request,) = await person.inbox_requests()
        assert (inbox_request.round, len(inbox_request.earlier)) == (
            (number + 1, number) if is_stateless else (0, 0)
        )
        person.response(inbox_request, form_reply(content))
    outcome = await call
    assert outcome.waited_ns > 0
    assert b"2026-11-16" in outcome.response


async def test_endless_input_requests_are_stopped(person: Person) -> None:
    call = person.call("ask_forever")
    is_stateless = person.visit.negotiated.era is Era.STATELESS
    for number in range(1, 11):
        (inbox_request,) = await person.inbox_requests()
        person.response(inbox_request, form_reply({}) if is_stateless or number < 3 else decline_reply())
        if call.done() or (number == 3 and not is_stateless):
            break
    outcome = await call
    if is_stateless:
        assert "the server requested input more than 10 times in a row" in outcome.summary
    else:
        assert outcome.kind is OutcomeKind.RESULT


async def test_request_cancelled_by_the_server_leaves_the_list(person: Person) -> None:
    if person.visit.negotiated.era is Era.STATELESS:
        pytest.skip("the stateless shape has no cancellation")
    call = person.call("ask_and_withdraw", seconds=0.05)
    assert "cancelled" in await person.text(call)
    inbox_request = await person.ended()
    assert inbox_request.end is RequestEnd.WITHDRAWN


@pytest.mark.parametrize("fault", ["no schema", "schema is a string", "no messages", "unknown method"])
async def test_unanswerable_request_is_rejected_and_shown(person: Person, fault: str) -> None:
    outcome = await person.call("ask_malformed", fault=fault)
    inbox_request = await person.ended()
    assert inbox_request.end is RequestEnd.REFUSED
    assert inbox_request.note
    if person.visit.negotiated.era is Era.STATELESS:
        assert outcome.kind is OutcomeKind.FAILED
        assert inbox_request.note in outcome.summary
    else:
        code = -32601 if fault == "unknown method" else -32602
        assert str(code).encode() in outcome.response


async def test_url_elicitation_is_accepted_and_awaited(person: Person) -> None:
    call = person.call("elicit_url", url="https://example.com/x", seconds=0)
    (inbox_request,) = await person.inbox_requests()
    person.response(inbox_request, url_reply())
    assert "accept" in await person.text(call)
    assert (await person.ended()).end is RequestEnd.ANSWERED


async def test_call_that_requires_url_elicitation_is_retried(person: Person) -> None:
    call = person.call("url_required", count=2, seconds=0)
    (inbox_request,) = await person.inbox_requests()
    assert len(inbox_request.input_requests) == 2
    person.response(inbox_request, url_reply(), url_reply())
    if person.visit.negotiated.era is not Era.STATELESS:
        await person.awaits_completion()
    await person.text(person.call("finish_pages"))
    assert (await call).kind is OutcomeKind.RESULT


async def test_declining_url_elicitation_returns_the_error(person: Person) -> None:
    if person.visit.negotiated.era is Era.STATELESS:
        pytest.skip("the error exists only in the session shape")
    call = person.call("url_required", count=1, seconds=0)
    (inbox_request,) = await person.inbox_requests()
    person.response(inbox_request, decline_reply())
    outcome = await call
    assert outcome.kind is OutcomeKind.RPC_ERROR
    assert json.loads(outcome.response)["error"]["code"] == -32042
    await person.text(person.call("finish_pages"))


async def test_cancelling_a_call_closes_its_card(person: Person) -> None:
    call = person.call("elicit_form")
    await person.inbox_requests()
    call.cancel()
    await asyncio.wait([call])
    is_stateless = person.visit.negotiated.era is Era.STATELESS
    assert (await person.ended()).end is (RequestEnd.CALL_ENDED if is_stateless else RequestEnd.WITHDRAWN)


@pytest.mark.parametrize("era", ERAS)
async def test_crashed_server_closes_its_cards(era: str) -> None:
    async with at_the_window(over_stdio(era)) as person:
        call = person.call("elicit_form")
        await person.inbox_requests()
        pid = person.visit.view.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        assert (await call).is_lost
        assert (await person.ended()).end is RequestEnd.SERVER_GONE


async def test_reply_to_a_crashed_http_server_is_reported_as_not_sent() -> None:
    with contextlib.ExitStack() as running:
        url = running.enter_context(listening(command("everything", http=True), r"listening on (\S+)"))
        async with at_the_window(HttpEntry(name="sdk", url=url, era="legacy-first")) as person:
            call = person.call("elicit_form")
            (inbox_request,) = await person.inbox_requests()
            await asyncio.to_thread(running.close)
            assert (await call).kind is OutcomeKind.FAILED
            person.response(inbox_request, NAMED)
            while (ended := await person.ended()).end is RequestEnd.ANSWERED:
                await person.changed()
            assert ended.end is RequestEnd.NOT_SENT
            assert ended.note.startswith(
                "Could not send the reply: Connection refused: nothing is listening on 127.0.0.1"
            )


async def test_session_and_stateless_servers_ask_at_the_same_time(http_url: str) -> None:
    engine = Engine(inbox=Inbox())
    people = []
    for number, era in enumerate(ERAS):
        engine.servers.add(HttpEntry(name=f"srv {number}", url=http_url, era=era))
        await engine.servers.connector.connect(f"srv {number}")
        people.append(Person(Visit(engine, f"srv {number}")))
    calls = [person.call("elicit_form") for person in people]
    inbox_requests = {
        inbox_request.server: inbox_request for inbox_request in await people[0].inbox_requests(2)
    }
    people[1].response(inbox_requests["srv 1"], decline_reply())
    assert "decline" in await people[1].text(calls[1])
    assert not calls[0].done()
    people[0].response(inbox_requests["srv 0"], NAMED)
    assert "Ada" in await people[0].text(calls[0])
    await engine.close()


@pytest.mark.usefixtures("short_stdin_grace")
async def test_server_everything_requests_a_form_sampling_and_roots(
    node_modules: Path, tmp_path: Path
) -> None:
    script = str(node_modules / "server-everything/dist/index.js")
    entry = StdioEntry(name="everything", command="node", args=(script, "stdio"), roots=(str(tmp_path),))
    async with at_the_window(entry) as person:
        call = person.call("trigger-sampling-request", prompt="who?", maxTokens=10)
        (inbox_request,) = await person.inbox_requests()
        assert inbox_request.subject == "trigger-sampling-request"
        person.response(inbox_request, BLUE)
        assert "blue" in await person.text(call)
        call = person.call("trigger-elicitation-request")
        (inbox_request,) = await person.inbox_requests()
        assert inbox_request.input_requests[0].method == "elicitation/create"
        person.response(inbox_request, decline_reply())
        assert "declined" in await person.text(call)
        assert tmp_path.as_uri() in await person.text(person.call("get-roots-list"))
        call = person.call("trigger-url-elicitation", url="https://example.com/request")
        (inbox_request,) = await person.inbox_requests()
        assert inbox_request.input_requests[0].params["url"] == "https://example.com/request"
        person.response(inbox_request, url_reply())
        assert "accept" in await person.text(call)


@pytest.mark.usefixtures("short_stdin_grace")
async def test_url_elicitations_required_by_server_everything_are_awaited(node_modules: Path) -> None:
    """Its tool rejects the first call with -32042, and elicits when called again."""
    script = str(node_modules / "server-everything/dist/index.js")
    async with at_the_window(StdioEntry(name="everything", command="node", args=(script, "stdio"))) as person:
        call = person.call("trigger-url-elicitation", url="https://example.com/first", errorPath=True)
        (inbox_request,) = await person.inbox_requests()
        assert inbox_request.round == 1
        person.response(inbox_request, url_reply())
        await person.awaits_completion()
        person.inbox.mark_completed(inbox_request.id)
        (inbox_request,) = await person.inbox_requests()
        assert inbox_request.round == 0
        person.response(inbox_request, url_reply())
        assert "accept" in await person.text(call)
