"""The capture retention section of the preferences file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.preferences.sections import CapturePrefs, CapturePrefsFile


def test_without_a_file_the_defaults_apply(tmp_path: Path) -> None:
    assert CapturePrefsFile(tmp_path / "none.json").load() == (CapturePrefs(), [])


def test_saved_preferences_are_loaded_and_unknown_members_are_preserved(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text('{"color": "mauve", "captures": {"later": 1}}')
    prefs = CapturePrefs(max_days=3, max_mebibytes=10, is_on=False)
    CapturePrefsFile(path).save(prefs)
    assert CapturePrefsFile(path).load() == (prefs, [])
    document = json.loads(path.read_text())
    assert document["color"] == "mauve"
    assert document["captures"]["later"] == 1


@pytest.mark.parametrize("value", ["0", "-1", '"many"', "true", "1.5"])
def test_invalid_number_is_named_and_replaced_by_its_default(tmp_path: Path, value: str) -> None:
    path = tmp_path / "preferences.json"
    path.write_text(f'{{"captures": {{"keepDays": {value}, "keepMebibytes": 7}}}}')
    prefs, warnings = CapturePrefsFile(path).load()
    assert prefs == CapturePrefs(max_mebibytes=7)
    assert warnings == [
        "preferences.json: “captures.keepDays” must be a positive integer. Using the default (30)."
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"captures": 1}'])
def test_broken_file_gives_defaults_and_an_error_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "preferences.json"
    path.write_text(text)
    prefs, warnings = CapturePrefsFile(path).load()
    assert prefs == CapturePrefs()
    assert "preferences.json" in warnings[0]


def test_a_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "preferences.json"
    path.write_text("{ mine")
    with pytest.raises(ConfigError, match="not valid JSON"):
        CapturePrefsFile(path).save(CapturePrefs())
    assert path.read_text() == "{ mine"
