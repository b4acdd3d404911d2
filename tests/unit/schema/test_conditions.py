"""Conditional members: shown and hidden with the value, without losing their drafts."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import (
    ABSENT,
    Draft,
    InactiveDraft,
    Picked,
    Unreadable,
    active_members,
    settle_draft,
)
from inspector.schema.fields import IntegerField, ObjectField, TextField
from inspector.schema.values import json_of

ADDRESS: JSONObject = {
    "properties": {"country": {"enum": ["US", "DE"]}},
    "required": ["country"],
    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
    "then": {"properties": {"zip": {"type": "string"}}, "required": ["zip"]},
    "else": {"properties": {"plz": {"type": "integer"}}},
}


def names(form: ObjectField, draft: dict[str, Draft]) -> list[str]:
    return [member.name + ("*" if member.required else "") for member in active_members(form, draft)]


def test_the_members_follow_the_condition() -> None:
    form = build_form(ADDRESS)
    assert names(form, {}) == ["country*", "plz"]
    assert names(form, {"country": "US"}) == ["country*", "zip*"]
    assert names(form, {"country": Picked(0, "US")}) == ["country*", "zip*"]
    assert names(form, {"country": InactiveDraft("US")}) == ["country*", "plz"]
    assert [condition.text for condition in form.conditions] == ['country is "US"']


def test_draft_is_checked_against_the_applicable_members() -> None:
    form = build_form(ADDRESS)
    assert [str(error) for error in check(form, {"country": "US"})] == ["zip: is required but not set"]
    assert [str(error) for error in check(form, {"country": "DE", "plz": "x"})] == [
        "plz: must be an integer, got 'x'"
    ]


def test_inactive_values_are_preserved_and_restored() -> None:
    form = build_form(ADDRESS)
    american: dict[str, Draft] = {"country": "US", "zip": "123"}
    german = settle_draft(form, american, {**american, "country": "DE"})
    assert german == {"country": "DE", "zip": InactiveDraft("123")}
    assert json_of(form, german) == {"country": "DE"}
    assert check(form, german) == []
    assert settle_draft(form, german, {**german, "country": "US"}) == american


def test_inactive_value_may_be_anything() -> None:
    form = build_form(ADDRESS)
    draft: Draft = {"country": "DE", "zip": InactiveDraft(Unreadable("{", "no"))}
    assert json_of(form, draft) == {"country": "DE"}


def test_key_entered_as_json_is_sent_although_its_member_is_inactive() -> None:
    form = build_form(ADDRESS)
    draft: dict[str, Draft] = {"country": "DE", "zip": "123"}
    assert json_of(form, draft) == draft
    assert settle_draft(form, draft, {**draft, "plz": 1}) == {**draft, "plz": 1}


@pytest.mark.parametrize(
    "schema",
    [
        {"dependentRequired": {"a": ["b"]}},
        {"dependencies": {"a": ["b"]}},
        {"dependentSchemas": {"a": {"required": ["b"]}}},
        {"dependencies": {"a": {"required": ["b"]}}},
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}},
        {"if": {"not": {"required": ["a"]}}, "else": {"required": ["b"]}},
        {"allOf": [{"if": {"required": ["a"]}, "then": {"required": ["b"]}}]},
    ],
)
def test_a_member_can_be_required_by_another(schema: JSONObject) -> None:
    form = build_form({"type": "object", "properties": {"a": {}, "b": {}}, **schema})
    assert names(form, {"b": 1}) == ["a", "b"]
    assert names(form, {"a": 1}) == ["a", "b*"]
    assert names(form, {"a": ABSENT}) == ["a", "b"]


def test_condition_may_tighten_an_unconditional_member() -> None:
    form = build_form(
        {"properties": {"on": {"type": "boolean"}, "n": {"type": "number", "minimum": 0}},
         "if": {"properties": {"on": {"const": True}}}, "then": {"properties": {"n": {"type": "integer"}}}}
    )  # fmt: skip
    field = active_members(form, {"on": True})[1].field
    assert isinstance(field, IntegerField)
    assert field.minimum == 0


def test_conditions_may_come_with_other_conditions() -> None:
    def chain(level: int) -> JSONObject:
        then: JSONObject = {"properties": {f"p{level}": {"type": "string"}}}
        return {
            "if": {"required": [f"p{level - 1}"]},
            "then": {**then, **(chain(level + 1) if level < 4 else {})},
        }

    form = build_form({"type": "object", "properties": {"p0": {}}, **chain(1)})
    assert names(form, {"p0": 1}) == ["p0", "p1"]
    assert names(form, {"p0": 1, "p1": 1, "p2": 1}) == ["p0", "p1", "p2", "p3"]


def test_branch_that_contradicts_the_object_keeps_the_unconditional_part() -> None:
    form = build_form({"properties": {"a": {}}, "if": True, "then": False})
    assert names(form, {}) == ["a"]


def test_conditions_beyond_the_limit_are_reported() -> None:
    many: list[JSON] = [
        {"if": {"required": [f"k{n}"]}, "then": {"properties": {f"p{n}": {"type": "string"}}}}
        for n in range(60)
    ]
    form = build_form({"type": "object", "allOf": many})
    assert form.notes == ("10 more conditions not evaluated: a form supports at most 50.",)
    assert isinstance(active_members(form, {"k1": 1})[0].field, TextField)
