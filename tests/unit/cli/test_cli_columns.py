"""Two-column tables."""

from __future__ import annotations

import pytest

from inspector.cli.output import two_columns

ROWS = [("echo", "Says it back"), ("add_numbers", "Adds two numbers and gives the sum of both")]


def test_columns_are_aligned_and_untruncated_without_a_terminal() -> None:
    assert two_columns(ROWS, None) == (
        "echo         Says it back\nadd_numbers  Adds two numbers and gives the sum of both\n"
    )


def test_text_is_truncated_at_the_terminal_width() -> None:
    assert two_columns(ROWS, 40) == ("echo         Says it back\nadd_numbers  Adds two numbers and gives…\n")


def test_narrow_terminal_stacks_the_columns() -> None:
    assert two_columns(ROWS, 20) == "echo\n  Says it back\nadd_numbers\n  Adds two numbers…\n"


def test_a_long_name_has_its_own_line_and_does_not_widen_the_column() -> None:
    lines = two_columns([("n" * 100, "Long"), *ROWS], 80).splitlines()
    assert lines[:2] == ["n" * 100, " " * 42 + "Long"]
    assert lines[2] == f"{'echo':<40}  Says it back"


@pytest.mark.parametrize("width", range(1, 100, 7))
def test_no_line_except_names_is_wider_than_the_terminal(width: int) -> None:
    rows = [("名前" * 3, "説明" * 60), ("echo", "e\u0301" * 200)]
    for line in two_columns(rows, width).splitlines():
        cells = sum(0 if c == "\u0301" else 2 if ord(c) > 0x3000 else 1 for c in line)
        assert cells <= max(width, 12)


def test_hidden_characters_in_a_name_are_shown_on_one_line() -> None:
    assert two_columns([("a\nb\x1b[2J", "c\u202e\td")], None) == "a b␛[2J  c⟨U+202E⟩ d\n"


def test_name_without_a_description_has_no_trailing_space() -> None:
    assert two_columns([("echo", ""), ("longer", "x")], None) == "echo\nlonger  x\n"
    assert two_columns([("echo", "")], 10) == "echo\n"


def test_no_rows_give_no_text() -> None:
    assert two_columns([], 80) == ""
