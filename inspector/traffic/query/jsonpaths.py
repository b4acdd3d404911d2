"""Values at a path in a message. A body that is too big or cannot be read just has no values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from inspector.base.jsonvalue import JSON, JSONProblem, parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.tree import Every, Index, Member, Operator, Step
from inspector.traffic.records import RecordKind

BIGGEST = 1024 * 1024  # larger bodies are not parsed for a filter
# Where each path field starts in a message.
ROOTS: dict[str, tuple[Step, ...]] = {
    "params": (Member("params"),),
    "args": (Member("params"), Member("arguments")),
    "result": (Member("result"),),
    "error": (Member("error"),),
    "body": (),
}


def is_message(log: TrafficLog, row: int) -> bool:
    """True if the row may hold JSON that is worth parsing."""
    return log.kind(row) < RecordKind.TEXT and log.kept(row) <= BIGGEST


def message_reader(steps: Sequence[Step], hint: bytes = b"") -> Callable[[bytes], Iterable[JSON]]:
    """Return a function that yields the values at a path of a body, or of each batch message.

    `hint` is a lower-case text that relevant bodies contain, provided they are ASCII and have no escapes.
    So is the last name of the path: most bodies then need no parsing.
    """
    names = [name for name in (_as_written(step.name) for step in steps if isinstance(step, Member)) if name]
    last = names[-1] if names else b""

    def values(raw: bytes) -> Iterable[JSON]:
        if b"\\" not in raw and (last not in raw or (hint and raw.isascii() and hint not in raw.lower())):
            return ()
        body = _read(raw)
        messages = body if isinstance(body, list) else [body]
        return (value for message in messages for value in values_at(message, steps))

    return values


def values_at(value: JSON, steps: Sequence[Step]) -> Iterator[JSON]:
    """What the steps lead to: nothing, one value, or several."""
    values = iter((value,))
    for step in steps:
        values = _next(values, step)
    yield from values


def _next(values: Iterator[JSON], step: Step) -> Iterator[JSON]:
    for value in values:
        match step, value:
            case Member(name), dict():
                if name in value:
                    yield value[name]
            case Index(number), list():
                if -len(value) <= number < len(value):
                    yield value[number]
            case Every(), dict():
                yield from value.values()
            case Every(), list():
                yield from value


def _read(raw: bytes) -> JSON:
    try:
        return parse(raw.decode(errors="replace"))
    except JSONProblem:
        return None


def _as_written(name: str) -> bytes:
    """Return a member's name in quotes; b"" if a writer would have to escape it."""
    is_plain = name.isprintable() and not any(char in name for char in '"\\')
    return f'"{name}"'.encode() if is_plain and name.isascii() else b""


def hint(operator: Operator, value: str) -> bytes:
    """Return the `hint` for `message_reader`: what a matching value must contain.

    Only names are suitable: numbers can be spelled in several ways.
    """
    is_name = _NAME.fullmatch(value) is not None and value.lower() not in "infinity"
    is_useful = is_name and operator in (Operator.FITS, Operator.IS)
    return value.lower().encode() if is_useful else b""


_NAME = re.compile("[A-Za-z_]{3}[A-Za-z0-9_./-]*")
