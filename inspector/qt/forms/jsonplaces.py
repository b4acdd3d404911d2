"""Where things stand in JSON text: the place of a pointer, and the pointer of a place.

Both read text as it is being written: what comes before the first mistake is understood, the rest is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field

from inspector.schema.values import child

# A string may lack its closing quote while it is being typed.
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\]:,]|[^\s{}\[\]:,"]+')
_REST_OF_STRING = re.compile(r'[\w.-]*"?')
_LOOKED_AHEAD = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """A range of characters of the text."""

    start: int
    end: int


@dataclass(slots=True)
class _Open:
    """A list or object that has been opened."""

    is_list: bool
    start: int
    pointer: str
    step: str | int
    keys: list[str] = field(default_factory=list)
    wants_key: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What is being written at a position: a key or a value, and in which list or object.

    `path` leads to the value being written, or to the object whose key is. `keys` are the object's other
    keys.
    """

    path: tuple[str | int, ...]
    is_key: bool
    written: Place
    keys: frozenset[str] = frozenset()


class _Reading:
    """Walks the tokens and tracks the open lists and objects."""

    def __init__(self) -> None:
        self.open: list[_Open] = []

    def pointer(self) -> str:
        """Return the pointer of the next value."""
        return child(self.open[-1].pointer, self.open[-1].step) if self.open else ""

    def begin(self, bracket: str, start: int) -> None:
        is_list = bracket == "["
        self.open.append(_Open(is_list, start, self.pointer(), 0 if is_list else "", wants_key=not is_list))

    def take_key(self, piece: str) -> None:
        self.open[-1].step = _unquoted(piece)
        self.open[-1].keys.append(str(self.open[-1].step))
        self.open[-1].wants_key = False

    def go_on(self) -> None:
        """Handle a comma."""
        inner = self.open[-1]
        if inner.is_list and isinstance(inner.step, int):
            inner.step += 1
        else:
            inner.wants_key = True


def locate(text: str, pointers: Collection[str]) -> dict[str, Place]:
    """Return the places of the values at these pointers; values not in the text are omitted."""
    wanted, found = set(pointers), dict[str, Place]()
    reading = _Reading()
    for match in _TOKEN.finditer(text):
        if wanted <= found.keys():
            break
        piece = match[0]
        if piece in "{[":
            reading.begin(piece, match.start())
        elif piece in "}]":
            if not reading.open:
                break
            done = reading.open.pop()
            _note(done.pointer, Place(done.start, match.end()), wanted, found)
        elif piece == ",":
            if not reading.open:
                break
            reading.go_on()
        elif piece[0] == '"' and reading.open and reading.open[-1].wants_key:
            reading.take_key(piece)
        elif piece != ":":
            _note(reading.pointer(), Place(match.start(), match.end()), wanted, found)
    return found


def _note(pointer: str, place: Place, wanted: set[str], found: dict[str, Place]) -> None:
    if pointer in wanted:
        found[pointer] = place


def context_at(text: str, offset: int) -> Context | None:
    """Return what is being written at `offset`; None where nothing can be, e.g. after a value."""
    reading = _Reading()
    before, written = "", Place(offset, offset)
    for match in _TOKEN.finditer(text):
        piece = match[0]
        is_inside = match.start() < offset < match.end() or (offset == match.end() and piece not in "{}[]:,")
        if is_inside and piece not in "{}[]:,":
            written = Place(match.start(), _end_of(text, match, offset))
            break
        if match.start() >= offset:
            break
        if piece in "{[":
            reading.begin(piece, match.start())
        elif piece in "}]" and reading.open:
            reading.open.pop()
        elif piece == "," and reading.open:
            reading.go_on()
        elif piece[0] == '"' and reading.open and reading.open[-1].wants_key:
            reading.take_key(piece)
        before = piece
    return _context(text, reading, before, written)


def _end_of(text: str, match: re.Match[str], offset: int) -> int:
    """Return the end of the word being written; an unclosed string would swallow the rest."""
    rest = _REST_OF_STRING.match(text, offset) if match[0][0] == '"' else None
    return min(rest.end(), match.end()) if rest is not None else match.end()


def _context(text: str, reading: _Reading, before: str, written: Place) -> Context | None:
    if not reading.open:
        return Context((), False, written) if not before else None
    inner = reading.open[-1]
    steps = tuple(one.step for one in reading.open[:-1])
    if inner.wants_key:
        if before not in ("{", ","):
            return None
        later = _keys_after(text, written.end)
        return Context(steps, True, written, frozenset(inner.keys) | later)
    is_due = before in ("[", ",") if inner.is_list else before == ":"
    return Context((*steps, inner.step), False, written) if is_due else None


def _keys_after(text: str, offset: int) -> frozenset[str]:
    """Return the keys of the same object after `offset`, up to a limit."""
    depth, last, keys = 0, "", set()
    for match in _TOKEN.finditer(text, offset, min(len(text), offset + _LOOKED_AHEAD)):
        piece = match[0]
        if piece in "{[":
            depth += 1
        elif piece in "}]":
            depth -= 1
            if depth < 0:
                break
        elif piece == ":" and depth == 0 and last.startswith('"'):
            keys.add(_unquoted(last))
        last = piece
    return frozenset(keys)


def _unquoted(piece: str) -> str:
    try:
        return str(json.loads(piece))
    except ValueError:
        return piece.strip('"')
