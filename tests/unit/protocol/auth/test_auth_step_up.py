"""Reactions to 401 and 403, and their limits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.challenge import Challenge
from inspector.protocol.auth.step_up import Attempt, Move, Refusal, RefusalDecision, StepUps, check_refusal
from inspector.protocol.auth.tokens import TokenSet
from inspector.protocol.revisions import R5

TOKENS = TokenSet(
    "t", "Bearer", "https://as.example", "me", "https://mcp/", ("basic",), ("basic",), 0.0, None, "r"
)
USED = Attempt("tools/call delete", TOKENS, is_first_use=False)
FRESH = replace(USED, is_first_use=True)
PLACE = "https://mcp/.well-known/oauth-protected-resource"


def refused(status: int, **parameters: str) -> Refusal:
    return Refusal(status, Challenge("Bearer", parameters))


def wants(scope: str, **more: str) -> Refusal:
    return refused(403, error="insufficient_scope", scope=scope, **more)


WANTS_WRITE = wants("write", resource_metadata=PLACE)


def ids(decision: RefusalDecision) -> list[str]:
    return [one.id for one in decision.findings]


def test_401_leads_to_a_refresh_or_a_login() -> None:
    refusal = refused(401, error="invalid_token")
    assert check_refusal(refusal, USED, StepUps(), R5).move is Move.REFRESH
    without = replace(USED, tokens=replace(TOKENS, refresh_token=""))
    assert check_refusal(refusal, without, StepUps(), R5).move is Move.LOG_IN


def test_a_second_401_is_final() -> None:
    decision = check_refusal(Refusal(401), replace(USED, renewals=1), StepUps(), R5)
    assert decision.move is Move.STOP


@pytest.mark.parametrize("renewals", [0, 1])
def test_rs_001_rejected_fresh_token(renewals: int) -> None:
    refusal = refused(401, error="invalid_token", error_description="wrong audience")
    decision = check_refusal(refusal, replace(FRESH, renewals=renewals), StepUps(), R5)
    assert (decision.move, ids(decision)) == (Move.STOP, ["RS-001"])
    assert "audience" in decision.findings[0].evidence


def test_403_with_a_scope_requests_more_without_losing_any() -> None:
    decision = check_refusal(WANTS_WRITE, USED, StepUps(), R5)
    assert decision.move is Move.STEP_UP
    assert decision.scopes is not None
    assert decision.scopes.text == "basic write"
    assert decision.findings == ()


def test_rs_004_403_without_a_reason_is_not_a_step_up() -> None:
    for refusal in (Refusal(403), refused(403), refused(403, error="forbidden", scope="x")):
        decision = check_refusal(refusal, USED, StepUps(), R5)
        assert (decision.move, ids(decision)) == (Move.STOP, ["RS-004"])


def test_rs_005_insufficient_challenge() -> None:
    without_scope = check_refusal(wants(" ", resource_metadata=PLACE), USED, StepUps(), R5)
    assert (without_scope.move, ids(without_scope)) == (Move.STOP, ["RS-005"])
    without_place = check_refusal(wants("write"), USED, StepUps(), R5)
    assert (without_place.move, ids(without_place)) == (Move.STEP_UP, ["RS-005"])
    assert "resource_metadata" in without_place.findings[0].seen


def test_rs_006_scopes_requested_one_by_one() -> None:
    history = StepUps()
    history.record(USED.operation, ("write",))
    both = replace(TOKENS, scopes=("basic", "write"))
    decision = check_refusal(wants("admin", resource_metadata=PLACE), replace(USED, tokens=both), history, R5)
    assert (decision.move, ids(decision)) == (Move.STEP_UP, ["RS-006"])


def test_rs_007_granted_scope_is_requested_again() -> None:
    history = StepUps()
    history.record(USED.operation, ("write",))
    both = replace(TOKENS, scopes=("basic", "write"))
    decision = check_refusal(WANTS_WRITE, replace(USED, tokens=both), history, R5)
    assert (decision.move, ids(decision)) == (Move.STOP, ["RS-007"])


def test_rs_008_swapped_statuses() -> None:
    scope = check_refusal(refused(401, error="insufficient_scope", scope="write"), USED, StepUps(), R5)
    assert (scope.move, ids(scope)) == (Move.LOG_IN, ["RS-008"])
    token = check_refusal(refused(403, error="invalid_token"), USED, StepUps(), R5)
    assert (token.move, ids(token)) == (Move.STOP, ["RS-008"])


def test_other_statuses_do_not_concern_the_login() -> None:
    assert check_refusal(Refusal(500), USED, StepUps(), R5).move is Move.STOP


def test_request_allows_one_step_up_and_an_operation_two_in_total() -> None:
    history = StepUps()
    assert check_refusal(WANTS_WRITE, replace(USED, step_ups=1), history, R5).move is Move.STOP
    for _ in range(2):
        assert check_refusal(WANTS_WRITE, USED, history, R5).move is Move.STEP_UP
        history.record(USED.operation, ("write",))
    assert check_refusal(WANTS_WRITE, USED, history, R5).move is Move.STOP
    other = replace(USED, operation="tools/call read")
    assert check_refusal(WANTS_WRITE, other, history, R5).move is Move.STEP_UP


def test_scope_order_does_not_reset_the_count() -> None:
    history = StepUps()
    history.record("x", ("a", "b"))
    assert history.remaining("x", ("b", "a")) == 1


_errors = st.sampled_from(["", "insufficient_scope", "invalid_token", "x"])


@given(
    st.lists(st.tuples(st.sampled_from([401, 403]), _errors, st.sampled_from(["", "a", "a b"])), min_size=40)
)
def test_endless_step_ups_are_stopped(
    responses: list[tuple[int, str, str]],
) -> None:
    history, step_ups = StepUps(), 0
    for status, error, scope in responses:
        decision = check_refusal(refused(status, error=error, scope=scope), USED, history, R5)
        assert decision.reason
        if decision.move is Move.STEP_UP:
            history.record(USED.operation, tuple(scope.split()))
            step_ups += 1
    assert step_ups <= 4  # two different sets of scopes, twice each
