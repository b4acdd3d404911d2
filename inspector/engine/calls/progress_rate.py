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
        self._samples: deque[tuple[float, float]] = deque()
        self._total: float | None = None

    def add(self, now: float, progress: float, total: float | None) -> None:
        """Add a sample. Non-finite values are ignored; going backwards restarts."""
        if not math.isfinite(progress):
            return
        self._total = total if total is not None and math.isfinite(total) and total > 0 else None
        if self._samples and progress < self._samples[-1][1]:
            self._samples.clear()
        if len(self._samples) > 1 and now - self._samples[-2][0] < _MIN_APART_S:
            self._samples.pop()
        self._samples.append((now, progress))
        while len(self._samples) > 2 and now - self._samples[1][0] > _WINDOW_S:
            self._samples.popleft()

    def rate(self) -> float | None:
        """Return units per second, None if unknown."""
        if not self._samples:
            return None
        (first, minimum), (latest, maximum) = self._samples[0], self._samples[-1]
        if latest - first < _MIN_SPAN_S or maximum <= minimum:
            return None
        return (maximum - minimum) / (latest - first)

    def seconds_left(self, now: float) -> float | None:
        """Return the estimated seconds left; None without a total or rate."""
        rate = self.rate()
        if rate is None or self._total is None:
            return None
        latest, progress = self._samples[-1]
        return max((self._total - progress) / rate - (now - latest), 0)

    def counted(self) -> str:
        """Return `4 of 10`; `40 %` if the total is 1 or 100; `4` without a total."""
        if not self._samples:
            return ""
        progress = self._samples[-1][1]
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
