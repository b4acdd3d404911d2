"""A plausible value for a field, on demand: `example`.

The server's own examples first, then its default, then something that fits the rules as far as they are
known: bounds, lengths, formats, simple patterns. Of an honest schema it is valid; nothing promises that.
"""

from __future__ import annotations

from collections.abc import Generator
from decimal import ROUND_CEILING, Decimal, localcontext
from itertools import islice
from typing import TypeAlias, TypeVar, cast

from inspector.base.jsonvalue import JSON, JSONObject
from inspector.base.numbers import read_number
from inspector.schema.absent import ABSENT
from inspector.schema.active import effective
from inspector.schema.check import check
from inspector.schema.fields import (
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
from inspector.schema.numbers import as_decimal
from inspector.schema.sampletext import TextSampler

T = TypeVar("T")

_LEAVES = (TextField, NumberField, BooleanField, ChoiceField)
_DEEPEST = 12
_OPTIONAL_DEPTH = 2
_MOST_ITEMS = 50
_MOST_DIGITS = 200
_MOST_VALUES = 5_000  # per example; after that, only simple values are filled in
_MOST_CHECKED = 2_000  # values in a default: a larger one is not checked

Slices: TypeAlias = Generator[None, None, T]


def example(field: Field) -> JSON:
    """Return an example value; for an object, with its outermost optional members."""
    slices = example_slices(field)
    while True:
        try:
            next(slices)
        except StopIteration as done:
            return cast(JSON, done.value)


def example_slices(field: Field) -> Slices[JSON]:
    """Like `example`, as a generator of small steps: a schema can require a lot of values."""
    return _Sampler().example(field, 0, 0)


class _Sampler:
    """Builds one example with a bounded number of values."""

    def __init__(self) -> None:
        self._left = _MOST_VALUES
        self._texts = TextSampler()

    def example(self, field: Field, depth: int, number: int) -> Slices[JSON]:
        """Build an example; `number` counts those in a list, so that they can differ."""
        self._left -= 1
        yield
        given = field.examples[number:] or (() if number else (field.default,))
        for value in given[:_MOST_ITEMS]:
            if value is not ABSENT and (_is_big(value) or not check(field, value)):
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
        if depth > _DEEPEST and field.nullable:
            return None
        return (yield from self._whole(field, depth, number))

    def _whole(self, field: Field, depth: int, number: int) -> Slices[JSON]:
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

    def _of_variants(self, field: UnionField, depth: int, number: int) -> Slices[JSON]:
        """Use the first variant, or the simplest one if that nests too deeply."""
        if (field.nullable and depth > _OPTIONAL_DEPTH) or depth > _DEEPEST or self._left < 0:
            return None
        variants = [variant.field for variant in field.variants]
        plain = [
            one for one in variants if not isinstance(one, ObjectField | ListField | UnionField | TupleField)
        ]
        chosen = plain[0] if plain and depth > _OPTIONAL_DEPTH else variants[0]
        return (yield from self.example(chosen, depth + 1, number))

    def _object(self, field: ObjectField, depth: int, number: int) -> Slices[JSON]:
        value: JSONObject = {}
        if depth > _DEEPEST:
            return value
        for _ in range(3):  # a member may require others
            for member in effective(field, value).members:
                wanted = member.required or (depth < _OPTIONAL_DEPTH and _is_told(member.field))
                if wanted and member.name not in value and self._has_room_for(member.field):
                    value[member.name] = yield from self.example(member.field, depth + 1, number)
        if field.rest is not None and len(value) < (field.min_properties or 0):
            more = (field.min_properties or 0) - len(value)
            value.update((yield from self._rows(field.rest, more, depth)))
        return value

    def _has_room_for(self, field: Field) -> bool:
        return self._left > (-_MOST_VALUES if isinstance(field, _LEAVES) else 0)

    def _list(self, field: ListField, depth: int, number: int) -> Slices[JSON]:
        items: list[JSON] = []
        for place in range(_count(field.min_items, field.max_items, depth)):
            if self._left > 0:
                items.append((yield from self.example(field.item, depth + 1, place + number)))
        return items

    def _tuple(self, field: TupleField, depth: int) -> Slices[JSON]:
        least = max(field.min_items or 0, len(field.items) if depth < _DEEPEST else 0)
        count = min(least, field.max_items if field.max_items is not None else least)
        items: list[JSON] = []
        for number in range(min(count, len(field.items) + _MOST_ITEMS)):
            item = field.item_at(number)
            if item is not None and self._left > 0:
                items.append((yield from self.example(item, depth + 1, number)))
        return items

    def _rows(self, field: MapField, count: int, depth: int) -> Slices[JSONObject]:
        rows: JSONObject = {}
        for number in range(min(count, _MOST_ITEMS)):
            key = yield from self.example(field.key, depth + 1, number)
            name = key if isinstance(key, str) and field.key != TextField() else f"key{number + 1}"
            inner = field.value_for(name)
            if inner is not None and self._left > 0:
                rows[name] = yield from self.example(inner, depth + 1, number)
        return rows


def _is_big(value: JSON) -> bool:
    """True if a value is too large to be checked quickly."""
    left, rest = _MOST_CHECKED, [value]
    while rest and left > 0:
        one = rest.pop()
        left -= 1
        if isinstance(one, dict | list):
            left -= len(one)
            rest.extend(islice(one.values() if isinstance(one, dict) else one, _MOST_CHECKED))
    return left <= 0


def _is_told(field: Field) -> bool:
    """True if an optional member is worth showing: not if it could be anything, or is recursive."""
    return not (isinstance(field, MapField | UnionField | JsonField) or field.deprecated or field.read_only)


def _count(least: int | None, most: int | None, depth: int) -> int:
    """Return the number of items: at least one, so that there is something to see."""
    wanted = max(least or 0, 1 if depth < _OPTIONAL_DEPTH else 0)
    return min(wanted, most if most is not None else wanted, _MOST_ITEMS)


def _number(field: NumberField, number: int) -> JSON:
    with localcontext(prec=_MOST_DIGITS):  # for bounds beyond Decimal's default precision
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
    least = [as_decimal(one) for one in (field.minimum, field.exclusive_minimum) if one is not None]
    most = [as_decimal(one) for one in (field.maximum, field.exclusive_maximum) if one is not None]
    return max(least, default=None), min(most, default=None)
