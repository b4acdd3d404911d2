"""The table of settings, and the settings in the preferences file."""

from __future__ import annotations

import math
from typing import Any

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONObject
from inspector.config.paths import Files
from inspector.config.preferences.settings import (
    SETTINGS,
    ConnectionSettings,
    Kind,
    Setting,
    checked_value,
    expected_text,
    read_settings,
    setting_of,
    with_setting,
)


def saved(document: JSONObject, id: str, value: JSON) -> JSONObject:
    setting = setting_of(id)
    return with_setting(document, setting, checked_value(setting, value))


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
def test_path_for_servers_is_a_choice_or_a_path(value: str) -> None:
    document = saved({}, "connections.serverPath", value)
    expected = {} if value == "login-shell" else {"connections.serverPath": value}
    assert read_settings(document) == (expected, [])


@pytest.mark.parametrize("value", ["", "no folder", 5, None, ["/bin"]])
def test_invalid_path_for_servers_is_reported(value: JSON) -> None:
    with pytest.raises(ConfigError, match="login-shell, as-started, or absolute folders separated by"):
        saved({}, "connections.serverPath", value)


def test_ids_are_unique_and_a_connection_uses_the_defaults_of_the_table() -> None:
    ids = [setting.id for setting in SETTINGS]
    assert len(set(ids)) == len(ids)
    assert ConnectionSettings.of(lambda id: setting_of(id).default) == ConnectionSettings()


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


def test_only_settings_that_are_not_default_are_written() -> None:
    document: JSONObject = {"captures": {"keepDays": 3}, "connections": {"x-mine": [1]}}
    chosen: dict[str, JSON] = {
        "connections.connectTimeout": 2.5,
        "connections.lineCapMebibytes": 7,
        "lists.askForLists": False,
        "filters": {"slow": "dur>1s"},
    }
    written = document
    for id, value in chosen.items():
        written = saved(written, id, value)
    assert written == {
        "captures": {"keepDays": 3},
        "connections": {"x-mine": [1], "connectTimeout": 2.5, "lineCapMebibytes": 7},
        "lists": {"askForLists": False},
        "filters": {"slow": "dur>1s"},
    }
    assert read_settings(written) == ({"captures.keepDays": 3, **chosen}, [])
    for id in chosen:
        written = saved(written, id, setting_of(id).default)
    assert written == document


@pytest.mark.parametrize(
    ("document", "id", "problem"),
    [
        ({"lists": []}, "lists.remember", "“lists” must be an object. Using the defaults."),
        (
            {"connections": {"connectTimeout": "long"}},
            "connections.connectTimeout",
            "“connections.connectTimeout” must be a number from 0.1 to 3,600. Using the default (15).",
        ),
        (
            {"connections": {"keepAlive": -1}},
            "connections.keepAlive",
            "“connections.keepAlive” must be a number from 0 to 86,400. Using the default (0).",
        ),
        *(
            (
                {"captures": {"keepDays": value}},
                "captures.keepDays",
                "“captures.keepDays” must be an integer from 1 to 1,000,000. Using the default (30).",
            )
            for value in (0, -1, "many", True, 1.5)
        ),
        *(
            (
                {"inbox": {"timeout": value}},
                "inbox.timeout",
                "“inbox.timeout” must be a number from 0 to 604,800. Using the default (none).",
            )
            for value in (-1, True, "long", math.inf)
        ),
        (
            {"inbox": {"answerWithin": -1}},
            "inbox.timeout",
            "“inbox.answerWithin” must be a number from 0 to 604,800. Using the default (none).",
        ),
        (
            {"calls": {"keepSecrets": "yes"}},
            "calls.keepSecrets",
            "“calls.keepSecrets” must be true or false. Using the default (false).",
        ),
        (
            {"calls": {"environment": "HOME"}},
            "calls.environment",
            "“calls.environment” must be a list of environment variable names. Using the default ([]).",
        ),
        (
            {"calls": {"folders": [1]}},
            "calls.folders",
            "“calls.folders” must be a list of folders. Using the default ([]).",
        ),
        ({"filters": 7}, "filters", "“filters” must be an object. Using the default ({})."),
        ({"colorRules": {}}, "colorRules", "“colorRules” must be an array. Using the default (none)."),
    ],
)
def test_unusable_setting_is_named_and_has_its_default_while_the_rest_applies(
    document: JSONObject, id: str, problem: str
) -> None:
    other: JSONObject = {"look": 1, "connections": {"mostPages": 5, **_section(document, "connections")}}
    values, problems = read_settings({**document, **other})
    assert id not in values
    assert values["connections.mostPages"] == 5
    assert problems == [problem]


def test_saving_a_setting_keeps_everything_else_even_if_it_is_unusable() -> None:
    document: JSONObject = {"connections": {"keepAlive": "often"}, "lists": [], "later": {"x": 1}}
    assert saved(document, "connections.connectTimeout", 4) == {
        "connections": {"keepAlive": "often", "connectTimeout": 4},
        "lists": [],
        "later": {"x": 1},
    }


def test_setting_under_its_old_name_is_read_and_saved_under_the_new_one() -> None:
    document: JSONObject = {"inbox": {"answerWithin": 30}, "colourRules": [1]}
    assert read_settings(document) == ({"inbox.timeout": 30, "colorRules": [1]}, [])
    both: JSONObject = {"inbox": {"answerWithin": 30, "timeout": 40}}
    assert read_settings(both) == ({"inbox.timeout": 40}, [])
    assert saved(both, "inbox.timeout", 50) == {"inbox": {"timeout": 50}}
    assert saved(document, "colorRules", [2]) == {"inbox": {"answerWithin": 30}, "colorRules": [2]}


def test_inbox_timeout_of_zero_means_no_limit() -> None:
    assert read_settings({"inbox": {"timeout": 0}}) == ({"inbox.timeout": None}, [])


def _section(document: JSONObject, name: str) -> dict[str, Any]:
    section = document.get(name, {})
    assert isinstance(section, dict)
    return section
