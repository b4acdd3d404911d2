"""Call history: restored after a restart, without secrets, never overwriting an unreadable file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject, to_wire
from inspector.config.calls.history import (
    EMPTY_HISTORY,
    MAX_CHARACTERS,
    SECRET_MARK,
    CallHistory,
    RecordedCall,
    is_secret_mark,
    mark_secrets,
    without_marks,
)
from inspector.config.json_file import read_exactly
from tests.unit.config.test_json_file import json_values

objects = st.dictionaries(st.text(max_size=10), json_values, max_size=4)


@pytest.fixture
def history(tmp_path: Path) -> Iterator[CallHistory]:
    history = CallHistory(tmp_path)
    yield history
    history.close()


def call(history: CallHistory, at: int = 1, **arguments: JSON) -> None:
    history.add("srv", "tool", arguments, outcome="result", elapsed_ns=5, at_ns=at)


def problems_of(history: CallHistory) -> list[str]:
    problems: list[str] = []
    history.problem_found.connect(problems.append)
    return problems


def the_file(folder: Path) -> Path:
    (path,) = folder.glob("*.json")
    return path


def test_nothing_is_stored_for_a_tool_that_was_never_called(history: CallHistory) -> None:
    assert history.of("srv", "tool") == EMPTY_HISTORY
    assert EMPTY_HISTORY.last_arguments() is None


def test_call_is_available_immediately_and_after_a_restart(tmp_path: Path, history: CallHistory) -> None:
    call(history, at=7, n=1)
    expected = (RecordedCall(7, "result", 5, '{"n":1}', "{}"),)
    assert history.of("srv", "tool").calls == expected
    history.close()
    later = CallHistory(tmp_path)
    assert later.of("srv", "tool").calls == expected
    assert later.of("srv", "tool").last_arguments() == {"n": 1}
    assert later.of("srv", "other") == EMPTY_HISTORY


def test_call_options_are_restored_without_their_secrets(tmp_path: Path, history: CallHistory) -> None:
    options: JSONObject = {"task": True, "capabilities": {}, "meta": {"password": "hunter2", "n": 1}}
    history.add("srv", "tool", {}, outcome="result", elapsed_ns=5, options=options)
    history.close()
    assert "hunter2" not in the_file(tmp_path).read_text()
    reported = CallHistory(tmp_path).of("srv", "tool").calls[0].recorded_options()
    assert reported == {"task": True, "capabilities": {}, "meta": {"password": SECRET_MARK, "n": 1}}


def test_call_saved_before_options_existed_is_readable(tmp_path: Path, history: CallHistory) -> None:
    call(history, n=1)
    history.close()
    document = json.loads(the_file(tmp_path).read_text())
    del document["calls"][0]["options"]
    the_file(tmp_path).write_text(json.dumps(document))
    (loaded,) = CallHistory(tmp_path).of("srv", "tool").calls
    assert (loaded.arguments(), loaded.recorded_options()) == ({"n": 1}, None)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20), objects)
def test_any_arguments_of_any_tool_round_trip_exactly(server: str, tool: str, arguments: JSONObject) -> None:
    with TemporaryDirectory() as name:
        history = CallHistory(Path(name), keep_secrets=True)
        history.add(server, tool, arguments, outcome="result", elapsed_ns=1)
        history.close()
        loaded = CallHistory(Path(name), keep_secrets=True).of(server, tool)
    back = loaded.calls[0].arguments()
    assert back is not None
    assert to_wire(back) == to_wire(arguments)
    assert loaded.last_text == loaded.calls[0].text


def test_form_input_is_saved_without_a_call(history: CallHistory) -> None:
    call(history, n=1)
    history.set_last("srv", "tool", {"n": 2})
    loaded = history.of("srv", "tool")
    assert (loaded.last_arguments(), len(loaded.calls)) == ({"n": 2}, 1)


def test_newest_calls_come_first_and_the_oldest_are_dropped(tmp_path: Path) -> None:
    history = CallHistory(tmp_path, max_calls=3)
    for at in range(1, 4):
        call(history, at=at)
    history.flush()
    for at in range(4, 6):
        call(history, at=at)
    assert [call.at_ns for call in history.of("srv", "tool").calls] == [5, 4, 3]
    history.close()
    assert [call.at_ns for call in CallHistory(tmp_path).of("srv", "tool").calls] == [5, 4, 3]


def test_too_long_arguments_are_saved_only_as_the_last_ones(history: CallHistory) -> None:
    long = "x" * MAX_CHARACTERS
    call(history, text=long)
    loaded = history.of("srv", "tool")
    assert (loaded.calls[0].text, loaded.calls[0].arguments()) == ("", None)
    assert loaded.last_arguments() == {"text": long}


def test_a_file_stays_small_however_long_the_arguments_are(tmp_path: Path, history: CallHistory) -> None:
    for at in range(1, 51):
        call(history, at=at, text="x" * (MAX_CHARACTERS - 100))
    history.flush()
    assert the_file(tmp_path).stat().st_size < 2 * 1024 * 1024
    loaded = history.of("srv", "tool").calls
    assert loaded[0].at_ns == 50
    assert 10 < len(loaded) < 50


def test_changes_of_a_second_window_are_not_lost(tmp_path: Path, history: CallHistory) -> None:
    other = CallHistory(tmp_path)
    call(history, at=1)
    history.flush()
    call(other, at=2)
    other.close()
    call(history, at=3)
    history.flush()
    assert [call.at_ns for call in history.of("srv", "tool").calls] == [3, 2, 1]


def test_writing_happens_on_a_separate_thread(tmp_path: Path) -> None:
    reported: list[str] = []
    is_reported = threading.Event()
    blocked = tmp_path / "file"
    blocked.write_text("")
    history = CallHistory(blocked / "below a file")

    def on_problem(sentence: str) -> None:
        reported.append(f"{threading.current_thread().name}: {sentence}")
        is_reported.set()

    history.problem_found.connect(on_problem)
    call(history)
    assert is_reported.wait(10)
    history.close()
    assert len(reported) == 1
    assert reported[0].startswith("call history: ")
    # Windows only notices it when writing.
    assert reported[0].endswith(("The tool's history is not saved.", "The file was not changed."))


@pytest.mark.parametrize("history", [CallHistory(None), CallHistory(Path("/nowhere"), is_on=False)])
def test_when_disabled_nothing_is_read_or_written(history: CallHistory) -> None:
    problems = problems_of(history)
    call(history)
    history.close()
    assert (history.of("srv", "tool"), problems) == (EMPTY_HISTORY, [])


def test_deleted_history_stays_deleted(tmp_path: Path, history: CallHistory) -> None:
    call(history)
    history.flush()
    call(history)
    history.forget("srv", "tool")
    history.flush()
    assert history.of("srv", "tool") == EMPTY_HISTORY
    call(history)
    history.flush()
    history.forget_all()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["{ half", "[]", '{"last": 5}', '{"last": "", "calls": [{"at": "x"}]}'])
def test_broken_file_is_set_aside_and_reported(tmp_path: Path, history: CallHistory, text: str) -> None:
    problems = problems_of(history)
    call(history)
    history.flush()
    path = the_file(tmp_path)
    path.write_text(text)
    assert history.of("srv", "tool") == EMPTY_HISTORY
    call(history)
    history.flush()
    assert len(problems) == 1
    assert "The file was renamed to" in problems[0]
    (aside,) = tmp_path.glob("*.broken")
    assert aside.read_text() == text
    assert len(history.of("srv", "tool").calls) == 1


def test_a_file_of_a_newer_version_is_left_alone(tmp_path: Path, history: CallHistory) -> None:
    call(history)
    history.flush()
    path = the_file(tmp_path)
    newer = '{"version": 2, "last": {"other": "shape"}}'
    path.write_text(newer)
    call(history)
    history.flush()
    assert (path.read_text(), history.of("srv", "tool")) == (newer, EMPTY_HISTORY)


def test_secrets_are_not_written_unless_requested(tmp_path: Path) -> None:
    arguments: JSONObject = {
        "password": "hunter2",
        "path": "/etc",
        "auth": {"api_key": 5},
        "list": ["sk-abc1"],
    }
    history = CallHistory(tmp_path)
    history.add("srv", "tool", arguments, outcome="result", elapsed_ns=1)
    history.set_last("srv", "tool", arguments)
    history.close()
    assert not any(word in the_file(tmp_path).read_text() for word in ("hunter2", "sk-abc1"))
    loaded = history.of("srv", "tool").last_arguments()
    assert loaded == {
        "password": SECRET_MARK,
        "path": "/etc",
        "auth": {"api_key": SECRET_MARK},
        "list": [SECRET_MARK],
    }
    unmasked = CallHistory(tmp_path, keep_secrets=True)
    unmasked.set_last("srv", "tool", arguments)
    assert unmasked.of("srv", "tool").last_arguments() == arguments
    unmasked.close()


@pytest.mark.parametrize("value", ["${token}", "", None, True, [], {}])
def test_values_that_are_not_secret_are_saved_under_any_name(value: JSON) -> None:
    assert mark_secrets({"token": value}) == {"token": value}


def test_ambiguous_name_masks_text_values_only() -> None:
    marked = mark_secrets({"key": "abc", "session": 5, "token": 5, "max_tokens": 5})
    assert marked == {"key": SECRET_MARK, "session": 5, "token": SECRET_MARK, "max_tokens": 5}


def test_form_gets_the_remaining_arguments_and_the_masked_paths() -> None:
    stored: JSONObject = {"a/b": {"token": SECRET_MARK, "n": 1}, "list": [SECRET_MARK, 2], "plain": {}}
    arguments, locations = without_marks(stored)
    assert arguments == {"a/b": {"n": 1}, "list": [2], "plain": {}}
    assert locations == ("/a~1b/token", "/list/0")
    assert without_marks({"a": 1}) == ({"a": 1}, ())
    assert is_secret_mark(read_exactly(json.dumps(SECRET_MARK)))
