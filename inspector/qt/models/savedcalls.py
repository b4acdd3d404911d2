"""Saved calls, as things to pick from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from inspector.base.plaintext import one_line
from inspector.config.savedcalls import SavedCall
from inspector.engine.calls import SavedFolder
from inspector.qt.models.palette import Pick

PREFIX = "saved:"


def saved_key(call: SavedCall) -> str:
    return f"{PREFIX}{call.path}"


def all_calls(folders: Sequence[SavedFolder]) -> list[SavedCall]:
    return [call for folder in folders for call in folder.loaded.calls]


def saved_picks(folders: Sequence[SavedFolder], calls: Sequence[SavedCall]) -> Iterator[Pick]:
    """Yield saved calls as picks, with the folder's name if there are several."""
    names = {folder.path: folder.name for folder in folders} if len(folders) > 1 else {}
    for call in calls:
        place = names.get(call.folder, "") if call.folder is not None else ""
        words = (call.server, "saved call", call.tool, place, call.description)
        note = one_line(" · ".join(word for word in words if word))
        yield Pick(saved_key(call), one_line(call.name), note, "bookmark", tip=str(call.path or ""))


def short_problem(folder: SavedFolder, sentence: str) -> str:
    """Remove the folder's path from a message about a file: it is known where it is shown."""
    return sentence.replace(f"{one_line(str(folder.path))}{os.sep}", "")
