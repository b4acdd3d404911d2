"""Files on Windows: a file that another process has open cannot be replaced until it is closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inspector.base.atomic_file import replace_file

# Opens the file, says so, and closes it 0.3 s after the line that asks for it.
READER = """
import sys, time
with open(sys.argv[1]):
    print("open", flush=True)
    sys.stdin.readline()
    time.sleep(0.3)
"""


def test_file_is_replaced_as_soon_as_another_process_has_closed_it(tmp_path: Path) -> None:
    target = tmp_path / "servers.json"
    target.write_text("old")
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        reader.stdin.write("close\n")
        reader.stdin.flush()
        replace_file(target, b"new", is_private=True)
    assert target.read_text() == "new"
    assert [each.name for each in tmp_path.iterdir()] == ["servers.json"]


def test_file_that_stays_open_is_reported_and_left_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "servers.json"
    target.write_text("old")
    with target.open(), pytest.raises(PermissionError):
        replace_file(target, b"new", is_private=True)
    assert target.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["servers.json"]
