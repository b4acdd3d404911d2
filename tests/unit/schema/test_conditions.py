"""Members that depend on the value come and go, and what was typed in them is kept."""

from __future__ import annotations

import pytest

from inspector.base.json.values import JSON, JSONObject
from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import ABSENT, Aside, Draft, Picked, Unreadable, active, settle
from inspector.schema.fields import IntegerField, ObjectField, TextField
from inspector.schema.values import finish

ADDRESS: JSONObject = {
    "properties": {"country": {"enum": ["US", "DE"]}},
    "required": ["country"],
    "if": {"properties": {"country": {"const": "US"}}, "required": ["country"]},
    "then": {"properties": {"zip": {"type": "string"}}, "required": ["zip"]},
    "else": {"properties": {"plz": {"type": "integer"}}},
}


def names(form: ObjectField, draft: dict[str, Draft]) -> list[str]:
    return [member.name + ("*" if member.required else "") for member in active(form, draft)]


def test_the_members_follow_the_condition() -> None:
    form = build_form(ADDRESS)
    assert names(form, {}) == ["country*", "plz"]
    assert names(form, {"country": "US"}) == ["country*", "zip*"]
    assert names(form, {"country": Picked(0, "US")}) == ["country*", "zip*"]
    assert names(form, {"country": Aside("US")}) == ["country*", "plz"]
    assert [condition.text for condition in form.conditions] == ['country is "US"']


def test_draft_is_checked_against_the_applicable_members() -> None:
    form = build_form(ADDRESS)
    assert [str(error) for error in check(form, {"country": "US"})] == ["zip: is required, but not set"]
    assert [str(error) for error in check(form, {"country": "DE", "plz": "x"})] == [
        "plz: must be a whole number, got 'x'"
    ]


def test_inapplicable_values_are_set_aside_and_restored() -> None:
    form = build_form(ADDRESS)
    american: dict[str, Draft] = {"country": "US", "zip": "123"}
    german = settle(form, american, {**american, "country": "DE"})
    assert german == {"country": "DE", "zip": Aside("123")}
    assert finish(form, german) == {"country": "DE"}
    assert check(form, german) == []
    assert settle(form, german, {**german, "country": "US"}) == american


def test_value_set_aside_may_be_anything() -> None:
    form = build_form(ADDRESS)
    draft: Draft = {"country": "DE", "zip": Aside(Unreadable("{", "no"))}
    assert finish(form, draft) == {"country": "DE"}


def test_a_key_that_was_given_as_json_is_sent_though_its_member_does_not_apply() -> None:
    form = build_form(ADDRESS)
    given: dict[str, Draft] = {"country": "DE", "zip": "123"}
    assert finish(form, given) == given
    assert settle(form, given, {**given, "plz": 1}) == {**given, "plz": 1}


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
    field = active(form, {"on": True})[1].field
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
    assert form.notes == ("10 more conditions not looked at: a form knows 50.",)
    assert isinstance(active(form, {"k1": 1})[0].field, TextField)
