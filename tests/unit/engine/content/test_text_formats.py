"""What a text looks like, and what a tool says about itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.base.json.values import JSON, JSONObject
from inspector.engine.calls.tool_annotations import ToolAnnotations
from inspector.engine.content.text_formats import TextFormat, detect_format
from inspector.protocol.types import Tool
from tests.helpers.steps import steps_of


@pytest.mark.parametrize(
    ("text", "flavour"),
    [
        ('{"a": [1, 2]}', "json"),
        (" [1]\n", "json"),
        ("[" * 5000 + "]" * 5000, "json"),
        ("{not json}", "plain"),
        ("5", "plain"),
        ("", "plain"),
        ("# Title\n\nSome **bold** words.", "markdown"),
        ("Look:\n```python\nprint()\n```\n", "markdown"),
        ("See [the page](https://example.org/x).", "markdown"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "markdown"),
        ("# only a comment\necho hello", "plain"),
        ("a list:\n- one\n- two\n", "plain"),
        ("call f(x)[0](y)", "plain"),
        ("name,age\nAda,36\nBob,4", "csv"),
        ("a;b;c\n1;2;3\n", "csv"),
        ("a\tb\n1\t2\n3\t4\n", "csv"),
        ('id,text\n1,"one, two"\n2,"x"', "csv"),
        ("Hello, world\nGoodbye, world\nAgain, world", "plain"),
        ("a,b\n1,2,3\n4", "plain"),
        ("one, two\nthree, four.", "plain"),
    ],
)
def test_text_format_is_detected(text: str, flavour: TextFormat) -> None:
    assert detect_format(text) == flavour


@pytest.mark.parametrize(
    ("mime_type", "flavour"),
    [
        ("application/problem+json; charset=utf-8", "json"),
        ("text/markdown", "markdown"),
        ("Text/CSV", "csv"),
        ("text/x-python", "plain"),
        ("text/plain", "json"),
    ],
)
def test_declared_type_wins_unless_it_is_generic(mime_type: str, flavour: TextFormat) -> None:
    assert detect_format('{"a": 1}', mime_type) == flavour


@given(st.text(alphabet=st.sampled_from('#-*`[](){}|,;\n" a1.~>')))
def test_any_text_has_a_format(text: str) -> None:
    assert detect_format(text) in ("plain", "json", "markdown", "csv")


@pytest.mark.parametrize("piece", ["[", "`", "- x\n", "**a", "|---", "a,", '"', "![", "1. x\n", "~~~ "])
def test_long_text_of_any_kind_is_scanned_in_few_passes(piece: str) -> None:
    """A look at all the rest for each character would take an hour."""
    text = piece * (1_000_000 // len(piece))
    assert detect_format(text) in ("plain", "json", "markdown", "csv")
    assert steps_of(lambda: detect_format(text)) < len(text) / 2


def hints(**annotations: JSON) -> ToolAnnotations:
    source: JSONObject = {"name": "x", "annotations": annotations}
    return ToolAnnotations.of(Tool.read(source))


def test_without_annotations_the_spec_defaults_apply() -> None:
    for silent in (ToolAnnotations.of(Tool.read({"name": "x"})), hints(), hints(destructiveHint="yes")):
        assert (silent.is_read_only, silent.may_destroy, silent.is_idempotent) == (False, True, False)
        assert silent.is_open_world
        assert not silent.is_marked_destructive


def test_annotations_are_read() -> None:
    assert hints(destructiveHint=True).is_marked_destructive
    assert not hints(destructiveHint=False).may_destroy
    assert hints(idempotentHint=True).is_idempotent
    assert not hints(openWorldHint=False).is_open_world


def test_read_only_tool_is_not_destructive_whatever_else_it_says() -> None:
    reading = hints(readOnlyHint=True, destructiveHint=True)
    assert (reading.may_destroy, reading.is_marked_destructive, reading.is_idempotent) == (False, False, True)
