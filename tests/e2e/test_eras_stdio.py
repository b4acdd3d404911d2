"""Processes of both shapes with the whole engine: negotiation, and what the user sees."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace

import pytest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.servers import server
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.traffic.records import RecordKind, Status
from tests.helpers.servers import Lab, fault_entry, timeouts

# A server of the stateless era in a few lines: it asks for the folders, then tells what it was given.
STATELESS = """
import json, sys

def send(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message["method"], message.get("id"), message.get("params", {})
    if method == "server/discover":
        capabilities = {"tools": {"listChanged": True}}
        send(id=id, result={"supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "new", "version": "1"}}})
    elif method == "subscriptions/listen":
        meta = {"io.modelcontextprotocol/subscriptionId": id}
        send(method="notifications/subscriptions/acknowledged",
             params={"_meta": meta, "notifications": params["notifications"]})
        send(method="notifications/tools/list_changed", params={"_meta": meta})
    elif method == "tools/call" and params["name"] == "never":
        print("I will not answer", file=sys.stderr, flush=True)
    elif method == "tools/call" and "inputResponses" not in params:
        send(id=id, result={"resultType": "input_required", "requestState": "s-1",
                            "inputRequests": {"dirs": {"method": "roots/list"}}})
    elif method == "tools/call":
        text = json.dumps([params["requestState"], params["inputResponses"]["dirs"]["roots"][0]["name"]])
        send(id=id, result={"resultType": "complete", "content": [{"type": "text", "text": text}]})
    elif method == "notifications/cancelled":
        print("cancelled", params["requestId"], file=sys.stderr, flush=True)
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "Method not found: " + method})
"""

# A server of the handshake era that does not survive a request before initialize.
FRAGILE = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        info = {"name": "fragile", "version": "1"}
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
    elif message["method"] != "notifications/initialized":
        sys.exit("unexpected " + message["method"])
"""

# A server of the given version that responds to each list and call with the given text.
ODD = """
import json, sys

version, response = sys.argv[1:]
info = {"name": "odd", "version": "1"}
stateless = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "supportedVersions": [version],
             "capabilities": {"tools": {}}, "_meta": {"io.modelcontextprotocol/serverInfo": info}}
session = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
for line in sys.stdin:
    message = json.loads(line)
    text = response
    if message["method"] in ("server/discover", "initialize"):
        result = stateless if message["method"] == "server/discover" else session
        text = json.dumps({"jsonrpc": "2.0", "id": "ID", "result": result}).replace('"ID"', "ID")
    if "id" in message:
        print(text.replace("ID", str(message["id"])), flush=True)
"""


def script(code: str, **more: object) -> StdioEntry:
    args = ("-I", "-S", "-c", code)
    return StdioEntry(name="srv", command=sys.executable, args=args, **more)  # type: ignore[arg-type]


async def connect(lab: Lab, entry: StdioEntry) -> str:
    """Connect; return the protocol version and how it was negotiated."""
    lab.engine.servers.add(entry)
    await lab.engine.servers.connector.connect("srv")
    negotiated = lab.view().negotiated
    assert negotiated is not None
    return f"{negotiated.revision}: {negotiated.description}"


@pytest.fixture
async def stateless(lab: Lab) -> Lab:
    await connect(lab, script(STATELESS, roots=("/srv/mine",)))
    return lab


async def test_server_that_answers_the_probe_is_used_without_a_handshake(stateless: Lab) -> None:
    negotiated = stateless.view().negotiated
    assert negotiated is not None
    assert (negotiated.revision.date, negotiated.server.name) == ("2026-07-28", "new")
    assert negotiated.description == "server/discover · 2026-07-28 accepted"
    assert "initialize" not in [row.method for row in stateless.rows(RecordKind.REQUEST)]


async def test_session_server_is_detected_and_negotiation_says_how(lab: Lab) -> None:
    how = await connect(lab, fault_entry())
    fallback = (
        "fallback: it responded to server/discover with an error: -32601 (method not found): Method not found"
    )
    assert how.startswith(f"2025-11-25: initialize · 2025-11-25 accepted · {fallback}")


async def test_process_that_exits_on_the_probe_is_restarted(lab: Lab) -> None:
    how = await connect(lab, script(FRAGILE))
    assert how.startswith("2025-06-18: ")
    assert how.endswith(" · fallback: its process exited on server/discover")
    started = [row for row in lab.rows(RecordKind.PROCESS) if b" started" in row.raw]
    assert len(started) == 2
    assert lab.stderr() == [b"unexpected server/discover"]  # what it said is not lost


async def test_legacy_first_does_not_probe_such_a_process(lab: Lab) -> None:
    how = await connect(lab, script(FRAGILE, era="legacy-first"))
    assert how.startswith("2025-06-18: initialize · 2025-11-25 requested")
    assert len([row for row in lab.rows(RecordKind.PROCESS) if b" started" in row.raw]) == 1


async def test_with_a_pinned_version_the_last_output_of_such_a_process_is_the_reason(lab: Lab) -> None:
    error = await lab.fails_to_connect(script(FRAGILE, era="2026-07-28"))
    assert error.summary == "The server exited with code 1."
    assert "unexpected server/discover" in error.next_step


async def test_pinned_version_disables_the_fallback(lab: Lab) -> None:
    error = await lab.fails_to_connect(replace(fault_entry(), era="2026-07-28"))
    assert error.summary.startswith("The server does not support 2026-07-28")
    assert [row.method for row in lab.rows(RecordKind.REQUEST)] == ["server/discover"]


async def test_two_round_call_appears_as_one_call(stateless: Lab) -> None:
    assert json.loads(await stateless.text("anything")) == ["s-1", "mine"]
    calls = [row for row in stateless.rows(RecordKind.REQUEST) if row.method == "tools/call"]
    assert [row.status for row in calls] == [Status.OK, Status.OK]


async def test_list_change_on_a_stream_reaches_the_window(lab: Lab) -> None:
    changed = asyncio.Event()
    changes: list[tuple[str, str]] = []

    def on_change(server: str, kind: str) -> None:
        changes.append((server, kind))
        changed.set()

    lab.engine.list_changed.connect(on_change)
    await connect(lab, script(STATELESS))
    await asyncio.wait_for(changed.wait(), 30)
    assert changes == [("srv", "tools")]


async def test_cancelled_call_sends_a_cancelled_notification(stateless: Lab) -> None:
    reported = asyncio.Event()
    log = stateless.engine.log
    log.grew.connect(lambda count: reported.set())

    async def until(text: bytes) -> bytes:
        while not (lines := [line for line in stateless.stderr() if text in line]):
            reported.clear()
            await reported.wait()
        return lines[0]

    call = asyncio.get_running_loop().create_task(stateless.call("never"))
    await until(b"I will not answer")
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    (row,) = (row for row in stateless.rows(RecordKind.REQUEST) if row.method == "tools/call")
    assert await asyncio.wait_for(until(b"cancelled"), 30) == f"cancelled {row.id}".encode()


async def test_crashed_server_is_restarted_automatically(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_FIRST_DELAY", 0.01)
    lab = Lab(timeouts(10, 10))
    try:
        lab.engine.servers.add(replace(fault_entry(), auto_restart=True))
        await lab.engine.servers.connector.connect("srv")
        first = lab.view().pid
        outcome = await lab.call("dies", code=7)
        assert outcome.kind is OutcomeKind.FAILED
        assert outcome.summary == "The server exited with code 7."
        await asyncio.wait_for(lab.until(ServerStatus.RECONNECTING), 30)
        view = await asyncio.wait_for(lab.until(ServerStatus.CONNECTED), 30)
        assert view.pid != first
        assert await lab.text("echo", text="back") == "back"
        assert b"Fatal: lost the database." in lab.stderr()  # the history stays
    finally:
        await lab.engine.close()


def result_text(result: str) -> str:
    return f'{{"jsonrpc":"2.0","id":ID,"result":{result}}}'


def tool_text(schema: str) -> str:
    return result_text(f'{{"tools":[{{"name":"a","inputSchema":{schema}}}]}}')


_CACHED = '"ttlMs":0,"cacheScope":"private"'
_COMPLETE = '"resultType":"complete"'
_ODD_LISTS = [
    ("2025-11-25", tool_text('{"type":"object"}'), ""),
    (
        "2026-07-28",
        result_text(f'{{"tools":[],{_CACHED}}}'),
        'the result has no "resultType", which 2026-07-28 requires',
    ),
    (
        "2026-07-28",
        result_text(f'{{"tools":[],{_COMPLETE},"ttlMs":"60","cacheScope":"shared"}}'),
        '"ttlMs" must be an integer, 0 or more, not “60”; '
        '"cacheScope" must be "public" or "private", not “shared”',
    ),
    (
        "2025-06-18",
        "[" + tool_text('{"type":"object"}') + "]",
        "a batch of 1 item, which 2025-06-18 does not allow: response with ID 2",
    ),
    ("2025-11-25", tool_text('"{}"'), 'tool “a”: "inputSchema" must be an object, not “{}”'),
    (
        "2025-11-25",
        tool_text('{"type":"object","properties":{"n":{"type":"int"}}}'),
        'tool “a”: the type “int” in "inputSchema" does not exist in JSON Schema',
    ),
    (
        "2025-11-25",
        result_text('{"tools":[' + ",".join(['{"name":"a","inputSchema":{"type":"object"}}'] * 2) + "]}"),
        "the tool “a” is listed more than once",
    ),
]
_ODD_RESULTS = [
    ('{"content":[{"type":"text","text":"hi"}]}', ""),
    ('{"content":"hi"}', '"content" must be an array, not “hi”'),
    ('{"content":["hi"]}', "content[0]: a content block must be an object, not “hi”"),
    ('{"content":[{"type":"hologram"}]}', "content[0]: unknown content type “hologram”"),
    (
        r'{"content":[{"type":"text","text":"\ud83d"}]}',
        "a string has half of a surrogate pair, which is not a character",
    ),
    ('{"content":[],"isError":true,"isError":false}', "the key “isError” occurs more than once in an object"),
    ('{"content":[],"structuredContent":{"n":NaN}}', "it contains NaN, which is not JSON"),
]


def received_findings(lab: Lab) -> str:
    return "; ".join(row.problem for row in lab.rows() if row.problem)


@pytest.mark.parametrize(("version", "response", "finding"), _ODD_LISTS)
async def test_list_that_clients_would_reject_is_shown_and_reported(
    lab: Lab, version: str, response: str, finding: str
) -> None:
    entry = script(ODD, era=version)
    await connect(lab, replace(entry, args=(*entry.args, version, response)))
    await lab.engine.list_tools("srv")
    assert received_findings(lab) == finding


@pytest.mark.parametrize(("result", "finding"), _ODD_RESULTS)
async def test_tool_result_that_clients_would_reject_is_used_and_reported(
    lab: Lab, result: str, finding: str
) -> None:
    entry = script(ODD, era="2025-11-25")
    await connect(lab, replace(entry, args=(*entry.args, "2025-11-25", result_text(result))))
    assert (await lab.call("a")).kind is OutcomeKind.RESULT
    assert received_findings(lab) == finding
