"""Baseline files: round trip, and unreadable files that are reported and left alone."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.servers.entries import HttpEntry, StdioEntry, WebSocketEntry
from inspector.engine.drift.baseline import (
    Baseline,
    baseline_path,
    identity_of,
    prune,
    read_baseline,
    write_baseline,
)

OFFER: dict[str, list[JSONObject]] = {
    "tools": [{"name": "a", "x": [1, 1.5, None]}, {"name": "\ud800 \u202e"}],
    "prompts": [],
}


def test_baseline_round_trips(tmp_path: Path) -> None:
    baseline = Baseline("srv", "npx", 1_700_000_000_123_456_789, OFFER)
    path = baseline_path(tmp_path / "new", "srv", "npx")
    assert read_baseline(path) is None
    write_baseline(path, baseline)
    assert read_baseline(path) == baseline


def test_each_item_is_on_its_own_line_and_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    write_baseline(path, Baseline("srv", "npx", 1, OFFER))
    assert any(line.startswith('{"name":"a"') for line in path.read_text().splitlines())
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "line 1"),
        ("[]", "JSON object"),
        ('{"lists":{}}', "takenAt"),
        ('{"takenAt":1,"lists":[]}', "lists"),
        ('{"takenAt":1,"lists":{"tools":[1]}}', "lists.tools"),
        ("[" * 100_000, "deeply"),
    ],
)
def test_unusable_file_is_reported_by_name(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_baseline(path)
    assert words in str(caught.value)
    assert "b.json" in str(caught.value)
    assert path.read_text() == text


def test_named_pipe_in_its_place_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "b.json")
    with pytest.raises(ConfigError, match="not a regular file"):
        read_baseline(tmp_path / "b.json")


def test_server_is_identified_by_program_or_location_not_by_version_or_secret() -> None:
    old = StdioEntry(name="s", command="npx", args=("-y", "@scope/files@1.2.3", "/home"))
    new = StdioEntry(name="s", command="/usr/bin/npx", args=("-y", "@scope/files@2.0.0"))
    assert identity_of(old) == identity_of(new) == "files"
    assert identity_of(HttpEntry(name="s", url="https://h:1/mcp?key=secret")) == "https://h:1/mcp"
    assert identity_of(WebSocketEntry(name="s", url="wss://h/x")) == "wss://h/x"


def test_servers_with_equal_names_but_different_locations_have_separate_baselines(tmp_path: Path) -> None:
    paths = {baseline_path(tmp_path, name, identity) for name in ("a", "A/..") for identity in ("x", "y")}
    assert len(paths) == 4
    assert {path.parent for path in paths} == {tmp_path}


def test_oldest_baselines_are_removed_when_there_are_too_many(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"{number}.json"
        path.touch()
        os.utime(path, ns=(number, number))
    prune(tmp_path, maximum=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3.json", "4.json"]
