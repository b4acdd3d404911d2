"""Two schemas that hold at once (`allOf`, `$ref` with neighbours), merged into one.

| keyword | merged |
| --- | --- |
| `type`, `enum`, `const` | what both allow; nothing left: Unusable |
| `minimum`, `minLength`, `minItems` … | the larger one; `maximum` …: the smaller one |
| `multipleOf` | the least common multiple |
| `properties`, `patternProperties` | united; a name in both: `allOf` of the two, merged when looked at |
| `additionalProperties` | holds for the names that only the other side knows, as the standard has it |
| `prefixItems`, `items` | place by place, the same way |
| `required`, `dependentRequired` | united |
| `uniqueItems`, `deprecated`, `readOnly`, `writeOnly` | true where either says so |
| `title`, `description`, `default`, `examples` and all else | the outer one |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import islice
from math import gcd, lcm

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.base.numbers import read_number
from inspector.schema import keywords
from inspector.schema.equality import equal
from inspector.schema.jsontext import same, write_line
from inspector.schema.numbers import as_decimal
from inspector.schema.patterns import matches
from inspector.schema.references import Unusable

_ABOUT_MEMBERS = ("properties", "patternProperties", "additionalProperties")
_ABOUT_PLACES = ("prefixItems", "items")
_MOST_PATTERNS = 100  # per name
_LONGEST_NUMBER = 60  # digits of a least common multiple; a longer one helps no one


def merge(outer: JSONObject, inner: JSONObject) -> JSONObject:
    """Merge two schemas into one that requires both. Raises Unusable if nothing can match both."""
    merged = {**inner, **outer}
    for key in outer.keys() & inner.keys():
        if key in _MERGED and not same(outer[key], inner[key]):
            merged[key] = _MERGED[key](outer[key], inner[key])
    if "enum" in outer and "enum" in inner and not same(outer["enum"], inner["enum"]):
        merged.pop("enumNames", None)  # they refer to one side's choices by index
    if all(keywords.present(side, _ABOUT_MEMBERS) for side in (outer, inner)):
        _merge_members(outer, inner, merged)
    if all(keywords.present(side, _ABOUT_PLACES) for side in (outer, inner)):
        _merge_places(outer, inner, merged)
    return merged


def both(*parts: JSON) -> JSON:
    """Return a schema that requires all parts; false if one of them is false."""
    wanted: list[JSON] = [part for part in parts if part is not True]
    if False in wanted:
        return False
    if not wanted:
        return True
    return wanted[0] if len(wanted) == 1 else {"allOf": wanted}


# ------------------------------------------------------------------ objects and lists


def _merge_members(outer: JSONObject, inner: JSONObject, merged: JSONObject) -> None:
    order = {**keywords.named(outer, "properties"), **keywords.named(inner, "properties")}
    united: JSONObject = {}
    for name in order:
        part = both(of_name(outer, name), of_name(inner, name))
        if part is not False:  # one side knows the name, the other forbids it: no value, no member
            united[name] = part
    if order:
        merged["properties"] = united
    patterns = [keywords.named(side, "patternProperties") for side in (outer, inner)]
    if any(patterns):
        merged["patternProperties"] = _united(patterns[0], patterns[1])


def of_name(side: JSONObject, name: str) -> JSON:
    """Return what one side requires of the member of this name."""
    properties = keywords.named(side, "properties")
    patterns = islice(keywords.named(side, "patternProperties").items(), _MOST_PATTERNS)
    wanted = [properties[name]] if name in properties else []
    wanted += [part for pattern, part in patterns if matches(pattern, name)]
    return both(*wanted) if wanted else side.get("additionalProperties", True)


def _merge_places(outer: JSONObject, inner: JSONObject, merged: JSONObject) -> None:
    sides = (outer, inner)
    longest = max(len(keywords.schemas(side, "prefixItems")) for side in sides)
    if longest:
        merged["prefixItems"] = [both(*(_at(side, place) for side in sides)) for place in range(longest)]
    if any("items" in side for side in sides):
        merged["items"] = both(*(side.get("items", True) for side in sides))


def _at(side: JSONObject, place: int) -> JSON:
    places = keywords.schemas(side, "prefixItems")
    return places[place] if place < len(places) else side.get("items", True)


def _united(outer: JSON, inner: JSON) -> JSON:
    """Merge schemas by name; a name on both sides requires both."""
    if not isinstance(outer, dict) or not isinstance(inner, dict):
        return outer if isinstance(outer, dict) else inner
    shared = {name: both(outer[name], inner[name]) for name in outer.keys() & inner.keys()}
    return {**inner, **outer, **shared}


# ------------------------------------------------------------------ values


def _types(outer: JSON, inner: JSON) -> JSON:
    one, other = keywords.types({"type": outer}), keywords.types({"type": inner})
    left: list[JSON] = [name for name in one if name in other or (name == "integer" and "number" in other)]
    left += [name for name in other if name == "integer" and "number" in one and name not in left]
    if not left:
        raise Unusable(
            f"Two parts of the schema contradict each other: one asks for {' or '.join(one)[:60]}, "
            f"the other for {' or '.join(other)[:60]}."
        )
    return left


def _choices(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return outer
    left = [choice for choice in outer if any(equal(choice, other) for other in inner)]
    if not left:
        shown = " and ".join(shorten(write_line(side), 60) for side in (outer, inner))
        raise Unusable(f"Two parts of the schema contradict each other: no value is in both {shown}.")
    return left


def _number(outer: JSON, inner: JSON) -> bool:
    return all(isinstance(side, int | float) and not isinstance(side, bool) for side in (outer, inner))


def _larger(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    return max(outer, inner, key=as_decimal)  # type: ignore[arg-type]


def _smaller(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    return min(outer, inner, key=as_decimal)  # type: ignore[arg-type]


def _multiple(outer: JSON, inner: JSON) -> JSON:
    if not _number(outer, inner):
        return outer
    sides = [as_decimal(side) for side in (outer, inner)]  # type: ignore[arg-type]
    if not all(side.is_finite() and side > 0 and abs(side.adjusted()) < _LONGEST_NUMBER for side in sides):
        return outer
    one, other = (Fraction(side) for side in sides)
    common = Fraction(lcm(one.numerator, other.numerator), gcd(one.denominator, other.denominator))
    if common.denominator == 1:
        return common.numerator
    return read_number(repr(float(common))) or outer


def _names(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return outer
    return [*outer, *(name for name in inner if name not in outer)]


def _names_by_name(outer: JSON, inner: JSON) -> JSON:
    if not isinstance(outer, dict) or not isinstance(inner, dict):
        return outer
    shared = {name: _names(outer[name], inner[name]) for name in outer.keys() & inner.keys()}
    return {**inner, **outer, **shared}


def _either(outer: JSON, inner: JSON) -> JSON:
    return outer is True or inner is True


_Merger = Callable[[JSON, JSON], JSON]
_MERGED: Mapping[str, _Merger] = {
    "type": _types,
    "enum": _choices,
    "multipleOf": _multiple,
    "required": _names,
    "dependentRequired": _names_by_name,
    "dependentSchemas": _united,
    "additionalProperties": both,
    "items": both,
    "propertyNames": both,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _larger),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _smaller),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _either),
}
