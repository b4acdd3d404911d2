"""JSON files with exact round trips, and file names made from any text."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, read_number, to_wire
from inspector.config.json_file import (
    distinct_stem,
    folded,
    free_stem,
    read_exactly,
    read_file,
    readable_stem,
    write_exactly,
    write_file,
)
from tests.helpers.platforms import needs_fifos, needs_permissions

numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True).map(
    read_number
)
json_values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
@example({"b": 1, "a": [2**70, read_number("1.10"), read_number("1e400"), read_number("-0")]})
@example({"": "\\u0041 \u2028 \ud800 é \x00"})
def test_value_round_trips(value: JSON) -> None:
    assert to_wire(read_exactly(write_exactly(value))) == to_wire(value)


def test_duplicate_key_is_rejected_because_writing_would_lose_it() -> None:
    with pytest.raises(JSONError, match="duplicate key 'a'"):
        read_exactly('{"a": 1, "a": 2}')


def test_deep_nesting_is_an_error_and_not_a_crash() -> None:
    """T23: deeply nested JSON crashes the parser."""
    with pytest.raises(JSONError, match="nested too deeply"):
        read_exactly("[" * 100_000)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", '{"a": 1, "a": 1}'])
def test_file_that_is_not_an_object_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"x\.json"):
        read_file(path)


def test_big_file_is_not_read(tmp_path: Path) -> None:
    big = tmp_path / "big.json"
    big.write_text('{"a": 1}')
    with pytest.raises(ConfigError, match="larger than 4 B"):
        read_file(big, max_bytes=4)


@needs_fifos
def test_named_pipe_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        read_file(pipe)


@needs_permissions
def test_private_file_is_owner_only_and_others_keep_their_permissions(tmp_path: Path) -> None:
    private, shared = tmp_path / "deep" / "private.json", tmp_path / "shared.json"
    shared.write_text("{}")
    shared.chmod(0o664)
    write_file(private, {"a": 1}, is_private=True)
    write_file(shared, {"a": 1}, is_private=False)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.stat().st_mode) == 0o664
    assert read_file(shared) == {"a": 1}


def test_failed_write_leaves_the_file_unchanged_and_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(ConfigError, match="Could not write"):
        write_file(tmp_path / "taken", {"a": 1}, is_private=False)
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@given(st.text(st.characters(), max_size=200))
@example("../../etc/passwd")
@example("CON")
@example("a/b\\c:d*?")
@example("\ud800")
def test_file_name_for_any_text_is_one_safe_path_component(name: str) -> None:
    stem = readable_stem(name, "call")
    assert stem
    assert len(stem.encode()) <= 81
    assert all(char.isalnum() or char == "-" for char in stem)
    assert stem.casefold() not in ("con", "nul", "com1")


def test_letters_of_any_script_are_preserved() -> None:
    assert readable_stem("Yesterday's Größe: 日本", "call") == "Yesterday-s-Größe-日本"


def test_names_differing_only_in_case_get_different_files() -> None:
    taken = {folded("Log")}
    assert free_stem("log", taken) == "log-2"
    assert free_stem("other", taken) == "other"


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
@example(("a", "b-c"), ("a-b", "c"))
def test_different_names_have_different_stems(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (distinct_stem(*one) == distinct_stem(*other)) == (one == other)
