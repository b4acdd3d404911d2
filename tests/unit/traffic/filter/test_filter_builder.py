"""Filters built from a selected value, and the manual."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inspector.base.json.values import JSON, to_wire
from inspector.traffic.filter import parser
from inspector.traffic.filter.builder import narrow
from inspector.traffic.filter.fields import FIELDS
from inspector.traffic.filter.manual import manual
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.filter.tree import FilterError, Member, Node, Path, to_text
from tests.unit.traffic.filter.filter_logs import NOON, RowSpec, filters, make_log


@pytest.mark.parametrize(
    ("text", "word", "value", "exclude", "after"),
    [
        ("", "method", "tools/call", False, "method=tools/call"),
        ("  ", "method", "a b", True, 'method!="a b"'),
        ("dur>1s", "tool", "x", False, "dur>1s and tool=x"),
        ("a or b", "tool", "x", False, "(a or b) and tool=x"),
        ("a   B", "params.a[0]", 5, False, "a   B and params.a[0]=5"),
        ("tool=x and a", "tool", "x", False, "tool=x and a"),
        ("tool=x", "tool", "x", False, "tool=x"),
        ("", "params.a", None, False, "params.a=null"),
        ("", "params.a", True, True, "params.a!=true"),
        ("", "params.a", "", False, 'params.a=""'),
        ("", "status", "", False, "not status:*"),
        ("", "status", "", True, "status:*"),
        ("", "dur", None, False, "not dur>=0"),
        ("", "dur", 1500, False, "dur=1500ns"),
        ("", "id", "7", False, "id=7"),
        ("", "time", NOON + 5, False, 'time="2023-11-14T22:13:20.000000005Z"'),
    ],
)
def test_value_is_added_to_the_typed_filter(
    text: str, word: str, value: JSON, exclude: bool, after: str
) -> None:
    assert narrow(text, word, value, exclude=exclude) == after


@pytest.mark.parametrize(
    ("text", "word", "value"), [("a and", "tool", "x"), ("", "nothing", "x"), ("", "status", "odd")]
)
def test_value_that_cannot_be_a_filter_is_reported(text: str, word: str, value: str) -> None:
    with pytest.raises(FilterError):
        narrow(text, word, value)


_json: st.SearchStrategy[JSON] = st.recursive(
    st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.none(), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)
    ),
    max_leaves=3,
)


@settings(max_examples=120, deadline=None)
@example("a", float("inf"))
@example("a", float("nan"))
@example("a", 2**70)
@given(st.text(max_size=6), _json)
def test_filter_on_this_finds_the_row_and_exclude_this_does_not(name: str, value: JSON) -> None:
    path = Path("params", (Member(name),))
    log = make_log(RowSpec(raw=to_wire({"params": {name: value}})), RowSpec())
    shown = compile(parse(narrow("", path, value)), log, now_ns=NOON)
    hidden = compile(parse(narrow("", path, value, exclude=True)), log, now_ns=NOON)
    assert list(shown.rows(range(2))) == [0]
    assert list(hidden.rows(range(2))) == [1]


@settings(max_examples=80, deadline=None)
@given(
    filters,
    st.sampled_from(["method", "tool", "server", "comment", "params.x"]),
    st.text(max_size=12),
    st.booleans(),
)
def test_built_text_is_always_a_valid_filter(node: Node, word: str, value: str, exclude: bool) -> None:
    text = narrow(to_text(node), word, value, exclude=exclude)
    assert parse(text) is not None
    assert narrow(text, word, value, exclude=exclude) == text


def test_a_long_value_is_filtered_by_its_beginning() -> None:
    value = "(+*" * 1000
    text = narrow("", "params.x", value)
    assert len(text) < 1500
    log = make_log(RowSpec(raw=to_wire({"params": {"x": value}})), RowSpec(raw=b'{"params":{"x":"("}}'))
    assert list(compile(parse(text), log, now_ns=NOON).rows(range(2))) == [0]


def test_the_help_page_is_the_manual() -> None:
    page = FilePath(parser.__file__).parents[3] / "resources" / "help" / "filters.md"
    assert page.read_text(encoding="utf-8") == manual(), "write manual() to resources/help/filters.md"


def test_manual_covers_every_field_and_its_filters_work() -> None:
    page = manual()
    for field in FIELDS.values():
        assert f"| `{field.name}` |" in page
        assert field.description in page
    shown = [line.strip() for line in page.splitlines() if line.startswith("    ")]
    examples = page[page.index("## Examples") : page.index("## Terms")].splitlines()[4:]
    shown += [line.split("`")[1] for line in examples if line.startswith("|")]
    assert len(shown) > 12
    for text in shown:
        assert parse(text) is not None
