"""The Inbox timeout in the preferences file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from inspector.config.preferences.sections import InboxPrefs, InboxPrefsFile
from inspector.engine.inbox.inbox import Inbox


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "preferences.json"


def test_without_a_file_requests_never_time_out(path: Path) -> None:
    assert InboxPrefsFile(path).load() == (InboxPrefs(None), [])


def test_saved_timeout_is_loaded_and_everything_else_is_preserved(path: Path) -> None:
    path.write_text('{"color": 1.10, "inbox": {"later": 1}}')
    InboxPrefsFile(path).save(InboxPrefs(90))
    assert InboxPrefsFile(path).load() == (InboxPrefs(90), [])
    assert '"color": 1.10' in path.read_text()
    InboxPrefsFile(path).save(InboxPrefs())
    assert json.loads(path.read_text())["inbox"] == {"later": 1}


@pytest.mark.parametrize("value", ["0", "-1", "true", '"long"', "1e400"])
def test_invalid_timeout_is_named_and_requests_never_time_out(path: Path, value: str) -> None:
    path.write_text(f'{{"inbox": {{"timeout": {value}}}}}')
    problems: list[str] = []
    inbox = Inbox(prefs=InboxPrefsFile(path))
    inbox.problem_found.connect(problems.append)
    inbox.begin()
    assert inbox.reply_timeout is None
    assert problems == [
        "preferences.json: “inbox.timeout” must be a number of seconds greater than 0. "
        "Using the default (no timeout)."
    ]


def test_inbox_uses_the_saved_timeout_and_saves_a_new_one(path: Path) -> None:
    path.write_text('{"inbox": {"timeout": 2.5}}')
    inbox = Inbox(prefs=InboxPrefsFile(path))
    inbox.begin()
    assert inbox.reply_timeout == 2.5
    inbox.set_reply_timeout(7)
    assert (inbox.reply_timeout, json.loads(path.read_text())) == (7, {"inbox": {"timeout": 7}})


def test_timeout_under_its_old_name_is_read_and_saved_under_the_new_one(path: Path) -> None:
    path.write_text('{"inbox": {"answerWithin": 30}}')
    assert InboxPrefsFile(path).load() == (InboxPrefs(30), [])
    path.write_text('{"inbox": {"answerWithin": 30, "timeout": 40}}')
    assert InboxPrefsFile(path).load() == (InboxPrefs(40), [])
    InboxPrefsFile(path).save(InboxPrefs(50))
    assert json.loads(path.read_text()) == {"inbox": {"timeout": 50}}


def test_invalid_timeout_under_its_old_name_is_reported_with_that_name(path: Path) -> None:
    path.write_text('{"inbox": {"answerWithin": 0}}')
    _, [warning] = InboxPrefsFile(path).load()
    assert "“inbox.answerWithin” must be" in warning
