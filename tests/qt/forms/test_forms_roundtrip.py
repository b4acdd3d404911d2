"""Values round-trip through a form exactly: Hypothesis over schemas and matching values."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest
import shiboken6
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from inspector.base.json.text import read, same, write
from inspector.base.json.values import JSON, JSONObject, read_number
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.forms.schema.schema_form import SchemaForm
from inspector.qt.theme import Theme
from inspector.schema.builder import build_form
from tests.unit.schema.generated_schemas import documents

ICONS = Path(__file__).parents[3] / "resources" / "icons"
few_widgets = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

Cases: TypeAlias = "st.SearchStrategy[tuple[JSON, JSON]]"

number_texts = st.from_regex(r"\A-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?\Z")
numbers = st.integers() | number_texts.map(read_number).filter(lambda number: number is not None)
awkward = [
    "",
    " ",
    "null",
    "1",
    "a\nb",
    "a\r\nb",
    "\u00a0",
    "\u2028",
    "\x00",
    "\ud800",
    "\U0001f469\u200d\U0001f467",
]
texts = st.text(max_size=20) | st.sampled_from(awkward)
anything: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def schema_and_value(schema: JSONObject, values: st.SearchStrategy[JSON]) -> Cases:
    nullable: JSONObject = {"anyOf": [schema, {"type": "null"}]}
    return st.tuples(st.just(schema), values) | st.tuples(st.just(nullable), values | st.none())


def choices(values: list[JSON]) -> Cases:
    return schema_and_value({"enum": values}, st.sampled_from(values))


simple = st.one_of(
    schema_and_value({"type": "string"}, texts),
    schema_and_value({"type": "string", "format": "markdown"}, texts),
    schema_and_value({"type": "integer"}, st.integers()),
    schema_and_value({"type": "number", "default": 1.5}, numbers),
    schema_and_value({"type": "boolean"}, st.booleans()),
    st.lists(anything, min_size=1, max_size=4).flatmap(choices),
    schema_and_value({"oneOf": [{"type": "string"}, {"type": "object"}]}, anything),
    schema_and_value({"type": "array", "items": {"type": "string"}}, st.lists(texts, max_size=4)),
    schema_and_value(
        {"type": "array", "items": {"type": ["number", "null"]}}, st.lists(numbers | st.none(), max_size=4)
    ),
    schema_and_value({"type": "array", "items": {"type": "boolean"}}, st.lists(st.booleans(), max_size=4)),
)


@st.composite
def objects(draw: st.DrawFn, depth: int = 1) -> tuple[JSON, JSON]:
    """An object schema, and a value for it: some members absent, in any order, with extra keys."""
    part = simple if depth == 0 else simple | objects(depth=depth - 1)
    members = draw(st.dictionaries(texts, part, max_size=6))
    given = [name for name in members if draw(st.booleans())]
    value = {name: members[name][1] for name in given}
    for name in draw(st.lists(texts, max_size=2)):
        value.setdefault(name, draw(anything))
    order = draw(st.permutations(list(value)))
    schema: JSON = {"type": "object", "properties": {name: schema for name, (schema, _) in members.items()}}
    return schema, {name: value[name] for name in order}


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    """Create the application: a theme needs it."""
    return Theme(ICONS)


@few_widgets
@given(case=objects())
def test_value_round_trips_exactly(theme: Theme, case: tuple[JSON, JSONObject]) -> None:
    schema, value = case
    form = SchemaForm(theme, build_form(schema))
    form.set_value(value)
    assert write(form.value()) == write(value)
    shiboken6.delete(form)


@few_widgets
@given(case=objects() | documents(), other=anything)
def test_value_that_violates_the_schema_round_trips_too(
    theme: Theme, case: tuple[JSON, JSONObject], other: JSON
) -> None:
    field = build_form(case[0])
    wrong = {member.name: other for member in field.members}
    form = SchemaForm(theme, field)
    form.set_value(wrong)
    assert write(form.value()) == write(wrong)
    shiboken6.delete(form)


@few_widgets
@given(case=documents())
def test_value_valid_for_any_json_schema_construct_round_trips_exactly(
    theme: Theme, case: tuple[JSONObject, JSONObject]
) -> None:
    schema, value = case
    form = SchemaForm(theme, build_form(schema))
    form.set_value(value)
    assert write(form.value()) == write(value)
    form.rows()
    assert write(form.value()) == write(value)
    shiboken6.delete(form)


@settings(few_widgets, max_examples=10)
@given(case=objects() | documents())
def test_switching_between_form_and_json_twenty_times_changes_nothing(
    theme: Theme, case: tuple[JSON, JSONObject]
) -> None:
    schema, value = case
    editor = ArgumentsEditor(theme)
    editor.set_schema(schema)
    editor.set_arguments(value)
    editor.show_json()
    text = editor.json_view.text()
    assert same(read(text), value)
    for _ in range(20):
        assert editor.show_form()
        assert write(editor.arguments(force=True)) == write(value)
        assert editor.show_json()
        assert editor.json_view.text() == text
    shiboken6.delete(editor)
