"""Limits and times that people may want to change, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.protocol.framing import DEFAULT_LINE_CAP


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits and timeouts. Times in seconds, sizes in bytes."""

    connect_timeout: float = 15.0
    request_timeout: float = 120.0
    longest_request: float = 3600.0  # upper limit when progress extends a request's timeout
    keep_alive: float = 0.0  # ping interval; 0: off
    line_cap: int = DEFAULT_LINE_CAP
    most_pages: int = 10_000
    examine_failures: bool = True  # diagnose the server in front when connecting fails
    remember_lists: bool = True  # store baselines to detect changes
    ask_for_lists: bool = True  # and for that fetch lists that are not shown
