"""The `initialize` handshake: every kind of response, valid and invalid."""

from __future__ import annotations

import pytest

from inspector.base.errors import ConnectFailed, FailureKind
from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.client_capabilities import exact_capabilities
from inspector.protocol.handshake import ClientProfile, InitializeHandshake, NegotiationResult, NextRequest
from inspector.protocol.jsonrpc import read
from inspector.protocol.revisions import HANDSHAKE_REVISIONS, R2, R4, Era, Revision
from inspector.protocol.types import Implementation
from tests.helpers.playbook import Failed, Playbook, Received, frame, negotiating

PROFILE = ClientProfile("lens", "Lens", "0.1", exact_capabilities({"roots": {}}))
ASK = NextRequest(
    "initialize",
    {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "lens", "title": "Lens", "version": "0.1"},
    },
)
GOOD: JSONObject = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "srv", "title": "Server", "version": "3.2"},
    "instructions": "Be kind.",
}


def start(revision: Revision = R4) -> Playbook:
    return negotiating(InitializeHandshake(PROFILE, revision))


def negotiated(
    revision: Revision = R4, *problems: str, how: str = "", but: JSONObject | None = None
) -> NegotiationResult:
    result = GOOD | (but or {})
    capabilities, instructions = result["capabilities"], result["instructions"]
    return NegotiationResult(
        revision=revision,
        server=Implementation.read(result["serverInfo"]),
        capabilities=capabilities if isinstance(capabilities, dict) else {},
        instructions=instructions if isinstance(instructions, str) else "",
        description=how or "initialize · 2025-11-25 accepted",
        completed_by="notifications/initialized",
        problems=problems,
    )


def test_matching_version_is_negotiated() -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD))
        play << negotiated()
    assert negotiated().era is Era.SESSION


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS[:-1])
def test_older_session_version_is_adopted_and_reported(revision: Revision) -> None:
    how = f"initialize · 2025-11-25 requested, server responded with {revision}"
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | {"protocolVersion": revision.date}))
        play << negotiated(revision, how=how)


def test_version_newer_than_requested_is_adopted_too() -> None:
    with start(R2) as play:
        play << NextRequest(ASK.method, ASK.params | {"protocolVersion": "2025-03-26"})
        play >> Received(frame(id=1, result=GOOD))
        how = "initialize · 2025-03-26 requested, server responded with 2025-11-25"
        play << negotiated(how=how)


@pytest.mark.parametrize(
    ("version", "shown"),
    [
        ("zzz", "“zzz”"),
        ("\x1b[31m" + "x" * 100, "“␛[31mxxx"),
    ],
)
def test_unsupported_version_fails_with_both_sides_named(version: JSON, shown: str) -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | {"protocolVersion": version}))
        play << Failed(
            f"The server requires protocol version {shown}",
            "With initialize, MCP Lens supports 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25.",
        )


@pytest.mark.parametrize("version", ["DRAFT-2027", "2026-07-28", None, 7])
def test_unusable_version_is_accepted_with_a_finding_if_the_user_continues(version: JSON) -> None:
    handshake = InitializeHandshake(PROFILE, continue_as=R2)
    response = read(frame(id=1, result=GOOD | {"protocolVersion": version}))
    result = handshake.receive(response)
    assert result.revision is R2
    assert result.named_version == (version if isinstance(version, str) else "")
    assert result.problems[-1].endswith(" MCP Lens continues as 2025-03-26, as you chose.")
    with pytest.raises(ConnectFailed, match="--continue-as 2025-11-25") as caught:
        InitializeHandshake(PROFILE).receive(response)
    assert caught.value.kind is FailureKind.VERSION


def test_known_version_is_used_although_the_user_would_continue() -> None:
    handshake = InitializeHandshake(PROFILE, continue_as=R2)
    assert handshake.receive(read(frame(id=1, result=GOOD))) == negotiated()


def test_stateless_version_is_named_with_how_to_use_it() -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | {"protocolVersion": "2026-07-28"}))
        play << Failed(
            "The server responded to initialize with protocol version 2026-07-28, which has no initialize.",
            "Set the protocol version of this server to 2026-07-28, if it supports that.",
        )


@pytest.mark.parametrize(
    ("version", "what"), [(None, "has no “protocolVersion”."), (7, "has “7” as “protocolVersion”.")]
)
def test_version_that_is_no_text_is_reported_as_missing(version: JSON, what: str) -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | {"protocolVersion": version}))
        play << Failed(
            f"The response to initialize {what}",
            "This is a server bug: it must be a protocol version, one of ",
        )


@pytest.mark.parametrize("depth", [900, 950, 960, 970, 980, 990, 10_000])
def test_version_nested_too_deeply_is_rejected_like_any_other(depth: int) -> None:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%s1%s}}' % (b"[" * depth, b"]" * depth)
    with start() as play:
        play << ASK
        play >> Received(raw)
        play << Failed("The ")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"capabilities": None}, 'The result of initialize has no "capabilities" object.'),
        ({"capabilities": ["tools"]}, 'The result of initialize has no "capabilities" object.'),
        ({"serverInfo": None}, 'The result of initialize has no "serverInfo" with a name.'),
        ({"serverInfo": {"version": 3}}, 'The result of initialize has no "serverInfo" with a name.'),
    ],
)
def test_incomplete_response_is_used_and_the_missing_parts_are_reported(
    members: JSONObject, problem: str
) -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | members))
        play << negotiated(R4, problem, but=members)


def test_optional_members_of_the_wrong_type_are_treated_as_absent() -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=GOOD | {"instructions": 5}))
        play << negotiated(but={"instructions": ""})


def test_error_is_shown_with_its_code() -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, error={"code": -32603, "message": "database is down"}))
        play << Failed(
            "The server rejected initialize: -32603 (internal error): database is down.",
            "Its log may say why.",
        )


def test_error_that_lists_versions_offers_them() -> None:
    error: JSON = {
        "code": -32602,
        "message": "no",
        "data": {"supported": ["2024-11-05", 7], "requested": "x"},
    }
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, error=error))
        play << Failed(
            "The server rejected initialize: -32602 (invalid params): no.",
            "It says it supports 2024-11-05, 7.",
        )


@pytest.mark.parametrize("data", [None, "words", {"supported": "2024-11-05"}, {"supported": []}, []])
def test_error_with_odd_data_is_a_plain_error(data: JSON) -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, error={"code": 1, "message": "no", "data": data}))
        play << Failed("The server rejected initialize: 1: no.", "Its log may say why.")


def test_server_text_cannot_inject_terminal_escapes() -> None:
    error: JSON = {"code": 1, "message": "\x1b[2Jgone\nsecond line", "data": {"supported": ["\u202e"]}}
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, error=error))
        play << Failed(
            "The server rejected initialize: 1: ␛[2Jgone second line.", "It says it supports ⟨U+202E⟩."
        )


def test_long_version_list_is_truncated() -> None:
    error: JSON = {"code": 1, "message": "no", "data": {"supported": ["2024-11-05"] * 1000}}
    handshake = InitializeHandshake(PROFILE)
    with negotiating(handshake) as play:
        play << ASK
        play >> Received(frame(id=1, error=error))
        failure = play.next()
    assert len(str(failure)) < 500


@pytest.mark.parametrize(
    "raw",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25" "capabilities":{}}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1 "message":""}}',
    ],
)
def test_non_json_response_says_so(raw: bytes) -> None:
    with start() as play:
        play << ASK
        play >> Received(raw)
        play << Failed(
            "The response to initialize cannot be read: Expecting ',' delimiter",
            "The raw message is in the Traffic view",
        )


def test_non_object_result_has_no_version() -> None:
    with start() as play:
        play << ASK
        play >> Received(frame(id=1, result=[]))
        play << Failed("The response to initialize has no “protocolVersion”.")
