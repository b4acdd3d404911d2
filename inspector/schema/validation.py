"""Complete JSON Schema validation with jsonschema-rs, with plain error messages for a form.

`validate` checks a value; `validate_packed` does so in a worker process with a time limit. Nothing is
fetched: a part that refers outside the schema is not checked, and a note says so. Patterns run in a
linear-time engine where possible, else with a step limit. The draft is the one named by `$schema`;
without it 2020-12, unless the schema looks like draft 7. `field_errors` translates errors. For a union
that does not match, it reports what the closest variant lacks, because "none of five variants is valid"
says too little.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any

from inspector.base.json.text import write_line
from inspector.base.json.values import JSON, ExactNumber, JSONObject, shorten
from inspector.base.units import plural
from inspector.schema import keywords
from inspector.schema.applicators import Branches
from inspector.schema.check import (
    MAX_LISTED_CHOICES,
    MISSING,
    UNKNOWN_KEY,
    missing_sets_error,
    one_of,
    short_text,
    unknown_tag_error,
)
from inspector.schema.keywords import equal, regex_engines
from inspector.schema.references import REFERENCES, Document, SchemaDraft, UnusableSchema, draft_of
from inspector.schema.values import ABSENT, FieldError, child, readable

if TYPE_CHECKING:
    import jsonschema_rs
    from jsonschema_rs import ValidationError

MAX_ERRORS = 200
_MAX_DIGITS = 5000
_TOO_DEEP = "Not checked: the value or the schema is nested too deeply."
_MAX_LISTED_REFERENCES = 3
_MAX_DEPTH = 6  # unions inside unions
_TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "a boolean",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_UNIONS = ("AnyOf", "OneOfNotValid")
_UNDECIDED = ("BacktrackLimitExceeded", "RegexEngineFailure")


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Validation result: the errors, and a note on what could not be checked.

    If both are empty, the value is valid.
    """

    errors: tuple[FieldError, ...] = ()
    unchecked: str = ""

    @property
    def is_final(self) -> bool:
        """True if everything was checked, so that there are no other errors."""
        return not self.unchecked and len(self.errors) < MAX_ERRORS


def pack(schema: JSON, value: JSON) -> bytes:
    """Pickle the input of `validate_packed`.

    Raises RecursionError for values that are nested hundreds deep.
    """
    return pickle.dumps((schema, value))


def validate_packed(data: bytes) -> ValidationResult:
    """Run `validate` in a worker process: bytes in, a picklable value out."""
    schema, value = pickle.loads(data)  # noqa: S301  # packed by ourselves, a moment ago
    return validate(schema, value)


def validate(schema: JSON, value: JSON) -> ValidationResult:
    """Validate a value.

    Never raises because of a schema's or value's content, and may take long: see above.
    """
    if not keywords.is_json(value):
        return ValidationResult(unchecked="Not checked: the value has NaN or Infinity, which JSON does not.")
    try:
        return _SchemaValidation(schema).result(_plain(value))
    except RecursionError:
        return ValidationResult(unchecked=_TOO_DEEP)
    except (ValueError, TypeError, OverflowError) as exc:
        deep = "recursion limit" in str(exc).lower()
        return ValidationResult(unchecked=_TOO_DEEP if deep else f"Not checked: {_first_line(exc)}")


class _SchemaValidation:
    """A prepared schema."""

    def __init__(self, schema: JSON) -> None:
        self._schema = _plain(schema)
        self._document = Document(self._schema)
        self._unresolved: list[str] = []

    def result(self, value: Any) -> ValidationResult:
        import jsonschema_rs

        if not isinstance(self._schema, dict | bool):
            return ValidationResult(unchecked="Not checked: the server's schema is not an object.")
        try:
            validator = self._validator()
        except jsonschema_rs.ValidationError as exc:
            position = readable("".join(child("", step) for step in exc.instance_path))
            text = f"at {position}: {_first_line(exc)}" if position else _first_line(exc)
            return ValidationResult(
                unchecked=f"Not checked: the server's schema is not a valid JSON Schema, {text}"
            )
        undecided: list[str] = []
        found = self._decided_errors(validator.iter_errors(value), undecided)
        errors = tuple(dict.fromkeys(islice(found, MAX_ERRORS)))
        return ValidationResult(errors, " ".join((*undecided[:1], self._unchecked())).strip())

    def _decided_errors(
        self, errors: Iterable[ValidationError], undecided: list[str]
    ) -> Iterator[FieldError]:
        """Yield the errors; what could not be decided is no error, and added to `undecided`."""
        for error in errors:
            if type(error.kind).__name__ in _UNDECIDED:
                place = readable(_pointer(error.instance_path)) or "The value"
                undecided.append(f"{place} was not checked against its pattern, which takes too long.")
            else:
                yield from field_errors(error, self._document)

    def _validator(self) -> jsonschema_rs.Validator:
        import jsonschema_rs

        problem: jsonschema_rs.ValidationError | None = None
        for kind in _drafts(self._schema):
            for options in regex_engines():
                try:
                    return kind(self._usable(), pattern_options=options, offline=True, validate_formats=True)
                except jsonschema_rs.ValidationError as exc:
                    if type(exc.kind).__name__ == "Referencing" and not self._unresolved:
                        self._remove_unresolved()
                        return self._validator()
                    problem = problem or exc
        assert problem is not None  # there is at least one draft and one engine
        raise problem

    def _remove_unresolved(self) -> None:
        self._schema = self._without_unresolved(self._schema)
        self._unresolved = self._unresolved or ["something"]

    def _usable(self) -> Any:
        """Return the schema without a `$schema` that is not a known draft: it would be looked up."""
        if isinstance(self._schema, dict) and _named_draft(self._schema) is None:
            return {key: part for key, part in self._schema.items() if key != "$schema"}
        return self._schema

    def _without_unresolved(self, part: Any) -> Any:
        """Return the schema without unresolvable references: they allow anything."""
        if isinstance(part, list):
            return [self._without_unresolved(inner) for inner in part]
        if not isinstance(part, dict):
            return part
        resolved = {key: self._without_unresolved(inner) for key, inner in part.items()}
        for key in REFERENCES:
            if isinstance(part.get(key), str) and not self._is_resolvable(part[key]):
                self._unresolved.append(part[key])
                del resolved[key]
        return resolved

    def _is_resolvable(self, reference: str) -> bool:
        try:
            return isinstance(self._document.target(reference), dict | bool)
        except UnusableSchema:
            return False

    def _unchecked(self) -> str:
        if not self._unresolved:
            return ""
        some = list(dict.fromkeys(self._unresolved))[:_MAX_LISTED_REFERENCES]
        outside = f"{', '.join(shorten(name, 80) for name in some)}, which is external and never fetched"
        return f"Parts of the value are not checked: the schema refers to {outside}."


def _drafts(schema: JSON) -> list[type[jsonschema_rs.Validator]]:
    """Return the drafts to try, most likely first."""
    import jsonschema_rs

    newest, older = jsonschema_rs.Draft202012Validator, jsonschema_rs.Draft7Validator
    if isinstance(schema, dict) and (named := _named_draft(schema)) is not None:
        return [named, older] if named is newest else [named]
    if draft_of(schema) is SchemaDraft.DRAFT_7:
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
    if abs(exact.adjusted()) > _MAX_DIGITS:  # it would be written out, digit by digit
        raise ValueError(f"{shorten(number.text, 40)} has more than {_MAX_DIGITS:,} digits.")
    return exact


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _first_line(exc: BaseException) -> str:
    return shorten(str(exc).partition("\n")[0], 200)


def field_errors(error: ValidationError, document: Document, depth: int = 0) -> Iterator[FieldError]:
    """Yield a validation error as field errors; for a union, also those of its closest variant."""
    pointer = _pointer(error.instance_path)
    kind = type(error.kind).__name__
    if kind in _UNIONS and depth < _MAX_DEPTH:
        yield from _union_errors(error, document, depth)
    elif kind == "Required":
        yield FieldError(child(pointer, _detail(error, "property")), MISSING)
    elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
        yield from (FieldError(child(pointer, name), UNKNOWN_KEY) for name in _detail(error, "unexpected"))
    elif kind == "PropertyNames":
        yield from _key_errors(_detail(error, "error"), pointer, document, depth)
    else:
        yield FieldError(pointer, _message(kind, error))


def _key_errors(inner: ValidationError, pointer: str, document: Document, depth: int) -> Iterator[FieldError]:
    position = child(pointer, inner.instance) if isinstance(inner.instance, str) else pointer
    for error in field_errors(inner, document, depth + 1):
        yield FieldError(position, f"the key {error.problem}")


def _union_errors(error: ValidationError, document: Document, depth: int) -> Iterator[FieldError]:
    """Yield the errors of the closest variant, or one error if they are about the union as a whole."""
    pointer = _pointer(error.instance_path)
    branches: list[list[ValidationError]] = _detail(error, "context")
    described = _branches(error, document, len(branches))
    if all(_is_of_other_type(errors, error.instance_path) for errors in branches):
        named = ", ".join(described.titles[:MAX_LISTED_CHOICES])
        yield FieldError(pointer, f"must be one of: {named}; got {_got(error)}", pointer)
        return
    tag, tags = _tag(error, described), described.tags
    known = [tag for one in tags for tag in one]
    if tag is not ABSENT:
        place = child(pointer, described.discriminator)
        if (unknown := unknown_tag_error(place, tag, known)) is not None:
            yield replace(unknown, union=pointer)
            return
    if all(_is_missing(one, error.instance_path) for errors in branches for one in errors):
        lacking = [[each for one in errors for each in field_errors(one, document)] for errors in branches]
        if (missing := missing_sets_error(lacking, pointer)) is not None:
            yield missing
            return
    tagged = (position for position, one in enumerate(tags) if any(equal(tag, each) for each in one))
    nearest = next(tagged, None)
    if nearest is None:
        distances = [_distance(errors, error.instance_path) for errors in branches]
        nearest = distances.index(min(distances))
    inside = [one for part in branches[nearest] for one in field_errors(part, document, depth + 1)]
    if any(one.pointer != pointer for one in inside):
        yield from (replace(one, union=pointer) for one in inside)
        return
    lacks = "; ".join(one.problem for one in inside[:3])
    count = plural(len(branches), "variant")
    text = f"matches none of the {count}. The closest is {described.titles[nearest]}: {lacks}"
    yield FieldError(pointer, text, pointer)


def _tag(error: ValidationError, branches: Branches) -> Any:
    """Return the value's discriminator, ABSENT if it has none."""
    if not branches.discriminator or not isinstance(error.instance, dict):
        return ABSENT
    return _json(error.instance.get(branches.discriminator, ABSENT))


def _is_missing(error: ValidationError, path: Sequence[str | int]) -> bool:
    return type(error.kind).__name__ == "Required" and list(error.instance_path) == list(path)


def _is_of_other_type(errors: Sequence[ValidationError], path: Sequence[str | int]) -> bool:
    return any(type(one.kind).__name__ == "Type" and list(one.instance_path) == list(path) for one in errors)


def _distance(errors: Sequence[ValidationError], path: Sequence[str | int]) -> int:
    """Return how far a value is from a variant: a wrong type or discriminator value counts most."""
    far = 1000 if _is_of_other_type(errors, path) else 0
    named = [one for one in errors if type(one.kind).__name__ in ("Constant", "Enum")]
    return far + 20 * len(named) + len(errors)


def _branches(error: ValidationError, document: Document, count: int) -> Branches:
    """Return the branches of the union, looked up where it is in the schema."""
    position: JSON = document.root
    for step in error.schema_path:
        if isinstance(position, dict) and isinstance(step, str):
            position = position.get(step)
        elif isinstance(position, list) and isinstance(step, int) and step < len(position):
            position = position[step]
        else:
            position = None
    if isinstance(position, list) and len(position) == count:
        return Branches.read(position, document)
    return Branches([f"variant {number}" for number in range(1, count + 1)])


def _message(kind: str, error: ValidationError) -> str:
    make = _MESSAGES.get(kind)
    return make(error) if make is not None else shorten(error.message.partition("\n")[0], 200)


def _detail(error: ValidationError, name: str) -> Any:
    """Return an attribute of the error's kind; each kind has different ones."""
    return getattr(error.kind, name)


def _json(value: Any) -> Any:
    """Return a value of an error as JSON: decimals as exact numbers."""
    if isinstance(value, dict):
        return {name: _json(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_json(part) for part in value]
    return (
        ExactNumber(str(value).replace("E+", "e").replace("E", "e")) if isinstance(value, Decimal) else value
    )


def _got(error: ValidationError, *, shows_parts: bool = False) -> str:
    return short_text(_json(error.instance), shows_parts=shows_parts)


def _enum(error: ValidationError) -> str:
    return f"must be {one_of(_json(_detail(error, 'options')))}, got {_got(error, shows_parts=True)}"


def _constant(error: ValidationError) -> str:
    expected = one_of([_json(_detail(error, "expected_value"))])
    return f"must be {expected}, got {_got(error, shows_parts=True)}"


def _type(error: ValidationError) -> str:
    expected = [_TYPES.get(name, name) for name in _detail(error, "types")]
    return f"must be {' or '.join(sorted(expected))}, got {_got(error)}"


def _bound(text: str) -> Callable[[ValidationError], str]:
    def describe(error: ValidationError) -> str:
        return f"must be {text} {short_text(_json(_detail(error, 'limit')))}, got {_got(error)}"

    return describe


def _size(text: str, noun: str) -> Callable[[ValidationError], str]:
    def describe(error: ValidationError) -> str:
        size = len(error.instance) if isinstance(error.instance, str | list | dict) else 0
        return f"{text} {plural(_detail(error, 'limit'), noun)}, has {size:,}"

    return describe


def _false(error: ValidationError) -> str:
    last = error.evaluation_path[-1] if error.evaluation_path else ""
    if last in ("items", "additionalItems", "unevaluatedItems"):
        return "is an extra item that the schema does not allow"
    if last == "propertyNames":
        return "has keys, but the schema allows none"
    if last in ("additionalProperties", "unevaluatedProperties"):
        return "has a key that the schema does not allow"
    return "is not allowed: the schema accepts no value here"


def _not(error: ValidationError) -> str:
    excluded = _detail(error, "schema")
    if isinstance(excluded, dict) and (names := sorted(keywords.names(excluded, "required"))):
        return f"must not have {' and '.join(names)}{' together' if len(names) > 1 else ''}"
    return f"must not match {shorten(write_line(_json(excluded)), 100)}"


_AT_LEAST, _AT_MOST = "must have at least", "must have at most"
_MESSAGES: Mapping[str, Callable[[ValidationError], str]] = {
    "Type": _type,
    "Enum": _enum,
    "Constant": _constant,
    "Minimum": _bound("at least"),
    "Maximum": _bound("at most"),
    "ExclusiveMinimum": _bound("greater than"),
    "ExclusiveMaximum": _bound("less than"),
    "MultipleOf": lambda error: (
        f"must be a multiple of {short_text(_json(_detail(error, 'multiple_of')))}, got {_got(error)}"
    ),
    "MinLength": _size(_AT_LEAST, "character"),
    "MaxLength": _size(_AT_MOST, "character"),
    "MinItems": _size(_AT_LEAST, "item"),
    "MaxItems": _size(_AT_MOST, "item"),
    "MinProperties": _size(_AT_LEAST, "key"),
    "MaxProperties": _size(_AT_MOST, "key"),
    "AdditionalItems": lambda error: f"must have at most {plural(_detail(error, 'limit'), 'item')}",
    "UnevaluatedItems": lambda error: "has more items than the schema allows",
    "UniqueItems": lambda error: "two items are equal, but items must be unique",
    "Contains": lambda error: "does not contain the required items, or not the right number of them",
    "Format": lambda error: f"is not a valid {_detail(error, 'format')}, got {_got(error)}",
    "Pattern": lambda error: (
        f"does not match the pattern {shorten(_detail(error, 'pattern'), 100)}, got {_got(error)}"
    ),
    "FalseSchema": _false,
    "Not": _not,
    "OneOfMultipleValid": lambda error: "matches more than one variant, but must match exactly one",
    "ContentEncoding": lambda error: f"is not {_detail(error, 'content_encoding')}",
    "ContentMediaType": lambda error: f"is not {_detail(error, 'content_media_type')}",
}


def _pointer(path: Sequence[str | int]) -> str:
    pointer = ""
    for step in path:
        pointer = child(pointer, step)
    return pointer
