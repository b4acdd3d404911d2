"""Sorting of many rows in short steps, so that the window stays responsive.

Each step takes about a millisecond. A merge sort cannot be interrupted in C and is slow in Python, so rows
are distributed into buckets by sampled splitters and each bucket is sorted in C. Rows equal to a splitter
share a bucket that needs no sorting: many rows have one of a few statuses.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

# Sort keys; all keys of one sort are of one type.
SortKey: TypeAlias = Callable[[int], int | str | tuple[int, int]]

_BUCKET_SIZE = 4_096  # approximate rows sorted per step
_ROWS_PER_STEP = 4_096  # rows distributed per step
_SAMPLES = 8  # keys sampled per splitter


def sort_in_steps(rows: Sequence[int], key: SortKey, *, is_descending: bool) -> Iterator[array[int] | None]:
    """Sort in steps: yield None after each, and the rows at the end. The sort is stable."""
    splitters = _splitters(rows, key)
    yield None
    buckets = [array("q") for _ in range(2 * len(splitters) + 1)]
    for start in range(0, len(rows), _ROWS_PER_STEP):
        _distribute(rows[start : start + _ROWS_PER_STEP], key, splitters, buckets)
        yield None
    result = array("q")
    order = range(len(buckets))
    for number in reversed(order) if is_descending else order:
        bucket, buckets[number] = buckets[number], array("q")
        if number % 2 == 0:  # odd buckets hold equal keys only
            bucket = array("q", sorted(bucket, key=key, reverse=is_descending))
        result.extend(bucket)
        yield None
    yield result


def sort_now(rows: Sequence[int], key: SortKey, *, is_descending: bool) -> array[int]:
    """Sort a few rows at once."""
    return array("q", sorted(rows, key=key, reverse=is_descending))


def _splitters(rows: Sequence[int], key: SortKey) -> list[int | str | tuple[int, int]]:
    from random import Random  # imported late, to keep startup fast

    count = len(rows) // _BUCKET_SIZE
    # Not every n-th row: requests and responses alternate, so half of the keys would never be sampled.
    chosen = Random(0).choices(rows, k=count * _SAMPLES) if count else []
    sample = sorted(map(key, chosen))
    return sorted(set(sample[_SAMPLES // 2 :: _SAMPLES]))


def _distribute(
    rows: Sequence[int],
    key: SortKey,
    splitters: list[int | str | tuple[int, int]],
    buckets: list[array[int]],
) -> None:
    """Distribute rows: bucket 2i+1 gets keys equal to splitter i, bucket 2i those before it."""
    count = len(splitters)
    for row, value in zip(rows, map(key, rows), strict=True):
        position = bisect_left(splitters, value)
        is_equal = position < count and splitters[position] == value
        buckets[2 * position + is_equal].append(row)
