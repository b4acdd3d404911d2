"""Table model of the changes since a server's baseline, and the texts about them."""

from __future__ import annotations

import time
from enum import IntEnum

from inspector.base.plain_text import one_line
from inspector.base.units import day
from inspector.engine.drift.drift import DriftView
from inspector.protocol.drift import NOUNS, SERVER, ChangeKind, ItemChange, changes_text
from inspector.qt.models.record_table import CENTER, Column, RecordTable
from inspector.qt.theme import Theme, Tone

_SIGNS = {ChangeKind.CHANGED: "≠", ChangeKind.RENAMED: "→", ChangeKind.ADDED: "+", ChangeKind.REMOVED: "−"}
_TONES: dict[ChangeKind, Tone] = {
    ChangeKind.CHANGED: "warn",
    ChangeKind.RENAMED: "wait",
    ChangeKind.ADDED: "ok",
    ChangeKind.REMOVED: "error",
}


class DriftColumn(IntEnum):
    SIGN = 0
    NAME = 1
    KIND = 2
    CHANGE = 3


class DriftRowsModel(RecordTable[ItemChange]):
    """The changes since the baseline; there may be ten thousand."""

    def __init__(self, theme: Theme) -> None:
        columns: tuple[Column[ItemChange], ...] = (
            Column("", _sign, _sign_tone, _change_kind, accessible=_change_kind, align=CENTER),
            Column("Name", lambda change: name_text(change), "text", lambda change: name_text(change)),
            Column("Kind", _kind, "muted", _kind),
            Column("Change", _change_text, _change_tone, _change_tip),
        )
        super().__init__(theme, columns, item_of)


def item_of(change: ItemChange) -> tuple[str, str, int]:
    """Identify the item, whatever its change."""
    return change.kind, change.name, change.number


def name_text(change: ItemChange) -> str:
    """Return the display name of a change's item."""
    if change.kind == SERVER:
        return "The server itself"
    name = f"{change.old_name} → {change.name}" if change.change_kind is ChangeKind.RENAMED else change.name
    return one_line(f"{name} ({change.number + 1})" if change.number else name)


def notice_text(view: DriftView) -> str:
    """Return e.g. `3 tools changed since 12 Nov.`, plus a warning about hidden characters."""
    if view.problem:
        return view.problem
    text = changes_text(view.changes)
    sentence = f"{text[:1].upper()}{text[1:]} since {since_text(view)}."
    hidden = sum(bool(change.hidden) for change in view.changes)
    if not hidden:
        return sentence
    return f"{sentence} {hidden:,} of them {'has' if hidden == 1 else 'have'} new hidden characters."


def since_text(view: DriftView) -> str:
    return day(view.taken_ns, time.time_ns())


def _sign(change: ItemChange) -> str:
    return _SIGNS[change.change_kind]


def _sign_tone(change: ItemChange) -> Tone:
    return _TONES[change.change_kind]


def _change_kind(change: ItemChange) -> str:
    return change.change_kind.value


def _kind(change: ItemChange) -> str:
    return NOUNS[change.kind]


def _change_text(change: ItemChange) -> str:
    own = ("name", "uri", "uriTemplate") if change.change_kind is ChangeKind.RENAMED else ()
    fields = [field for field in change.fields if field not in own]
    text = one_line(", ".join(fields)) or change.change_kind.value
    if change.change_kind is ChangeKind.RENAMED and fields:
        text = f"renamed; {text}"
    return f"hidden characters: {text}" if change.hidden else text


def _change_tip(change: ItemChange) -> str:
    return f"New hidden characters in {change.hidden}" if change.hidden else _change_text(change)


def _change_tone(change: ItemChange) -> Tone:
    return "error" if change.hidden else "muted"
