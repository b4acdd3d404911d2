"""Claude Code's permission rules: where they are read, and what they say about a tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON
from inspector.config.foreign import discovery
from inspector.config.foreign.discovery import DiscoveredServers, Source, find_servers, locations_for
from inspector.config.foreign.permissions import (
    MAX_RULES,
    PermissionRule,
    permission_for,
    rules_in,
)

_USER = Source("Claude Code", "user", Path("/home/me/.claude/settings.json"))


def _rules(**lists: list[str]) -> tuple[PermissionRule, ...]:
    return rules_in({"permissions": dict(lists)}, _USER)[0]  # type: ignore[arg-type]


def _action(rules: tuple[PermissionRule, ...], tool: str = "get_issue", server: str = "github") -> str | None:
    found = permission_for(rules, server, tool)
    return found.action if found is not None else None


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("mcp__github", True),
        ("mcp__github__*", True),
        ("mcp__github__get_issue", True),
        ("mcp__github__get_*", True),
        ("mcp__github__*_issue", True),
        ("mcp__github__get*issue*", True),
        ("mcp__github__list_*", False),
        ("mcp__github__get_issue_2", False),
        ("mcp__git", False),
        ("mcp__github__get", False),
        ("mcp__github_2__*", False),
        ("Bash(npm *)", False),
        ("B*", False),
    ],
)
@pytest.mark.parametrize("action", ["allow", "ask", "deny"])
def test_rule_names_a_server_a_tool_or_tools_with_a_wildcard(
    action: str, pattern: str, matches: bool
) -> None:
    assert _action(_rules(**{action: [pattern]})) == (action if matches else None)


@pytest.mark.parametrize("pattern", ["*", "mcp__*", "mcp__git*", "*__get_issue", "mcp__*__get_issue"])
def test_only_deny_and_ask_rules_accept_a_wildcard_for_the_server(pattern: str) -> None:
    assert _action(_rules(deny=[pattern])) == "deny"
    assert _action(_rules(ask=[pattern])) == "ask"
    skipped = permission_for(_rules(allow=[pattern]), "github", "get_issue")
    assert skipped is not None
    assert (skipped.action, skipped.label) == (None, "Claude Code: rule skipped")
    assert "Claude Code skips an allow rule with a wildcard" in skipped.details[1]


def test_deny_wins_over_ask_and_ask_over_allow_however_specific() -> None:
    rules = _rules(allow=["mcp__github__get_issue"], ask=["mcp__github"])
    assert _action(rules) == "ask"
    rules = _rules(allow=["mcp__github__get_issue"], ask=["mcp__github__get_issue"], deny=["mcp__*"])
    found = permission_for(rules, "github", "get_issue")
    assert found is not None
    assert [rule.action for rule in found.rules] == ["deny", "ask", "allow"]
    assert found.label == "Claude Code: denies"
    assert found.details[1] == f"Rule: deny “mcp__*” in user settings, {_USER.path}"


def test_server_and_tool_names_are_sanitized_as_claude_code_does() -> None:
    assert _action(_rules(allow=["mcp__my_server_v1_0__read_file"]), "read/file", "my server v1.0") == "allow"
    assert _action(_rules(allow=["mcp__my server v1.0"]), "read/file", "my server v1.0") is None


def test_allow_rule_reaches_only_the_server_that_it_names() -> None:
    for pattern in ("mcp__a", "mcp__a__*"):
        assert _action(_rules(allow=[pattern]), "tool", "a__b") is None
        assert _action(_rules(allow=[pattern]), "tool", "a") == "allow"
    assert _action(_rules(deny=["mcp__a__b"]), "tool", "a__b") == "deny"


def test_rule_with_parentheses_is_not_applied() -> None:
    found = permission_for(_rules(deny=["mcp__github__get_issue(id:1)"]), "github", "get_issue")
    assert found is not None
    assert found.action is None
    assert "parentheses" in found.details[1]


def test_list_of_objects_is_read_and_comes_after_the_lists_of_claude_code() -> None:
    listed = [
        {"tool": "mcp__github__*", "action": "deny"},
        {"tool": "mcp__files__read", "action": "ask"},
        {"tool": "mcp__files__read", "action": "perhaps"},
        "mcp__files",
    ]
    rules, notes = rules_in({"permissions": listed}, _USER)  # type: ignore[dict-item]
    found = permission_for(rules, "github", "get_issue")
    assert found is not None
    assert (found.action, found.label) == ("deny", "Permission rule: denies")
    assert "current Claude Code rejects rules in a list" in found.details[0]
    assert notes == ("2 permission rules could not be read: each must be text of at most 1,000 characters.",)
    both = permission_for((*rules, *_rules(allow=["mcp__github"])), "github", "get_issue")
    assert both is not None
    assert both.label == "Claude Code: allows"


@pytest.mark.parametrize(
    ("permissions", "note"),
    [
        ("all", "“permissions” must be an object."),
        ({"allow": "mcp__a"}, "“permissions.allow” must be a list."),
        ({"deny": [7, None, "x" * 2000]}, "3 permission rules could not be read"),
        ({"ask": ["mcp__a"] * (MAX_RULES + 1)}, "Only the first 1,000 permission rules of 1,001"),
    ],
)
def test_unusable_rules_are_reported_and_limited(permissions: JSON, note: str) -> None:
    rules, notes = rules_in({"permissions": permissions}, _USER)
    assert len(notes) == 1
    assert notes[0].startswith(note)
    assert len(rules) <= MAX_RULES


@given(st.text("ab*", min_size=1, max_size=8), st.text("ab", max_size=8))
def test_wildcard_is_any_text(pattern: str, tool: str) -> None:
    def fits(pattern: str, text: str) -> bool:
        if not pattern:
            return not text
        if pattern[0] == "*":
            return fits(pattern[1:], text) or (bool(text) and fits(pattern, text[1:]))
        return bool(text) and text[0] == pattern[0] and fits(pattern[1:], text[1:])

    assert (_action(_rules(ask=[f"mcp__s__{pattern}"]), tool, "s") == "ask") == fits(pattern, tool)


def test_very_long_names_have_no_permission() -> None:
    assert permission_for(_rules(deny=["*"]), "s", "x" * 100_000) is None


def _write(path: Path, value: JSON) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _found(home: Path, folder: Path, platform: str = "linux") -> DiscoveredServers:
    return find_servers(locations_for(platform, home, {}, folder))


@pytest.fixture
def managed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of managed settings."""
    system = tmp_path / "etc"
    monkeypatch.setattr(discovery._Machine, "shared", lambda self, mac, windows, linux: system / linux)
    return system / "claude-code"


def test_rules_of_all_settings_of_a_session_in_the_folder_are_read(tmp_path: Path, managed: Path) -> None:
    root = tmp_path / "home" / "repo"
    folder = root / "sub"
    (root / ".git").mkdir(parents=True)
    _write(managed / "managed-settings.json", {"permissions": {"ask": ["mcp__s__managed"]}})
    _write(managed / "managed-settings.d" / "10-team.json", {"permissions": {"ask": ["mcp__s__team"]}})
    _write(managed / "managed-settings.d" / ".hidden.json", {"permissions": {"ask": ["mcp__s__hidden"]}})
    _write(folder / ".claude" / "settings.local.json", {"permissions": {"ask": ["mcp__s__local"]}})
    _write(folder / ".claude" / "settings.json", {"permissions": {"ask": ["mcp__s__project"]}})
    _write(root / ".claude" / "settings.local.json", {"permissions": {"ask": ["mcp__s__root"]}})
    _write(root / ".claude" / "settings.json", {"permissions": {"ask": ["mcp__s__not_read"]}})
    _write(tmp_path / "home" / ".claude" / "settings.json", {"permissions": {"ask": ["mcp__s__user"]}})
    found = _found(tmp_path / "home", folder)
    assert [(rule.scope, rule.pattern.removeprefix("mcp__s__")) for rule in found.rules] == [
        ("managed", "managed"),
        ("managed", "team"),
        ("local", "local"),
        ("project", "project"),
        ("local", "root"),
        ("user", "user"),
    ]
    assert found.files == ()


def test_managed_settings_can_turn_off_all_other_rules(tmp_path: Path, managed: Path) -> None:
    settings: JSON = {"allowManagedPermissionRulesOnly": True, "permissions": {"ask": ["mcp__s__a"]}}
    _write(managed / "managed-settings.json", settings)
    folder = tmp_path / "repo"
    _write(folder / ".claude" / "settings.json", {"permissions": {"deny": ["mcp__s"]}})
    rules = _found(tmp_path, folder).rules
    assert _action(rules, "a", "s") == "ask"
    ignored = permission_for(rules, "s", "b")
    assert ignored is not None
    assert ignored.action is None
    assert "managed-settings.json allows only managed rules" in ignored.details[1]


def test_project_settings_cannot_turn_off_the_rules_of_others(tmp_path: Path, managed: Path) -> None:
    folder = tmp_path / "repo"
    settings: JSON = {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["mcp__s"]}}
    _write(folder / ".claude" / "settings.json", settings)
    _write(tmp_path / ".claude" / "settings.json", {"permissions": {"deny": ["mcp__s"]}})
    assert _action(_found(tmp_path, folder).rules, "a", "s") == "deny"


def test_unreadable_settings_are_reported_and_the_others_apply(tmp_path: Path, managed: Path) -> None:
    folder = tmp_path / "repo"
    _write(tmp_path / ".claude" / "settings.json", {"permissions": {"deny": ["mcp__s"]}})
    _write(folder / ".claude" / "settings.json", {"permissions": 3})
    (folder / ".claude" / "settings.local.json").write_text('{"permissions": {"allow": ["mcp__s"]')
    found = _found(tmp_path, folder)
    assert _action(found.rules, "a", "s") == "deny"
    assert [(file.source.path and file.source.path.name) for file in found.files] == [
        "settings.local.json",
        "settings.json",
    ]
    assert "not valid JSON" in found.files[0].problem
    assert found.files[1].notes == ("“permissions” must be an object.",)
