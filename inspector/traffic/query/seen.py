"""What the latest rows of a log have: values and paths to offer while somebody types. Bounded work."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from inspector.base.jsonvalue import JSON, JSONObject, JSONProblem, parse
from inspector.base.numbers import write_number
from inspector.base.units import plural
from inspector.traffic.log import TrafficLog
from inspector.traffic.query.fields import Field, Worded
from inspector.traffic.query.jsonpaths import ROOTS, values_at
from inspector.traffic.query.tree import Every, Member, Path, Step
from inspector.traffic.records import RecordKind

_LATEST_ROWS = 20_000  # rows whose columns are searched
_LATEST_BODIES, _ROWS_FOR_BODIES = 40, 400
_BIGGEST_BODY = 64 * 1024
_DEEPEST, _MOST_PATHS, _MOST_ITEMS = 6, 2_000, 3
LONGEST_VALUE = 80


def words(log: TrafficLog, field: Field) -> Iterator[tuple[str, str]]:
    """Yield a word column's texts, most frequent first, each with its count."""
    where = field.where
    assert isinstance(where, Worded)
    first = max(0, len(log) - _LATEST_ROWS)
    column: array[int] = getattr(log.columns, where.column)
    if where.methods is None:
        counts = Counter(column[first : len(log)])
    else:
        methods = {log.words.number_of(method) for method in where.methods}
        pairs = zip(column[first : len(log)], log.columns.method[first : len(log)], strict=True)
        counts = Counter(word for word, method in pairs if method in methods)
    for number, count in counts.most_common():
        text = log.words.text(number)
        if text and len(text) <= LONGEST_VALUE:
            yield text, plural(count, "row")


def http_statuses(log: TrafficLog) -> Iterator[tuple[str, str]]:
    first = max(0, len(log) - _LATEST_ROWS)
    counts = Counter(log.columns.http_status[first : len(log)])
    return ((str(code), plural(count, "exchange")) for code, count in counts.most_common() if code)


def paths(log: TrafficLog, root: str) -> list[Path]:
    """Return the paths under a root that exist in the latest messages."""
    ways = (
        steps
        for message in _messages(log)
        for value in values_at(message, ROOTS[root])
        for steps in _ways(value, ())
    )
    return [Path(root, steps) for steps in dict.fromkeys(islice(ways, _MOST_PATHS)) if steps]


def values(log: TrafficLog, path: Path) -> list[str]:
    """Return the simple values at a path in the latest messages, each once."""
    found: dict[str, None] = {}
    for message in _messages(log):
        for value in values_at(message, ROOTS[path.word] + path.steps):
            text = _simple(value)
            if text and len(text) <= LONGEST_VALUE:
                found[text] = None
    return list(found)


def _messages(log: TrafficLog) -> Iterator[JSONObject]:
    left = _LATEST_BODIES
    for row in range(len(log) - 1, max(-1, len(log) - 1 - _ROWS_FOR_BODIES), -1):
        if log.kind(row) >= RecordKind.TEXT or log.kept(row) > _BIGGEST_BODY:
            continue
        try:
            body = parse(log.raw(row).decode(errors="replace"))
        except JSONProblem:
            continue
        for message in body if isinstance(body, list) else [body]:
            if isinstance(message, dict):
                yield message
        left -= 1
        if not left:
            return


def _ways(value: JSON, steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    yield steps
    if len(steps) >= _DEEPEST:
        return
    if isinstance(value, dict):
        for name, child in value.items():
            if len(name) <= LONGEST_VALUE:
                yield from _ways(child, (*steps, Member(name)))
    elif isinstance(value, list):
        for child in value[:_MOST_ITEMS]:
            yield from _ways(child, (*steps, Every()))


def _simple(value: JSON) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return write_number(value)
        case None:
            return "null"
    return ""
