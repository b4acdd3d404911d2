"""Glob matching, and what counts as a change."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.errors import ConfigError
from inspector.engine.processes import file_watch
from inspector.engine.processes.file_watch import MAX_GLOBS, check_globs, scan_files
from tests.helpers.platforms import needs_links, needs_permissions

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
    found = scan_files(folder, globs).files
    return sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in found)


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
        ("src/**/er/**/more.*", ["src/deep/er/more.py", "src/deep/er/more.ts"]),
        ("**/e?/m*re*y", ["src/deep/er/more.py"]),
        ("**/deep/*.py", []),
        ("ser*er.py", ["server.py"]),
        ("server.py*", ["server.py"]),
        ("server.py?*", []),
        ("server*server.py", []),
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


@needs_links
def test_symlink_cycles_terminate(folder: Path) -> None:
    (folder / "src" / "round").symlink_to(folder)
    assert "src/app.py" in names(folder, "**/*.py")


@needs_permissions
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


@pytest.mark.parametrize("glob", ["*a*a*a*a*a*a*a*b", "**/*a*a*a*a*a*a*b", f"{'**/a*/' * 80}b"])
def test_glob_with_many_wildcards_is_matched_without_backtracking(folder: Path, glob: str) -> None:
    """Threat: a glob of 16 characters kept a regular expression busy for hours."""
    deep = folder.joinpath(*["a" * 100] * 20)
    deep.mkdir(parents=True)
    (folder / ("a" * 200)).write_text("")
    (deep / ("a" * 200)).write_text("")
    assert names(folder, glob) == []


NAME = st.text("ab.", min_size=1, max_size=6)
GLOB = st.text("ab.*?", min_size=1, max_size=6).filter(lambda glob: "**" not in glob)


@given(st.lists(GLOB | st.just("**"), min_size=1, max_size=4), st.lists(NAME, min_size=1, max_size=5))
def test_globs_match_like_regular_expressions(globs: list[str], path: list[str]) -> None:
    expression = ""
    for number, glob in enumerate(globs, 1):
        if glob == "**":
            expression += ".*" if number == len(globs) else "(?:.*/)?"
        else:
            characters = {"*": "[^/]*", "?": "[^/]"}
            expression += "".join(characters.get(each, re.escape(each)) for each in glob)
            expression += "/" if number < len(globs) else ""
    expected = re.fullmatch(expression, "/".join(path)) is not None
    assert file_watch._PathPattern(globs).matches(path) == expected


def test_number_of_expanded_globs_is_limited() -> None:
    with pytest.raises(ConfigError, match="expand to more than 256"):
        check_globs(["{a,b,c,d,e,f,g,h}{1,2,3,4}"] * 9)


@pytest.mark.parametrize(
    ("glob", "name"), [("SERVER.P?", "server.py"), ("*/APP.PY", "src/app.py"), ("**/App.[P]y", "src/app.py")]
)
def test_case_is_ignored_where_file_systems_ignore_it(folder: Path, glob: str, name: str) -> None:
    assert list(scan_files(folder, [glob], ignore_case=True).files) == [str(folder / name)]
    assert not scan_files(folder, [glob], ignore_case=False).files
