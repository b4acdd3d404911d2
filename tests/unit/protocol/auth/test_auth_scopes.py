"""Scopes: choice in the order of the specification, union and comparison."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.protocol.auth.scopes import (
    OFFLINE,
    ScopeSource,
    choose_scopes,
    compare_scopes,
    split_scope,
    step_up_scopes,
    union,
)


def test_challenge_scopes_come_before_the_resource_metadata() -> None:
    choice = choose_scopes(challenge="mcp:basic", resource=["mcp:read", "mcp:write"])
    assert (choice.text, choice.source) == ("mcp:basic", ScopeSource.CHALLENGE)


def test_without_a_challenge_all_scopes_of_the_resource_are_asked_for() -> None:
    choice = choose_scopes(resource=["mcp:basic", "mcp:read", "mcp:write"])
    assert (choice.text, choice.source) == ("mcp:basic mcp:read mcp:write", ScopeSource.RESOURCE)


@pytest.mark.parametrize("blank", [None, "", "  ", "\t"])
def test_a_blank_scope_counts_as_none(blank: str | None) -> None:
    assert choose_scopes(challenge=blank, resource=["a"]).text == "a"
    assert choose_scopes(challenge=blank).text is None


def test_authorization_server_scopes_are_never_requested_on_their_own() -> None:
    choice = choose_scopes(server=["admin", "everything"])
    assert choice.text is None
    assert choice.source is ScopeSource.NONE


def test_offline_access_is_added_when_the_authorization_server_lists_it() -> None:
    choice = choose_scopes(challenge="mcp:basic", server=["mcp:basic", OFFLINE])
    assert choice.text == "mcp:basic offline_access"
    assert choice.wants_consent
    assert "added" in choice.reason


def test_offline_access_is_not_added_when_no_refresh_is_wanted() -> None:
    assert choose_scopes(challenge="a", server=[OFFLINE], wants_refresh=False).text == "a"


@pytest.mark.parametrize("server", [None, [], ["mcp:basic"]])
def test_offline_access_from_any_source_is_dropped_when_the_server_does_not_list_it(
    server: list[str] | None,
) -> None:
    choice = choose_scopes(challenge="a offline_access", server=server)
    assert choice.text == "a"
    assert choice.left_out == (OFFLINE,)
    assert "omitted" in choice.reason
    assert not choice.wants_consent
    assert choose_scopes(resource=["a", OFFLINE], server=server).text == "a"


def test_user_supplied_scope_is_sent_verbatim() -> None:
    assert choose_scopes(challenge="a", typed="x offline_access").text == "x offline_access"
    assert choose_scopes(challenge="a", typed="").text is None


def test_order_is_kept_and_duplicates_are_removed() -> None:
    assert choose_scopes(challenge=" b a  b c a ").scopes == ("b", "a", "c")


def test_invalid_scope_is_skipped_and_named() -> None:
    choice = choose_scopes(resource=["good", 'qu"ote', "back\\slash", "\x00", "é"])
    assert choice.scopes == ("good",)
    assert choice.left_out == ('qu"ote', "back\\slash", "\x00", "é")
    assert "back" in choice.reason


def test_list_of_thousands_is_truncated() -> None:
    assert len(choose_scopes(resource=[f"s{n}" for n in range(10_000)]).scopes) == 500


def test_step_up_requests_the_previous_and_the_missing_scopes() -> None:
    choice = step_up_scopes(["mcp:basic"], ["mcp:basic", "mcp:read"], "mcp:write")
    assert choice.text == "mcp:basic mcp:read mcp:write"
    assert choice.source is ScopeSource.STEP_UP
    assert "mcp:write" in choice.reason


def test_step_up_keeps_offline_access_but_does_not_add_it_from_a_challenge() -> None:
    assert step_up_scopes(["a", OFFLINE], [], "b").text == "a offline_access b"
    assert step_up_scopes(["a"], [], "b offline_access").text == "a b"


def test_a_difference_names_what_is_missing_and_what_is_extra() -> None:
    difference = compare_scopes(["a", "b"], ["b", "c"])
    assert (difference.missing, difference.extra) == (("a",), ("c",))
    assert not compare_scopes(["a", "b"], ["b", "a"])


_scopes = st.lists(st.text("abc:", min_size=1, max_size=4), max_size=8)


@given(_scopes, _scopes)
def test_union_contains_each_scope_once(one: list[str], other: list[str]) -> None:
    joined = union(one, other)
    assert set(joined) == {*one, *other}
    assert len(joined) == len(set(joined))
    assert not compare_scopes(union(one), joined).missing


@given(st.text())
def test_any_text_can_be_split(text: str) -> None:
    assert all(scope and not scope.isspace() for scope in split_scope(text))
