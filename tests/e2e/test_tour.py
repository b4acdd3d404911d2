"""The tour of the real window, run by its command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_PNG = b"\x89PNG"


@pytest.mark.timeout(400)
def test_tour_completes_every_stop_and_saves_its_screenshots(tmp_path: Path) -> None:
    out = tmp_path / "screenshots"
    tour = subprocess.run(
        [sys.executable, "-P", "-m", "inspector", "tour", "--out", str(out)],
        env=os.environ | {"HOME": str(tmp_path), "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=390,
    )
    assert tour.returncode == 0, tour.stderr
    assert tour.stderr == ""
    images = sorted(out.glob("*.png"))
    assert [image.name[:2] for image in images] == [f"{n:02d}" for n in range(1, len(images) + 1)]
    assert len(images) >= 36
    servers = (
        "welcome",
        "discovered-servers",
        "trusted-server",
        "add-by-pasting",
        "edit-server",
        "export-servers",
    )
    stops = ("four-states", "resource-changes", "prompt", "palette", "template")
    for stop in (*servers, *stops, "auth-waiting", "auth-done", "auth-diagram"):
        assert [image for image in images if image.stem.endswith(stop)], stop
    assert all(image.read_bytes().startswith(_PNG) for image in images)
