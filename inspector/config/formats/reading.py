"""One place: the file is read, its text becomes a value, and the form of its tool makes servers of it."""

from __future__ import annotations

from inspector.config.finding import FoundFile, Source
from inspector.config.places import Place


def read_place(place: Place) -> FoundFile | None:
    """What the file holds; None when there is no file."""
    source = Source(place.tool, place.scope, place.path)
    return FoundFile(source) if place.path.exists() else None
