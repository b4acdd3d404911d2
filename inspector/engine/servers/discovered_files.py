"""Reads other clients' files for the window: off its thread, with a time limit for large ones.

A parser that holds the GIL freezes the window from any thread. Parsing is linear in the size of a file, so a
small one is done in a moment. A larger one is read in another process, which is ended after the time limit.
"""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Sequence
from pathlib import Path

from inspector.base.errors import UserError
from inspector.config.foreign.discovery import ConfigLocation, DiscoveredServers
from inspector.engine.workers import Worker

INLINE_SIZE = 64 * 1024
TIME_LIMIT = 10.0  # seconds per file


async def read_servers(
    locations: Sequence[ConfigLocation], time_limit: float = TIME_LIMIT
) -> DiscoveredServers:
    """Read all existing files. Never raises for their content; a file that takes too long is reported."""
    from inspector.config.foreign.reader import discovered, read_locations, read_packed, unreadable

    large = await asyncio.to_thread(_large_files, locations)
    small = [location for location in locations if location.path not in large]
    read = dict(zip(small, await asyncio.to_thread(read_locations, small), strict=True))
    worker = Worker(time_limit, "Reading it")
    try:
        for path in large:
            same = [location for location in locations if location.path == path]
            try:
                files = await worker.run(read_packed, pickle.dumps(same), separate=True)
            except UserError as exc:
                files = tuple(unreadable(location, str(exc)) for location in same)
            read |= zip(same, files, strict=True)
    finally:
        await worker.close()
    return discovered(read[location] for location in locations)


def _large_files(locations: Sequence[ConfigLocation]) -> dict[Path, None]:
    return {location.path: None for location in locations if _size(location.path) > INLINE_SIZE}


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):  # reading it says why
        return 0
