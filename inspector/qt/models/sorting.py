"""Sorting many rows without holding up the window: in steps, each of which takes a millisecond or so.

A merge of two halves cannot be interrupted when Python does it, and is slow when we do it. So the rows are
dealt into buckets by splitters from a sample; each bucket is then sorted whole, in C. Equal keys share a
bucket that needs no sorting: many rows have one of six statuses.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

# Sort keys; all keys of one sort are of one type.
Key: TypeAlias = Callable[[int], int | str | tuple[int, int]]

_BUCKET = 4_096  # approximate rows sorted per step
_DEAL = 4_096  # rows distributed per step
_SAMPLES = 8  # keys sampled per splitter


def sort_in_steps(rows: Sequence[int], key: Key, *, is_descending: bool) -> Iterator[array[int] | None]:
    """Sort in steps: yield None after each, and the rows at the end. The sort is stable."""
    splitters = _splitters(rows, key)
    yield None
    buckets = [array("q") for _ in range(2 * len(splitters) + 1)]
    for start in range(0, len(rows), _DEAL):
        _deal(rows[start : start + _DEAL], key, splitters, buckets)
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


def sort_now(rows: Sequence[int], key: Key, *, is_descending: bool) -> array[int]:
    """Sort a few rows at once."""
    return array("q", sorted(rows, key=key, reverse=is_descending))


def _splitters(rows: Sequence[int], key: Key) -> list[int | str | tuple[int, int]]:
    from random import Random  # imported late, to keep startup fast

    count = len(rows) // _BUCKET
    # Not every n-th row: requests and responses alternate, so half of the keys would never be sampled.
    chosen = Random(0).choices(rows, k=count * _SAMPLES) if count else []
    sample = sorted(map(key, chosen))
    return sorted(set(sample[_SAMPLES // 2 :: _SAMPLES]))


def _deal(
    rows: Sequence[int],
    key: Key,
    splitters: list[int | str | tuple[int, int]],
    buckets: list[array[int]],
) -> None:
    """Distribute rows: bucket 2i+1 gets keys equal to splitter i, bucket 2i those before it."""
    count = len(splitters)
    for row, value in zip(rows, map(key, rows), strict=True):
        place = bisect_left(splitters, value)
        is_equal = place < count and splitters[place] == value
        buckets[2 * place + is_equal].append(row)
