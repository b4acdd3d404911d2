"""Capabilities that methods need, and the order of protocol versions."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.protocol.revisions import (
    HANDSHAKE_REVISIONS,
    METHODS,
    NEWEST_HANDSHAKE,
    R1,
    R2,
    R4,
    R5,
    REVISIONS,
    Era,
    Side,
    find_revision,
    is_between,
    missing_capability,
)


@pytest.mark.parametrize(
    ("method", "offered", "missing"),
    [
        ("tools/list", {"tools": {}}, ""),
        ("tools/list", {"tools": {"listChanged": False}}, ""),
        ("tools/list", {}, "tools"),
        ("tools/list", {"tools": None}, "tools"),
        ("tools/list", {"tools": False}, "tools"),
        ("tools/call", {"prompts": {}}, "tools"),
        ("resources/subscribe", {"resources": {}}, "resources.subscribe"),
        ("resources/subscribe", {"resources": {"subscribe": False}}, "resources.subscribe"),
        ("resources/subscribe", {"resources": {"subscribe": True}}, ""),
        ("resources/subscribe", {"resources": True}, "resources.subscribe"),
        ("ping", {}, ""),
        ("vendor/anything", {}, ""),
    ],
)
def test_call_needs_the_capability_declared_by_the_other_side(
    method: str, offered: JSONObject, missing: str
) -> None:
    assert missing_capability(method, offered, R4) == missing


def test_completion_needs_no_capability_in_versions_without_one() -> None:
    assert missing_capability("completion/complete", {}, R1) == ""
    assert missing_capability("completion/complete", {}, R2) == "completions"


def test_every_method_is_added_before_it_is_removed() -> None:
    for method in METHODS.values():
        assert is_between(method.since, R1, method.until), method.name


def test_stateless_mode_has_no_server_to_client_requests() -> None:
    requests = [
        m for m in METHODS.values() if not m.name.startswith("notifications/") and Side.SERVER in m.sender
    ]
    # The client requests the server's tasks there; the table has these methods for both sides.
    assert {m.name for m in requests if m.until == R5} == {"tasks/get", "tasks/cancel"}


@pytest.mark.parametrize("date", ["zzz", "2027-01-01", "", None, 20251125, ["2025-11-25"], {}])
def test_unknown_version_is_unknown_and_never_newer(date: JSON) -> None:
    assert find_revision(date) is None


def test_every_known_version_is_found_by_its_date() -> None:
    assert [find_revision(str(revision)) for revision in REVISIONS] == list(REVISIONS)


def test_newest_session_version_is_not_the_newest_version() -> None:
    assert NEWEST_HANDSHAKE is R4
    assert R5 not in HANDSHAKE_REVISIONS
    assert [revision.era for revision in REVISIONS].count(Era.STATELESS) == 1
