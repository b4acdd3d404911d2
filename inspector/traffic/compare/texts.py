"""Comparison of two messages as bytes: as JSON if both are JSON, otherwise line by line.

Functions of plain values that return plain values, so that large messages can be compared in the worker
process: `worker.run(compare_packed, pack(left, right, ignoring))`. `reduced` leaves out of a diff what is
expensive to pickle, because the window waits for it.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSON, exact_decoder
from inspector.base.units import size
from inspector.traffic.compare.alignment import Effort
from inspector.traffic.compare.diff import (
    IGNORE_NOTHING,
    Change,
    ChangeKind,
    Cut,
    Diff,
    IgnoreOptions,
    IgnoreRules,
)
from inspector.traffic.compare.json_values import MAX_ENTRIES, compare
from inspector.traffic.compare.lines import (
    MAX_PAIRED_LINES,
    children,
    first_difference,
    item_name,
    line_entries,
    lines_note,
    pair_lines,
    value_text,
)

MAX_BYTES = 16 * 1024 * 1024  # on either side
_HEAD = 2_000
_MAX_DEPTH = 400  # pickling for another process is recursive
_TOO_DEEP = "Compared as text: one of the two is nested too deeply to be compared by structure."
_NO_JSON = "Compared as text: {} is not JSON."
_CUT = f"Too many differences: only the first {MAX_ENTRIES:,} lines are listed."
_REPEATED = "A property name occurs more than once in one object; only the last one was compared."

_MAX_PICKLED = 5_000  # values, or hundreds of characters


def compare_texts(left: bytes, right: bytes, ignoring: IgnoreOptions = IGNORE_NOTHING) -> Diff:
    """Compare two messages. Raises UserError for an invalid `ignoring`."""
    IgnoreRules(ignoring)
    if left == right:
        text = _decoded(left[:_HEAD])
        return Diff((Change(-1, 0, ChangeKind.SAME, None, None, text, text),), is_text=True)
    if max(len(left), len(right)) > MAX_BYTES:
        return _excerpt_diff(left, right)
    ours, theirs = _Read(left), _Read(right)
    if ours.is_json and theirs.is_json:
        diff = compare(ours.value, theirs.value, ignoring)
        return (
            replace(diff, note=f"{diff.note} {_REPEATED}".strip()) if ours.repeats or theirs.repeats else diff
        )
    return _by_lines(ours, theirs, ignoring)


def pack(left: bytes, right: bytes, ignoring: IgnoreOptions = IGNORE_NOTHING) -> bytes:
    """Pickle the input of `compare_packed`."""
    return pickle.dumps((left, right, ignoring))


def compare_packed(data: bytes) -> Diff:
    """Run `compare_texts` in the worker process, whose functions take bytes.

    Heavy values are omitted from the result (see `reduced`).
    """
    left, right, ignoring = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return reduced(compare_texts(left, right, ignoring))


def reduced(diff: Diff) -> Diff:
    """Return the diff without the values that would make it expensive to pickle.

    Drops containers whose contents have their own entries, and equal values beyond a few thousand.
    Differences are kept whole.
    """
    budget = [_MAX_PICKLED]
    return replace(diff, entries=tuple(_reduced_entry(entry, budget) for entry in diff.entries))


def _reduced_entry(entry: Change, budget: list[int]) -> Change:
    has_entries = entry.kind in (ChangeKind.INSIDE, ChangeKind.MOVED)
    if has_entries or (entry.kind is ChangeKind.SAME and not _fits(entry.left, budget)):
        return replace(entry, left=_cut(entry.left), right=_cut(entry.right))
    return entry


def _cut(value: JSON | Cut) -> Cut:
    return Cut(value_text(value), item_name(value).strip())


def _fits(value: JSON | Cut, budget: list[int]) -> bool:
    """True if a value fits the remaining budget, which it then uses up."""
    waiting = [value]
    while waiting and budget[0] > 0:
        one = waiting.pop()
        budget[0] -= 1 + (len(one) // 100 if isinstance(one, str) else 0)
        waiting += [child for _, child in children(one)]
    return budget[0] > 0


class _Read:
    """One side: a JSON value, or why it is not one."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.value: JSON = None
        self.repeats = False
        self.is_json = self.is_too_deep = False
        try:
            self.value = self._decoder().decode(raw.decode().removeprefix("\ufeff"))
            self.is_too_deep = _is_deeper(self.value, _MAX_DEPTH)
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
        return exact_decoder(object_pairs_hook=self._object, strict=False)

    def _object(self, pairs: list[tuple[str, JSON]]) -> JSON:
        members = dict(pairs)
        self.repeats = self.repeats or len(members) < len(pairs)
        return members


def _is_deeper(value: JSON, limit: int) -> bool:
    """True if a value is nested more deeply than this many levels."""
    level = [value]
    for _ in range(limit + 1):
        level = [child for holder in level if isinstance(holder, dict | list) for child in _children(holder)]
        if not level:
            return False
    return True


def _children(holder: dict[str, JSON] | list[JSON]) -> list[JSON]:
    return [*holder.values()] if isinstance(holder, dict) else holder


def _by_lines(left: _Read, right: _Read, ignoring: IgnoreOptions) -> Diff:
    ours, theirs = left.lines(), right.lines()
    if max(len(ours), len(theirs)) > MAX_PAIRED_LINES:
        return _excerpt_diff(left.raw, right.raw)
    rules = IgnoreRules(ignoring)
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


def _excerpt_diff(left: bytes, right: bytes) -> Diff:
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
