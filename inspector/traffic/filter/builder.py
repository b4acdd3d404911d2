"""Filters built from a selected value: "filter on this" and "exclude this"."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

from inspector.base.json.values import JSON, compact, write_number
from inspector.traffic.filter.fields import FIELDS
from inspector.traffic.filter.parser import parse, read_path
from inspector.traffic.filter.predicates import Type
from inspector.traffic.filter.tree import And, Compare, FilterError, Node, Not, Operator, Or, Path, to_text

_MAX_LENGTH = 300  # maximum length of a value repeated in a filter
_SECOND = 1_000_000_000


def narrow(text: str, field_or_path: str | Path, value: JSON, *, exclude: bool = False) -> str:
    """Add a condition for (or against) a value to a filter; what was typed stays as it is.

    Durations and times may be given in nanoseconds. None, and the empty text of a column, mean that there
    is no value; for a path they are values like any other. Raises FilterError if `text` is not a
    filter, or the field never has such a value.
    """
    path = field_or_path if isinstance(field_or_path, Path) else read_path(field_or_path)
    node, term = parse(text), _term(path, value, exclude)
    added = to_text(term)
    if node is None:
        return _checked(added)
    if term == node or (isinstance(node, And) and term in node.nodes):
        return text
    text = text.strip()
    return _checked(f"({text}) and {added}" if isinstance(node, Or) else f"{text} and {added}")


def _checked(text: str) -> str:
    parse(text)
    return text


def _term(path: Path, value: JSON, exclude: bool) -> Node:
    kind = FIELDS[path.field].type
    if kind not in (Type.JSON, Type.BODY) and value in (None, ""):
        anything: Node = _anything(path, kind)
        return anything if exclude else Not(anything)
    text = _written(kind, value)
    if len(text) > _MAX_LENGTH and Operator.MATCHES in FIELDS[path.field].operators:
        begins = Compare(path, Operator.MATCHES, (f"^{re.escape(text[:_MAX_LENGTH])}",))
        return Not(begins) if exclude else begins
    return Compare(path, Operator.IS_NOT if exclude else Operator.IS, (text,))


def _anything(path: Path, kind: Type) -> Compare:
    if kind in (Type.DURATION, Type.SIZE):
        return Compare(path, Operator.AT_LEAST, ("0",))
    if kind is Type.TIME:
        return Compare(path, Operator.AT_LEAST, ("1970-01-01",))
    return Compare(path, Operator.CONTAINS, ("*",))


def _written(kind: Type, value: JSON) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and kind is Type.DURATION:
        return f"{value}ns"
    if isinstance(value, int) and not isinstance(value, bool) and kind is Type.TIME:
        return _moment(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) != math.inf:
        return write_number(value)
    try:
        return compact(value)
    except RecursionError as exc:
        raise FilterError(0, "The value is nested too deeply for a filter.") from exc


def _moment(wall_ns: int) -> str:
    try:
        moment = datetime.fromtimestamp(wall_ns // _SECOND, UTC)
    except (OverflowError, OSError, ValueError) as exc:
        raise FilterError(0, "The row's time is out of range.") from exc
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{wall_ns % _SECOND:09d}Z"
