"""Era detection: every row of the decision tables, over stdio and over HTTP."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.base.errors import ConnectFailed, HttpRefused, NeedsLogin
from inspector.base.json.values import JSON
from inspector.protocol.handshake import PIN_HINT, NoResponse
from inspector.protocol.jsonrpc import error_code_text
from inspector.protocol.revisions import R5
from tests.helpers.playbook import Failed, Received
from tests.unit.protocol.era_stage import (
    DISCOVER,
    DISCOVERED,
    INITIALIZE,
    INITIALIZED,
    MODERN,
    PROBE,
    error,
    falls_back,
    http,
    pipe,
    refused,
    refused_with,
    result,
    unsupported,
)


def test_discover_result_with_a_mutual_version_is_stateless() -> None:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED)
        play << MODERN


def test_discover_result_with_only_older_versions_leads_to_the_handshake() -> None:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED | {"supportedVersions": ["2025-11-25", "2025-06-18"]})
        falls_back(
            play, "It lists only older protocol versions that MCP Lens supports (2025-11-25, 2025-06-18)"
        )


def test_a_discover_result_with_a_newer_and_an_older_version_leads_to_the_handshake() -> None:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED | {"supportedVersions": ["2027-01-01", "2025-11-25"]})
        falls_back(
            play, "It lists only older protocol versions that MCP Lens supports (2027-01-01, 2025-11-25)"
        )


def test_discover_result_without_a_mutual_version_fails() -> None:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED | {"supportedVersions": ["zzz"]})
        play << Failed(
            "The server and MCP Lens have no protocol version in common.",
            "It supports zzz; MCP Lens supports 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28.",
        )


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"supportedVersions": []},
        {"supportedVersions": "2026-07-28"},
        {"supportedVersions": [5]},
        DISCOVERED | {"resultType": "input_required"},
        DISCOVERED | {"resultType": 5},
        [],
        None,
    ],
)
def test_result_that_is_not_a_discover_result_is_no_evidence(value: JSON) -> None:
    with pipe() as play:
        play << PROBE
        play >> result(value)
        falls_back(play, "Its response to server/discover is not a DiscoverResult")


@pytest.mark.parametrize("kind", ["input_required", 5])
def test_rejected_handshake_names_the_wrong_result_type_of_the_probe(kind: JSON) -> None:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED | {"resultType": kind})
        play << INITIALIZE
        play >> error(-32601)
        play << Failed(
            "The server rejected initialize: -32601 (method not found): no.",
            "Its log may say why. Its response to server/discover has the resultType "
            f"“{kind}”, not “complete”.",
        )


def test_unreadable_response_is_no_evidence() -> None:
    with pipe() as play:
        play << PROBE
        play >> Received(b'{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"] "x":1}}')
        play << INITIALIZE


@pytest.mark.parametrize("versions", [("2026-07-28",), ("2025-11-25", "2026-07-28"), (7, "2026-07-28")])
def test_rejected_version_is_retried_with_a_mutual_one(versions: tuple[JSON, ...]) -> None:
    with pipe() as play:
        play << PROBE
        play >> unsupported(*versions)
        play << DISCOVER
        play >> result(DISCOVERED)
        how = "server/discover · retried with 2026-07-28"
        play << replace(MODERN, description=how)


def test_version_that_is_repeatedly_rejected_and_offered_fails() -> None:
    with pipe() as play:
        play << PROBE
        play >> unsupported("2026-07-28")
        play << DISCOVER
        play >> unsupported("2026-07-28")
        play << Failed("The server rejects protocol version 2026-07-28, but lists it as supported.")


def test_rejected_version_with_older_ones_offered_leads_to_the_handshake() -> None:
    with pipe() as play:
        play << PROBE
        play >> unsupported("2027-01-01", "2025-06-18")
        falls_back(
            play, "It lists only older protocol versions that MCP Lens supports (2027-01-01, 2025-06-18)"
        )


def test_rejected_version_without_a_mutual_one_fails_with_both_lists() -> None:
    with pipe() as play:
        play << PROBE
        play >> unsupported("2027-01-01", "2028-01-01\x1b[2J")
        play << Failed(
            "The server and MCP Lens have no protocol version in common.",
            "It supports 2027-01-01, 2028-01-01␛[2J; MCP Lens supports 2024-11-05, 2025-03-26,",
        )


@pytest.mark.parametrize("data", [None, {}, {"supported": "2026-07-28"}, {"supported": [1]}, []])
def test_rejected_version_without_a_list_leads_to_the_handshake(data: JSON) -> None:
    with pipe() as play:
        play << PROBE
        play >> error(-32022, data=data)
        falls_back(play, "It rejected protocol version 2026-07-28 and did not say which it supports")


def test_rejected_version_without_a_list_and_a_rejected_handshake_name_the_setting() -> None:
    with pipe() as play:
        play << PROBE
        play >> error(-32022)
        play << INITIALIZE
        play >> error(-32601)
        play << Failed(
            "The server rejected initialize: -32601 (method not found): no.",
            f"Its log may say why. {PIN_HINT}",
        )


@pytest.mark.parametrize("probe_code", [-32601, -32022])
def test_version_that_initialize_rejects_without_a_list_names_the_setting_once(probe_code: int) -> None:
    with pipe() as play:
        play << PROBE
        play >> error(probe_code)
        play << INITIALIZE
        play >> error(-32022)
        play << Failed(
            "The server rejected initialize: -32022 (unsupported protocol version): no.",
            f"It does not say which protocol versions it supports. {PIN_HINT}",
        )


@pytest.mark.parametrize(
    ("code", "data", "next_step"),
    [
        (-32020, None, "A proxy may drop or change the Mcp-* headers."),
        (-32021, None, "It requires a client capability that MCP Lens does not declare."),
        (
            -32021,
            {"requiredCapabilities": {"sampling": {}}},
            'It requires a client capability that MCP Lens does not declare: {"sampling":{}}.',
        ),
    ],
)
def test_other_stateless_error_never_falls_back(code: int, data: JSON, next_step: str) -> None:
    with pipe() as play:
        play << PROBE
        play >> error(code, data=data)
        reported = f"The server is stateless, but rejected server/discover: {error_code_text(code)}: no."
        play << Failed(reported, next_step)


@pytest.mark.parametrize("code", [-32601, -32602, -32600, -32603, -32000, -32002, 0, 1, -32019, -32023])
def test_any_other_error_means_session_mode(code: int) -> None:
    with pipe() as play:
        play << PROBE
        play >> error(code, "Method not found")
        falls_back(
            play, f"It responded to server/discover with an error: {error_code_text(code)}: Method not found"
        )


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-32001, "HeaderMismatch"),
        (-32003, "MissingRequiredClientCapability"),
        (-32004, "UnsupportedProtocolVersion"),
    ],
)
def test_pre_release_error_codes_are_no_evidence_but_a_hint(code: int, name: str) -> None:
    hint = f"{code} was {name} in builds before the 2026-07-28 release: the server may be such a build."
    with pipe() as play:
        play << PROBE
        play >> error(code)
        play << INITIALIZE
        play >> result(INITIALIZED)
        assert play.negotiated().description.endswith(hint)
    with pipe() as play:
        play << PROBE
        play >> error(code)
        play << INITIALIZE
        play >> error(-32600, "go away")
        play << Failed(
            "The server rejected initialize: -32600 (invalid request): go away.",
            f"Its log may say why. {hint}",
        )


def test_silence_means_session_mode() -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("timeout")
        falls_back(play, "It did not respond to server/discover")


def test_process_that_exits_is_restarted_and_initialized() -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("exited")
        play << replace(INITIALIZE, needs_restart=True)
        play >> result(INITIALIZED)
        assert play.negotiated().description.endswith(" · fallback: its process exited on server/discover")


def test_process_that_exits_again_fails() -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("exited")
        play << replace(INITIALIZE, needs_restart=True)
        play >> NoResponse("exited")
        play << Failed(
            "The server's process exited before it responded to initialize.", "Its log in the Console"
        )


def test_server_that_is_silent_twice_fails() -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("timeout")
        play << INITIALIZE
        play >> NoResponse("timeout")
        play << Failed("The server did not respond to initialize in time.")


@pytest.mark.parametrize("code", [-32022, -32602, -32601])
def test_slow_stateless_server_that_rejects_initialize_with_its_version_is_probed_again(
    code: int,
) -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("timeout")
        play << INITIALIZE
        play >> error(code, data={"supported": ["2026-07-28"], "requested": "2025-11-25"})
        play << DISCOVER
        play >> result(DISCOVERED)
        how = " · initialize was rejected, naming 2026-07-28"
        play << replace(MODERN, description=MODERN.description + how)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (NoResponse("timeout"), "it did not respond to server/discover"),
        (error(-32601), "it responded to server/discover with an error: -32601 (method not found): no"),
    ],
)
def test_the_second_probe_is_the_last(reply: Received | NoResponse, reason: str) -> None:
    with pipe() as play:
        play << PROBE
        play >> NoResponse("timeout")
        play << INITIALIZE
        play >> unsupported("2026-07-28")
        play << DISCOVER
        play >> reply
        play << Failed(f"The server rejected initialize and named a newer protocol version; then {reason}.")


def test_rejected_initialize_with_only_unsupported_versions_is_a_rejection() -> None:
    with pipe() as play:
        play << PROBE
        play >> error(-32601)
        play << INITIALIZE
        play >> unsupported("2027-01-01")
        play << Failed(
            "The server rejected initialize: -32022 (unsupported protocol version): no such version",
            "It says it supports 2027",
        )


def test_over_http_a_discover_result_is_stateless_and_the_probe_is_bounded() -> None:
    with http() as play:
        play << PROBE
        play >> result(DISCOVERED)
        play << MODERN


def test_400_with_a_mutual_version_is_retried() -> None:
    with http() as play:
        play << PROBE
        play >> refused_with(400, -32022, {"supported": ["2026-07-28"], "requested": "2026-07-28"})
        play << DISCOVER
        play >> result(DISCOVERED)
        assert play.negotiated().revision is R5


@pytest.mark.parametrize("code", [-32020, -32021])
def test_400_with_another_stateless_error_never_falls_back(code: int) -> None:
    with http() as play:
        play << PROBE
        play >> refused_with(400, code)
        play << Failed("The server is stateless")


def test_404_with_method_not_found_means_session_mode() -> None:
    with http() as play:
        play << PROBE
        play >> refused_with(404, -32601)
        falls_back(play, "It responded to server/discover with an error: -32601 (method not found): no")


def test_2xx_with_another_error_means_session_mode() -> None:
    with http() as play:
        play << PROBE
        play >> error(-32000, "Server not initialized")
        falls_back(
            play,
            "It responded to server/discover with an error: -32000 (server error): Server not initialized",
        )


@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b'{"error":"no"}', b"[]", b'{"jsonrpc":"2.0"'])
@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422])
def test_4xx_without_a_message_means_session_mode(status: int, body: bytes) -> None:
    with http() as play:
        play << PROBE
        play >> refused(status, body)
        play << INITIALIZE


def test_http_status_is_named_in_the_reason() -> None:
    with http() as play:
        play << PROBE
        play >> refused(405)
        falls_back(play, "It rejected server/discover with HTTP 405")


def test_4xx_with_another_error_means_session_mode() -> None:
    with http() as play:
        play << PROBE
        play >> refused_with(400, -32000)
        falls_back(play, "It responded to server/discover with an error: -32000 (server error): no")


@pytest.mark.parametrize("status", [301, 307])
@pytest.mark.parametrize("code", [None, -32601, -32022])
def test_a_redirect_that_is_not_followed_ends_the_attempt(status: int, code: int | None) -> None:
    with http() as play:
        play << PROBE
        play >> (refused(status) if code is None else refused_with(status, code))
        failure = play.next()
    assert isinstance(failure, ConnectFailed)
    assert str(failure) == f"The server answered HTTP {status}. Look."


@pytest.mark.parametrize("status", [202, 204, 401, 403, 500, 502, 503, 504])
@pytest.mark.parametrize("code", [None, -32601, -32022])
def test_login_outage_and_empty_202_lead_to_the_handshake(status: int, code: int | None) -> None:
    with http() as play:
        play << PROBE
        play >> (refused(status) if code is None else refused_with(status, code))
        falls_back(play, f"It responded to server/discover with HTTP {status}")


def test_200_without_a_message_leads_to_the_handshake() -> None:
    with http() as play:
        play << PROBE
        play >> refused(200, b"<html>Welcome</html>")
        falls_back(play, "It responded to server/discover without a message")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (NoResponse("timeout"), "It did not respond to server/discover"),
        (NoResponse("disconnected"), "It closed the connection on server/discover"),
    ],
)
def test_silence_over_http_leads_to_the_handshake(reply: NoResponse, reason: str) -> None:
    with http() as play:
        play << PROBE
        play >> reply
        falls_back(play, reason)


@pytest.mark.parametrize("reply", [NoResponse("timeout"), refused(503), refused(401)], ids=str)
def test_stateless_server_with_a_late_start_is_probed_again_when_it_rejects_initialize(
    reply: NoResponse | HttpRefused,
) -> None:
    with http() as play:
        play << PROBE
        play >> reply
        play << INITIALIZE
        play >> error(-32601)
        play << DISCOVER
        play >> result(DISCOVERED)
        play << replace(MODERN, description=f"{MODERN.description} · initialize was rejected")


def test_login_required_by_a_stateless_server_is_reported_after_it_rejected_initialize() -> None:
    with http() as play:
        play << PROBE
        play >> refused(401)
        play << INITIALIZE
        play >> error(-32601)
        play << DISCOVER
        play >> refused(401)
        assert isinstance(play.next(), NeedsLogin)


def test_server_that_accepts_neither_request_is_reported_with_the_setting_to_change() -> None:
    with http() as play:
        play << PROBE
        play >> refused(202)
        play << INITIALIZE
        play >> refused(400)
        play << DISCOVER
        play >> refused(202)
        play << Failed("The server answered HTTP 400.", f"Look. {PIN_HINT}")


@pytest.mark.parametrize("reply", [NoResponse("timeout"), refused(503)], ids=str)
def test_an_outage_is_reported_without_a_setting_to_change(reply: NoResponse | HttpRefused) -> None:
    with http() as play:
        play << PROBE
        play >> reply
        play << INITIALIZE
        play >> reply
        failure = play.next()
    assert isinstance(failure, ConnectFailed)
    assert PIN_HINT not in str(failure)


@pytest.mark.parametrize(("status", "is_login"), [(401, True), (404, False), (500, False)])
def test_initialize_rejected_by_http_fails(status: int, is_login: bool) -> None:
    with http() as play:
        play << PROBE
        play >> refused(400)
        play << INITIALIZE
        play >> refused(status)
        failure = play.next()
    assert isinstance(failure, ConnectFailed)
    assert failure.summary == f"The server answered HTTP {status}."
    assert isinstance(failure, NeedsLogin) == is_login


def test_initialize_rejected_with_a_400_that_names_a_newer_version_is_probed_again() -> None:
    with http() as play:
        play << PROBE
        play >> refused(400)
        play << INITIALIZE
        play >> refused_with(400, -32022, {"supported": ["2026-07-28"]})
        play << DISCOVER
