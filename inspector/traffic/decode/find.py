"""Finds what is packed inside the texts of a message, to a depth of three, with bounded work.

`find_decodings` is a function of bytes and gives plain values: big messages go to the worker process with
`worker.run(find_decodings, raw)`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from inspector.base.jsonvalue import JSON, JSONProblem, parse
from inspector.traffic.compare.paths import Key, Path, path_text
from inspector.traffic.decode.base64text import data_url, decoded
from inspector.traffic.decode.decoding import Decoding, Found, placed
from inspector.traffic.decode.embedded import json_in, url_in
from inspector.traffic.decode.files import is_svg, readable, recognised, svg
from inspector.traffic.decode.tokens import tokens

DEEPEST = 3
MOST_DECODINGS = 100
_MOST_TEXTS = 2_000  # to search
_MOST_CHARACTERS = 16 * 1024 * 1024  # in all texts together
_MOST_VALUES = 200_000  # visited to find the texts
_SHORTEST = 4  # characters of a text worth searching
_DEEPEST_PATH = 200  # paths are written out: their length would grow with the square of the depth
_FILE_MEMBERS = frozenset({"data", "blob"})


@dataclass(slots=True)
class _Budget:
    texts: int = _MOST_TEXTS
    characters: int = _MOST_CHARACTERS
    values: int = _MOST_VALUES


@dataclass(frozen=True, slots=True)
class _Text:
    """A text to search. `said_type` is the declared MIME type, if it is in a member for files."""

    path: str
    text: str
    depth: int
    said_type: str | None = None


def find_decodings(value: JSON | bytes) -> tuple[Decoding, ...]:
    """Find decodings in document order, nested ones after their container.

    Never raises; bounded in number and size.
    """
    return tuple(_Search().run(value))


class _Search:
    def __init__(self) -> None:
        self._budget = _Budget()
        self._waiting: deque[_Text] = deque()
        self._found: list[Decoding] = []

    def run(self, value: JSON | bytes) -> list[Decoding]:
        if isinstance(value, bytes):
            self._start_with_bytes(value)
        else:
            self._waiting.extend(self._texts(value, "", 0))
        while self._waiting and len(self._found) < MOST_DECODINGS and self._may_go_on():
            self._look_into(self._waiting.popleft())
        return self._found

    def _may_go_on(self) -> bool:
        return self._budget.texts > 0 and self._budget.characters > 0

    def _start_with_bytes(self, raw: bytes) -> None:
        """Start with a message, or a body that is not JSON: a text or a file."""
        text = readable(raw)
        if text is None:
            found = recognised(raw, "bytes")
            if found is not None:
                self._take(found, _Text("", "", 0))
            return
        try:
            self._waiting.extend(self._texts(parse(text.removeprefix("\ufeff")), "", 0))
        except JSONProblem:
            self._waiting.append(_Text("", text, 0))

    def _look_into(self, one: _Text) -> None:
        self._budget.texts -= 1
        self._budget.characters -= len(one.text)
        inner: list[_Text] = []
        for found in _decodings_of(one):
            inner += self._take(found, one)
        self._waiting.extendleft(reversed(inner))  # before its neighbours: document order

    def _take(self, found: Found, one: _Text) -> list[_Text]:
        path = f"{one.path} › {found.step}" if one.path else found.step
        self._found.append(placed(found, path))
        depth = one.depth + 1
        if found.inside is None or depth >= DEEPEST:
            return []
        return [*self._texts(found.inside, path, depth)]

    def _texts(self, value: JSON, outer: str, depth: int) -> Iterator[_Text]:
        """Yield the texts in a value in document order, within the remaining budget."""
        if isinstance(value, str):
            return iter([_Text(outer, value, depth)])
        return islice(self._walk(value, outer, depth), max(0, self._budget.texts))

    def _walk(self, value: JSON, outer: str, depth: int) -> Iterator[_Text]:
        stack = [_Level((), value)]
        while stack and self._budget.values > 0:
            level = stack[-1]
            for key, child in level.children:
                self._budget.values -= 1
                if isinstance(child, str) and len(child) >= _SHORTEST:
                    place = path_text((*level.path, key))
                    where = f"{outer} › {place}" if outer else place
                    yield _Text(where, child, depth, level.said_type if key in _FILE_MEMBERS else None)
                elif isinstance(child, dict | list) and child and len(stack) < _DEEPEST_PATH:
                    stack.append(_Level((*level.path, key), child))
                    break
            else:
                stack.pop()


class _Level:
    """A container on the walk, with its remaining members."""

    def __init__(self, path: Path, value: JSON) -> None:
        self.path = path
        self.children: Iterator[tuple[Key, JSON]] = iter(())
        self.said_type: str | None = None  # MIME type that an object declares for its file
        if isinstance(value, dict):
            self.children = iter(value.items())
            said = value.get("mimeType")
            self.said_type = said if isinstance(said, str) else None
        elif isinstance(value, list):
            self.children = iter(enumerate(value))


def _decodings_of(one: _Text) -> Iterator[Found]:
    """Yield what a text holds, by the first format that matches."""
    text = one.text
    if text.startswith("data:") and (file := data_url(text)) is not None:
        yield file
    elif is_svg(text):
        yield svg(text, "SVG")
    elif structured := [*json_in(text)]:
        yield from structured
    elif found := [*tokens(text)]:
        yield from found
    elif (other := decoded(text, one.said_type) or url_in(text)) is not None:
        yield other
