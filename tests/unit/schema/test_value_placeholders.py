"""`${name}` in drafts: the expanded value is checked, errors name the position of the text."""

from __future__ import annotations

from inspector.schema.builder import build_form
from inspector.schema.check import check
from inspector.schema.drafts import ABSENT, Draft, Pairs, Picked
from inspector.schema.values import Expansion, FieldError, resolve_draft

MEANINGS = {
    "${n}": Expansion(5),
    "${obj}": Expansion({"a/b": "x"}),
    "${gone}": Expansion(problem="${gone} has no value"),
    "${key}": Expansion("hunter2", is_secret=True),
}


def test_references_are_replaced_everywhere_and_the_rest_is_unchanged() -> None:
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
    assert list(resolved.expansions) == ["/a/0", "/m/k", "/p/x"]


def test_without_a_resolver_nothing_is_replaced() -> None:
    assert resolve_draft({"a": "${n}"}, None).draft == {"a": "${n}"}


def test_union_variant_is_selected_again_for_the_resolved_value() -> None:
    field = build_form({"properties": {"e": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}})
    resolved = resolve_draft({"e": Picked(0, "${n}")}, MEANINGS.__getitem__)
    assert check(field, resolved.draft) == []


def test_errors_inside_a_resolved_value_are_reported_at_the_reference() -> None:
    resolved = resolve_draft({"o": "${obj}"}, MEANINGS.__getitem__)
    found = [FieldError("/o/a~1b", "must be a number"), FieldError("/other", "is wrong")]
    assert resolved.errors(found) == [
        FieldError("/o", "a/b: must be a number"),
        FieldError("/other", "is wrong"),
    ]


def test_unresolved_reference_is_reported_and_nothing_else_at_that_path() -> None:
    resolved = resolve_draft({"n": "${gone}"}, MEANINGS.__getitem__)
    assert resolved.draft == {"n": "${gone}"}
    assert resolved.errors([FieldError("/n", "must be a number")]) == [
        FieldError("/n", "${gone} has no value")
    ]


def test_secret_value_is_not_repeated_in_a_message() -> None:
    resolved = resolve_draft({"n": "${key}"}, MEANINGS.__getitem__)
    [error] = resolved.errors([FieldError("/n", "must be a number, got 'hunter2'")])
    assert "hunter2" not in error.problem


def test_too_deeply_nested_value_is_left_unchanged() -> None:
    draft: list[object] = []
    for _ in range(100_000):
        draft = [draft]
    assert resolve_draft({"d": draft}, MEANINGS.__getitem__).expansions == {}  # type: ignore[dict-item]
