"""Saved filters, color rules and filter history, and the row tints by color rules.

A row's tint is computed when the row is first painted, then cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal
from PySide6.QtGui import QColor

from inspector.base.errors import UserError
from inspector.config.preferences.traffic import ColorRule, TrafficPrefs, TrafficPrefsFile
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

    Filters and rules are in the preferences file, once it is known (`open`); the history is with the window
    layout: losing it loses no work.

    Signals:
        changed: The filters or rules changed.
        problem_found: The file cannot be used; carries the message.
    """

    changed = Signal()
    problem_found = Signal(str)

    def __init__(self, layout: QSettings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._layout = layout
        self._file: TrafficPrefsFile | None = None
        self._prefs = TrafficPrefs()
        self._history = self._read_history()

    def open(self, path: Path) -> None:
        """Read this file, and save changes to it."""
        self._file = TrafficPrefsFile(path)
        self._prefs, problems = self._file.load()
        for sentence in problems:
            self.problem_found.emit(sentence)
        self.changed.emit()

    @property
    def filters(self) -> dict[str, str]:
        """The saved filters by name."""
        return dict(self._prefs.filters)

    @property
    def rules(self) -> Sequence[ColorRule]:
        return self._prefs.rules

    @property
    def history(self) -> Sequence[str]:
        """The used filters, newest first."""
        return self._history

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name; an empty one deletes the name."""
        rest = {key: value for key, value in self._prefs.filters.items() if key != name}
        self._change(self._prefs._replace(filters={**rest, name: text} if text else rest))

    def set_rules(self, rules: Sequence[ColorRule]) -> None:
        self._change(self._prefs._replace(rules=tuple(rules)))

    def set_history(self, texts: Sequence[str]) -> None:
        self._history = list(texts[:_MAX_HISTORY])
        if self._layout is not None:
            self._layout.setValue(_HISTORY, self._history)

    def _change(self, prefs: TrafficPrefs) -> None:
        self._prefs = prefs
        try:
            if self._file is not None:
                self._file.save(prefs)
        except UserError as exc:
            self.problem_found.emit(str(exc))
        self.changed.emit()

    def _read_history(self) -> list[str]:
        value = self._layout.value(_HISTORY) if self._layout is not None else None
        texts = value if isinstance(value, list) else [value]  # a list of one is returned as its item
        return [text for text in texts if isinstance(text, str) and text][:_MAX_HISTORY]
