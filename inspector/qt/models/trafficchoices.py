"""What the person made for looking at traffic: saved filters, colour rules, filters used lately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QSettings, Signal

from inspector.base.errors import UserError
from inspector.config.trafficprefs import ColourRule, TrafficPrefs, TrafficPrefsFile

_HISTORY = "traffic/history"
_MOST_HISTORY = 30


class TrafficChoices(QObject):
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
    def rules(self) -> Sequence[ColourRule]:
        return self._prefs.rules

    @property
    def history(self) -> Sequence[str]:
        """The used filters, newest first."""
        return self._history

    def save_filter(self, name: str, text: str) -> None:
        """Save a filter under a name; an empty one deletes the name."""
        rest = {key: value for key, value in self._prefs.filters.items() if key != name}
        self._change(replace(self._prefs, filters={**rest, name: text} if text else rest))

    def set_rules(self, rules: Sequence[ColourRule]) -> None:
        self._change(replace(self._prefs, rules=tuple(rules)))

    def set_history(self, texts: Sequence[str]) -> None:
        self._history = list(texts[:_MOST_HISTORY])
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
        return [text for text in texts if isinstance(text, str) and text][:_MOST_HISTORY]
