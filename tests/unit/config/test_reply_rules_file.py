"""The reply rules file, also when edited by hand, and the script files that rules refer to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.config.reply_rules import (
    MAX_RULES,
    Endpoint,
    ReplyRule,
    ReplyRulesFile,
    RuleKind,
    read_rule,
    read_script,
    write_rule,
)
from tests.helpers.platforms import is_owner_only


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.json"


def write(path: Path, *rules: Any, **more: Any) -> ReplyRulesFile:
    path.write_text(json.dumps({"rules": list(rules), **more}))
    return ReplyRulesFile(path)


def written(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def test_without_a_file_there_are_no_rules_and_none_is_created(path: Path) -> None:
    loaded = ReplyRulesFile(path).load()
    assert (loaded.rules, loaded.problems) == ((), ())
    assert not path.exists()


@pytest.mark.parametrize("on", [{}, {"on": False}, {"on": "yes"}, {"on": 1}, {"on": None}])
def test_rule_is_disabled_unless_it_says_enabled(path: Path, on: dict[str, Any]) -> None:
    (rule,) = write(path, {"kind": "echo", **on}).load().rules
    assert not rule.is_on
    (rule,) = write(path, {"kind": "echo", "on": True}).load().rules
    assert rule.is_on


def test_every_kind_of_rule_round_trips(path: Path) -> None:
    rules = [
        ReplyRule("1", "Yes", RuleKind.CANNED, "server:a", True, reply={"action": "accept", "content": {}}),
        ReplyRule("2", "Greeting", RuleKind.CANNED, reply="Hello"),
        ReplyRule("3", "Echo", RuleKind.ECHO),
        ReplyRule("4", "Script", RuleKind.SCRIPT, script="a.jsonl", loops=True),
        ReplyRule(
            "5",
            "Model",
            RuleKind.ENDPOINT,
            endpoint=Endpoint("http://x/v1", "m", "answers/endpoint/5", 5, {"seed": 7}),
        ),
    ]
    ReplyRulesFile(path).save(rules)
    loaded = ReplyRulesFile(path).load()
    assert list(loaded.rules) == rules
    assert loaded.problems == ()
    assert is_owner_only(path)


@given(
    name=st.text(max_size=9),
    filter=st.text(max_size=9),
    kind=st.sampled_from(RuleKind),
    is_on=st.booleans(),
    reply=st.text(max_size=5) | st.dictionaries(st.sampled_from(["action", "role"]), st.text(max_size=3)),
    script=st.text(max_size=5),
    timeout=st.floats(min_value=0.1, max_value=1e6),
)
def test_written_rule_is_read_back_unchanged(
    name: str, filter: str, kind: RuleKind, is_on: bool, reply: Any, script: str, timeout: float
) -> None:
    endpoint = Endpoint(url=script, timeout=timeout, per_minute=1 + len(name))
    rule = ReplyRule("7", name, kind, filter, is_on, reply, script, is_on, endpoint)
    assert read_rule(write_rule(rule), 1, {}) == rule
    assert read_rule(json.loads(json.dumps(write_rule(rule))), 1, {}) == rule


def test_unknown_members_are_preserved_everywhere(path: Path) -> None:
    file = write(
        path,
        {"kind": "endpoint", "name": "A", "color": "red", "endpoint": {"url": "http://x", "org": "us"}},
        version=2,
    )
    (rule,) = file.load().rules
    file.save([replace(rule, is_on=True)])
    assert written(path)["version"] == 2
    (entry,) = written(path)["rules"]
    assert (entry["color"], entry["on"]) == ("red", True)
    assert entry["endpoint"] == {"url": "http://x", "org": "us"}


def test_unusable_rule_is_reported_and_stays_in_the_file(path: Path) -> None:
    unknown = {"kind": "magic", "name": "From a newer version"}
    file = write(path, unknown, {"kind": "echo", "name": "Echo"}, 7)
    loaded = file.load()
    assert [rule.name for rule in loaded.rules] == ["Echo"]
    assert loaded.problems[0] == (
        "answers.json: rule 1: its “kind” must be one of canned, echo, script, endpoint. "
        "This rule is ignored."
    )
    assert "rule 3" in loaded.problems[1]
    file.save(loaded.rules)
    assert written(path)["rules"][1:] == [unknown, 7]
    assert file.load().rules == loaded.rules


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"kind": "echo", "filter": 3}, "“filter” must be a string"),
        ({"kind": "canned", "answer": 3}, "a reply must be a string or an object"),
        ({"kind": "canned", "answer": {"error": {"code": "x"}}}, "an “error” needs an integer “code”"),
        ({"kind": "endpoint", "endpoint": []}, "“endpoint” must be an object"),
        (
            {"kind": "endpoint", "endpoint": {"timeout": 0}},
            "“timeout” must be a number of seconds greater than 0",
        ),
        ({"kind": "endpoint", "endpoint": {"perMinute": 0}}, "“perMinute” must be an integer from 1 to"),
        ({"kind": "endpoint", "endpoint": {"perMinute": True}}, "“perMinute” must be an integer from 1"),
        ({"kind": "endpoint", "endpoint": {"extra": 1}}, "“extra” must be an object"),
        (
            {"kind": "endpoint", "endpoint": {"key": "oauth/x"}},
            "name of a secret that starts with answers/",
        ),
    ],
)
def test_errors_in_a_rule_are_described(path: Path, entry: dict[str, Any], expected: str) -> None:
    loaded = write(path, entry).load()
    assert loaded.rules == ()
    assert expected in loaded.problems[0]


@pytest.mark.parametrize("text", ["{", "[]", '{"rules": {}}', "\x00", '{"rules": [], "rules": []}'])
def test_foreign_file_is_reported_and_never_overwritten(path: Path, text: str) -> None:
    path.write_text(text)
    file = ReplyRulesFile(path)
    loaded = file.load()
    assert loaded.rules == ()
    assert "answers.json" in loaded.problems[0]
    with pytest.raises(ConfigError):
        file.save([ReplyRule("1")])
    assert path.read_text() == text


def test_rules_without_an_id_get_stable_and_unique_ids(path: Path) -> None:
    file = write(path, {"kind": "echo", "name": "A"}, {"kind": "echo", "name": "A"}, {"kind": "echo"})
    ids = [rule.id for rule in file.load().rules]
    assert len(set(ids)) == 3
    assert [rule.id for rule in file.load().rules] == ids


def test_numbers_in_a_reply_keep_their_spelling(path: Path) -> None:
    path.write_text('{"rules": [{"kind": "canned", "answer": {"action": "accept", "content": {"n": 1.10}}}]}')
    file = ReplyRulesFile(path)
    file.save(file.load().rules)
    assert '"n": 1.10' in path.read_text()


def test_rules_beyond_the_limit_are_reported_and_preserved(path: Path) -> None:
    file = write(path, *({"kind": "echo", "name": f"{n}"} for n in range(MAX_RULES + 2)))
    loaded = file.load()
    assert len(loaded.rules) == MAX_RULES
    assert "only the first 1,000 rules are used" in loaded.problems[0]
    file.save(loaded.rules)
    assert len(written(path)["rules"]) == MAX_RULES + 2


@pytest.mark.parametrize(
    "text",
    [
        '["one", {"action": "decline"}]',
        '\n [\n"one",\n{"action": "decline"}]\n',
        '"one"\n{"action": "decline"}\n',
        '\ufeff"one"\r\n\r\n  {"action": "decline"}',
    ],
)
def test_script_is_an_array_or_has_one_reply_per_line(tmp_path: Path, text: str) -> None:
    script = tmp_path / "s.jsonl"
    script.write_bytes(text.encode())
    assert read_script(script) == ["one", {"action": "decline"}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"one"\nHello there\n', "Line 2 of"),
        ('["one"', "is not valid JSON"),
        ('["one", 2]', "Reply 2 in"),
        ('"one"\n{"error": "no"}', "Reply 2 in"),
    ],
)
def test_script_errors_name_the_position(tmp_path: Path, text: str, expected: str) -> None:
    script = tmp_path / "s.jsonl"
    script.write_text(text)
    with pytest.raises(ConfigError, match=expected):
        read_script(script)


def test_script_that_is_not_a_regular_file_is_rejected(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.json", tmp_path):
        with pytest.raises(ConfigError, match="Could not read the script"):
            read_script(path)
