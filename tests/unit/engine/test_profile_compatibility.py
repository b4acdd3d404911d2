"""A profile works whose files version 0.1.0 wrote: servers, secrets, capture, calls, rules, settings."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from inspector.config.calls.history import CallHistory
from inspector.config.calls.saved_calls import SavedCallFolder
from inspector.config.json_file import JsonDocument
from inspector.config.paths import Files
from inspector.config.preferences.settings import EDITED_ELSEWHERE, SETTINGS, setting_of
from inspector.config.preferences.traffic import COLOR_RULES, FILTERS, read_filters, read_rules
from inspector.config.reply_rules import ReplyRulesFile, RuleKind
from inspector.config.secrets.store import SecretStore
from inspector.config.servers.entries import HttpEntry, SecretRef, StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.engine.settings import SettingsStore
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog

IDS = [setting.id for setting in (*SETTINGS, *EDITED_ELSEWHERE) if setting.is_stored]
DATA = Path(__file__).resolve().parents[2] / "data"


def copy_of(profile: str, tmp_path: Path) -> Path:
    """Return a copy of the profile that may be written to."""
    folder = tmp_path / "profile"
    shutil.copytree(DATA / profile, folder)
    for path in folder.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return copy_of("profile-0.1.0", tmp_path)


def matching_rows(log: TrafficLog, text: str) -> list[int]:
    matcher = compile(parse(text), log, now_ns=0)
    return [row for row in range(len(log)) if matcher.matches(row)]


def test_servers_are_read_and_written_with_current_names(profile: Path) -> None:
    file = ServerListFile(profile / "servers.json")
    loaded = file.load()
    assert loaded.problems == ()
    files, remote = loaded.entries
    assert isinstance(files, StdioEntry)
    assert (files.command, files.color, files.watch, files.era) == (
        "python3",
        "teal",
        ("*.py",),
        "legacy-first",
    )
    assert isinstance(remote, HttpEntry)
    assert remote.headers["Authorization"] == SecretRef("header/remote/Authorization")
    file.save(files)
    written = json.loads(file.path.read_text())["mcpServers"]["files"]
    assert (written["color"], "colour" in written) == ("teal", False)


def test_secrets_are_decrypted_with_the_passphrase(profile: Path) -> None:
    store = SecretStore(profile / "secrets")
    store.unlock("correct horse battery")
    assert store.get("header/remote/Authorization") == "Bearer from-0.1.0"


def load_settings(path: Path) -> SettingsStore:
    settings, problems = SettingsStore(Files(preferences=path)), list[str]()
    settings.problem_found.connect(problems.append)
    settings.load()
    assert problems == []
    return settings


def test_settings_are_read(profile: Path) -> None:
    settings = load_settings(profile / "preferences.json")
    connection = settings.connection()
    assert (connection.total_timeout, connection.max_pages) == (600, 50)
    assert settings.get("captures.keepDays") == 7
    assert settings.get("inbox.timeout") == 30


async def test_changing_a_setting_keeps_the_others_and_uses_current_names(profile: Path) -> None:
    path = profile / "preferences.json"
    settings = load_settings(path)
    before = JsonDocument(path).read()
    await settings.set("inbox.timeout", 60)
    await settings.set("captures.keepDays", 8)
    assert JsonDocument(path).read() == {
        **before,
        "captures": {"record": True, "keepDays": 8, "keepMebibytes": 2048},
        "inbox": {"timeout": 60},
    }


def test_settings_written_by_one_reader_per_section_are_read(tmp_path: Path) -> None:
    settings = load_settings(copy_of("profile-before-ids", tmp_path) / "preferences.json")
    changed = {id: settings.get(id) for id in IDS if settings.get(id) != setting_of(id).default}
    assert changed == {
        "connections.requestTimeout": 90,
        "connections.lineCapMebibytes": 32,
        "connections.serverPath": "as-started",
        "lists.askForLists": False,
        "captures.keepDays": 14,
        "captures.keepMebibytes": 512,
        "calls.folders": ["/srv/calls"],
        "calls.environment": ["HOME", "API_URL"],
        "inbox.timeout": 45,
        "filters": {"slow": "dur>5s"},
        "colorRules": [
            {"filter": "dur>1s", "tint": "wait", "on": True},
            {"filter": "status:error", "tint": "error", "on": False},
        ],
        "logins": {"remote": {"scope": "read", "is_strict": True}},
    }


def test_saved_filters_and_color_rules_match_the_old_capture(profile: Path) -> None:
    settings = load_settings(profile / "preferences.json")
    filters, _ = read_filters(settings.get(FILTERS))
    rules, _ = read_rules(settings.get(COLOR_RULES))
    capture = open_capture(profile / "calls.mcpcap")
    try:
        assert capture.problems == ()
        assert [capture.log.subject(row) for row in range(4)] == ["echo", "echo", "steps", "late"]
        assert matching_rows(capture.log, filters["lost"]) == [1, 2]
        assert matching_rows(capture.log, filters["open"]) == [3]
        assert matching_rows(capture.log, rules[0].filter) == [2]
    finally:
        capture.close()


def test_saved_calls_reply_rules_and_history_are_read(profile: Path) -> None:
    loaded = SavedCallFolder(profile / "calls").load()
    (call,) = loaded.calls
    assert (call.name, call.tool, call.arguments, call.is_regression) == ("Add", "add", {"a": 1}, True)
    (rule,) = ReplyRulesFile(profile / "answers.json").load().rules
    assert (rule.kind, rule.is_on, rule.reply) == (RuleKind.CANNED, True, {"action": "accept", "content": {}})
    history = CallHistory(profile / "history")
    (recorded,) = history.of("old server", "echo").calls
    assert recorded.arguments() == {"text": "from the old version"}
    history.close()
