"""Saved calls, as things to pick from."""

from __future__ import annotations

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


def saved_picks(calls: Sequence[SavedCall]) -> Iterator[Pick]:
    for call in calls:
        place = " · ".join(word for word in (call.tool, call.server) if word)
        note = one_line(f"saved call · {place}")
        yield Pick(saved_key(call), one_line(call.name), note, "bookmark", tip=str(call.path or ""))
