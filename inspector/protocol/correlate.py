"""Pairs answers with requests, for the requests of one side.

Keys are typed: the id `1` is not the id `"1"`. Remembers the latest finished requests, to tell a second
answer and a late answer from one that nobody asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from enum import Enum
from typing import Generic, TypeVar

from inspector.protocol.jsonrpc import RequestId

T = TypeVar("T")

_REMEMBERED = 1000


class Match(Enum):
    """What a response's id matched."""

    OPEN = "answers an open request"
    REPEATED = "answers a request that was answered before"
    LATE = "answers a request that was given up"
    UNKNOWN = "answers no request that was sent"


class Correlator(Generic[T]):
    """Open requests by id, each with an item of its owner."""

    def __init__(self) -> None:
        self._open: dict[RequestId, T] = {}
        self._finished: OrderedDict[RequestId, tuple[Match, T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, id: RequestId, item: T) -> bool:
        """Add a request. False if it replaced an open one with the same id."""
        is_new = id not in self._open
        self._open[id] = item
        self._finished.pop(id, None)
        return is_new

    def answer(self, id: RequestId) -> tuple[Match, T | None]:
        """Match a response with its request."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, Match.REPEATED, item)
            return Match.OPEN, item
        return self._finished.get(id, (Match.UNKNOWN, None))

    def give_up(self, id: RequestId) -> T | None:
        """Stop waiting for a request; a response that still comes is LATE."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, Match.LATE, item)
        return item

    def find(self, id: RequestId) -> T | None:
        return self._open.get(id)

    def drain(self) -> list[T]:
        """Remove and return all open requests: the connection has ended."""
        items = list(self._open.values())
        self._open.clear()
        return items

    def _remember(self, id: RequestId, later: Match, item: T) -> None:
        self._finished[id] = (later, item)
        if len(self._finished) > _REMEMBERED:
            self._finished.popitem(last=False)
