"""Rate and remaining time, estimated from progress notifications."""

from __future__ import annotations

import math
from collections import deque

from inspector.base.units import duration, three_digits

_MIN_SPAN_S = 0.2  # too short for a meaningful rate
_WINDOW_S = 10.0  # sliding window
_MIN_APART_S = 0.05
_SLOW = 0.1  # per second; below, show the rate per minute


class ProgressRate:
    """Rate estimator for progress notifications; times are monotonic seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()
        self._total: float | None = None

    def add(self, now: float, progress: float, total: float | None) -> None:
        """Add a sample. Non-finite values are ignored; going backwards restarts."""
        if not math.isfinite(progress):
            return
        self._total = total if total is not None and math.isfinite(total) and total > 0 else None
        if self._seen and progress < self._seen[-1][1]:
            self._seen.clear()
        if len(self._seen) > 1 and now - self._seen[-2][0] < _MIN_APART_S:
            self._seen.pop()
        self._seen.append((now, progress))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW_S:
            self._seen.popleft()

    def rate(self) -> float | None:
        """Return units per second, None if unknown."""
        if not self._seen:
            return None
        (begun, minimum), (latest, maximum) = self._seen[0], self._seen[-1]
        if latest - begun < _MIN_SPAN_S or maximum <= minimum:
            return None
        return (maximum - minimum) / (latest - begun)

    def seconds_left(self, now: float) -> float | None:
        """Return the estimated seconds left; None without a total or rate."""
        rate = self.rate()
        if rate is None or self._total is None:
            return None
        latest, progress = self._seen[-1]
        return max((self._total - progress) / rate - (now - latest), 0)

    def counted(self) -> str:
        """Return `4 of 10`; `40 %` if the total is 1 or 100; `4` without a total."""
        if not self._seen:
            return ""
        progress = self._seen[-1][1]
        if self._total is None:
            return f"{progress:,.6g}"
        if self._is_share:
            return f"{100 * progress / self._total:.3g} %"
        return f"{progress:,.6g} of {self._total:,.6g}"

    def text(self, now: float) -> str:
        """Return `12 %/s · 5 s left`; "" if unknown."""
        rate = self.rate()
        if rate is None:
            return ""
        unit = ""
        if self._is_share and self._total is not None:
            rate, unit = 100 * rate / self._total, " %"
        speed = f"{three_digits(rate)}{unit}/s" if rate >= _SLOW else f"{three_digits(60 * rate)}{unit}/min"
        left = self.seconds_left(now)
        return speed if left is None else f"{speed} · {_rounded(left)} left"

    @property
    def _is_share(self) -> bool:
        return self._total in (1, 100)


def _rounded(seconds: float) -> str:
    """Format whole seconds: anything finer would flicker."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    return duration(whole * 1_000_000_000) if whole < 3600 else f"{whole / 3600:,.1f} h"
