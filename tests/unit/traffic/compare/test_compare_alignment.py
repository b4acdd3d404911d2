"""Sequence alignment: a longest common subsequence, or an approximation within the effort limit."""

from __future__ import annotations

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.traffic.compare.alignment import Effort, align, rising

tokens = st.lists(st.integers(0, 4), max_size=12)


def max_length(left: list[int], right: list[int]) -> int:
    """Return the length of a longest common subsequence, computed naively."""
    row = [0] * (len(right) + 1)
    for ours in left:
        above, row = row, [0]
        for at, theirs in enumerate(right):
            row.append(above[at] + 1 if ours == theirs else max(above[at + 1], row[at]))
    return row[-1]


def is_alignment(left: list[int], right: list[int], pairs: list[tuple[int, int]]) -> bool:
    rises = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(pairs))
    return rises and all(left[i] == right[j] for i, j in pairs)


@given(tokens, tokens)
def test_maximum_number_of_items_is_paired(left: list[int], right: list[int]) -> None:
    pairs = align(left, right, Effort())
    assert is_alignment(left, right, pairs)
    assert len(pairs) == max_length(left, right)


@given(tokens, tokens, st.integers(0, 40))
def test_exhausted_effort_limit_still_gives_an_alignment(
    left: list[int], right: list[int], steps: int
) -> None:
    assert is_alignment(left, right, align(left, right, Effort(steps)))


def test_long_sequences_with_few_differences_are_aligned_exactly() -> None:
    left = [number % 7 for number in range(100_000)]
    right = [9, *left[:40_000], 8, 8, 8, *left[40_010:], 9]
    effort = Effort()
    assert len(align(left, right, effort)) == len(left) - 10
    assert not effort.was_short


def test_unique_items_anchor_very_different_sequences() -> None:
    shuffled = random.Random(1)
    left = [shuffled.randrange(10, 50) for _ in range(9_000)]
    right = [shuffled.randrange(10, 50) for _ in range(9_000)]
    for position, token in ((2_000, 1), (5_000, 2), (8_000, 3)):
        left[position] = token
        right[position + 700] = token
    pairs = dict(align(left, right, Effort(steps=8_000)))
    assert (pairs[2_000], pairs[5_000], pairs[8_000]) == (2_700, 5_700, 8_700)


def test_sequences_without_anchors_are_compared_item_by_item_and_reported() -> None:
    effort = Effort(steps=100)
    left, right = [1, 2] * 400, [2, 2, 1] * 300
    assert is_alignment(left, right, align(left, right, effort))
    assert effort.was_short


@given(st.lists(st.integers(0, 30), max_size=20, unique=True))
def test_increasing_subsequence_is_increasing(values: list[int]) -> None:
    picked = [values[index] for index in rising(values)]
    assert picked == sorted(picked)
    assert len(picked) == max_length(values, sorted(values))
