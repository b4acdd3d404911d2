"""Files are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inspector.traffic.captures.capture import new_sibling_file


def test_complete_file_replaces_the_target(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250)  # a name as long as names may be
    target.write_text("old")
    with new_sibling_file(target) as path:
        path.write_text("new")
        assert target.read_text() == "old"
        path.replace(target)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(target.name, "new")]


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def write_half() -> None:
        with new_sibling_file(tmp_path / "target") as path:
            path.write_text("half")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_concurrent_writers_use_separate_files(tmp_path: Path) -> None:
    with new_sibling_file(tmp_path / "target") as one, new_sibling_file(tmp_path / "target") as other:
        assert one != other


@pytest.mark.skipif(os.name != "posix", reason="permissions are otherwise")
def test_file_is_owner_only(tmp_path: Path) -> None:
    with new_sibling_file(tmp_path / "target") as path:
        assert path.stat().st_mode & 0o777 == 0o600
