"""Random legal schemas of several drafts, compared with an independent validator."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import (  # type: ignore[import-untyped]
    Draft6Validator,
    Draft7Validator,
    Draft201909Validator,
    Draft202012Validator,
)

from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.validation import validate
from inspector.schema.values import combined_errors, draft_of

Schemas: TypeAlias = "st.SearchStrategy[JSON]"
VALIDATORS: dict[int, Any] = {
    6: Draft6Validator,
    7: Draft7Validator,
    2019: Draft201909Validator,
    2020: Draft202012Validator,
}
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
NAMES = st.sampled_from(["a", "b", "ab", ""])
PATTERNS = st.sampled_from(["^a", "b$", "^[ab]+$", "^$"])
numbers = st.integers(-2, 4) | st.sampled_from([0.5, 1.0, 1.5])
sizes = st.integers(0, 3)
values: Schemas = st.recursive(
    st.none() | st.booleans() | numbers | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
types = st.sampled_from(TYPES)
name_lists = st.lists(NAMES, min_size=1, max_size=2, unique=True)


def _keywords(draft: int, inner: Schemas) -> dict[str, st.SearchStrategy[Any]]:
    """Return the legal values of each keyword; a draft ignores the keywords that it does not know."""
    several = st.lists(inner, min_size=1, max_size=3)
    by_name = st.dictionaries(NAMES, inner, min_size=1, max_size=3)
    known: dict[str, st.SearchStrategy[Any]] = {
        "type": st.sampled_from(TYPES)
        | st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "enum": st.lists(values, min_size=1, max_size=3, unique_by=repr),
        "const": values,
        "minimum": numbers,
        "maximum": numbers,
        "exclusiveMinimum": numbers,
        "exclusiveMaximum": numbers,
        "multipleOf": st.sampled_from([1, 2, 3, 0.5]),
        "minLength": sizes,
        "maxLength": sizes,
        "pattern": PATTERNS,
        "items": inner | several if draft < 2020 else inner,
        "additionalItems": inner,
        "prefixItems": several,
        "contains": inner,
        "uniqueItems": st.booleans(),
        "minItems": sizes,
        "maxItems": sizes,
        "properties": by_name,
        "required": name_lists,
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(PATTERNS, inner, min_size=1, max_size=2),
        "propertyNames": inner,
        "minProperties": sizes,
        "maxProperties": sizes,
        "dependentRequired": st.dictionaries(NAMES, name_lists, min_size=1, max_size=2),
        "dependentSchemas": by_name,
        "allOf": several,
        "anyOf": several,
        "oneOf": several,
        "not": inner,
        "if": inner,
        "then": inner,
        "else": inner,
        "$ref": st.sampled_from(["#/definitions/one", "#/definitions/other"]),
        "unevaluatedProperties": inner,
    }
    if draft < 2019:  # later drafts leave it to the validator
        known["dependencies"] = st.dictionaries(NAMES, inner | name_lists, min_size=1, max_size=2)
    return known


def _schemas(draft: int, inner: Schemas) -> Schemas:
    keywords = _keywords(draft, inner)
    return st.lists(st.sampled_from(sorted(keywords)), max_size=4, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: keywords[name] for name in names})
    )


def _leaves(draft: int) -> Schemas:
    keywords = _keywords(draft, st.booleans())
    return st.booleans() | st.lists(
        st.sampled_from([name for name in sorted(keywords) if name != "$ref"]), max_size=3, unique=True
    ).flatmap(lambda names: st.fixed_dictionaries({name: keywords[name] for name in names}))


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, JSONObject, JSON]:
    """Draw a draft, a schema with a property `x`, and a value for it."""
    draft = draw(st.sampled_from(sorted(VALIDATORS)))
    leaves = _leaves(draft)
    schema: JSONObject = {
        "$schema": VALIDATORS[draft].META_SCHEMA["$schema"],
        "type": "object",
        "properties": {"x": draw(st.recursive(leaves, lambda inner: _schemas(draft, inner), max_leaves=6))},
        "definitions": {"one": draw(leaves), "other": draw(leaves)},
    }
    return draft, schema, {"x": draw(values)}


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_checks_agree_with_an_independent_validator(case: tuple[int, JSONObject, JSONObject]) -> None:
    draft, schema, value = case
    is_valid = VALIDATORS[draft](schema).is_valid(value)
    form = build_form(schema)
    full = validate(schema, value)
    assert full.unchecked == ""
    assert (full.errors == ()) is is_valid
    for entered in (value, draft_of(form, value)):
        instant = check(form, entered)
        assert not instant or not is_valid, "an immediate check may only report what is certain"
        assert bool(combined_errors(instant, full.errors, is_final=full.is_final)) is not is_valid
