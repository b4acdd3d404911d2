"""Saved filters and color rules as they are stored."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.config.preferences.settings import setting_of
from inspector.config.preferences.traffic import (
    COLOR_RULES,
    DEFAULT_RULES,
    FILTERS,
    TINTS,
    ColorRule,
    read_filters,
    read_rules,
    written_rules,
)
from inspector.traffic.filter.parser import parse

RULES = st.builds(ColorRule, st.text(max_size=20), st.sampled_from(TINTS), st.booleans())


def test_without_a_choice_there_are_no_filters_and_the_built_in_rules() -> None:
    assert read_filters(setting_of(FILTERS).default) == ({}, [])
    assert read_rules(setting_of(COLOR_RULES).default) == (DEFAULT_RULES, [])


def test_built_in_rules_are_valid_filters() -> None:
    assert all(parse(rule.filter) is not None for rule in DEFAULT_RULES)


@given(rules=st.lists(RULES))
def test_saved_rules_round_trip(rules: list[ColorRule]) -> None:
    read, problems = read_rules(written_rules(rules, None))
    assert (list(read), problems) == (rules, [])


def test_unknown_members_of_a_rule_are_preserved() -> None:
    rule: dict[str, JSON] = {"filter": "status:error", "tint": "error", "name": "mine"}
    rules, _ = read_rules([rule])
    assert written_rules(rules, [rule]) == [{**rule, "on": True}]


def test_unusable_filter_is_skipped_and_reported() -> None:
    filters, (problem,) = read_filters({"a": 1, "b": "dur>1s"})
    assert filters == {"b": "dur>1s"}
    assert "The saved filter 'a'" in problem


@pytest.mark.parametrize("entry", [{"filter": "x", "tint": "mauve"}, 3])
def test_unusable_rule_is_skipped_and_reported(entry: JSON) -> None:
    rules, (problem,) = read_rules([{"filter": "y", "tint": "warn"}, entry])
    assert rules == (ColorRule("y", "warn"),)
    assert "Color rule 2" in problem
