"""Exact round trips through a form, for every construct of JSON Schema."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from inspector.base.json.text import read, write
from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import Draft, Pairs, Picked, choose
from inspector.schema.fields import UnionField
from inspector.schema.samples import example
from inspector.schema.validation import ValidationResult, validate
from inspector.schema.values import draft_of, json_of
from tests.unit.schema.generated_schemas import TREE, documents, parts, unions
from tests.unit.schema.schema_fields import build_field

some = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@some
@given(case=documents())
def test_value_is_exact_after_twenty_round_trips_through_its_draft(
    case: tuple[JSONObject, JSONObject],
) -> None:
    schema, value = case
    assert validate(schema, value) == ValidationResult()  # else the case says nothing
    form = build_form(schema)
    trip: JSON = value
    for _ in range(20):
        text = write(json_of(form, draft_of(form, trip)))  # type: ignore[arg-type]  # an object is not absent
        assert text == write(value)
        trip = read(text)


@some
@given(case=documents())
def test_valid_value_has_no_errors(case: tuple[JSONObject, JSONObject]) -> None:
    schema, value = case
    form = build_form(schema)
    assert check(form, value) == []
    assert check(form, draft_of(form, value)) == []


@some
@given(case=unions(parts))
def test_selected_variant_is_one_the_value_is_valid_for(case: tuple[JSONObject, JSON]) -> None:
    schema, value = case
    field = build_field({**schema, "$defs": {"tree": TREE}})
    branches = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]  # type: ignore[union-attr]
    if isinstance(field, UnionField) and len(branches) > 1 and value is not None:
        right: JSON = {"allOf": [branches[choose(field, value)]], "$defs": {"tree": TREE}}
        assert validate(right, value) == ValidationResult()


@some
@given(case=documents())
def test_an_example_is_valid(case: tuple[JSONObject, JSONObject]) -> None:
    schema, _ = case
    assert validate(schema, example(build_form(schema))) == ValidationResult()


def _markers(draft: Draft) -> set[type]:
    if isinstance(draft, Picked):
        return {Picked} | _markers(draft.draft)
    if isinstance(draft, Pairs):
        return {Pairs}.union(*(_markers(part) for _, part in draft.rows))
    if isinstance(draft, dict):
        return set().union(*map(_markers, draft.values()))
    return set()


def test_draft_has_the_variants_and_rows_of_the_editors() -> None:
    form = build_form({"properties": {"u": {"type": ["string", "integer"]}, "m": {"type": "object"}}})
    assert _markers(draft_of(form, {"u": 1, "m": {"k": 1}})) == {Picked, Pairs}
