"""Texts that stand for another value: what is checked is the value, what is told is where it was written."""

from __future__ import annotations

from inspector.schema.build import build_form
from inspector.schema.check import check
from inspector.schema.drafts import ABSENT, Draft, Pairs, Picked
from inspector.schema.standins import Meaning, resolve_draft
from inspector.schema.values import FieldError

MEANINGS = {
    "${n}": Meaning(5),
    "${obj}": Meaning({"a/b": "x"}),
    "${gone}": Meaning(problem="${gone} has no value"),
    "${key}": Meaning("hunter2", is_secret=True),
}


def test_texts_are_replaced_wherever_they_stand_and_all_else_stays() -> None:
    draft: Draft = {
        "a": ["${n}", 1, ABSENT],
        "m": Pairs((("k", "${obj}"),)),
        "plain": "n",
        "p": Picked(1, {"x": "${n}"}),
    }
    resolved = resolve_draft(draft, MEANINGS.__getitem__)
    assert resolved.draft == {
        "a": [5, 1, ABSENT],
        "m": Pairs((("k", {"a/b": "x"}),)),
        "plain": "n",
        "p": Picked(1, {"x": 5}),
    }
    assert list(resolved.meanings) == ["/a/0", "/m/k", "/p/x"]


def test_without_anybody_who_knows_nothing_is_replaced() -> None:
    assert resolve_draft({"a": "${n}"}, None).draft == {"a": "${n}"}


def test_variant_of_a_union_is_found_anew_for_what_a_text_stands_for() -> None:
    field = build_form({"properties": {"e": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}})
    resolved = resolve_draft({"e": Picked(0, "${n}")}, MEANINGS.__getitem__)
    assert check(field, resolved.draft) == []


def test_errors_inside_of_a_value_are_told_where_the_text_stands() -> None:
    resolved = resolve_draft({"o": "${obj}"}, MEANINGS.__getitem__)
    found = [FieldError("/o/a~1b", "must be a number"), FieldError("/other", "is wrong")]
    assert resolved.errors(found) == [
        FieldError("/o", "a/b: must be a number"),
        FieldError("/other", "is wrong"),
    ]


def test_what_has_no_value_is_told_and_nothing_else_about_that_place() -> None:
    resolved = resolve_draft({"n": "${gone}"}, MEANINGS.__getitem__)
    assert resolved.draft == {"n": "${gone}"}
    assert resolved.errors([FieldError("/n", "must be a number")]) == [
        FieldError("/n", "${gone} has no value")
    ]


def test_secret_value_is_not_repeated_in_a_message() -> None:
    resolved = resolve_draft({"n": "${key}"}, MEANINGS.__getitem__)
    [error] = resolved.errors([FieldError("/n", "must be a number, got 'hunter2'")])
    assert "hunter2" not in error.problem


def test_what_is_nested_too_deeply_is_left_as_it_is() -> None:
    draft: list[object] = []
    for _ in range(100_000):
        draft = [draft]
    assert resolve_draft({"d": draft}, MEANINGS.__getitem__).meanings == {}  # type: ignore[dict-item]
