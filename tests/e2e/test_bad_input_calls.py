"""Servers that violate the protocol in a call: clear outcome, full recording, engine intact."""

from __future__ import annotations

import json

import pytest

from inspector.base.json.values import JSONObject
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.text_formats import pretty_text
from inspector.engine.settings import SettingsStore
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.connection import ProgressReceived
from inspector.traffic.records import Direction, Record, RecordKind, Status
from tests.helpers.servers import Lab


@pytest.fixture
async def connected(lab: Lab) -> Lab:
    await lab.connect()
    return lab


def arrived(lab: Lab) -> list[Record]:
    """Return every message from the server after the responses of the first handshake."""
    frames = [row for row in lab.rows() if row.kind.is_message and row.direction is Direction.IN]
    first_call = next(row.number for row in lab.rows(RecordKind.REQUEST) if row.method == "tools/call")
    return [row for row in frames if row.number > first_call]


async def test_partial_lines_are_reassembled(connected: Lab) -> None:
    outcome = await connected.call("half-lines")
    assert outcome.kind is OutcomeKind.RESULT
    assert [row.problem for row in arrived(connected)] == [""]
    await connected.still_works()


async def test_unterminated_last_line_is_kept(connected: Lab) -> None:
    outcome = await connected.call("half-line-then-exit")
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary == "The server exited with code 0."
    (half,) = arrived(connected)
    assert half.kind is RecordKind.INVALID
    assert half.raw.endswith(b'"result":{"con')
    await connected.still_works()


async def test_invalid_utf8_is_reported_and_the_call_continues(connected: Lab) -> None:
    assert await connected.text("bad-utf8") == "done"
    bad, good = arrived(connected)
    assert b"\xff\xfe" in bad.raw
    assert bad.problem.startswith("not valid UTF-8 at byte ")
    assert bad.kind is RecordKind.NOTIFICATION
    assert good.problem == ""
    await connected.still_works()


@pytest.mark.parametrize("depth", [500, 990, 10_000])
async def test_deeply_nested_json_is_kept_and_the_call_continues(connected: Lab, depth: int) -> None:
    assert await connected.text("deep", depth=depth) == "done"
    deep, _ = arrived(connected)
    assert deep.raw.count(b"{") == depth + 2
    assert deep.method == "notifications/message"
    shown = await connected.engine.pretty(connected.engine.log, deep.number)
    assert shown.is_json
    if depth == 10_000:
        assert "nested too deeply to parse" in deep.problem
    await connected.still_works()


async def test_response_nested_too_deeply_to_parse_is_reported(connected: Lab) -> None:
    outcome = await connected.call("deep-answer", depth=10_000)
    assert outcome.kind is OutcomeKind.RPC_ERROR
    assert outcome.summary == "Could not parse the response: nested too deeply to parse"
    assert outcome.response == arrived(connected)[0].raw
    assert pretty_text(outcome.response).is_json
    await connected.still_works()


async def test_hundred_megabyte_line_arrives_intact(connected: Lab) -> None:
    outcome = await connected.call("long-line", megabytes=100)
    assert outcome.kind is OutcomeKind.RESULT
    assert len(outcome.response) > 100 * 2**20
    (row,) = arrived(connected)
    assert row.raw is outcome.response
    assert row.problem == ""
    await connected.still_works()


async def test_duplicate_response_is_recorded_as_a_duplicate(connected: Lab) -> None:
    assert await connected.text("duplicate-id") == "first"
    await connected.text("echo", text="so that the second one has come")
    first, second, _ = arrived(connected)
    assert (first.status, first.problem) == (Status.OK, "")
    assert second.problem.startswith("second response to the same request (ID ")
    await connected.still_works()


async def test_responses_with_unknown_ids_do_not_complete_the_call(connected: Lab) -> None:
    assert await connected.text("unknown-id") == "done"
    unknown, _ = arrived(connected)
    assert unknown.problem == "response without a matching request (ID 'never-used')"
    await connected.still_works()


async def test_response_with_the_id_in_another_type_fails_the_call_at_once(connected: Lab) -> None:
    outcome = await connected.call("wrong-id-type")
    assert outcome.kind is OutcomeKind.FAILED
    assert "(a string) instead of" in outcome.summary
    await connected.text("echo", text="so that the second response has come")
    other_type, _, _ = arrived(connected)
    assert other_type.problem.startswith("response without a matching request (ID '")
    await connected.still_works()


@pytest.mark.parametrize(
    ("how", "what"),
    [
        ("cr-only", "a message that ends with a carriage return (\\r) only."),
        ("pretty-printed", "one message over 7 lines."),
        ("two-in-a-line", "2 messages in one line."),
        ("content-length", "Content-Length headers, as language servers do."),
        ("utf-16", "UTF-16 text."),
        ("nul", "a message with NUL bytes."),
        ("log-prefix", "text before a message in the same line: “INFO:”."),
        ("trailing-comma", "a message that is not valid JSON ("),
    ],
)
async def test_response_in_another_framing_fails_the_call_with_what_arrived(
    connected: Lab, how: str, what: str
) -> None:
    outcome = await connected.call("odd-framing", how=how)
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary.startswith(f"The response to tools/call cannot be used: the server sent {what}"), (
        outcome.summary
    )


_ERROR = '"error":{"code":-32700,"message":"Parse error"}'


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"jsonrpc":"2.0","id":"ID","result":{}}', 'a response with the ID "4" (a string) instead of 4 (an'),
        ('{"jsonrpc":"2.0","id":ID.0,"result":{}}', "a response with the ID 4.0 (a decimal number) instead"),
        ('{"jsonrpc":"2.0","id":99,"result":{}}', "a response with the ID 99, which no pending request has."),
        ('{"jsonrpc":"2.0","id":null,"result":{}}', "a response with the ID null."),
        (f'{{"jsonrpc":"2.0","id":null,{_ERROR}}}', "an error with the ID null: -32700 (parse error): Parse"),
        (f'{{"jsonrpc":"2.0",{_ERROR}}}', "an error without an ID: -32700 (parse error): Parse"),
        ('{"jsonrpc":"2.0","id":ID}', 'an object that is no response: it has neither "method" nor'),
        ('{"jsonrpc":"2.0","id":ID,"method":"x","result":{}}', 'an object that is no response: it has "meth'),
        ("[]", "an empty batch ([])."),
        ('[{"jsonrpc":"2.0","id":99,"result":{}}]', "a response with the ID 99, which no pending request"),
    ],
)
async def test_response_that_cannot_be_matched_ends_the_call_and_names_the_message(
    connected: Lab, text: str, what: str
) -> None:
    await connected.engine.list_tools("srv")  # the server has processed the notification before it
    outcome = await connected.engine.tool_caller.call("srv", ToolCall("odd-members", {"text": text}))
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary.startswith(f"The response to tools/call cannot be used: the server sent {what}")
    (row,) = arrived(connected)
    assert outcome.next_step.endswith(f"See message {row.number + 1} in Traffic.")
    assert await connected.text("echo", text="still here") == "still here"


async def test_unsolicited_responses_are_recorded(connected: Lab) -> None:
    assert await connected.text("to-nothing") == "done"
    without, null, _ = arrived(connected)
    assert without.problem == null.problem == '"id" must be a string or an integer'
    await connected.still_works()


async def test_batched_response_completes_its_call(connected: Lab) -> None:
    outcome = await connected.call("batch")
    assert outcome.kind is OutcomeKind.RESULT
    (batch,) = arrived(connected)
    assert batch.kind is RecordKind.BATCH
    assert connected.rows(RecordKind.REQUEST)[-1].status is Status.OK
    await connected.still_works()


@pytest.mark.parametrize(
    ("arguments", "summary"),
    [
        ({"code": 9}, "The server exited with code 9."),
        ({"signal": "SIGKILL"}, "The server was terminated by signal SIGKILL."),
        ({"signal": "SIGSEGV"}, "The server was terminated by signal SIGSEGV."),
    ],
)
async def test_server_crash_during_a_call_fails_it_and_shows_the_last_output(
    connected: Lab, arguments: JSONObject, summary: str
) -> None:
    await connected.text("echo", text="before")
    outcome = await connected.engine.tool_caller.call("srv", ToolCall("dies", arguments))
    assert (outcome.kind, outcome.summary) == (OutcomeKind.FAILED, summary)
    assert outcome.next_step.startswith("Correct the cause, then connect again. ")
    assert outcome.next_step.endswith("Last lines of stderr:\nFatal: lost the database.\nGiving up.")
    view = await connected.until(ServerStatus.FAILED)
    assert (view.reason, view.next_step) == (outcome.summary, outcome.next_step)
    assert connected.stderr() == [b"Fatal: lost the database.", b"Giving up."]
    statuses = [row.status for row in connected.rows(RecordKind.REQUEST) if row.method == "tools/call"]
    assert statuses == [Status.OK, Status.NO_RESPONSE]
    await connected.still_works()


async def test_crashed_server_can_be_reconnected_and_keeps_its_history(connected: Lab) -> None:
    await connected.call("dies")
    await connected.until(ServerStatus.FAILED)
    before = [row.raw for row in connected.rows()]
    await connected.engine.servers.connector.connect("srv")
    assert await connected.text("echo", text="again") == "again"
    assert [row.raw for row in connected.rows()][: len(before)] == before


async def test_server_that_closes_stdout_but_keeps_running_ends_the_connection(
    connected: Lab,
) -> None:
    pid = connected.view().pid
    outcome = await connected.call("closes-stdout")
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary == "The server closed stdout, but its process is still running."
    assert outcome.next_step.startswith("Correct the cause, then connect again. ")
    assert outcome.next_step.endswith("Last lines of stderr:\nClosing stdout; the process keeps running.")
    await connected.until(ServerStatus.FAILED)
    await connected.engine.servers.connector.disconnect("srv")  # waits for the process to be stopped
    assert connected.rows(RecordKind.PROCESS)[-1].raw.startswith(b"Process %d " % (pid or 0))
    await connected.still_works()


async def test_call_that_is_never_answered_times_out(connected: Lab) -> None:
    outcome = await connected.engine.tool_caller.call("srv", ToolCall("never", timeout=0.2))
    assert outcome.kind is OutcomeKind.FAILED
    assert outcome.summary.startswith("The server did not respond to tools/call within 2")
    assert await connected.text("echo", text="still here") == "still here"
    assert connected.rows(RecordKind.NOTIFICATION)[-1].method == "notifications/cancelled"


async def test_a_flood_is_recorded_to_the_last_message(connected: Lab) -> None:
    assert await connected.text("floods", count=20_000) == "done"
    assert len(connected.rows(RecordKind.NOTIFICATION)) >= 20_000
    frames = arrived(connected)
    assert len(frames) == 20_001
    assert frames[-1].kind is RecordKind.RESULT


async def test_progress_is_passed_on_while_the_call_runs(connected: Lab) -> None:
    seen: list[ProgressReceived] = []
    await connected.engine.tool_caller.call(
        "srv", ToolCall("progresses", {"steps": 3}), on_progress=seen.append
    )
    assert [(event.progress, event.total) for event in seen] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("method", "member"), [("ping", "result"), ("roots/list", "error"), ("vendor/unheard-of", "error")]
)
async def test_server_requests_are_answered_or_rejected(connected: Lab, method: str, member: str) -> None:
    reply = json.loads(await connected.text("asks", method=method))
    assert member in reply
    if member == "error":
        assert reply["error"]["code"] == -32601


async def test_endless_list_is_cut_off_and_shown_as_far_as_it_arrived(lab: Lab) -> None:
    await lab.connect("list-loops")
    listing = await lab.engine.list_tools("srv")
    assert listing.items
    assert '"nextCursor" “round” was sent before: the list never ends' in listing.incomplete
    assert await lab.text("echo", text="works") == "works"


async def test_list_with_malformed_items_returns_the_valid_ones(lab: Lab) -> None:
    await lab.connect("list-malformed")
    listing = await lab.engine.list_tools("srv")
    assert [tool.name for tool in listing.items] == ["good"]
    assert len(listing.malformed) == 3


async def test_response_over_the_size_limit_is_reported_and_its_start_is_kept(lab: Lab) -> None:
    small = Lab(SettingsStore(defaults={"connections.lineCapMebibytes": 1}))
    await small.connect()
    outcome = await small.call("long-line", megabytes=2)
    await small.engine.close()
    assert outcome.kind is OutcomeKind.RPC_ERROR
    assert outcome.summary.startswith("Could not parse the response: a line of 2,097,")
    (row,) = arrived(small)
    assert row.size > 2 * 2**20
    assert row.problem.startswith("a line of 2,097,")
    assert row.problem.endswith("exceeds the limit; only its first 65,536 bytes were read")


async def test_error_text_cannot_inject_terminal_escapes(connected: Lab) -> None:
    outcome = await connected.call("refuses", message="\x1b[2Jgone")
    assert (outcome.kind, outcome.summary) == (OutcomeKind.RPC_ERROR, "-32000 (server error): ␛[2Jgone")
