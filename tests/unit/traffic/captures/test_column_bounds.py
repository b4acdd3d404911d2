"""Bounds of columns are checked by single bytes; that must agree with a check of each number."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.traffic.captures.reader import is_within

_SIZES = {"B": 8, "H": 16, "I": 32, "q": 63}


@st.composite
def columns(draw: st.DrawFn) -> tuple[array[int], int, int]:
    """A column, and bounds near some of its numbers or of those that it could have."""
    typecode = draw(st.sampled_from(sorted(_SIZES)))
    max_size = 2 ** _SIZES[typecode] - 1
    high = draw(
        st.integers(0, max_size) | st.sampled_from([0, 1, 254, 255, 256, 65_535, 1_067_020, max_size])
    )
    high = min(high, max_size)
    minimum = -(2**63) if typecode == "q" else 0
    near = st.integers(max(minimum, high - 300), min(max_size, high + 2))
    anything = st.integers(minimum, max_size)
    usual = st.integers(max(minimum, -1), high)
    numbers = draw(st.lists(usual | near | anything, max_size=12) | st.lists(usual, max_size=40))
    return array(typecode, numbers), draw(st.sampled_from([0, -1])), high


@given(columns())
def test_bounds_check_agrees_with_checking_each_number(drawn: tuple[array[int], int, int]) -> None:
    column, low, high = drawn
    assert is_within(column, low, high) == all(low <= number <= high for number in column)


@pytest.mark.parametrize(
    "wrong",
    [-2, -256, -(2**56), 0xFF0000, 0x01FF_0000, 2**32 - 1, 2**56 - 1, -(2**63), 2**63 - 1, 1_067_021],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_wrong_number_among_right_ones_is_detected(wrong: int, position: int) -> None:
    numbers = [-1, 0xFF, 1_000_000, -1, 0]
    assert is_within(array("q", numbers), -1, 1_067_020)
    numbers.insert(position, wrong)
    assert not is_within(array("q", numbers), -1, 1_067_020)
