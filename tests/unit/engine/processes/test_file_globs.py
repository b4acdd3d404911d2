"""Glob matching, and what counts as a change."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.engine.processes import file_watch
from inspector.engine.processes.file_watch import MAX_GLOBS, check_globs, scan_files

TREE = (
    "server.py",
    "README.md",
    "src/app.py",
    "src/deep/er/more.py",
    "src/deep/er/more.ts",
    "src/[odd] name.py",
    "node_modules/x/index.js",
    ".venv/lib/site.py",
    "__pycache__/server.pyc",
    ".git/HEAD",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in TREE:
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "project"


def names(folder: Path, *globs: str) -> list[str]:
    return sorted(os.path.relpath(path, folder) for path in scan_files(folder, globs).files)


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["server.py"]),
        ("server.py", ["server.py"]),
        ("./server.py", ["server.py"]),
        ("src/*.py", ["src/[odd] name.py", "src/app.py"]),
        ("src/**/*.py", ["src/[odd] name.py", "src/app.py", "src/deep/er/more.py"]),
        ("**/*.py", ["server.py", "src/[odd] name.py", "src/app.py", "src/deep/er/more.py"]),
        ("src/**", ["src/[odd] name.py", "src/app.py", "src/deep/er/more.py", "src/deep/er/more.ts"]),
        ("**/more.{py,ts}", ["src/deep/er/more.py", "src/deep/er/more.ts"]),
        ("src/*/er/*.t?", ["src/deep/er/more.ts"]),
        ("src/[a-b]pp.py", ["src/app.py"]),
        ("src/[!b]pp.py", ["src/app.py"]),
        ("src/[[]odd] name.py", ["src/[odd] name.py"]),
        ("nowhere/*.py", []),
        ("gone.py", []),
        ("src", []),
    ],
)
def test_a_glob_finds_its_files(folder: Path, glob: str, found: list[str]) -> None:
    assert names(folder, glob) == found


def test_globs_may_leave_the_folder(folder: Path) -> None:
    assert names(folder / "src", "../*.md") == ["../README.md"]
    assert names(folder / "src", f"{folder}/*.md") == ["../README.md"]


def test_generated_and_installed_files_are_excluded(folder: Path) -> None:
    found = names(folder, "**/*")
    assert not [name for name in found if re.match(r"node_modules|\.venv|__pycache__|\.git", name)]


def test_symlink_cycles_terminate(folder: Path) -> None:
    (folder / "src" / "round").symlink_to(folder)
    assert "src/app.py" in names(folder, "**/*.py")


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(folder: Path) -> None:
    closed = folder / "src" / "deep"
    closed.chmod(0)
    try:
        assert "src/app.py" in names(folder, "**/*.py")
    finally:
        closed.chmod(0o700)


def test_modified_new_and_deleted_files_are_changes(folder: Path) -> None:
    before = scan_files(folder, ["**/*.py"])
    assert before.changed(before) == ()
    (folder / "server.py").write_text("something longer")
    (folder / "src" / "app.py").unlink()
    (folder / "new.py").write_text("")
    (folder / "README.md").write_text("not watched")
    changed = scan_files(folder, ["**/*.py"]).changed(before)
    assert [os.path.basename(path) for path in changed] == ["new.py", "server.py", "app.py"]


def test_too_many_files_are_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "MAX_SCANNED", 5)
    seen = scan_files(folder, ["**/*.py"])
    assert "more than 5 files" in seen.problem
    assert "Use more specific patterns" in seen.problem


@pytest.mark.parametrize("glob", ["", "  ", "a\0b", "x" * 501, "src/[z-a].py", "{a,b}" * 8])
def test_invalid_pattern_is_rejected_with_the_reason(glob: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_globs([glob])
    assert caught.value.next_step


def test_number_of_globs_is_limited(folder: Path) -> None:
    with pytest.raises(ConfigError, match="more than 50"):
        check_globs(["*.py"] * (MAX_GLOBS + 1))
