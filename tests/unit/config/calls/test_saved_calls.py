"""Saved calls: files that users read, edit, rename and commit, also in untrusted folders."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, ExactNumber, to_wire
from inspector.config.calls.saved_calls import SavedCall, SavedCallFolder
from tests.helpers.platforms import needs_links
from tests.unit.config.test_json_file import json_values

CALL = SavedCall("List files", "list", "fs", {"path": "${root}", "n": 2**70})


@pytest.fixture
def folder(tmp_path: Path) -> SavedCallFolder:
    return SavedCallFolder(tmp_path / "calls")


def write(folder: SavedCallFolder, name: str, text: str) -> Path:
    folder.path.mkdir(exist_ok=True)
    path = folder.path / name
    path.write_text(text)
    return path


def files(folder: SavedCallFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


def test_missing_folder_is_empty(folder: SavedCallFolder) -> None:
    loaded = folder.load()
    assert (loaded.calls, loaded.problems) == ((), ())


def test_saved_call_is_a_human_readable_file(folder: SavedCallFolder) -> None:
    saved = folder.save(CALL)
    assert saved.path == folder.path / "List-files.json"
    assert saved.path.read_text() == (
        '{\n  "name": "List files",\n  "server": "fs",\n  "tool": "list",\n'
        '  "arguments": {\n    "path": "${root}",\n    "n": 1180591620717411303424\n  }\n}\n'
    )
    assert folder.load().calls == (saved,)


names = st.text(st.characters(), min_size=1, max_size=40)
texts = st.text(max_size=20)
objects = st.dictionaries(st.text(max_size=10), json_values, max_size=4)
calls = st.builds(
    SavedCall,
    name=names,
    tool=st.text(min_size=1, max_size=20),
    server=texts,
    arguments=objects,
    description=texts,
    timeout=st.none() | st.floats(0.001, 1e6),
    total=st.none() | st.floats(0.001, 1e6),
    meta=objects,
    as_task=st.booleans(),
    capabilities=st.none() | objects,
)


def exactly(call: SavedCall) -> tuple[object, ...]:
    shape = (call.name, call.tool, call.server, call.description, call.timeout, call.total)
    return (*shape, call.as_task, to_wire(call.arguments), to_wire(call.meta), to_wire(call.capabilities))


@settings(max_examples=50, deadline=None)
@given(st.lists(calls, max_size=4))
def test_saved_calls_round_trip_and_never_share_a_file(saved: list[SavedCall]) -> None:
    with TemporaryDirectory() as name:
        folder = SavedCallFolder(Path(name))
        written = [folder.save(call) for call in saved]
        loaded = folder.load()
    assert loaded.problems == ()
    assert {exactly(call) for call in loaded.calls} == {exactly(call) for call in saved}
    assert len({call.path for call in written}) == len(saved) == len(loaded.calls)


def test_unknown_members_and_member_order_are_preserved(folder: SavedCallFolder) -> None:
    path = write(folder, "x.json", '{"$schema": "s", "tool": "t", "extra": {"n": 1.10}, "arguments": {}}')
    (call,) = folder.load().calls
    assert call.name == "x"
    folder.save(replace(call, description="new"))
    document = json.loads(path.read_text())
    assert list(document) == ["$schema", "tool", "extra", "arguments", "name", "server", "description"]
    assert '"n": 1.10' in path.read_text()


def test_empty_capabilities_are_distinguished_from_the_default_ones(folder: SavedCallFolder) -> None:
    saved = folder.save(replace(CALL, capabilities={}, as_task=True))
    assert saved.path is not None
    assert json.loads(saved.path.read_text())["capabilities"] == {}
    (loaded,) = folder.load().calls
    assert (loaded.capabilities, loaded.as_task) == ({}, True)
    folder.save(replace(loaded, capabilities=None))
    assert "capabilities" not in json.loads(saved.path.read_text())


def test_calls_with_equal_names_get_separate_files_even_if_case_is_ignored(folder: SavedCallFolder) -> None:
    for name in ("Log", "log", "LOG", "variables"):
        folder.save(replace(CALL, name=name))
    assert files(folder) == ["LOG-3.json", "Log.json", "log-2.json", "variables-2.json"]


def test_renamed_call_has_one_file_with_the_new_name(folder: SavedCallFolder) -> None:
    path = write(folder, "old.json", '{"tool": "t", "mine": 1}')
    (call,) = folder.load().calls
    renamed = folder.rename(call, "New name")
    assert files(folder) == ["New-name.json"]
    assert (renamed.name, renamed.path) == ("New name", folder.path / "New-name.json")
    assert '"mine": 1' in (folder.path / "New-name.json").read_text()
    assert not path.exists()
    again = folder.rename(renamed, "new NAME")
    assert len(files(folder)) == 1
    folder.delete(again)
    folder.delete(again)
    assert files(folder) == []


def test_external_changes_are_not_overwritten_by_accident(folder: SavedCallFolder) -> None:
    saved = folder.save(CALL)
    assert saved.path is not None
    saved.path.write_text('{"tool": "theirs", "server": "longer than before"}')
    with pytest.raises(ConfigError, match="was changed outside MCP Lens"):
        folder.save(saved)
    with pytest.raises(ConfigError, match="was changed outside MCP Lens"):
        folder.rename(saved, "other")
    assert "theirs" in saved.path.read_text()
    assert folder.save(saved, overwrite=True).tool == "list"
    assert "theirs" not in saved.path.read_text()


def test_changes_of_the_folder_are_detected(folder: SavedCallFolder) -> None:
    saved = folder.save(CALL)
    assert saved.path is not None
    before = folder.load().snapshot
    assert not folder.has_changed(before)
    os.utime(saved.path, ns=(1, 1))
    assert folder.has_changed(before)
    folder.delete(saved)
    assert folder.has_changed(before)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{ broken", "not valid JSON"),
        ('{"tool": 5}', "“tool” must be a string"),
        ('{"server": "x"}', "“tool” must be a non-empty string"),
        ('{"tool": "t", "arguments": []}', "“arguments” must be an object"),
        ('{"tool": "t", "timeout": -1}', "“timeout” must be a number of seconds"),
        ('{"tool": "t", "timeout": 1e400}', "“timeout” must be a number of seconds"),
        ('{"tool": "t", "total": 0}', "“total” must be a number of seconds"),
        ('{"tool": "t", "meta": "x"}', "“meta” must be an object"),
    ],
)
def test_unusable_file_is_reported_and_the_others_are_used(
    folder: SavedCallFolder, text: str, problem: str
) -> None:
    write(folder, "bad.json", text)
    good = folder.save(CALL)
    loaded = folder.load()
    assert loaded.calls == (good,)
    assert len(loaded.problems) == 1
    assert problem in loaded.problems[0]
    assert "bad.json" in loaded.problems[0]


def test_other_files_are_ignored(folder: SavedCallFolder) -> None:
    write(folder, "package.json", '{"name": "p", "version": "1"}')
    write(folder, "variables.json", '{"tool": "x"}')
    write(folder, "notes.txt", "hello")
    (folder.path / "sub.json").mkdir()
    assert folder.load().calls == ()
    assert folder.load().problems == ()


@needs_links
def test_links_and_named_pipes_are_ignored(folder: SavedCallFolder, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"tool": "t", "arguments": {"stolen": true}}')
    folder.path.mkdir(parents=True, exist_ok=True)
    (folder.path / "link.json").symlink_to(outside)
    os.mkfifo(folder.path / "pipe.json")
    assert folder.load().calls == ()
    assert folder.load().problems == ()


def test_only_files_in_the_folder_are_deleted(folder: SavedCallFolder, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text("{}")
    for path in (other, folder.path / "variables.json", None):
        with pytest.raises(ConfigError, match="is not in"):
            folder.delete(replace(CALL, path=path))
    assert other.exists()


def test_a_call_of_another_folder_is_copied(folder: SavedCallFolder, tmp_path: Path) -> None:
    original = SavedCallFolder(tmp_path / "theirs").save(CALL)
    copy = folder.save(original)
    assert copy.folder == folder.path
    assert original.path is not None
    assert original.path.exists()


def test_numbers_keep_their_spelling_through_a_rewrite(folder: SavedCallFolder) -> None:
    path = write(folder, "n.json", '{"tool": "t", "arguments": {"cost": 1.10, "big": 1e400}}')
    (call,) = folder.load().calls
    cost: JSON = call.arguments["cost"]
    assert isinstance(cost, ExactNumber)
    folder.save(call)
    assert ["1.10" in path.read_text(), "1e400" in path.read_text()] == [True, True]


def test_deleted_call_is_restored_byte_for_byte(folder: SavedCallFolder) -> None:
    text = '{ "tool":"list",\n  "x-watch": {"n": 1.50} }'
    path = write(folder, "mine.json", text)
    [call] = folder.load().calls
    deleted = folder.delete(call)
    assert deleted is not None
    assert not path.exists()
    assert folder.delete(call) is None, "it is gone already"
    back = folder.restore(deleted)
    assert back.path == path
    assert path.read_text() == text
    assert folder.load().calls == (back,)


def test_call_is_restored_beside_a_file_that_took_its_place(folder: SavedCallFolder) -> None:
    deleted = folder.delete(folder.save(CALL))
    assert deleted is not None
    assert deleted.call.path is not None
    deleted.call.path.write_text('{"tool": "theirs"}')
    back = folder.restore(deleted)
    assert back.path != deleted.call.path
    assert sorted(call.tool for call in folder.load().calls) == ["list", "theirs"]


def test_members_of_a_newer_version_survive_every_change(folder: SavedCallFolder) -> None:
    write(folder, "a.json", '{"watch": true, "tool": "list", "name": "A", "checks": [{"n": 0.10}]}')
    [call] = folder.load().calls
    call = folder.save(replace(folder.rename(call, "B"), description="new"))
    assert call.path is not None
    text = call.path.read_text()
    assert json.loads(text)["watch"] is True
    assert '"n": 0.10' in text
