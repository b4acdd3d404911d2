"""Captures on Windows."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from inspector.traffic.captures.file_format import connect, create, read_about

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="network shares have such paths on Windows")


def test_capture_on_a_network_share_is_looked_for_there() -> None:
    with pytest.raises(sqlite3.OperationalError, match="unable to open database file"):
        connect(Path(r"\\localhost\missing\a.mcpcap"), "ro")


def test_capture_on_a_network_share_is_created_and_opened(tmp_path: Path) -> None:
    path = tmp_path / "a b.mcpcap"
    drive, rest = path.drive[0], path.as_posix()[3:]
    shared = Path(rf"\\localhost\{drive}$", *rest.split("/"))
    if not shared.parent.exists():
        pytest.skip("the administrative share is not available")
    create(shared, {"note": "x"}).close()
    with closing(connect(shared, "ro")) as connection:
        assert read_about(connection)["note"] == "x"
    assert path.exists()
