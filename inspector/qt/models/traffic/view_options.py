"""Saved filters, color rules and filter history, and the row tints by color rules.

A row's tint is computed when the row is first painted, then cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtGui import QColor

from inspector.base.json.values import JSON, JSONObject
from inspector.config.preferences.traffic import (
    COLOR_RULES,
    DEFAULT_RULES,
    FILTERS,
    ColorRule,
    read_filters,
    read_rules,
    written_rules,
)
from inspector.qt.bridge import Bridge
from inspector.qt.models.traffic.row_search import Matcher
from inspector.qt.theme import Theme, Tone
from inspector.traffic.log import TrafficLog

# With a stronger tint, muted text on it would be hard to read.
TINT_STRENGTH = 0.1
TONES: dict[str, Tone] = {
    "error": "error",
    "warn": "warn",
    "ok": "ok",
    "wait": "wait",
    "inbound": "inbound",
    "outbound": "outbound",
}
_MAX_CACHED = 20_000
# A rule that reads bodies skips larger ones: painting a row must be fast.
_MAX_BODY_SIZE = 256 * 1024

_HISTORY = "traffic/history"
_MAX_HISTORY = 30

# Compiles a rule's filter; None if it is invalid.
Compile = Callable[[str], Matcher | None]


class RowColors:
    """Row tints by color rules, evaluated once per row. The first rule that matches wins."""

    def __init__(self, log: TrafficLog, theme: Theme, compile: Compile) -> None:
        self._log = log
        self._theme = theme
        self._compile = compile
        self._rules: Sequence[ColorRule] = ()
        self._compiled: list[tuple[Matcher, str]] | None = None
        self._tints: dict[int, str] = {}
        self._colors: dict[str, QColor] = {}
        theme.changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self._colors.clear()

    def set_rules(self, rules: Sequence[ColorRule]) -> None:
        """Set the rules. Filters are compiled when a row is painted, so the parser is loaded late."""
        self._rules = rules
        self._compiled = None
        self._tints.clear()

    def color(self, number: int) -> QColor | None:
        """Return the background of a row; None for the default."""
        tint = self._tints.get(number)
        if tint is None:
            if len(self._tints) > _MAX_CACHED:
                self._tints.clear()
            tint = self._tints[number] = self._tint_of(number)
        return self._color(tint) if tint else None

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget the tints of changed rows."""
        for number in numbers:
            self._tints.pop(number, None)

    def _tint_of(self, number: int) -> str:
        if self._compiled is None:
            self._compiled = self._compile_rules()
        is_big = self._log.kept(number) > _MAX_BODY_SIZE
        usable = (each for each in self._compiled if each[0].is_cheap or not is_big)
        return next((tint for matcher, tint in usable if matcher.matches(number)), "")

    def _compile_rules(self) -> list[tuple[Matcher, str]]:
        compiled = [(self._compile(rule.filter), rule.tint) for rule in self._rules if rule.is_on]
        return [(matcher, tint) for matcher, tint in compiled if matcher is not None]

    def _color(self, tint: str) -> QColor:
        if tint not in self._colors:
            self._colors[tint] = self._theme.tokens.tint(TONES[tint], TINT_STRENGTH)
        return self._colors[tint]


class TrafficViewOptions(QObject):
    """Saved filters, color rules and the filter history, shared by all traffic panels.

    Filters and rules are settings; the history is with the window layout: losing it loses no work.

    Signals:
        changed: The filters or rules changed.
    """

    changed = Signal()

    def __init__(
        self, bridge: Bridge, layout: QSettings | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._layout = layout
        self._filters: dict[str, str] = {}
        self._rules: Sequence[ColorRule] = DEFAULT_RULES
        self._history = self._read_history()
        bridge.setting_changed.connect(self._on_setting_changed)

    @property
    def filters(self) -> dict[str, str]:
        """The saved filters by name."""
        return dict(self._filters)

    @property
    def rules(self) -> Sequence[ColorRule]:
        return self._rules

    @property
    def history(self) -> Sequence[str]:
        """The used filters, newest first."""
        return self._history

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name; an empty one deletes the name."""

        def change(filters: JSONObject) -> JSON:
            rest = {key: value for key, value in filters.items() if key != name}
            return {**rest, name: text} if text else rest

        self._filters, _ = read_filters(change({**self._filters}))
        self._save(FILTERS, change)

    def set_rules(self, rules: Sequence[ColorRule]) -> None:
        self._rules = tuple(rules)
        self._save(COLOR_RULES, partial(written_rules, self._rules))

    def set_history(self, texts: Sequence[str]) -> None:
        self._history = list(texts[:_MAX_HISTORY])
        if self._layout is not None:
            self._layout.setValue(_HISTORY, self._history)

    def _save(self, id: str, change: Callable[[Any], JSON]) -> None:
        self._bridge.save(id, self._bridge.ask(lambda engine: engine.settings.update(id, change)))
        self.changed.emit()

    def _on_setting_changed(self, id: str, value: JSON) -> None:
        before, problems = (self._filters, self._rules), list[str]()
        if id == FILTERS:
            self._filters, problems = read_filters(value)
        elif id == COLOR_RULES:
            self._rules, problems = read_rules(value)
        for problem in problems:
            self._bridge.problem_found.emit(problem)
        if before != (self._filters, self._rules):
            self.changed.emit()

    def _read_history(self) -> list[str]:
        value = self._layout.value(_HISTORY) if self._layout is not None else None
        texts = value if isinstance(value, list) else [value]  # a list of one is returned as its item
        return [text for text in texts if isinstance(text, str) and text][:_MAX_HISTORY]
