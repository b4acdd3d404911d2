"""Plausible example values for fields: `example`.

Uses the server's examples first, then its default, then a value made to fit the known rules: bounds,
lengths, formats, simple patterns. For a reasonable schema the result is valid, but this is not
guaranteed.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from decimal import ROUND_CEILING, Decimal, localcontext
from itertools import islice
from re import _parser as parser  # type: ignore[attr-defined]  # the one parser of patterns there is
from typing import Any, TypeAlias, TypeVar, cast

from inspector.base.json.values import JSON, JSONObject, read_number
from inspector.schema.check import check
from inspector.schema.drafts import effective
from inspector.schema.fields import (
    ABSENT,
    BooleanField,
    ChoiceField,
    Field,
    IntegerField,
    JsonField,
    ListField,
    MapField,
    NumberField,
    ObjectField,
    TextField,
    TupleField,
    UnionField,
)
from inspector.schema.keywords import as_decimal, matches

T = TypeVar("T")

_SIMPLE_FIELDS = (TextField, NumberField, BooleanField, ChoiceField)
_MAX_DEPTH = 12
_OPTIONAL_DEPTH = 2
_MAX_ITEMS = 50
_MAX_DIGITS = 200
_MAX_VALUES = 5_000  # per example; after that, only simple values are filled in
_MAX_CHECKED = 2_000  # values in a default: a larger one is not checked

_MAX_LENGTH = 10_000
_MAX_PATTERN_LENGTH = 200
_MAX_STEPS = 20_000
_FORMATS = {
    "date": "2026-01-{:02}",
    "date-time": "2026-01-{:02}T12:00:00Z",
    "time": "12:{:02}:00Z",
    "duration": "P{}D",
    "email": "someone{}@example.com",
    "idn-email": "someone{}@example.com",
    "hostname": "host{}.example.com",
    "idn-hostname": "host{}.example.com",
    "ipv4": "192.0.2.{}",
    "ipv6": "2001:db8::{}",
    "uri": "https://example.com/{}",
    "url": "https://example.com/{}",
    "iri": "https://example.com/{}",
    "uri-reference": "/path/{}",
    "iri-reference": "/path/{}",
    "uri-template": "/path/{{id}}/{}",
    "uuid": "00000000-0000-4000-8000-0000000000{:02}",
    "json-pointer": "/path/{}",
    "relative-json-pointer": "{}/path",
    "regex": "^a{{{}}}$",
}
_CATEGORIES = {"CATEGORY_DIGIT": "0", "CATEGORY_WORD": "a", "CATEGORY_SPACE": " "}
_NEGATIVE = {"CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_WORD": "-", "CATEGORY_NOT_SPACE": "a"}

Steps: TypeAlias = Generator[None, None, T]


def example(field: Field) -> JSON:
    """Return an example value; for an object, with its outermost optional members."""
    steps = example_steps(field)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return cast(JSON, done.value)


def example_steps(field: Field) -> Steps[JSON]:
    """Like `example`, as a generator of small steps: a schema can require a lot of values."""
    return _Sampler().example(field, 0, 0)


class _Sampler:
    """Builds one example with a bounded number of values."""

    def __init__(self) -> None:
        self._remaining = _MAX_VALUES
        self._texts = TextSampler()

    def example(self, field: Field, depth: int, number: int) -> Steps[JSON]:
        """Build an example; `number` counts those in a list, so that they can differ."""
        self._remaining -= 1
        yield
        candidates = field.examples[number:] or (() if number else (field.default,))
        for value in candidates[:_MAX_ITEMS]:
            if value is not ABSENT and (_is_large(value) or not check(field, value)):
                return value
        match field:
            case TextField():
                return self._texts.text(field, number)
            case NumberField():
                return _number(field, number)
            case BooleanField():
                return number % 2 == 0
            case ChoiceField():
                return field.choices[number % len(field.choices)]
        if depth > _MAX_DEPTH and field.nullable:
            return None
        return (yield from self._whole(field, depth, number))

    def _whole(self, field: Field, depth: int, number: int) -> Steps[JSON]:
        match field:
            case UnionField() if field.variants:
                return (yield from self._of_variants(field, depth, number))
            case ListField():
                return (yield from self._list(field, depth, number))
            case TupleField():
                return (yield from self._tuple(field, depth))
            case MapField():
                count = _count(field.min_properties, field.max_properties, depth)
                return (yield from self._rows(field, count, depth))
            case ObjectField(union=UnionField() as union):
                return (yield from self._of_variants(union, depth, number))
            case ObjectField():
                return (yield from self._object(field, depth, number))
        return None

    def _of_variants(self, field: UnionField, depth: int, number: int) -> Steps[JSON]:
        """Use the first variant, or the simplest one if that nests too deeply."""
        if (field.nullable and depth > _OPTIONAL_DEPTH) or depth > _MAX_DEPTH or self._remaining < 0:
            return None
        variants = [variant.field for variant in field.variants]
        plain = [
            one for one in variants if not isinstance(one, ObjectField | ListField | UnionField | TupleField)
        ]
        chosen = plain[0] if plain and depth > _OPTIONAL_DEPTH else variants[0]
        return (yield from self.example(chosen, depth + 1, number))

    def _object(self, field: ObjectField, depth: int, number: int) -> Steps[JSON]:
        value: JSONObject = {}
        if depth > _MAX_DEPTH:
            return value
        for _ in range(3):  # a member may require others
            for member in effective(field, value).members:
                wanted = member.required or (depth < _OPTIONAL_DEPTH and _is_worth_showing(member.field))
                if wanted and member.name not in value and self._has_room_for(member.field):
                    value[member.name] = yield from self.example(member.field, depth + 1, number)
        if field.rest is not None and len(value) < (field.min_properties or 0):
            more = (field.min_properties or 0) - len(value)
            value.update((yield from self._rows(field.rest, more, depth)))
        return value

    def _has_room_for(self, field: Field) -> bool:
        return self._remaining > (-_MAX_VALUES if isinstance(field, _SIMPLE_FIELDS) else 0)

    def _list(self, field: ListField, depth: int, number: int) -> Steps[JSON]:
        items: list[JSON] = []
        for position in range(_count(field.min_items, field.max_items, depth)):
            if self._remaining > 0:
                items.append((yield from self.example(field.item, depth + 1, position + number)))
        return items

    def _tuple(self, field: TupleField, depth: int) -> Steps[JSON]:
        minimum = max(field.min_items or 0, len(field.items) if depth < _MAX_DEPTH else 0)
        count = min(minimum, field.max_items if field.max_items is not None else minimum)
        items: list[JSON] = []
        for number in range(min(count, len(field.items) + _MAX_ITEMS)):
            item = field.item_at(number)
            if item is not None and self._remaining > 0:
                items.append((yield from self.example(item, depth + 1, number)))
        return items

    def _rows(self, field: MapField, count: int, depth: int) -> Steps[JSONObject]:
        rows: JSONObject = {}
        for number in range(min(count, _MAX_ITEMS)):
            key = yield from self.example(field.key, depth + 1, number)
            name = key if isinstance(key, str) and field.key != TextField() else f"key{number + 1}"
            inner = field.value_for(name)
            if inner is not None and self._remaining > 0:
                rows[name] = yield from self.example(inner, depth + 1, number)
        return rows


def _is_large(value: JSON) -> bool:
    """True if a value is too large to be checked quickly."""
    left, rest = _MAX_CHECKED, [value]
    while rest and left > 0:
        one = rest.pop()
        left -= 1
        if isinstance(one, dict | list):
            left -= len(one)
            rest.extend(islice(one.values() if isinstance(one, dict) else one, _MAX_CHECKED))
    return left <= 0


def _is_worth_showing(field: Field) -> bool:
    """True if an optional member is worth showing: not if it could be anything, or is recursive."""
    return not (isinstance(field, MapField | UnionField | JsonField) or field.deprecated or field.read_only)


def _count(minimum: int | None, maximum: int | None, depth: int) -> int:
    """Return the number of items: at least one, so that there is something to see."""
    wanted = max(minimum or 0, 1 if depth < _OPTIONAL_DEPTH else 0)
    return min(wanted, maximum if maximum is not None else wanted, _MAX_ITEMS)


def _number(field: NumberField, number: int) -> JSON:
    with localcontext(prec=_MAX_DIGITS):  # for bounds beyond Decimal's default precision
        return read_number(str(_decimal(field, number))) or 0


def _decimal(field: NumberField, number: int) -> Decimal:
    """Return the smallest valid number, or a small one; each next `number` steps on, or back."""
    low, high = _bounds(field)
    step = as_decimal(field.multiple_of) if field.multiple_of else Decimal(1)
    if not (field.multiple_of or isinstance(field, IntegerField)) and low is not None and high is not None:
        step = min(step, (high - low) / 4)  # so that both neighbors of an exclusive bound fit
    first = low if low is not None else min(step, high) if high is not None else step
    first = step * (first / step).to_integral_value(ROUND_CEILING) if step else first
    if first == low and field.exclusive_minimum is not None:
        first += step
    if high is not None and (first > high or (first == high and field.exclusive_maximum is not None)):
        first -= step
    further, back = first + step * number, first - step * number
    if high is None or further < high or further == field.maximum:
        return further
    return back if low is None or back > low else first


def _bounds(field: NumberField) -> tuple[Decimal | None, Decimal | None]:
    minimum = [as_decimal(one) for one in (field.minimum, field.exclusive_minimum) if one is not None]
    maximum = [as_decimal(one) for one in (field.maximum, field.exclusive_maximum) if one is not None]
    return max(minimum, default=None), min(maximum, default=None)


class TextSampler:
    """Creates the texts of one example.

    The total cost of patterns is bounded: they come from the server.
    """

    def __init__(self) -> None:
        self._remaining = _MAX_STEPS
        self._known: dict[tuple[str, int | None, int | None], str | None] = {}

    def text(self, field: TextField, number: int = 0) -> str:
        """Return a matching text, as far as one can be found; `number` makes texts differ."""
        if field.format in _FORMATS:
            return _FORMATS[field.format].format(number % 28 + 1)
        if field.content_encoding == "base64":
            return "aGVsbG8="
        if field.pattern and (found := self._of_pattern(field)) is not None:
            return found
        plain = "text" if number == 0 else f"text {number + 1}"
        minimum, maximum = field.min_length or 0, field.max_length
        padded = plain + "x" * (min(minimum, _MAX_LENGTH) - len(plain))
        return padded if maximum is None or len(padded) <= maximum else padded[len(padded) - maximum :]

    def _of_pattern(self, field: TextField) -> str | None:
        """Return a text for the pattern, cached: many schemas repeat a pattern."""
        key = (field.pattern, field.min_length, field.max_length)
        if key not in self._known:
            self._known[key] = self._find(field)
        return self._known[key]

    def _find(self, field: TextField) -> str | None:
        """Search for a text of the required length that matches the pattern; None if not found."""
        if len(field.pattern) > _MAX_PATTERN_LENGTH:
            return None
        minimum, maximum = (
            field.min_length or 0,
            field.max_length if field.max_length is not None else _MAX_LENGTH,
        )
        for more in (0, 1, minimum, max(minimum - 1, 0)):
            try:
                found = "".join(self._walk(parser.parse(field.pattern), min(more, _MAX_LENGTH)))
            except (re.error, ValueError, RecursionError, OverflowError):
                return None
            found = (
                found if len(found) >= minimum or field.pattern.endswith("$") else found.ljust(minimum, "x")
            )
            if minimum <= len(found) <= maximum and matches(field.pattern, found):
                return found
        return None

    def _walk(self, tree: Any, more: int) -> Iterator[str]:
        """Yield the shortest text for each part, with at most `more` repeats where unlimited."""
        for name, what in tree:
            match str(name):
                case "LITERAL":
                    yield chr(what)
                case "NOT_LITERAL":
                    yield "a" if what != ord("a") else "b"
                case "ANY":
                    yield "a"
                case "IN":
                    yield _member(what)
                case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                    minimum, maximum, inner = what
                    for _ in range(min(max(minimum, more), maximum)):
                        self._step()
                        yield from self._walk(inner, 0)
                case "SUBPATTERN":
                    yield from self._walk(what[3], more)
                case "BRANCH":
                    yield from self._walk(what[1][0], more)
                case "AT":
                    continue
                case _:
                    raise ValueError(str(name))

    def _step(self) -> None:
        self._remaining -= 1
        if self._remaining < 0:
            raise ValueError("the patterns require too many steps")


def _member(choices: Any) -> str:
    """Return one character of a set."""
    if str(choices[0][0]) == "NEGATE":
        unwanted = re.compile("|".join(_excluded(choices[1:])))
        return next(char for char in "a0-_ b.A!" if not unwanted.fullmatch(char))
    name, what = choices[0]
    match str(name):
        case "RANGE":
            return chr(what[0])
        case "CATEGORY":
            return _CATEGORIES.get(str(what)) or _NEGATIVE.get(str(what), "a")
    return chr(what)


def _excluded(choices: Any) -> Iterator[str]:
    classes = {"CATEGORY_DIGIT": r"\d", "CATEGORY_WORD": r"\w", "CATEGORY_SPACE": r"\s"}
    for name, what in choices:
        match str(name):
            case "RANGE":
                yield f"[{re.escape(chr(what[0]))}-{re.escape(chr(what[1]))}]"
            case "LITERAL":
                yield re.escape(chr(what))
            case "CATEGORY" if str(what) in classes:
                yield classes[str(what)]
            case _:
                raise ValueError(str(name))
