"""`elicitation/create`: a form to fill in, or a page to visit, and what is wrong with the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from inspector.base.jsonvalue import JSONObject
from inspector.base.weblink import may_open, read_link
from inspector.protocol.formfields import FORMATS, FieldKind, FormField, misfit, read_field
from inspector.protocol.members import object_of, shown, some, strings_of, text_of
from inspector.protocol.revisions import R3, R4, R5, Revision, is_between


@dataclass(frozen=True, slots=True)
class FormAsked:
    """A form elicitation. `schema` is the server's, verbatim."""

    message: str
    schema: JSONObject
    source: JSONObject  # the params, verbatim

    @property
    def properties(self) -> JSONObject:
        return object_of(self.schema, "properties") or {}

    @property
    def required(self) -> tuple[str, ...]:
        return strings_of(self.schema, "required")

    def fields(self) -> tuple[FormField, ...]:
        """Return the supported fields; others are only in the schema."""
        return tuple(field for field in _fields(self.properties) if isinstance(field, FormField))


@dataclass(frozen=True, slots=True)
class UrlAsked:
    """A URL elicitation.

    `elicitation_id` is how 2025-11-25 reports completion later; else "".
    """

    message: str
    url: str
    elicitation_id: str
    source: JSONObject


def read_elicitation(params: JSONObject) -> FormAsked | UrlAsked:
    """Parse a request. Raises ValueError for an unknown mode, or a missing form or URL."""
    mode = params.get("mode", "form")
    if mode == "form":
        return _form(params)
    if mode == "url":
        return _url(params)
    raise ValueError(f'"mode" is {shown(mode)}; it can be form or url')


def _form(params: JSONObject) -> FormAsked:
    schema = object_of(params, "requestedSchema")
    if schema is None:
        raise ValueError('"requestedSchema" is missing, or is not an object')
    if schema.get("type", "object") != "object":
        raise ValueError('the "type" of "requestedSchema" must be object: the answer is one')
    if not isinstance(schema.get("properties", {}), dict):
        raise ValueError('the "properties" of "requestedSchema" must be an object')
    return FormAsked(text_of(params, "message"), schema, params)


def _url(params: JSONObject) -> UrlAsked:
    url = text_of(params, "url")
    if not url:
        raise ValueError('"url" must be a string with at least one character')
    return UrlAsked(text_of(params, "message"), url, text_of(params, "elicitationId"), params)


# ------------------------------------------------------------------ what breaks a rule


def remarks_on_form(asked: FormAsked, revision: Revision) -> Iterator[str]:
    yield from _about_message(asked.message)
    if not is_between(revision, R3, R5):
        yield f"Elicitation came with {R3}; this is {revision}."
    if "type" not in asked.schema:
        yield "The schema of the form has no “type”; it must be object."
    if "properties" not in asked.schema:
        yield "The schema of the form has no “properties”."
    nowhere = [name for name in asked.required if name not in asked.properties]
    if nowhere:
        yield f"Required, but no field of the form: {some(nowhere)}."
    yield from _about_fields(asked.properties, revision)


def _about_fields(properties: JSONObject, revision: Revision) -> Iterator[str]:
    """Yield one sentence per kind of fault, however many fields have it."""
    faults: dict[str, list[str]] = defaultdict(list)
    for name, field in zip(properties, _fields(properties), strict=True):
        for fault in _faults(field, revision):
            faults[fault].append(name)
    for fault, names in faults.items():
        many = "s" if len(names) > 1 else ""
        yield f"Field{many} {some(names)}: {fault}."


def _fields(properties: JSONObject) -> Iterator[FormField | str]:
    """Yield each property as a field, or the reason why it is not supported."""
    for name, schema in properties.items():
        try:
            yield read_field(name, schema)
        except ValueError as exc:
            yield str(exc)


def _faults(field: FormField | str, revision: Revision) -> Iterator[str]:
    if isinstance(field, str):
        yield field
        return
    schema = field.source
    yield from _newer(field, revision)
    if "enumNames" in schema:
        if is_between(revision, R4, R5):
            yield f"“enumNames” is deprecated since {R4}, for “oneOf” with titles"
        if not field.is_titled:
            yield "“enumNames” does not name each choice, so it is ignored"
    format = schema.get("format")
    if field.kind is FieldKind.TEXT and format is not None and format not in FORMATS:
        yield f"the format {shown(format)} is none that a form may have ({', '.join(FORMATS)})"
    if "pattern" in schema:
        yield "“pattern” is in no schema of the specification"
    if "default" in schema and (problem := misfit(field, schema["default"])):
        yield f"the default does not fit: it {problem}"


def _newer(field: FormField, revision: Revision) -> Iterator[str]:
    if is_between(revision, R4, R5):
        return
    if field.kind is FieldKind.CHOICES:
        yield f"several choices came with {R4}; this is {revision}"
    if "oneOf" in field.source:
        yield f"choices with titles (“oneOf”) came with {R4}; this is {revision}"
    if "default" in field.source and field.kind is not FieldKind.BOOLEAN:
        yield f"a default for it came with {R4}; this is {revision}"


def remarks_on_url(asked: UrlAsked, revision: Revision) -> Iterator[str]:
    yield from _about_message(asked.message)
    if not is_between(revision, R4, R5):
        yield f"Elicitation by URL came with {R4}; this is {revision}."
    if revision is R4 and not asked.elicitation_id:
        yield f"“elicitationId” is missing; {R4} requires it."
    if revision is R5 and "elicitationId" in asked.source:
        yield f"“elicitationId” is no longer used in {R5}."
    reason = may_open(read_link(asked.url))
    if reason:
        yield f"The address cannot be opened: {reason}"


def _about_message(message: str) -> Iterator[str]:
    if not message:
        yield "There is no “message” that says what this is for."
