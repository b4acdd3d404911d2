"""Expected results of saved calls: files that are renamed, deleted and restored with their call."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.calls.saved_calls import (
    MAX_EXPECTED_BYTES,
    SavedCall,
    SavedCallFolder,
    expected_path,
    read_expected,
    write_expected,
)
from tests.helpers.platforms import needs_fifos, needs_links, needs_permissions

RESULT = b'{"result":{"content":[{"type":"text","text":"a"}],"n":1.10}}'


@pytest.fixture
def folder(tmp_path: Path) -> SavedCallFolder:
    return SavedCallFolder(tmp_path / "calls")


@pytest.fixture
def saved(folder: SavedCallFolder) -> SavedCall:
    call = folder.save(SavedCall("List files", "list", "fs", is_regression=True, ignore=("result.n",)))
    assert call.path is not None
    write_expected(call.path, RESULT, is_private=False)
    return call


def path_of(call: SavedCall) -> Path:
    assert call.path is not None
    return call.path


def test_regression_call_and_its_ignored_paths_are_in_its_file(
    folder: SavedCallFolder, saved: SavedCall
) -> None:
    document = json.loads(path_of(saved).read_text())
    assert (document["watch"], document["ignore"]) == (True, ["result.n"])
    assert folder.load().calls == (saved,)
    folder.save(replace(saved, is_regression=False, ignore=()))
    assert json.loads(path_of(saved).read_text())["watch"] is False


@pytest.mark.parametrize("member", ['"watch": 1', '"ignore": "x"', '"ignore": [1]'])
def test_invalid_members_are_reported(folder: SavedCallFolder, member: str) -> None:
    folder.path.mkdir()
    (folder.path / "x.json").write_text(f'{{"tool": "t", {member}}}')
    loaded = folder.load()
    assert loaded.calls == ()
    assert member.split('"')[1] in loaded.problems[0]


def test_file_is_human_readable(saved: SavedCall) -> None:
    path = expected_path(path_of(saved))
    assert path == path_of(saved).parent / "expected" / "List-files.json"
    assert path.read_text().startswith('{\n  "result": {\n')
    assert '"n": 1.10' in path.read_text()
    assert read_expected(path_of(saved)) == RESULT


def test_expected_results_are_not_listed_as_calls(folder: SavedCallFolder, saved: SavedCall) -> None:
    loaded = folder.load()
    assert (len(loaded.calls), loaded.problems) == (1, ())


def test_call_has_no_expected_result_until_one_is_accepted(tmp_path: Path) -> None:
    assert read_expected(tmp_path / "x.json") is None


def test_expected_result_follows_a_rename_of_its_call(folder: SavedCallFolder, saved: SavedCall) -> None:
    renamed = folder.rename(saved, "All files")
    assert read_expected(path_of(renamed)) == RESULT
    assert read_expected(path_of(saved)) is None


def test_expected_result_is_deleted_and_restored_with_its_call(
    folder: SavedCallFolder, saved: SavedCall
) -> None:
    deleted = folder.delete(saved)
    assert deleted is not None
    assert list(folder.path.iterdir()) == []
    restored = folder.restore(deleted)
    assert read_expected(path_of(restored)) == RESULT


def test_expected_result_that_is_not_a_usable_file_does_not_block_the_deletion(
    folder: SavedCallFolder, saved: SavedCall
) -> None:
    """Threat: a shared folder holds a file that fills the memory, or that is never read to its end."""
    path = expected_path(path_of(saved))
    os.truncate(path, MAX_EXPECTED_BYTES + 1)
    deleted = folder.delete(saved)
    assert deleted is not None
    assert deleted.expected is None


@needs_fifos
def test_expected_result_that_is_a_named_pipe_does_not_block_the_deletion(
    folder: SavedCallFolder, saved: SavedCall
) -> None:
    path = expected_path(path_of(saved))
    path.unlink()
    os.mkfifo(path)
    deleted = folder.delete(saved)
    assert deleted is not None
    assert deleted.expected is None


@needs_permissions
def test_file_in_a_private_folder_is_private(tmp_path: Path) -> None:
    call = tmp_path / "calls" / "x.json"
    write_expected(call, RESULT, is_private=True)
    assert stat.S_IMODE(expected_path(call).stat().st_mode) == 0o600


@needs_links
def test_symlink_that_leaves_the_folder_is_neither_read_nor_written(saved: SavedCall, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"key": 1}')
    path = expected_path(path_of(saved))
    path.unlink()
    path.symlink_to(secret)
    with pytest.raises(ConfigError, match="points outside its folder"):
        read_expected(path_of(saved))
    with pytest.raises(ConfigError, match="points outside its folder"):
        write_expected(path_of(saved), RESULT, is_private=False)
    assert secret.read_text() == '{"key": 1}'


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b"\xff"])
def test_non_object_result_is_not_saved(saved: SavedCall, data: bytes) -> None:
    with pytest.raises(ConfigError, match="Could not save this as the expected result"):
        write_expected(path_of(saved), data, is_private=False)
    assert read_expected(path_of(saved)) == RESULT


def test_too_big_result_is_not_saved(saved: SavedCall) -> None:
    data = json.dumps({"result": "x" * MAX_EXPECTED_BYTES}).encode()
    with pytest.raises(ConfigError, match=r"limited to 4\.0 MiB"):
        write_expected(path_of(saved), data, is_private=False)


def test_a_broken_file_is_reported(saved: SavedCall) -> None:
    expected_path(path_of(saved)).write_text("{")
    with pytest.raises(ConfigError, match="not valid JSON"):
        read_expected(path_of(saved))
