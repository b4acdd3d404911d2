"""What could stand at the cursor: words, operators, values and paths, with a line about each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from inspector.protocol import jsonrpc
from inspector.traffic.log import TrafficLog
from inspector.traffic.query import seen
from inspector.traffic.query.comparing import Type
from inspector.traffic.query.cursor import TypingValue, TypingWord, path_of, typing_at
from inspector.traffic.query.fields import FIELDS, Field, Named, Special, Worded
from inspector.traffic.query.jsonpaths import ROOTS
from inspector.traffic.query.lexing import BARE_TEXT, OPERATOR, QUOTED, read_steps
from inspector.traffic.query.printing import path_text, quoted, value_text
from inspector.traffic.query.tree import ORDER, Operator

_MOST = 50
_OPERATORS = {
    Operator.FITS: "contains; * stands for any letters",
    Operator.IS: "is exactly",
    Operator.IS_NOT: "is not",
    Operator.ABOVE: "is more than",
    Operator.BELOW: "is less than",
    Operator.AT_LEAST: "is at least",
    Operator.AT_MOST: "is at most",
    Operator.LIKE: "a regular expression is found in it",
    Operator.IN: "is one of a list",
}
_KEYWORDS = {"and": "both must fit", "or": "one must fit", "not": "the next must not fit"}
_DURATION_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "us": "microseconds", "h": "hours"}
_SIZE_UNITS = {"k": "1,000 bytes", "M": "1,000,000 bytes", "KiB": "1,024 bytes", "MiB": "1,048,576 bytes"}
_CODES = {
    str(jsonrpc.PARSE_ERROR): "Parse error",
    str(jsonrpc.INVALID_REQUEST): "Invalid request",
    str(jsonrpc.METHOD_NOT_FOUND): "Method not found",
    str(jsonrpc.INVALID_PARAMS): "Invalid params",
    str(jsonrpc.INTERNAL_ERROR): "Internal error",
}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*[A-Za-z]*")
_HEADERS = ("content-type", "authorization", "mcp-session-id", "mcp-protocol-version", "www-authenticate")


@dataclass(frozen=True, slots=True)
class Completion:
    """A text to insert as it is, and what it means."""

    text: str
    description: str


@dataclass(frozen=True, slots=True)
class Completions:
    """Completions that replace the filter's text from `start` up to `end`."""

    start: int
    end: int
    items: tuple[Completion, ...] = ()


def complete(text: str, cursor: int, log: TrafficLog) -> Completions:
    """Return completions for the text at the cursor, best first; none where anything is allowed."""
    cursor = max(0, min(cursor, len(text)))
    typing = typing_at(text[:cursor])
    if isinstance(typing, TypingWord):
        end = _end_of_word(text, cursor)
        offers = _word_offers(typing, log, has_operator=OPERATOR.match(text, end) is not None)
        return Completions(typing.start, end, _chosen(offers, typing.typed))
    if isinstance(typing, TypingValue):
        return Completions(typing.start, _end_of_value(text, cursor, typing), _values(typing, log))
    return Completions(cursor, cursor)


# ------------------------------------------------------------ words


def _word_offers(typing: TypingWord, log: TrafficLog, *, has_operator: bool) -> Iterator[Completion]:
    if typing.compared is not None:
        yield from _operators(FIELDS[typing.compared.word], "", is_glued=False)
    steps, end = read_steps(typing.typed, 0)
    path = path_of(steps) if end == len(typing.typed) else None
    if path is None or path.steps:
        yield from _paths(typing.typed, log)
    if path is not None and not has_operator:
        yield from _operators(FIELDS[path.word], typing.typed, is_glued=True)
    keywords = _KEYWORDS if typing.is_after_term else {"not": _KEYWORDS["not"]}
    yield from (Completion(word, meaning) for word, meaning in keywords.items())
    yield from (Completion(field.word, field.description) for field in FIELDS.values())
    if path is not None and not path.steps:
        yield from _paths(typing.typed, log)


def _operators(field: Field, word: str, *, is_glued: bool) -> Iterator[Completion]:
    for operator in field.operators:
        text = "in (" if operator is Operator.IN else operator.value
        space = " " if is_glued and operator is Operator.IN else ""
        yield Completion(f"{word}{space}{text}", _OPERATORS[operator])


def _paths(typed: str, log: TrafficLog) -> Iterator[Completion]:
    root = re.split(r"[.\[]", typed, maxsplit=1)[0].lower()
    if root in ROOTS:
        yield from (Completion(path_text(path), "seen lately") for path in seen.paths(log, root))
    elif typed.lower().startswith("http.header"):
        yield from (Completion(f"http.header.{name}", "a header") for name in _HEADERS)


def _end_of_word(text: str, cursor: int) -> int:
    match = BARE_TEXT.match(text, cursor)
    return match.end() if match is not None else cursor


# ------------------------------------------------------------ values


def _values(typing: TypingValue, log: TrafficLog) -> tuple[Completion, ...]:
    if typing.operator is Operator.LIKE:
        return ()
    write = quoted if typing.is_quoted else value_text
    field, offers = FIELDS[typing.path.word], []
    for value, description in _value_offers(typing, FIELDS[typing.path.word], log):
        if typing.typed.casefold() in value.casefold() and _is_taken(field, typing.operator, value):
            offers.append((not value.casefold().startswith(typing.typed.casefold()), value, description))
    offers.sort(key=lambda offer: offer[0])
    return tuple(Completion(write(value), description) for _, value, description in offers[:_MOST])


def _value_offers(typing: TypingValue, field: Field, log: TrafficLog) -> Iterable[tuple[str, str]]:
    match field.type, field.where:
        case Type.DURATION, _:
            return _amounts(typing.typed, _DURATION_UNITS, ("100ms", "500ms", "1s", "10s"))
        case Type.SIZE, _:
            return _amounts(typing.typed, _SIZE_UNITS, ("1k", "10k", "100k", "1M"))
        case Type.TIME, _:
            return _times(typing.operator, log)
        case Type.JSON, _:
            return ((value, "seen lately") for value in seen.values(log, typing.path))
        case _, Named():
            return ((name, "a server") for name in log.servers() if name)
        case _, Worded():
            return seen.words(log, field)
        case _, Special.HTTP_STATUS:
            return seen.http_statuses(log)
    if field.word == "code":
        return _CODES.items()
    return ((choice, "") for choice in field.choices)


def _amounts(typed: str, units: dict[str, str], samples: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    match = _AMOUNT.fullmatch(typed)
    if match is None:
        yield from ((sample, "") for sample in samples)
    else:
        yield from ((f"{match[1]}{unit}", meaning) for unit, meaning in units.items())


def _times(operator: Operator, log: TrafficLog) -> Iterator[tuple[str, str]]:
    if operator in ORDER:
        yield from (("-1m", "a minute ago"), ("-5m", "five minutes ago"), ("-1h", "an hour ago"))
    if len(log):
        try:
            latest = datetime.fromtimestamp(log.wall_ns(len(log) - 1) // 1_000_000_000)
        except (OverflowError, OSError, ValueError):
            return
        yield f"{latest:%H:%M}", "the time of the latest row"
        yield f"{latest:%Y-%m-%d}", "the day of the latest row"


def _is_taken(field: Field, operator: Operator, value: str) -> bool:
    try:
        field.test(Operator.IS if operator is Operator.IS_NOT else operator, (value,))
    except ValueError:
        return False
    return True


def _end_of_value(text: str, cursor: int, typing: TypingValue) -> int:
    if typing.is_quoted:
        whole = QUOTED.match(text, typing.start)
        return whole.end() if whole is not None else cursor
    stops = r'[^\s()",]*' if typing.operator is Operator.IN else r'[^\s()"]*'
    rest = re.compile(stops).match(text, cursor)
    return rest.end() if rest is not None else cursor


def _chosen(offers: Iterable[Completion], typed: str) -> tuple[Completion, ...]:
    """Return the offers that start with the typed text, then those that contain it."""
    folded = typed.casefold()
    chosen: dict[str, Completion] = {}
    later: dict[str, Completion] = {}
    for offer in offers:
        text = offer.text.casefold()
        if text == folded:
            continue
        if text.startswith(folded):
            chosen.setdefault(offer.text, offer)
        elif folded in text:
            later.setdefault(offer.text, offer)
    return tuple((chosen | later).values())[:_MOST]
