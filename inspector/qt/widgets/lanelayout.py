"""Where the lanes of a timeline are, from top to bottom. Knows nothing of Qt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.traffic.lanes import RANKS
from inspector.traffic.records import Status
from inspector.traffic.timeline import LaneView

PADDING = 6
_LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class LaneBox:
    """One server's lane. A closed one has all of its sub-rows on one line."""

    server: int
    name: str
    top: int
    height: int
    pitch: int  # distance between sub-rows
    subrows: int
    is_closed: bool
    count: int  # of operations in view
    open_count: int
    status: Status  # the worst of them

    def y_of(self, subrow: int) -> int:
        return self.top + PADDING + (0 if self.is_closed else subrow * self.pitch)

    def subrows_at(self, y: int) -> Sequence[int]:
        if self.is_closed:
            return range(self.subrows)
        subrow = (y - self.top - PADDING) // self.pitch
        return (subrow,) if 0 <= subrow < self.subrows else ()


class SubRowPlace(NamedTuple):
    server: int
    subrow: int


class LaneLayout:
    """The stacked lanes. `y` counts from the first one, regardless of scrolling."""

    def __init__(self, lanes: Sequence[LaneView] = (), closed: Collection[int] = (), pitch: int = 20) -> None:
        self.boxes: list[LaneBox] = []
        top = 0
        for lane in lanes:
            rows = 1 if lane.server in closed else max(1, lane.subrows)
            height = rows * pitch + 2 * PADDING
            self.boxes.append(_box(lane, top, height, pitch, lane.server in closed))
            top += height + 1  # a thin line between two
        self.height = top

    def at(self, y: int) -> LaneBox | None:
        return next((box for box in self.boxes if box.top <= y < box.top + box.height), None)

    def of(self, server: int) -> LaneBox | None:
        return next((box for box in self.boxes if box.server == server), None)

    def between(self, top: int, bottom: int) -> list[LaneBox]:
        return [box for box in self.boxes if box.top < bottom and box.top + box.height > top]

    def neighbours(self, place: SubRowPlace, step: int) -> Iterator[SubRowPlace]:
        """Yield the sub-rows below (1) or above (-1) one, nearest first."""
        places = [SubRowPlace(box.server, subrow) for box in self.boxes for subrow in range(box.subrows)]
        if place in places:
            here = places.index(place)
            yield from places[here + 1 :] if step > 0 else reversed(places[:here])


def _box(lane: LaneView, top: int, height: int, pitch: int, is_closed: bool) -> LaneBox:
    return LaneBox(
        server=lane.server,
        name=shorten(one_line(lane.name), _LONGEST_NAME),
        top=top,
        height=height,
        pitch=pitch,
        subrows=lane.subrows,
        is_closed=is_closed,
        count=sum(piece.bars for piece in lane.pieces),
        open_count=sum(piece.end_ns is None for piece in lane.pieces),
        status=max((piece.status for piece in lane.pieces), key=lambda one: RANKS[one], default=Status.NONE),
    )
