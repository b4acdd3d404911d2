"""A plausible value for a field, on demand: `example`.

The server's own examples first, then its default, then something that fits the rules as far as they are
known: bounds, lengths, formats, simple patterns. Of an honest schema it is valid; nothing promises that.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal, localcontext

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
from inspector.schema.sampletext import text

_LEAVES = (TextField, NumberField, BooleanField, ChoiceField)
_DEEPEST = 12
_OPTIONAL_DEPTH = 2
_MOST_ITEMS = 50
_MOST_DIGITS = 200


def example(field: Field) -> JSON:
    """One value for a field; for an object with its optional members, the outermost ones."""
    return _example(field, 0, 0)


def _example(field: Field, depth: int, number: int) -> JSON:
    """`number` counts the examples of one list, so that they can differ."""
    given = field.examples[number:] or (() if number else (field.default,))
    for value in given:
        if value is not ABSENT and not check(field, value):
            return value
    match field:
        case TextField():
            return text(field, number)
        case NumberField():
            return _number(field, number)
        case BooleanField():
            return number % 2 == 0
        case ChoiceField():
            return field.choices[number % len(field.choices)]
    return None if depth > _DEEPEST and field.nullable else _whole(field, depth, number)


def _whole(field: Field, depth: int, number: int) -> JSON:
    match field:
        case UnionField() if field.variants:
            return _of_variants(field, depth, number)
        case ListField():
            count = _count(field.min_items, field.max_items, depth)
            return [_example(field.item, depth + 1, place + number) for place in range(count)]
        case TupleField():
            return _tuple(field, depth)
        case MapField():
            return _map(field, depth)
        case ObjectField(union=UnionField() as union):
            return _of_variants(union, depth, number)
        case ObjectField():
            return _object(field, depth, number)
    return None


def _of_variants(field: UnionField, depth: int, number: int) -> JSON:
    """The first variant, unless it goes too deep: then the plainest one."""
    if field.nullable and depth > _OPTIONAL_DEPTH:
        return None
    variants = [variant.field for variant in field.variants]
    plain = [
        one for one in variants if not isinstance(one, ObjectField | ListField | UnionField | TupleField)
    ]
    chosen = plain[0] if plain and depth > _OPTIONAL_DEPTH else variants[0]
    return _example(chosen, depth + 1, number) if depth <= _DEEPEST else None


def _object(field: ObjectField, depth: int, number: int) -> JSON:
    if depth > _DEEPEST:
        return {}
    value: JSONObject = {}
    for _ in range(3):  # a member may bring others with it
        for member in effective(field, value).members:
            wanted = member.required or (depth < _OPTIONAL_DEPTH and _is_told(member.field))
            if wanted and member.name not in value:
                value[member.name] = _example(member.field, depth + 1, number)
    if field.rest is not None and len(value) < (field.min_properties or 0):
        value.update(_rows(field.rest, (field.min_properties or 0) - len(value), depth))
    return value


def _is_told(field: Field) -> bool:
    """Whether an optional member has something to show: not when it could be anything, or goes on."""
    return not (isinstance(field, MapField | UnionField | JsonField) or field.deprecated or field.read_only)


def _map(field: MapField, depth: int) -> JSONObject:
    return _rows(field, _count(field.min_properties, field.max_properties, depth), depth)


def _rows(field: MapField, count: int, depth: int) -> JSONObject:
    rows: JSONObject = {}
    for number in range(min(count, _MOST_ITEMS)):
        key = _example(field.key, depth + 1, number)
        name = key if isinstance(key, str) and field.key != TextField() else f"key{number + 1}"
        inner = field.value_for(name)
        if inner is not None:
            rows[name] = _example(inner, depth + 1, number)
    return rows


def _tuple(field: TupleField, depth: int) -> JSON:
    least = max(field.min_items or 0, len(field.items) if depth < _DEEPEST else 0)
    count = min(least, field.max_items if field.max_items is not None else least)
    places = [field.item_at(place) for place in range(min(count, len(field.items) + _MOST_ITEMS))]
    return [_example(one, depth + 1, number) for number, one in enumerate(places) if one is not None]


def _count(least: int | None, most: int | None, depth: int) -> int:
    """One item where none is asked for, so that there is something to see."""
    wanted = max(least or 0, 1 if depth < _OPTIONAL_DEPTH else 0)
    return min(wanted, most if most is not None else wanted, _MOST_ITEMS)


def _number(field: NumberField, number: int) -> JSON:
    with localcontext(prec=_MOST_DIGITS):  # for bounds beyond what a decimal usually holds
        return read_number(str(_decimal(field, number))) or 0


def _decimal(field: NumberField, number: int) -> Decimal:
    """The smallest that fits, or a small one; the next ones a step further each, or back."""
    low, high = _bounds(field)
    step = as_decimal(field.multiple_of) if field.multiple_of else Decimal(1)
    if not (field.multiple_of or isinstance(field, IntegerField)) and low is not None and high is not None:
        step = min(step, (high - low) / 4)  # so that both neighbours of a bound that is excluded fit
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
