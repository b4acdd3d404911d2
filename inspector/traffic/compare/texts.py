"""Comparison of two messages as bytes: as JSON if both are JSON, otherwise line by line.

Functions of plain values that return plain values, so that large messages can be compared in the worker
process: `worker.run(compare_packed, pack(left, right, ignoring))`. `carried` reduces a diff to what is
cheap to pickle, because the window waits for it.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSON, JSONError, read_number
from inspector.base.units import size
from inspector.traffic.compare.alignment import (
    MAX_LINES,
    Effort,
    first_difference,
    line_entries,
    lines_note,
    pair_lines,
)
from inspector.traffic.compare.diff import NOTHING, Change, ChangeKind, Cut, Diff, Ignoring, Rules
from inspector.traffic.compare.json_values import MAX_ENTRIES, compare
from inspector.traffic.compare.lines import called, children, value_text

_MAX_CARRIED = 5_000  # values, or hundreds of characters


def carried(diff: Diff) -> Diff:
    """Return the diff without the values that would make it expensive to pickle.

    Drops containers whose contents have their own entries, and equal values beyond a few thousand.
    Differences are kept whole.
    """
    left = [_MAX_CARRIED]
    return replace(diff, entries=tuple(_light(entry, left) for entry in diff.entries))


def _light(entry: Change, left: list[int]) -> Change:
    has_entries = entry.kind in (ChangeKind.INSIDE, ChangeKind.MOVED)
    if has_entries or (entry.kind is ChangeKind.SAME and not _matches(entry.left, left)):
        return replace(entry, left=_cut(entry.left), right=_cut(entry.right))
    return entry


def _cut(value: JSON | Cut) -> Cut:
    return Cut(value_text(value), called(value).strip())


def _matches(value: JSON | Cut, left: list[int]) -> bool:
    """True if a value fits the remaining budget, which it then uses up."""
    waiting = [value]
    while waiting and left[0] > 0:
        one = waiting.pop()
        left[0] -= 1 + (len(one) // 100 if isinstance(one, str) else 0)
        waiting += [child for _, child in children(one)]
    return left[0] > 0


MAX_BYTES = 16 * 1024 * 1024  # on either side
_HEAD = 2_000
_MAX_DEPTH = 400  # pickling for another process is recursive
_TOO_DEEP = "Compared as text: one of the two is nested too deeply to be compared by structure."
_NO_JSON = "Compared as text: {} is not JSON."
_CUT = f"Too many differences: only the first {MAX_ENTRIES:,} lines are listed."
_REPEATED = "A property name occurs more than once in one object; only the last one was compared."


def compare_texts(left: bytes, right: bytes, ignoring: Ignoring = NOTHING) -> Diff:
    """Compare two messages. Raises UserError for an invalid `ignoring`."""
    Rules(ignoring)
    if left == right:
        text = _decoded(left[:_HEAD])
        return Diff((Change(-1, 0, ChangeKind.SAME, None, None, text, text),), is_text=True)
    if max(len(left), len(right)) > MAX_BYTES:
        return _only_that_they_differ(left, right)
    ours, theirs = _Read(left), _Read(right)
    if ours.is_json and theirs.is_json:
        diff = compare(ours.value, theirs.value, ignoring)
        return (
            replace(diff, note=f"{diff.note} {_REPEATED}".strip()) if ours.repeats or theirs.repeats else diff
        )
    return _by_lines(ours, theirs, ignoring)


def pack(left: bytes, right: bytes, ignoring: Ignoring = NOTHING) -> bytes:
    """Pickle the input of `compare_packed`."""
    return pickle.dumps((left, right, ignoring))


def compare_packed(data: bytes) -> Diff:
    """Run `compare_texts` in the worker process, whose functions take bytes.

    Heavy values are omitted from the result (see `carried`).
    """
    left, right, ignoring = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return carried(compare_texts(left, right, ignoring))


class _Read:
    """One side: a JSON value, or why it is not one."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.value: JSON = None
        self.repeats = False
        self.is_json = self.is_too_deep = False
        try:
            self.value = self._decoder().decode(raw.decode().removeprefix("\ufeff"))
            self.is_too_deep = is_deeper(self.value, _MAX_DEPTH)
            self.is_json = not self.is_too_deep
        except RecursionError:
            self.is_too_deep = True
        except ValueError:  # also JSONDecodeError and UnicodeDecodeError
            self.value = None

    def lines(self) -> list[str]:
        text = _decoded(self.raw)
        laid_out = reindent(text) if self.is_json or self.is_too_deep else text
        return laid_out.split("\n")

    def _decoder(self) -> json.JSONDecoder:
        return json.JSONDecoder(
            parse_float=_number, parse_int=_number, object_pairs_hook=self._object, strict=False
        )

    def _object(self, pairs: list[tuple[str, JSON]]) -> JSON:
        members = dict(pairs)
        self.repeats = self.repeats or len(members) < len(pairs)
        return members


def _number(text: str) -> int | float:
    number = read_number(text)
    if number is None:
        raise JSONError(f"{text!r} is not a number")
    return number


def is_deeper(value: JSON, limit: int) -> bool:
    """True if a value is nested more deeply than this many levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [child for holder in level if isinstance(holder, dict | list) for child in _children(holder)]
        if not level:
            return False
    return True


def _children(holder: dict[str, JSON] | list[JSON]) -> list[JSON]:
    return [*holder.values()] if isinstance(holder, dict) else holder


def _by_lines(left: _Read, right: _Read, ignoring: Ignoring) -> Diff:
    ours, theirs = left.lines(), right.lines()
    if max(len(ours), len(theirs)) > MAX_LINES:
        return _only_that_they_differ(left.raw, right.raw)
    rules = Rules(ignoring)
    pairs = list(pair_lines(ours, theirs, Effort(), rules.blanked))
    root = Change(-1, 0, ChangeKind.INSIDE, None, None, None, None, lines_note(pairs))
    entries = [root, *line_entries(pairs, ours, theirs, 0, 1)]
    notes = [_why_text(left, right), _CUT if len(entries) > MAX_ENTRIES else ""]
    return Diff(tuple(entries[:MAX_ENTRIES]), " ".join(filter(None, notes)), is_text=True)


def _why_text(left: _Read, right: _Read) -> str:
    if left.is_too_deep or right.is_too_deep:
        return _TOO_DEEP
    if left.is_json or right.is_json:
        return _NO_JSON.format("the right one" if left.is_json else "the left one")
    return ""  # two texts, as usual


def _only_that_they_differ(left: bytes, right: bytes) -> Diff:
    position = first_difference(left, right)
    around = slice(max(0, position - 200), position + _HEAD)
    change = Change(-1, 0, ChangeKind.CHANGED, None, None, _decoded(left[around]), _decoded(right[around]))
    note = (
        f"Too large to compare in detail ({size(len(left))} and {size(len(right))}). They are equal up "
        f"to byte {position:,}; the excerpt starts shortly before. Save both to compare them with "
        "another tool."
    )
    return Diff((change,), note, is_text=True)


def _decoded(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")
