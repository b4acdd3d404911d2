"""Files are written completely or not at all, and never through a link."""

from __future__ import annotations

import ast
import os
from functools import cache
from pathlib import Path

import pytest

from inspector.base.atomic_file import AtomicFile, move_file, replace_file

PACKAGE = Path(__file__).parents[3] / "inspector"

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX ones")


def test_committed_file_replaces_the_target(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 250)  # a name as long as names may be
    target.write_text("old")
    with AtomicFile(target, is_private=False) as file:
        file.write(b"new")
        file.sync()
        assert target.read_text() == "old"
        file.commit()
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [(target.name, "new")]


def test_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    def write_half() -> None:
        with AtomicFile(tmp_path / "target", is_private=False) as file:
            file.write(b"half")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_concurrent_writers_use_separate_files(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with AtomicFile(target, is_private=True) as one, AtomicFile(target, is_private=True) as other:
        assert one.path != other.path


@posix_only
def test_private_file_is_owner_only(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.touch(0o644)
    with AtomicFile(target, is_private=True) as file:
        assert file.path.stat().st_mode & 0o777 == 0o600
        file.commit()
    assert target.stat().st_mode & 0o777 == 0o600


@posix_only
def test_replaced_file_keeps_its_mode_and_a_new_one_gets_the_default(tmp_path: Path) -> None:
    shared, restricted = tmp_path / "shared", tmp_path / "restricted"
    restricted.touch(0o640)
    umask = os.umask(0o027)
    try:
        for target in (shared, restricted):
            replace_file(target, b"new", is_private=False)
        shared.chmod(0o666)
        replace_file(shared, b"newer", is_private=False)
    finally:
        os.umask(umask)
    assert shared.stat().st_mode & 0o777 == 0o666
    assert restricted.stat().st_mode & 0o777 == 0o640


@posix_only
def test_link_at_the_target_is_replaced_and_not_written_through(tmp_path: Path) -> None:
    """T28: someone places a link at the name that the user saves to."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "folder"
    folder.mkdir()
    for kind, points_to in {"file": victim, "nothing": tmp_path / "created", "folder": folder}.items():
        target = tmp_path / f"link to {kind}"
        target.symlink_to(points_to)
        replace_file(target, b"from the server", is_private=False)
        assert not target.is_symlink()
        assert target.read_text() == "from the server"
    assert victim.read_text() == "precious"
    assert not (tmp_path / "created").exists()
    assert list(folder.iterdir()) == []


@posix_only
def test_existing_file_under_the_temporary_name_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T28: even if the temporary name could be guessed, a link there is not followed."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    for points_to in (victim, tmp_path / "created"):
        link = tmp_path / ".guessed.tmp"
        link.symlink_to(points_to)
        with pytest.raises(FileExistsError):
            replace_file(tmp_path / "target", b"from the server", is_private=False)
        link.unlink()
    assert [file.name for file in tmp_path.iterdir()] == ["victim"]
    assert victim.read_text() == "precious"


@posix_only
def test_folder_or_device_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    for name, reason in (("fifo", "not a regular file"), ("folder", "Is a directory")):
        with pytest.raises(OSError, match=reason):
            replace_file(tmp_path / name, b"new", is_private=False)
    assert {file.name for file in tmp_path.iterdir()} == {"fifo", "folder"}


class Mover:
    """`os.replace` that fails a number of times before it succeeds."""

    def __init__(self, failures: int, code: int = 5) -> None:
        self.failures, self.code, self.pauses = failures, code, list[float]()

    def move(self, source: Path, target: Path) -> None:
        if len(self.pauses) < self.failures:
            error = PermissionError(13, "Access is denied", str(source))
            error.winerror = self.code  # type: ignore[attr-defined, unused-ignore]
            raise error
        os.replace(source, target)


@pytest.mark.parametrize("code", [5, 32, 33])
def test_move_is_retried_while_another_process_has_the_target_open(tmp_path: Path, code: int) -> None:
    source, target = tmp_path / "new", tmp_path / "target"
    source.write_text("new")
    mover = Mover(4, code)
    move_file(source, target, move=mover.move, pause=mover.pauses.append)
    assert target.read_text() == "new"
    assert len(mover.pauses) == 4


def test_move_fails_after_less_than_two_seconds(tmp_path: Path) -> None:
    mover = Mover(1000)
    with pytest.raises(PermissionError, match="access denied; another program may have the file open"):
        move_file(tmp_path / "new", tmp_path / "target", move=mover.move, pause=mover.pauses.append)
    assert 1 <= sum(mover.pauses) <= 2


def test_move_that_is_denied_for_another_reason_is_not_retried(tmp_path: Path) -> None:
    mover = Mover(1, 1314)  # ERROR_PRIVILEGE_NOT_HELD
    with pytest.raises(PermissionError):
        move_file(tmp_path / "new", tmp_path / "target", move=mover.move, pause=mover.pauses.append)
    assert mover.pauses == []


def test_no_other_module_moves_files() -> None:
    """Every move goes through `move_file`, which retries on Windows."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and (node.value.id, node.attr) in {("os", "replace"), ("os", "rename"), ("shutil", "move")}
    }
    assert found == {"base/atomic_file.py"}


# Modules that may open a file for writing themselves, and why that follows no link.
WRITERS = {
    "base/atomic_file.py": "creates exclusively",
    "traffic/captures/file_format.py": "creates exclusively",
    "config/json_file.py": "opens to read; and the lock file, which follows no link and gets no content",
    "config/secrets/vault_file.py": "opens to read, follows no link",
    "app/tour/server_stops.py": "a folder that the tour has just created",
    "app/tour/debugging_stops.py": "a folder that the tour has just created",
    "cli/output.py": "/dev/null, for a closed terminal",
}


def test_no_other_module_opens_files_for_writing() -> None:
    """T28: everything that is saved goes through `AtomicFile`."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parts[len(PACKAGE.parts)] != "demo" and any(map(_opens_to_write, ast.walk(_tree(path))))
    }
    assert found == set(WRITERS)


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes())


def _opens_to_write(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    owner = getattr(called.value, "id", "") if isinstance(called, ast.Attribute) else None
    if name in ("write_bytes", "write_text"):
        return owner not in (None, "output")  # `Path.write_text`; the function of `cli.output` prints
    if name == "open" and owner == "os":
        return True
    if name in ("copy", "copyfile", "copy2", "copytree", "move"):
        return owner == "shutil"
    if name in ("QSaveFile", "QFile", "FileHandler", "ZipFile"):
        return True
    if name == "save" and ".grab().save(" in ast.unparse(node):  # an image of Qt
        return ast.unparse(node.args[0]) != "buffer"
    values = [*node.args, *(keyword.value for keyword in node.keywords)]
    modes = [each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return name == "open" and any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes)
