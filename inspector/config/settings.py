"""Limits and times that people may want to change, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.protocol.framing import DEFAULT_LINE_CAP


@dataclass(frozen=True, slots=True)
class Settings:
    """Times in seconds, sizes in bytes."""

    connect_timeout: float = 15.0
    request_timeout: float = 120.0
    longest_request: float = 3600.0  # progress may push the request's limit on, up to here
    keep_alive: float = 0.0  # 0: never ask whether the server is still there
    line_cap: int = DEFAULT_LINE_CAP
    most_pages: int = 10_000
    examine_failures: bool = True  # the doctor looks at a server in front that cannot be connected
    remember_lists: bool = True  # what servers offer, to say what changed since the last time
    ask_for_lists: bool = True  # for that, also for lists that nobody looks at
