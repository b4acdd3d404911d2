"""DiscoverResult, and negotiation with a pinned version or `legacy-first`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.base.errors import HttpRefused
from inspector.base.json.values import JSON
from inspector.protocol.discovery import (
    AUTO,
    LEGACY_FIRST,
    LegacyFirst,
    ProbeFirst,
    StatelessOnly,
    negotiation_for,
    read_era_choice,
)
from inspector.protocol.handshake import InitializeHandshake, NegotiationResult, NoResponse
from inspector.protocol.revisions import R2, R4, R5
from inspector.protocol.types import CacheHints, Implementation
from tests.helpers.playbook import Failed, Received
from tests.unit.protocol.era_stage import (
    DISCOVER,
    DISCOVERED,
    INITIALIZE,
    INITIALIZED,
    MODERN,
    PROBE,
    PROFILE,
    NegotiationPlaybook,
    error,
    pipe,
    refused,
    refused_with,
    result,
    unsupported,
)


def agreed(**members: JSON) -> NegotiationResult:
    with pipe() as play:
        play << PROBE
        play >> result(DISCOVERED | members)
        return play.negotiated()


def test_server_info_at_the_top_level_is_read_and_the_violation_is_reported() -> None:
    negotiated = agreed(_meta={}, serverInfo={"name": "old", "version": "1"})
    assert negotiated.server == Implementation("old", "", "1")
    assert negotiated.problems == ('The result of server/discover has "serverInfo" outside "_meta".',)


def test_server_info_in_meta_takes_precedence() -> None:
    negotiated = agreed(serverInfo={"name": "old", "version": "1"})
    assert (negotiated.server.name, negotiated.problems) == ("srv", ())


def test_missing_server_info_is_allowed() -> None:
    negotiated = agreed(_meta=None)
    assert (negotiated.server, negotiated.problems) == (Implementation("", "", ""), ())


def test_missing_capabilities_are_reported_and_nothing_is_offered() -> None:
    negotiated = agreed(capabilities=True)
    assert negotiated.capabilities == {}
    assert negotiated.problems == ('The result of server/discover has no "capabilities" object.',)


@pytest.mark.parametrize(
    ("ttl", "scope", "hints"),
    [
        (0, "private", CacheHints(0, "private")),
        (-1, "shared", CacheHints()),
        (True, None, CacheHints()),
        (1.5, ["public"], CacheHints()),
    ],
)
def test_caching_hints_are_read_where_they_make_sense(ttl: JSON, scope: JSON, hints: CacheHints) -> None:
    assert agreed(ttlMs=ttl, cacheScope=scope).cache == hints


def test_optional_members_of_the_wrong_type_are_treated_as_absent() -> None:
    negotiated = agreed(instructions=7, supportedVersions=[1, "2026-07-28"])
    assert (negotiated.instructions, negotiated.supported_versions) == ("", ("2026-07-28",))


def pinned(*, over_http: bool = False) -> NegotiationPlaybook:
    return NegotiationPlaybook(StatelessOnly(PROFILE, over_http, R5))


def test_pinned_version_is_negotiated_when_the_server_supports_it() -> None:
    with pinned() as play:
        play << DISCOVER
        play >> result(DISCOVERED)
        play << MODERN


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            error(-32601, "Method not found"),
            "it responded to server/discover with an error: -32601 (method not found): Method not found",
        ),
        (NoResponse("timeout"), "it did not respond to server/discover"),
        (NoResponse("exited"), "its process exited on server/discover"),
        (
            unsupported("2025-11-25"),
            "it lists only older protocol versions that MCP Lens supports (2025-11-25)",
        ),
    ],
)
def test_unsupported_pinned_version_fails(reply: Received | NoResponse, reason: str) -> None:
    with pinned() as play:
        play << DISCOVER
        play >> reply
        play << Failed(
            f"The server does not support 2026-07-28: {reason}.", "Set the protocol version to automatic"
        )


def test_pinned_version_over_http_does_not_fall_back_on_a_bare_404() -> None:
    with pinned(over_http=True) as play:
        play << DISCOVER
        play >> refused(404)
        play << Failed("The server does not support 2026-07-28: it rejected server/discover with HTTP 404.")


def legacy_first(*, over_http: bool = False) -> NegotiationPlaybook:
    return NegotiationPlaybook(LegacyFirst(PROFILE, over_http))


def test_handshake_first_does_not_probe_when_it_succeeds() -> None:
    with legacy_first() as play:
        play << INITIALIZE
        play >> result(INITIALIZED)
        assert play.negotiated().description.startswith("initialize · 2025-11-25 ")


@pytest.mark.parametrize("code", [-32022, -32020, -32601, -32602])
def test_server_that_rejects_the_handshake_is_probed(code: int) -> None:
    with legacy_first() as play:
        play << INITIALIZE
        play >> error(code)
        play << DISCOVER
        play >> result(DISCOVERED)
        play << replace(MODERN, description=f"{MODERN.description} · initialize was rejected")


def test_400_with_a_message_is_probed_too() -> None:
    with legacy_first(over_http=True) as play:
        play << INITIALIZE
        play >> refused_with(400, -32020)
        play << DISCOVER
        play >> unsupported("2026-07-28")
        play << DISCOVER
        play >> result(DISCOVERED)
        assert play.negotiated().revision is R5


def test_server_that_supports_neither_is_reported_with_its_first_rejection() -> None:
    with legacy_first() as play:
        play << INITIALIZE
        play >> error(-32603, "database is down")
        play << DISCOVER
        play >> error(-32601)
        play << Failed("The server rejected initialize: -32603 (internal error): database is down.")


@pytest.mark.parametrize("reply", [NoResponse("timeout"), NoResponse("exited"), refused(404), refused(503)])
def test_handshake_first_does_not_treat_silence_as_stateless(reply: NoResponse | HttpRefused) -> None:
    with legacy_first(over_http=isinstance(reply, HttpRefused)) as play:
        play << INITIALIZE
        play >> reply
        play << Failed("The server")


def test_each_choice_has_its_strategy() -> None:
    options = [negotiation_for(choice, PROFILE, False) for choice in (AUTO, LEGACY_FIRST, R2, R4, R5)]
    assert [type(mode) for mode in options] == [
        *(ProbeFirst, LegacyFirst, InitializeHandshake, InitializeHandshake, StatelessOnly),
    ]
    assert options[2].first().params["protocolVersion"] == "2025-03-26"
    assert negotiation_for(AUTO, PROFILE, False).first() == PROBE
    assert negotiation_for(AUTO, PROFILE, True).first() == PROBE


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        *(("auto", AUTO), ("legacy-first", LEGACY_FIRST), ("2025-03-26", R2), ("2026-07-28", R5)),
        *(("", None), ("AUTO", None), ("2027-01-01", None)),
    ],
)
def test_choice_is_parsed_from_its_name(text: str, choice: object) -> None:
    assert read_era_choice(text) == choice
