"""Detection of text formats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.engine.content.text_formats import TextFormat, detect_format
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
    """Scanning the rest for each character would take an hour."""
    text = piece * (1_000_000 // len(piece))
    assert detect_format(text) in ("plain", "json", "markdown", "csv")
    assert steps_of(lambda: detect_format(text)) < len(text) / 2
