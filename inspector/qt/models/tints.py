"""Colour rules at work: the ground of a row, found when the row is painted and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtGui import QColor

from inspector.config.trafficprefs import ColourRule
from inspector.qt.models.rowsearch import Matcher
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog

# With a stronger tint, muted text on it would be hard to read.
SHARE = 0.1
TONES: dict[str, Tone] = {
    "error": "error",
    "warn": "warn",
    "ok": "ok",
    "wait": "wait",
    "inbound": "inbound",
    "outbound": "outbound",
}
_MOST_KEPT = 20_000
# A rule that reads bodies skips larger ones: painting a row must be fast.
_BIGGEST_BODY = 256 * 1024

# Compiles a rule's filter; None if it is invalid.
Compile = Callable[[str], Matcher | None]


class RowTints:
    """Row tints by color rules, evaluated once per row. The first rule that matches wins."""

    def __init__(self, log: TrafficLog, theme: Theme, compile: Compile) -> None:
        self._log = log
        self._theme = theme
        self._compile = compile
        self._rules: Sequence[ColourRule] = ()
        self._ready: list[tuple[Matcher, str]] | None = None
        self._known: dict[int, str] = {}
        self._colors: dict[str, QColor] = {}
        theme.changed.connect(self._colors.clear)

    def set_rules(self, rules: Sequence[ColourRule]) -> None:
        """Set the rules. Filters are compiled when a row is painted, so the parser is loaded late."""
        self._rules = rules
        self._ready = None
        self._known.clear()

    def color(self, number: int) -> QColor | None:
        """Return the background of a row; None for the default."""
        tint = self._known.get(number)
        if tint is None:
            if len(self._known) > _MOST_KEPT:
                self._known.clear()
            tint = self._known[number] = self._tint_of(number)
        return self._color(tint) if tint else None

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget the tints of changed rows."""
        for number in numbers:
            self._known.pop(number, None)

    def _tint_of(self, number: int) -> str:
        if self._ready is None:
            self._ready = self._make_ready()
        is_big = self._log.kept(number) > _BIGGEST_BODY
        asked = (each for each in self._ready if each[0].is_cheap or not is_big)
        return next((tint for matcher, tint in asked if matcher.matches(number)), "")

    def _make_ready(self) -> list[tuple[Matcher, str]]:
        ready = [(self._compile(rule.filter), rule.tint) for rule in self._rules if rule.is_on]
        return [(matcher, tint) for matcher, tint in ready if matcher is not None]

    def _color(self, tint: str) -> QColor:
        if tint not in self._colors:
            self._colors[tint] = self._theme.tokens.tint(TONES[tint], SHARE)
        return self._colors[tint]
