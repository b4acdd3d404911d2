"""Saved filters and color rules in the preferences file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.config.preferences.traffic import (
    DEFAULT_RULES,
    TINTS,
    ColorRule,
    TrafficPrefs,
    TrafficPrefsFile,
)
from inspector.traffic.filter.parser import parse

RULES = st.builds(ColorRule, st.text(max_size=20), st.sampled_from(TINTS), st.booleans())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "preferences.json"


def test_without_a_file_the_built_in_rules_are_used(path: Path) -> None:
    prefs, problems = TrafficPrefsFile(path).load()
    assert (prefs.filters, prefs.rules, problems) == ({}, DEFAULT_RULES, [])
    assert not path.exists()


def test_built_in_rules_are_valid_filters() -> None:
    assert all(parse(rule.filter) is not None for rule in DEFAULT_RULES)


@given(filters=st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=4), rules=st.lists(RULES))
def test_saved_preferences_round_trip(
    filters: dict[str, str], rules: list[ColorRule], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = TrafficPrefsFile(tmp_path_factory.mktemp("prefs") / "preferences.json")
    file.save(TrafficPrefs(filters, tuple(rules)))
    prefs, problems = file.load()
    assert (dict(prefs.filters), list(prefs.rules), problems) == (filters, rules, [])


def test_color_rules_under_their_earlier_name_are_read_and_rewritten(path: Path) -> None:
    rule = {"filter": "status:error", "tint": "error", "name": "mine"}
    path.write_text(json.dumps({"colourRules": [rule]}))
    file = TrafficPrefsFile(path)
    prefs, problems = file.load()
    assert ([each.filter for each in prefs.rules], problems) == (["status:error"], [])
    file.save(prefs)
    assert json.loads(path.read_text()) == {"filters": {}, "colorRules": [{**rule, "on": True}]}


def test_unknown_members_are_preserved(path: Path) -> None:
    rule = {"filter": "status:error", "tint": "error", "name": "mine"}
    path.write_text(json.dumps({"captures": {"keepDays": 3}, "colorRules": [rule], "later": 1}))
    file = TrafficPrefsFile(path)
    prefs, _ = file.load()
    file.save(TrafficPrefs({"slow": "dur>1s"}, prefs.rules))
    written = json.loads(path.read_text())
    assert written["captures"] == {"keepDays": 3}
    assert written["later"] == 1
    assert written["colorRules"] == [{**rule, "on": True}]
    assert written["filters"] == {"slow": "dur>1s"}


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"filters": 7}, "“filters” must be"),
        ({"filters": {"a": 1}}, "the filter 'a'"),
        ({"colorRules": {}}, "“colorRules” must be"),
        ({"colorRules": [{"filter": "x", "tint": "mauve"}]}, "color rule 1"),
        ({"colorRules": [3]}, "color rule 1"),
    ],
)
def test_unusable_entry_is_skipped_and_reported(path: Path, document: object, text: str) -> None:
    path.write_text(json.dumps(document))
    _, problems = TrafficPrefsFile(path).load()
    assert len(problems) == 1
    assert text in problems[0]


def test_non_json_file_is_reported_and_never_overwritten(path: Path) -> None:
    path.write_text("{")
    file = TrafficPrefsFile(path)
    _, problems = file.load()
    assert "preferences.json" in problems[0]
    with pytest.raises(ConfigError):
        file.save(TrafficPrefs())
    assert path.read_text() == "{"
