"""Every value of two documents numbered by what it is, so that comparing two is comparing two numbers.

Equal values get equal numbers, in whatever document and order of members they stand. Each has two: the
`strict` one counts everything, the `loose` one leaves out what is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.jsonvalue import JSON
from inspector.base.numbers import write_number
from inspector.traffic.compare.ignoring import Rules
from inspector.traffic.compare.paths import Key, Places

_NONE_IGNORED: frozenset[Key] = frozenset()


class Shape:
    """A value with its numbers, and those of its members or items."""

    __slots__ = ("ignored", "items", "loose", "members", "strict", "value")

    def __init__(self, value: JSON) -> None:
        self.value = value
        self.strict = self.loose = 0
        self.members: dict[str, Shape] = {}
        self.items: list[Shape] = []
        self.ignored = _NONE_IGNORED  # keys of ignored members and items

    def put(self, key: Key, child: Shape) -> None:
        if isinstance(key, str):
            self.members[key] = child
        else:
            self.items.append(child)


class _Frame:
    """A container whose members are being processed."""

    __slots__ = ("ignored", "rest", "shape", "state")

    def __init__(self, shape: Shape, state: Places.State) -> None:
        value = shape.value
        self.shape = shape
        self.state = state
        self.ignored: set[Key] = set()
        self.rest: Iterator[tuple[Key, JSON]] = iter(())
        if isinstance(value, dict):
            self.rest = iter(value.items())
        elif isinstance(value, list):
            self.rest = iter(enumerate(value))


class Shaper:
    """Numbers values; use one instance for both sides of a comparison."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._numbers: dict[object, int] = {}
        self._scalars: dict[object, Shape] = {}

    def shape(self, value: JSON) -> Shape:
        """Return the shape of a value. Uses an explicit stack: depth is unlimited."""
        if not isinstance(value, dict | list):
            return self._scalar(value)
        root = Shape(value)
        stack = [_Frame(root, self._rules.start)]
        while stack:
            if (opened := self._fill(stack[-1])) is not None:
                stack.append(opened)
            else:
                self._number(stack.pop())
        return root

    def _fill(self, frame: _Frame) -> _Frame | None:
        """Process members until one is a container, which is processed first."""
        rules, parent = self._rules, frame.shape
        for key, value in frame.rest:
            state = rules.step(frame.state, key) if frame.state is not None else None
            if not rules.is_nothing and rules.ignores(state, key, value):
                frame.ignored.add(key)
            if isinstance(value, dict | list):
                child = Shape(value)
                parent.put(key, child)
                return _Frame(child, state)
            parent.put(key, self._scalar(value))
        return None

    def _number(self, frame: _Frame) -> None:
        shape = frame.shape
        if isinstance(shape.value, dict):
            names, children = shape.members.keys(), shape.members.values()
            shape.strict = self._of(frozenset(zip(names, [child.strict for child in children], strict=True)))
        else:
            shape.strict = self._of(tuple([child.strict for child in shape.items]))
        shape.loose = shape.strict
        if not self._rules.is_nothing:
            shape.ignored = frozenset(frame.ignored) if frame.ignored else _NONE_IGNORED
            shape.loose = self._of(_loose_token(shape))

    def _scalar(self, value: JSON) -> Shape:
        token = _token(value)
        shape = self._scalars.get(token)
        if shape is None:
            shape = self._scalars[token] = Shape(value)
            shape.strict = shape.loose = self._of(token)
            if isinstance(value, str) and self._rules.blanks:
                shape.loose = self._of(self._rules.blanked(value))
        return shape

    def _of(self, token: object) -> int:
        return self._numbers.setdefault(token, len(self._numbers) + 1)


def _loose_token(shape: Shape) -> object:
    left_out = shape.ignored
    if isinstance(shape.value, dict):
        return frozenset((name, child.loose) for name, child in shape.members.items() if name not in left_out)
    return tuple(child.loose for index, child in enumerate(shape.items) if index not in left_out)


def _token(value: JSON) -> object:
    """Return a key that tells 1, 1.0 and true apart and treats NaN as equal to itself."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ("word", str(value))
    if isinstance(value, int | float):
        return ("number", write_number(value))
    return ("unknown", repr(value))
