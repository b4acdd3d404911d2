"""Filter parser: text to tree and back, and errors in invalid filters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.traffic.filter.fields import FIELDS
from inspector.traffic.filter.parser import parse, read_path
from inspector.traffic.filter.tree import (
    And,
    Compare,
    Every,
    FilterError,
    Index,
    Member,
    Node,
    Not,
    Operator,
    Or,
    Path,
    Step,
    Text,
    to_text,
)
from tests.unit.traffic.filter.filter_logs import filters


def _is(word: str, value: str, operator: Operator = Operator.CONTAINS) -> Compare:
    return Compare(Path(word), operator, (value,))


def test_manual_example_is_parsed_as_it_looks() -> None:
    text = 'method:tools/call and not status:error and dur>500ms and args.path ~ "^/etc" and size>10k'
    assert parse(text) == And(
        (
            _is("method", "tools/call"),
            Not(_is("status", "error")),
            _is("dur", "500ms", Operator.ABOVE),
            Compare(Path("args", (Member("path"),)), Operator.MATCHES, ("^/etc",)),
            _is("size", "10k", Operator.ABOVE),
        )
    )


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("", None),
        ("  \t\n", None),
        ("error", Text("error")),
        ("tools/call", Text("tools/call")),
        ('"a b"', Text("a b")),
        (r'"say \"x\" \\ \u00e9\ud83d\ude00 \d"', Text('say "x" \\ é😀 \\d')),
        ("a b", And((Text("a"), Text("b")))),
        ("a AND b Or c", Or((And((Text("a"), Text("b"))), Text("c")))),
        ("a (b or c)", And((Text("a"), Or((Text("b"), Text("c")))))),
        ("(a b) c", And((And((Text("a"), Text("b"))), Text("c")))),
        ("not not a", Not(Not(Text("a")))),
        ("not(a)b", And((Not(Text("a")), Text("b")))),
        ("server in production", And((Text("server"), Text("in"), Text("production")))),
        ("dir in (in, out)", Compare(Path("dir"), Operator.IN, ("in", "out"))),
        ('method in ("a,b",c)', Compare(Path("method"), Operator.IN, ("a,b", "c"))),
        ("method: and", _is("method", "and")),
        ("Method == x", _is("method", "x", Operator.IS)),
        ("time>=14:03:07.482", _is("time", "14:03:07.482", Operator.AT_LEAST)),
        (
            "args.url:http://h/?a=b,c",
            Compare(Path("args", (Member("url"),)), Operator.CONTAINS, ("http://h/?a=b,c",)),
        ),
        ("http.status=404", _is("http.status", "404", Operator.IS)),
        (
            "http.header.Content-Type:x",
            Compare(Path("http.header", (Member("Content-Type"),)), Operator.CONTAINS, ("x",)),
        ),
    ],
)
def test_filters_are_parsed(text: str, node: Node | None) -> None:
    assert parse(text) == node


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("params", ()),
        ("params.a.b[0]", (Member("a"), Member("b"), Index(0))),
        ("params.content[*].text", (Member("content"), Every(), Member("text"))),
        ("params[].*", (Every(), Every())),
        ("params[ -1 ]", (Index(-1),)),
        ('params."a.b c"["x\\"y"]', (Member("a.b c"), Member('x"y'))),
    ],
)
def test_paths_are_parsed(text: str, steps: tuple[Step, ...]) -> None:
    assert parse(f"{text}:*") == Compare(Path("params", steps), Operator.CONTAINS, ("*",))
    assert read_path(text) == Path("params", steps)


def test_every_example_in_the_table_is_a_filter_on_its_field() -> None:
    for field in FIELDS.values():
        node = parse(field.example)
        assert isinstance(node, Compare), field.example
        assert node.path.field == field.name


_names = st.one_of(st.text(max_size=5), st.sampled_from(["a", "a b", "x.y", "*", '"', "0", "é", "\ud800"]))
_steps = st.lists(
    st.one_of(st.builds(Member, _names), st.builds(Index, st.integers(-99, 99)), st.just(Every())), max_size=4
).map(tuple)
_any_value = st.one_of(
    st.text(max_size=8), st.sampled_from(["and", "IN", "a,b", "(x)", '"', "\\", "\n", ":=", "é😀"])
)
_paths_compared = st.builds(
    lambda word, steps, operator, values: Compare(
        Path(word, steps), operator, tuple(values) if operator is Operator.IN else tuple(values[:1])
    ),
    st.sampled_from(["params", "args", "result", "error", "body"]),
    _steps,
    st.sampled_from([operator for operator in Operator if operator is not Operator.MATCHES]),
    st.lists(_any_value, min_size=1, max_size=3),
)
_free_texts = st.builds(Text, _any_value.filter(bool))
_wild: st.SearchStrategy[Node] = st.recursive(
    st.one_of(_paths_compared, _free_texts),
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=2, max_size=3).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=5,
)


@settings(max_examples=80, deadline=None)
@given(_wild)
def test_written_filter_round_trips_whatever_names_and_values_contain(node: Node) -> None:
    assert parse(to_text(node)) == node


@settings(max_examples=80, deadline=None)
@given(filters)
def test_written_filter_round_trips_for_every_keyword(node: Node) -> None:
    assert parse(to_text(node)) == node


_pieces = st.sampled_from(
    (
        *FIELDS,
        *(
            "and",
            "or",
            "not",
            "in",
            "(",
            ")",
            ",",
            '"',
            "\\",
            " ",
            ":",
            "=",
            "!=",
            ">",
            "<=",
            "~",
            "[",
            "[*]",
        ),
        *("params.", "500ms", "10k", "14:03", "-5m", "x", "*", "[a-", "error", ".", "é"),
    )
)


def _mistake(text: str) -> FilterError | None:
    try:
        parse(text)
    except FilterError as exc:
        return exc
    return None


@settings(max_examples=200, deadline=None)
@given(st.one_of(st.text(max_size=30), st.lists(_pieces, max_size=12).map("".join)))
def test_any_text_is_a_filter_or_a_filter_error_with_a_position(text: str) -> None:
    mistake = _mistake(text)
    if mistake is not None:
        assert 0 <= mistake.column <= len(text)
        assert mistake.summary.endswith(".")


@pytest.mark.parametrize("text", ["(" * 5000, "not " * 5000, "(" * 61 + "a" + ")" * 61])
def test_deep_nesting_is_rejected_with_the_reason(text: str) -> None:
    with pytest.raises(FilterError, match="nested more than 60 levels deep"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("metod:x", 0, "Did you mean method"),
        ("a and http://x", 6, "not a filter field"),
        ("method>x", 6, "does not support >"),
        ("method :", 8, "Expected a value for method"),
        ("dur>500", 4, "has no unit"),
        ("dur>fast", 4, "Expected a duration"),
        ("size>1x", 5, "Expected a size"),
        ("time>25:00", 5, "00:00 to 23:59"),
        ("time>2026-02-30", 5, "does not exist"),
        ("time:-5m", 5, "compare it with > or <"),
        ("time>1900-01-01", 5, "a year from"),
        ("code:x", 5, "Expected a number"),
        ("status:eror", 7, "expected one of"),
        ("version>2025", 8, "Expected a protocol version"),
        ("kind in (result, eror)", 17, "expected one of"),
        ("kind in (result", 8, "Expected , or )"),
        ("kind in ()", 9, "Expected a value"),
        ('a "b', 2, "not closed"),
        ("(a", 0, "not closed"),
        ("a)", 1, "no matching ("),
        ("()", 1, "parentheses are empty"),
        ('""', 0, "quotes are empty"),
        ("a and", 5, "is incomplete"),
        ("or a", 0, "Expected a term before"),
        ('a"b"', 1, "Expected a space"),
        ('"a"b', 3, "Expected a space"),
        ('"a":b', 0, "cannot be compared"),
        (":a", 0, "Expected a field"),
        ("method.x:a", 0, "has no properties"),
        ("http.header.a.b:c", 0, "one header"),
        ('tool ~ "a[b"', 9, "Invalid regular expression"),
        ("tool ~ x[y", 8, "Invalid regular expression"),
        ("tool ~ ^(get|list)", 8, "Expected a space"),
        ("f(x)", 1, "Expected a space"),
        ('"a",b', 3, "Expected a space"),
        ('tool ~ "(a+)+$"', 8, "can take forever"),
    ],
)
def test_error_is_reported_at_its_position(text: str, column: int, words: str) -> None:
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.column == column
    assert words in str(caught.value)
