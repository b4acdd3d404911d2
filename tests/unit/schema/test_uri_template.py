"""URI templates: the examples of RFC 6570, and invalid templates."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.schema.uri_template import UriTemplate, Values, Variable

# The variables of RFC 6570, section 3.2.
RFC: Values = {
    "count": ["one", "two", "three"],
    "dom": ["example", "com"],
    "dub": "me/too",
    "hello": "Hello World!",
    "half": "50%",
    "var": "value",
    "who": "fred",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "list": ["red", "green", "blue"],
    "v": "6",
    "x": "1024",
    "y": "768",
    "empty": "",
    "empty_list": [],
}


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("{var}", "value"),
        ("{hello}", "Hello%20World%21"),
        ("{half}", "50%25"),
        ("O{empty}X", "OX"),
        ("O{undef}X", "OX"),
        ("{x,y}", "1024,768"),
        ("?{x,empty}", "?1024,"),
        ("?{x,undef}", "?1024"),
        ("{var:3}", "val"),
        ("{var:30}", "value"),
        ("{list}", "red,green,blue"),
        ("{list*}", "red,green,blue"),
        ("{+hello}", "Hello%20World!"),
        ("{+half}", "50%25"),
        ("{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"),
        ("{+base}index", "http://example.com/home/index"),
        ("{+path}/here", "/foo/bar/here"),
        ("here?ref={+path}", "here?ref=/foo/bar"),
        ("{+path:6}/here", "/foo/b/here"),
        ("{#var}", "#value"),
        ("{#path,x}/here", "#/foo/bar,1024/here"),
        ("{.who}", ".fred"),
        ("www{.dom*}", "www.example.com"),
        ("X{.empty_list}", "X"),
        ("{/who,dub}", "/fred/me%2Ftoo"),
        ("{/var,x}/here", "/value/1024/here"),
        ("{/list*}", "/red/green/blue"),
        ("{;who}", ";who=fred"),
        ("{;v,empty,who}", ";v=6;empty;who=fred"),
        ("{;list*}", ";list=red;list=green;list=blue"),
        ("{?x,y}", "?x=1024&y=768"),
        ("{?x,y,empty}", "?x=1024&y=768&empty="),
        ("{?x,y,undef}", "?x=1024&y=768"),
        ("{?list}", "?list=red,green,blue"),
        ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
        ("{&list*}", "&list=red&list=green&list=blue"),
    ],
)
def test_rfc_examples_expand_correctly(template: str, uri: str) -> None:
    assert UriTemplate(template).expand(RFC) == uri
    assert UriTemplate(template).problems == ()


def test_variables_are_listed_once_in_order_with_their_modifiers() -> None:
    template = UriTemplate("repo://{owner}/{name:8}{/path*}{?q,owner}{#line}")
    assert template.variables == (
        Variable("owner"),
        Variable("name", max_length=8),
        Variable("path", takes_list=True, location="path"),
        Variable("q", location="query"),
        Variable("line", location="fragment"),
    )


@pytest.mark.parametrize(
    "template", ["a{}b", "{x:0}", "{x:12345}", "{x:many}", "{a b}", "{x=1}", "{!x}", "{x**}", "{,x}", "{x,}"]
)
def test_invalid_expression_stays_and_is_reported(template: str) -> None:
    read = UriTemplate(f"demo://{template}/{{ok}}")
    assert len(read.problems) == 1
    assert "is not a valid RFC 6570 expression" in read.problems[0]
    assert read.expand({"ok": "yes", "x": "no"}) == f"demo://{template}/yes"


@pytest.mark.parametrize("template", ["demo://{open", "demo://close}", "demo://{a{b}c}"])
def test_unbalanced_brace_is_reported(template: str) -> None:
    assert any("unmatched brace" in problem for problem in UriTemplate(template).problems)


def test_characters_invalid_in_a_uri_are_escaped_in_literals_too() -> None:
    assert UriTemplate("demo://münze und/{x}").expand({"x": "ä"}) == "demo://m%C3%BCnze%20und/%C3%A4"
    assert UriTemplate("demo://50%/%41{+x}").expand({"x": "a%20b c%"}) == "demo://50%25/%41a%20b%20c%25"


def test_lone_surrogate_does_not_stop_the_expansion() -> None:
    assert UriTemplate("demo://\ud800/{x}{+x}").expand({"x": "\ud800"}) == "demo://%3F/%3F?"


@given(st.text())
def test_any_text_is_read_and_expanded_without_an_error(text: str) -> None:
    template = UriTemplate(text)
    template.expand({variable.name: "value" for variable in template.variables})
    if "{" not in text and "}" not in text:
        assert template.variables == ()
        assert template.problems == ()


@given(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.sampled_from(["{x}", "{/x}", "{?x}", "{+x}"]),
)
def test_value_can_be_read_back_from_the_uri(value: str, expression: str) -> None:
    uri = UriTemplate(f"demo://a{expression}").expand({"x": value})
    assert uri.isascii()
    assert " " not in uri
    if expression != "{+x}":  # there `%41` and `A` are the same
        assert unquote(uri.removeprefix("demo://a").removeprefix("/").removeprefix("?x=")) == value
