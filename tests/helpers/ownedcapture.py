"""Opens a capture as one of ours: with its journal, and with notes saved in the file."""

from __future__ import annotations

from pathlib import Path

from inspector.traffic.captures.capture import Capture, open_capture
from inspector.traffic.captures.folder import CaptureFolder


def open_own_capture(path: Path) -> Capture:
    return open_capture(path, folder=CaptureFolder(path.parent))
