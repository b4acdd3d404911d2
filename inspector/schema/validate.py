"""The whole of JSON Schema, checked: `validate`, and `validate_packed` for a process with a time limit.

Nothing is ever fetched. A part that refers to something outside of the schema is left unchecked, and said.
Patterns run in an engine of linear time where it can run them, else with a limit of steps. The draft is the
one that `$schema` names; without that 2020-12, unless the schema reads as draft 7.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from inspector.base.jsonvalue import JSON, JSONObject, shorten
from inspector.base.numbers import ExactNumber
from inspector.schema.complaints import field_errors
from inspector.schema.patterns import engines
from inspector.schema.references import REFERENCES, Document, Unusable
from inspector.schema.values import FieldError, child, readable

if TYPE_CHECKING:
    import jsonschema_rs

MOST_ERRORS = 200
_MOST_DIGITS = 5000
_TOO_DEEP = "Not checked: the value or the schema is nested too deeply."
_MOST_REFERENCES_NAMED = 3
_DRAFT_7_WORDS = ("definitions", "dependencies", "additionalItems")
_LATER_WORDS = ("$defs", "prefixItems", "dependentRequired", "dependentSchemas")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Validation result: the errors, and a note on what could not be checked.

    If both are empty, the value is valid.
    """

    errors: tuple[FieldError, ...] = ()
    unchecked: str = ""


def pack(schema: JSON, value: JSON) -> bytes:
    """Pickle the input of `validate_packed`.

    Raises RecursionError for values that are nested hundreds deep.
    """
    return pickle.dumps((schema, value))


def validate_packed(data: bytes) -> Verdict:
    """Run `validate` in a worker process: bytes in, a picklable value out."""
    schema, value = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return validate(schema, value)


def validate(schema: JSON, value: JSON) -> Verdict:
    """Validate a value.

    Never raises because of a schema's or value's content, and may take long: see above.
    """
    try:
        return _Validation(schema).verdict(_plain(value))
    except RecursionError:
        return Verdict(unchecked=_TOO_DEEP)
    except (ValueError, TypeError, OverflowError) as exc:
        deep = "recursion limit" in str(exc).lower()
        return Verdict(unchecked=_TOO_DEEP if deep else f"Not checked: {_first_line(exc)}")


class _Validation:
    """A prepared schema."""

    def __init__(self, schema: JSON) -> None:
        self._schema = _plain(schema)
        self._document = Document(self._schema)
        self._left_out: list[str] = []

    def verdict(self, value: Any) -> Verdict:
        import jsonschema_rs

        if not isinstance(self._schema, dict | bool):
            return Verdict(unchecked="Not checked: the server's schema is no object.")
        try:
            validator = self._validator()
        except jsonschema_rs.ValidationError as exc:
            place = readable("".join(child("", step) for step in exc.instance_path))
            words = f"at {place}: {_first_line(exc)}" if place else _first_line(exc)
            return Verdict(unchecked=f"Not checked: the server's schema is no valid JSON Schema, {words}")
        found = (one for error in validator.iter_errors(value) for one in field_errors(error, self._document))
        return Verdict(tuple(dict.fromkeys(islice(found, MOST_ERRORS))), self._unchecked())

    def _validator(self) -> jsonschema_rs.Validator:
        import jsonschema_rs

        problem: jsonschema_rs.ValidationError | None = None
        for kind in _drafts(self._schema):
            for options in engines():
                try:
                    return kind(self._usable(), pattern_options=options, offline=True, validate_formats=True)
                except jsonschema_rs.ValidationError as exc:
                    if type(exc.kind).__name__ == "Referencing" and not self._left_out:
                        self._drop_references()
                        return self._validator()
                    problem = problem or exc
        assert problem is not None  # there is at least one draft and one engine
        raise problem

    def _drop_references(self) -> None:
        self._schema = self._known(self._schema)
        self._left_out = self._left_out or ["something"]

    def _usable(self) -> Any:
        """Return the schema without a `$schema` that is not a known draft: it would be looked up."""
        if isinstance(self._schema, dict) and _named_draft(self._schema) is None:
            return {key: part for key, part in self._schema.items() if key != "$schema"}
        return self._schema

    def _known(self, part: Any) -> Any:
        """Return the schema without unresolvable references: they allow anything."""
        if isinstance(part, list):
            return [self._known(inner) for inner in part]
        if not isinstance(part, dict):
            return part
        kept = {key: self._known(inner) for key, inner in part.items()}
        for key in REFERENCES:
            if isinstance(part.get(key), str) and not self._leads_somewhere(part[key]):
                self._left_out.append(part[key])
                del kept[key]
        return kept

    def _leads_somewhere(self, reference: str) -> bool:
        try:
            return isinstance(self._document.target(reference), dict | bool)
        except Unusable:
            return False

    def _unchecked(self) -> str:
        if not self._left_out:
            return ""
        some = list(dict.fromkeys(self._left_out))[:_MOST_REFERENCES_NAMED]
        outside = f"{', '.join(shorten(name, 80) for name in some)}, which is not in it and never fetched"
        return f"Parts of the value are not checked: the schema refers to {outside}."


def _drafts(schema: JSON) -> list[type[jsonschema_rs.Validator]]:
    """Return the drafts to try, most likely first."""
    import jsonschema_rs

    newest, older = jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft7Validator
    if isinstance(schema, dict):
        if (named := _named_draft(schema)) is not None:
            return [named, older] if named is newest else [named]
        if any(key in schema for key in _DRAFT_7_WORDS) and not any(key in schema for key in _LATER_WORDS):
            return [older, newest]
    return [newest, older, jsonschema_rs.Draft4Validator]


def _named_draft(schema: JSONObject) -> type[jsonschema_rs.Validator] | None:
    import jsonschema_rs

    name = schema.get("$schema")
    if not isinstance(name, str):
        return None
    try:
        kind = jsonschema_rs.validator_cls_for({"$schema": name})
        kind({"$schema": name}, offline=True)
    except ValueError:
        return None
    return kind


def _plain(value: JSON) -> Any:
    """Convert a value for jsonschema-rs: exact numbers as decimals, no lone surrogates."""
    if isinstance(value, dict):
        return {_text(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, ExactNumber):
        return _decimal(value)
    return _text(value) if isinstance(value, str) else value


def _decimal(number: ExactNumber) -> Decimal:
    exact = Decimal(number.text)
    if abs(exact.adjusted()) > _MOST_DIGITS:  # it would be written out, digit by digit
        raise ValueError(f"{shorten(number.text, 40)} has more than {_MOST_DIGITS:,} digits.")
    return exact


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _first_line(exc: BaseException) -> str:
    return shorten(str(exc).partition("\n")[0], 200)
