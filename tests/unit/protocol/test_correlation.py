"""Correlation of responses with requests."""

from __future__ import annotations

from inspector.protocol.jsonrpc import Correlator, Match


def test_response_matches_its_pending_request_once() -> None:
    open: Correlator[str] = Correlator()
    assert open.open(1, "first")
    assert open.resolve(1) == (Match.OPEN, "first")
    assert open.resolve(1) == (Match.REPEATED, "first")
    assert len(open) == 0


def test_number_id_differs_from_the_equal_looking_string_id() -> None:
    open: Correlator[str] = Correlator()
    open.open(1, "number")
    open.open("1", "text")
    assert open.resolve("1") == (Match.OPEN, "text")
    assert open.find(1) == "number"
    assert open.find("1") is None


def test_response_to_a_cancelled_request_is_late_however_often_it_arrives() -> None:
    open: Correlator[str] = Correlator()
    open.open(1, "first")
    assert open.abandon(1) == "first"
    assert open.abandon(1) is None
    assert open.resolve(1) == (Match.LATE, "first")
    assert open.resolve(1) == (Match.LATE, "first")


def test_unsolicited_response_is_unknown() -> None:
    assert Correlator[str]().resolve(9) == (Match.UNKNOWN, None)


def test_id_that_is_still_pending_is_not_new() -> None:
    open: Correlator[str] = Correlator()
    assert open.open(1, "first")
    assert not open.open(1, "second")
    assert open.resolve(1) == (Match.OPEN, "second")


def test_id_may_be_reused_after_its_response() -> None:
    open: Correlator[str] = Correlator()
    open.open(1, "first")
    open.resolve(1)
    assert open.open(1, "second")
    assert open.resolve(1) == (Match.OPEN, "second")


def test_falsy_items_are_found_too() -> None:
    """Rows of the log are numbers, and the first one is 0."""
    open: Correlator[int] = Correlator()
    open.open(1, 0)
    assert open.resolve(1) == (Match.OPEN, 0)
    open.open(2, 0)
    assert open.abandon(2) == 0


def test_drain_returns_the_pending_items_and_leaves_nothing() -> None:
    open: Correlator[str] = Correlator()
    open.open(1, "first")
    open.open("a", "second")
    open.resolve(1)
    assert open.drain() == ["second"]
    assert open.drain() == []


def test_only_the_latest_finished_requests_are_remembered() -> None:
    open: Correlator[int] = Correlator()
    for id in range(1001):
        open.open(id, id)
        open.resolve(id)
    assert open.resolve(0) == (Match.UNKNOWN, None)
    assert open.resolve(1000) == (Match.REPEATED, 1000)
