"""Captures from elsewhere are only read: neither they nor any other file changes."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest

from inspector.base.errors import UserError
from inspector.traffic.captures import file_format
from inspector.traffic.captures.capture import open_capture
from inspector.traffic.captures.file_format import database_uri
from inspector.traffic.captures.folder import CaptureFolder
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RowNote
from tests.helpers.ownedcapture import open_own_capture

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_PENDING_BYTE = 0x40000000  # the super-journal's name is the record of the page with this byte


def recorded(path: Path, count: int = 3) -> Path:
    path.parent.mkdir(exist_ok=True)
    log = TrafficLog()
    server = log.add_server("srv")
    for number in range(count):
        log.append(server, 2, 1, number, number, b"row %d" % number, "ping")
    log.publish()
    assert Recording(log, path).close()
    return path


def put_hot_journal(path: Path, victim: Path) -> Path:
    """Put a rollback journal beside a capture that names another file as its super-journal."""
    page_size = 8192
    first_page = path.read_bytes()[:page_size]
    checksum = sum(first_page[at] for at in range(page_size - 200, 0, -200))
    header = _JOURNAL_MAGIC + struct.pack(">5I", 1, 0, path.stat().st_size // page_size, 512, page_size)
    record = struct.pack(">I", 1) + first_page + struct.pack(">I", checksum)
    name = str(victim).encode()
    name_record = struct.pack(">I", _PENDING_BYTE // page_size + 1) + name
    name_record += struct.pack(">2I", len(name), sum(name)) + _JOURNAL_MAGIC
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(header.ljust(512, b"\0") + record + name_record)
    return journal


@pytest.fixture
def folder(tmp_path: Path) -> CaptureFolder:
    return CaptureFolder(tmp_path / "data")


def test_sqlite_deletes_the_super_journal_of_a_crafted_hot_journal(tmp_path: Path) -> None:
    # Proves that the journal of the next test is one that SQLite obeys.
    path, victim = recorded(tmp_path / "a.mcpcap"), tmp_path / "victim"
    victim.write_text("precious")
    put_hot_journal(path, victim)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO remark VALUES (1, '[true,\"\"]')")
    assert not victim.exists()


def test_a_hot_journal_beside_a_foreign_capture_deletes_no_file(
    tmp_path: Path, folder: CaptureFolder
) -> None:
    path, victim = recorded(tmp_path / "downloads" / "a.mcpcap"), tmp_path / "victim"
    victim.write_text("precious")
    journal = put_hot_journal(path, victim)
    content = {file: file.read_bytes() for file in (path, journal, victim)}
    capture = open_capture(path, folder=folder)
    assert capture.log.raw(2) == b"row 2"
    assert any("a.mcpcap-journal was ignored" in problem for problem in capture.problems)
    capture.log.set_note(1, RowNote(True, "look"))
    capture.save_notes()
    capture.save_as(tmp_path / "copy.mcpcap")
    capture.close()
    assert {file: file.read_bytes() for file in content} == content
    assert sorted(path.parent.iterdir()) == [path, journal]
    assert open_capture(path, folder=folder).log.note(1) == RowNote(True, "look")


def test_a_hostile_capture_that_was_copied_into_our_folder_deletes_no_file(
    tmp_path: Path, folder: CaptureFolder
) -> None:
    """Threat: the user unpacks an archive with a capture and its journal into the folder of captures."""
    path, victim = recorded(folder.path / "a.mcpcap"), tmp_path / "victim"
    victim.write_text("precious")
    with closing(file_format.connect(path, "rw")) as connection:
        connection.execute("DELETE FROM about WHERE key IN ('closed_at', 'recorder')")
    put_hot_journal(path, victim)
    (interrupted,) = folder.interrupted()
    with pytest.raises(UserError, match=r"a\.mcpcap-journal refers to another file"):
        folder.close_interrupted(interrupted.path)
    capture = open_capture(path, folder=folder)
    capture.log.set_note(1, RowNote(True, "look"))
    with pytest.raises(UserError, match=r"a\.mcpcap-journal refers to another file"):
        capture.save_notes()
    capture.save_as(tmp_path / "copy.mcpcap")
    assert victim.read_text() == "precious"
    assert open_capture(tmp_path / "copy.mcpcap").log.note(1) == RowNote(True, "look")


def test_a_journal_of_our_own_is_rolled_back(folder: CaptureFolder) -> None:
    path = recorded(folder.path / "a.mcpcap")
    before = path.read_bytes()
    journal = put_hot_journal(path, Path("x"))
    journal.write_bytes(journal.read_bytes()[: 512 + 8192 + 8])  # without the name of a super-journal
    path.write_bytes(b"\0" * 4096 + before[4096:])  # interrupted while its first page was written
    with closing(file_format.connect(path, "rw")) as connection:
        assert file_format.has_valid_schema(connection)
    assert not journal.exists()
    assert path.read_bytes() == before


def test_rows_of_a_journal_beside_a_foreign_capture_are_not_read(
    tmp_path: Path, folder: CaptureFolder
) -> None:
    recorder = recorded(tmp_path / "a.mcpcap")
    path, wal = tmp_path / "downloads" / "a.mcpcap", tmp_path / "downloads" / "a.mcpcap-wal"
    path.parent.mkdir()
    with closing(file_format.connect(recorder, "rw")) as connection:
        file_format.enable_wal(connection)
        file_format.put_notes(connection, {0: RowNote(True, "planted")})
        path.write_bytes(recorder.read_bytes())
        planted = recorder.with_name("a.mcpcap-wal").read_bytes()
    wal.write_bytes(planted)
    capture = open_capture(path, folder=folder)
    assert capture.log.noted_rows() == []
    assert any("a.mcpcap-wal was ignored" in problem for problem in capture.problems)
    assert wal.read_bytes() == planted
    assert sorted(path.parent.iterdir()) == [path, wal]
    assert open_own_capture(path).log.noted_rows() == [0]  # SQLite uses this journal


def test_notes_on_a_foreign_capture_survive_reopening_and_moving_it(
    tmp_path: Path, folder: CaptureFolder
) -> None:
    path = recorded(tmp_path / "downloads" / "a.mcpcap")
    with closing(file_format.connect(path, "rw")) as connection:
        file_format.put_notes(connection, {0: RowNote(True, "of its author")})
    before = path.read_bytes()
    capture = open_capture(path, folder=folder)
    capture.log.set_note(0, RowNote())
    capture.save_notes()
    capture.log.set_note(2, RowNote(True, "héllo\ud800"))
    capture.save_notes()
    capture.close()
    assert path.read_bytes() == before
    moved = path.rename(tmp_path / "b.mcpcap")
    capture = open_capture(moved, folder=folder)
    assert capture.log.noted_rows() == [2]
    assert capture.log.note(2) == RowNote(True, "héllo\ud800")
    capture.save_as(tmp_path / "copy.mcpcap")
    capture.close()
    copy = open_capture(tmp_path / "copy.mcpcap")
    assert copy.log.noted_rows() == [2]
    assert copy.log.note(2) == RowNote(True, "héllo\ud800")
    assert folder.captures() == ()


def test_captures_of_equal_length_have_separate_notes(tmp_path: Path, folder: CaptureFolder) -> None:
    one, two = recorded(tmp_path / "one.mcpcap"), recorded(tmp_path / "two.mcpcap")
    capture = open_capture(one, folder=folder)
    capture.log.set_note(1, RowNote(True, ""))
    capture.save_notes()
    assert open_capture(two, folder=folder).log.noted_rows() == []


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"[]", b'{"notes": 3}', b'{"notes": {"99": [true, ""], "x": [true, ""]}}']
)
def test_damaged_notes_are_ignored(tmp_path: Path, folder: CaptureFolder, content: bytes) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    capture = open_capture(path, folder=folder)
    capture.log.set_note(1, RowNote(True, ""))
    capture.save_notes()
    (stored,) = (folder.path / "notes").iterdir()
    stored.write_bytes(content)
    assert open_capture(path, folder=folder).log.noted_rows() == []


def test_a_foreign_capture_cannot_be_marked_permanently_without_a_folder(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    capture = open_capture(path)
    capture.log.set_note(1, RowNote(True, ""))
    with pytest.raises(UserError, match="cannot be saved"):
        capture.save_notes()


def test_a_link_into_our_folder_does_not_make_a_capture_ours(tmp_path: Path, folder: CaptureFolder) -> None:
    path = recorded(tmp_path / "a.mcpcap")
    folder.path.mkdir()
    link = folder.path / "linked.mcpcap"
    link.symlink_to(path)
    assert not folder.owns(link)
    assert folder.owns(folder.path / "own.mcpcap")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        (PureWindowsPath(r"\\nas\share\a b.mcpcap"), "file:////nas/share/a%20b.mcpcap"),
        (PureWindowsPath(r"C:\a\b.mcpcap"), "file:///C:/a/b.mcpcap"),
        (PurePosixPath("/a/b?.mcpcap"), "file:///a/b%3F.mcpcap"),
    ],
)
def test_path_on_a_network_share_becomes_a_uri_without_a_host(path: PurePath, uri: str) -> None:
    assert database_uri(path) == uri
