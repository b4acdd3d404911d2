"""The table of settings, and the settings in the preferences file."""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON
from inspector.config.paths import Files
from inspector.config.preferences.settings import (
    IDS,
    SETTINGS,
    Kind,
    Setting,
    Settings,
    SettingsFile,
    checked_value,
    expected_text,
    setting_of,
    value_of,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "preferences.json"


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.id)
def test_every_setting_has_a_description_and_a_valid_default(setting: Setting) -> None:
    assert setting.title
    assert setting.description.endswith(".")
    assert setting_of(setting.id) is setting
    if setting.has_value:
        assert checked_value(setting, setting.default) == setting.default
    else:
        assert setting.target
    if setting.kind is Kind.NUMBER:
        assert setting.unit
        assert math.isfinite(setting.maximum)
    if setting.kind is Kind.FILE and setting.target != "layout":
        assert setting.target in Files._fields


@pytest.mark.parametrize("value", ["login-shell", "as-started", "~/bin", "${PATH}"])
def test_path_for_servers_is_a_choice_or_a_path(path: Path, value: str) -> None:
    assert SettingsFile(path).set("connections.serverPath", value).server_path == value
    assert SettingsFile(path).load() == (Settings(server_path=value), [])


@pytest.mark.parametrize("value", ["", "no folder", 5, None, ["/bin"]])
def test_invalid_path_for_servers_is_reported(path: Path, value: JSON) -> None:
    with pytest.raises(ConfigError, match="login-shell, as-started, or absolute folders separated by"):
        SettingsFile(path).set("connections.serverPath", value)


def test_ids_are_unique_and_every_limit_has_one() -> None:
    ids = [setting.id for setting in SETTINGS]
    assert len(set(ids)) == len(ids)
    assert len(IDS) == len(fields(Settings))
    for id in IDS:
        assert value_of(Settings(), id) == setting_of(id).default


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("connections.connectTimeout", "15"),
        ("connections.connectTimeout", True),
        ("connections.connectTimeout", 0),
        ("connections.connectTimeout", math.nan),
        ("connections.connectTimeout", 1e9),
        ("connections.mostPages", 1.5),
        ("lists.remember", 1),
        ("look.scheme", "pink"),
        ("look.scheme", ["dark"]),
        ("calls.environment", "HOME"),
        ("calls.environment", ["A B"]),
        ("calls.environment", [7]),
        ("inbox.timeout", -1),
        ("files.captures", "/tmp"),
    ],
)
def test_invalid_value_is_rejected_with_what_is_allowed(id: str, value: JSON) -> None:
    setting = setting_of(id)
    with pytest.raises(ConfigError) as caught:
        checked_value(setting, value)
    assert setting.title in str(caught.value)
    if setting.has_value:
        assert expected_text(setting) in str(caught.value)


def test_unknown_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"no\.such"):
        setting_of("no.such")


def test_every_file_in_use_is_listed_in_the_settings() -> None:
    shown = {setting.target for setting in SETTINGS if setting.kind is Kind.FILE}
    assert set(Files._fields) - {"home"} <= shown


def test_setting_matches_only_if_all_search_words_match() -> None:
    setting = setting_of("connections.connectTimeout")
    assert setting.matches(["CONNECT", "maximum"])
    assert setting.matches([])
    assert not setting.matches(["connect", "capture"])


def test_without_a_file_the_defaults_apply(path: Path) -> None:
    assert SettingsFile(path).load() == (Settings(), [])


def test_saved_settings_are_loaded_and_only_those_are_written(path: Path) -> None:
    path.write_text(json.dumps({"captures": {"keepDays": 3}, "connections": {"x-mine": [1]}}))
    chosen = replace(Settings(), connect_timeout=2.5, line_cap=7 * 1024 * 1024, fetch_all_lists=False)
    SettingsFile(path).set("connections.connectTimeout", 2.5)
    SettingsFile(path).set("connections.lineCapMebibytes", 7)
    assert SettingsFile(path).set("lists.askForLists", False) == chosen
    assert json.loads(path.read_text()) == {
        "captures": {"keepDays": 3},
        "connections": {"x-mine": [1], "connectTimeout": 2.5, "lineCapMebibytes": 7},
        "lists": {"askForLists": False},
    }
    assert SettingsFile(path).load() == (chosen, [])
    for id in IDS:
        SettingsFile(path).set(id, setting_of(id).default)
    assert json.loads(path.read_text()) == {"captures": {"keepDays": 3}, "connections": {"x-mine": [1]}}


def test_concurrent_manual_edits_are_preserved_and_applied(path: Path) -> None:
    file = SettingsFile(path)
    file.set("connections.mostPages", 5)
    path.write_text(json.dumps({"connections": {"mostPages": 9, "keepAlive": "often"}}))
    assert file.set("connections.connectTimeout", 4) == Settings(max_pages=9, connect_timeout=4)
    written = {"mostPages": 9, "keepAlive": "often", "connectTimeout": 4}
    assert json.loads(path.read_text()) == {"connections": written}


def test_unusable_setting_has_its_default_and_the_rest_applies(path: Path) -> None:
    wrong = {"connections": {"connectTimeout": "long", "mostPages": 5, "keepAlive": -1}, "lists": []}
    path.write_text(json.dumps(wrong))
    settings, warnings = SettingsFile(path).load()
    assert settings == Settings(max_pages=5)
    expected = [
        "“lists” must be an object. Using the defaults.",
        "“connections.connectTimeout” must be a number from 0.1 to 3,600. Using the default (15).",
        "“connections.keepAlive” must be a number from 0 to 86,400. Using the default (0).",
    ]
    assert warnings == [f"preferences.json: {each}" for each in expected]


def test_unreadable_file_is_reported_and_not_overwritten(path: Path) -> None:
    path.write_text("{")
    settings, (problem,) = SettingsFile(path).load()
    assert settings == Settings()
    assert "line 1" in problem
    with pytest.raises(ConfigError):
        SettingsFile(path).set("connections.mostPages", 2)
    assert path.read_text() == "{"
