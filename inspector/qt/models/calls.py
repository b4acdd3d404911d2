"""Past calls and saved calls as palette items, and texts about saved calls."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.units import duration, full_time, time_of_day
from inspector.config.calls.history import RecordedCall
from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.calls.library import SavedFolder
from inspector.qt.models.palette import PaletteItem
from inspector.qt.theme import Tone

_MAX_LENGTH = 160
_TONES: dict[str, Tone] = {"result": "muted", "tool error": "warn", "error": "error", "failed": "error"}

_OPTIONS = {"task": "task", "capabilities": "capabilities", "meta": "_meta"}


def history_items(calls: Sequence[RecordedCall], today: str) -> Iterator[PaletteItem]:
    """Yield past calls, newest first; the key is the number.

    `today` is a date such as 2026-11-16.
    """
    for number, call in enumerate(calls):
        when = full_time(call.at_ns)
        moment = time_of_day(call.at_ns)[:8] if when.startswith(today) else when[:16]
        arguments = one_line(shorten(call.text, _MAX_LENGTH)) or "(too long to save)"
        options = call.recorded_options() or {}
        how = " · ".join(label for name, label in _OPTIONS.items() if name in options)
        note = f"{how} · " if how else ""
        note += f"{call.outcome} · {duration(call.elapsed_ns)} · {moment}"
        tone = _TONES.get(call.outcome, "muted")
        yield PaletteItem(str(number), arguments, note, "", tone, f"{when}\n{arguments}")


SAVED_PREFIX = "saved:"


def saved_key(call: SavedCall) -> str:
    return f"{SAVED_PREFIX}{call.path}"


def calls_in(folders: Sequence[SavedFolder]) -> list[SavedCall]:
    return [call for folder in folders for call in folder.loaded.calls]


def saved_items(folders: Sequence[SavedFolder], calls: Sequence[SavedCall]) -> Iterator[PaletteItem]:
    """Yield saved calls as items, with the folder's name if there are several."""
    names = {folder.path: folder.name for folder in folders} if len(folders) > 1 else {}
    for call in calls:
        position = names.get(call.folder, "") if call.folder is not None else ""
        parts = (call.server, "saved call", call.tool, position, call.description)
        note = one_line(" · ".join(part for part in parts if part))
        yield PaletteItem(saved_key(call), one_line(call.name), note, "bookmark", tip=str(call.path or ""))


def without_folder(folder: SavedFolder, message: str) -> str:
    """Remove the folder's path from a message about a file: it is known where it is shown."""
    return message.replace(f"{one_line(str(folder.path))}{os.sep}", "")
