"""File associations of desktops."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.cli.commands import associate
from inspector.cli.main import main
from inspector.traffic.captures.recording import Recording
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind

pytestmark = pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="freedesktop.org's desktops only")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


def test_association_files_are_written_and_removed(data: Path) -> None:
    assert main(["associate"]) == 0
    entry = (data / "applications/mcp-lens.desktop").read_text()
    assert "MimeType=application/x-mcpcap;" in entry
    assert "@EXEC@" not in entry
    assert (data / "icons/hicolor/scalable/apps/mcp-lens.svg").exists()
    assert main(["associate", "--remove"]) == 0
    assert not (data / "applications/mcp-lens.desktop").exists()
    assert not (data / "mime/packages/mcp-lens.xml").exists()


def test_unwritable_folder_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "applications").write_text("in the way")
    assert main(["associate"]) == 2
    assert f"Could not write {data}/applications/mcp-lens.desktop: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "program", ["/usr/bin/mcp-lens", "/my tools/mcp-lens", '/a"b$c`d\\e/mcp-lens', "/50%/x"]
)
def test_any_program_name_is_quoted_for_desktop_entries(program: str) -> None:
    value = associate._quoted(program).replace("%%", "%").replace("\\\\", "\\")  # as a reader of strings does
    # The rules of quoting are those of a shell's double quotes.
    read = subprocess.run(["/bin/sh", "-c", f"printf %s {value}"], capture_output=True, text=True, check=True)
    assert read.stdout == program


@pytest.mark.skipif(
    shutil.which("gio") is None or shutil.which("update-mime-database") is None,
    reason="no desktop tools here",
)
def test_desktop_recognizes_a_capture_by_extension_and_magic_bytes(data: Path) -> None:
    assert main(["associate"]) == 0
    log = TrafficLog()
    log.append(log.add_server("one"), RecordKind.TEXT, Direction.IN, 0, 0, b"x")
    log.publish()
    Recording(log, data / "one.mcpcap").close()
    (data / "no-suffix").write_bytes((data / "one.mcpcap").read_bytes())
    for name in ("one.mcpcap", "no-suffix"):
        requested = ["gio", "info", "-a", "standard::content-type", str(data / name)]
        reported = subprocess.run(requested, capture_output=True, text=True, check=True).stdout
        assert "application/x-mcpcap" in reported
