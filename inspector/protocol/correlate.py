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
    """What an answer's id turned out to be."""

    OPEN = "answers an open request"
    REPEATED = "answers a request that was answered before"
    LATE = "answers a request that was given up"
    UNKNOWN = "answers no request that was sent"


class Correlator(Generic[T]):
    """Open requests by id, each with whatever its owner wants to find again."""

    def __init__(self) -> None:
        self._open: dict[RequestId, T] = {}
        self._finished: OrderedDict[RequestId, tuple[Match, T]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def open(self, id: RequestId, item: T) -> bool:
        """Note a request. False when its id is that of another one that is still open."""
        is_new = id not in self._open
        self._open[id] = item
        self._finished.pop(id, None)
        return is_new

    def answer(self, id: RequestId) -> tuple[Match, T | None]:
        """An answer came: say what it belongs to."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, Match.REPEATED, item)
            return Match.OPEN, item
        return self._finished.get(id, (Match.UNKNOWN, None))

    def give_up(self, id: RequestId) -> T | None:
        """Nobody waits for this one any more; an answer that still comes is LATE."""
        item = self._open.pop(id, None)
        if item is not None:
            self._remember(id, Match.LATE, item)
        return item

    def find(self, id: RequestId) -> T | None:
        return self._open.get(id)

    def drain(self) -> list[T]:
        """Take every open request out: the connection is over."""
        items = list(self._open.values())
        self._open.clear()
        return items

    def _remember(self, id: RequestId, later: Match, item: T) -> None:
        self._finished[id] = (later, item)
        if len(self._finished) > _REMEMBERED:
            self._finished.popitem(last=False)
