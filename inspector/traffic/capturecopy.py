"""A copy of a capture, also of one that is being recorded."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic import capturefile
from inspector.traffic.beside import new_file_beside

_PAGES_AT_A_TIME = 512  # 4 MiB


def copy_capture(
    source: Path | sqlite3.Connection,
    target: Path,
    finish: Callable[[sqlite3.Connection], object] | None = None,
    on_progress: Callable[[int, int], object] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> None:
    """Copy a capture's current content to a single file that is marked as closed.

    The source may be a connection, for a file that has no name any more. The copy is written beside the
    target and moved into place when complete; `finish` may add to it before. Raises UserError or
    RequestCancelled, and then the target is unchanged.
    """

    def on_step(_status: int, remaining: int, total: int) -> None:
        if is_cancelled is not None and is_cancelled():
            raise RequestCancelled(f"Saving {target.name} was cancelled.")
        if on_progress is not None:
            on_progress(total - remaining, total)

    try:
        with new_file_beside(target) as beside:
            _copy(source, beside, finish, on_step)
            # The journal of an interrupted capture under this name would be applied to the new file.
            _remove(capturefile.side_files(target))
            beside.replace(target)
    except (OSError, sqlite3.Error) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        raise UserError(
            f"{target} could not be saved: {reason}.", "Choose another place, or make room there."
        ) from exc


def _remove(files: list[Path]) -> None:
    for file in files:
        file.unlink(missing_ok=True)


def _copy(
    source: Path | sqlite3.Connection,
    target: Path,
    finish: Callable[[sqlite3.Connection], object] | None,
    on_step: Callable[[int, int, int], None],
) -> None:
    old = source if isinstance(source, sqlite3.Connection) else capturefile.connect_to_read(source)
    try:
        new = capturefile.connect(target, "rw")
        try:
            # One read transaction for the whole copy: otherwise each commit to the source would restart it.
            old.execute("BEGIN")
            old.execute("SELECT count(*) FROM about").fetchone()
            old.backup(new, pages=_PAGES_AT_A_TIME, progress=on_step)
            new.execute("PRAGMA journal_mode=DELETE")
            if finish is not None:
                finish(new)
            capturefile.put_about(new, {"closed_at": str(time.time_ns())})
        finally:
            new.close()
            _remove(capturefile.side_files(target))
    finally:
        if old is source:
            old.rollback()  # it belongs to the caller
        else:
            old.close()
