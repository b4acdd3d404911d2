"""Exports, ours and those of other tools, made into captures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from inspector.base.errors import RequestCancelled
from inspector.traffic.capture import Capture, open_capture
from inspector.traffic.capturefile import side_files
from inspector.traffic.export.reading import Importing
from inspector.traffic.log import TrafficLog
from inspector.traffic.recording import Recording

_SQLITE = b"SQLite format 3\0"


def looks_like_capture(path: Path) -> bool:
    """True if the first bytes are those of a capture.

    An empty or unreadable file is left to `open_capture`, which reports why.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE))
    except OSError:
        return True
    return not head or head == _SQLITE


def import_capture(
    path: Path,
    target: Path,
    on_progress: Callable[[int, int], object] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> Capture:
    """Import JSON Lines or HAR into a new capture at `target`, and open it. Raises UserError."""
    log = TrafficLog()
    importing = Importing(path, log)
    recording = Recording(log, target, title=path.name)
    try:
        for done in importing.steps():
            if is_cancelled is not None and is_cancelled():
                raise RequestCancelled(f"Opening {path.name} was cancelled.")
            if on_progress is not None:
                on_progress(done, importing.size)
    except BaseException:
        recording.close()
        _remove(target)
        raise
    recording.close()
    capture = open_capture(target)
    return replace(capture, problems=(*importing.imported.problems, *capture.problems))


def _remove(target: Path) -> None:
    for file in (target, *side_files(target)):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
