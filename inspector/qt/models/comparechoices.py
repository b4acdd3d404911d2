"""What comparisons leave out, by the person's choice: remembered, and one for all of them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from PySide6.QtCore import QObject, QSettings, Signal

from inspector.base.errors import UserError
from inspector.traffic.compare.ignoring import NOTHING, Ignoring

_KEY = "compare/ignoring"


class CompareChoices(QObject):
    """What comparisons ignore. Stored with the window layout: losing it loses no work.

    Signals:
        changed: The ignored parts changed.
    """

    changed = Signal()

    def __init__(self, layout: QSettings | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._layout = layout
        self._ignoring = self._read()

    @property
    def ignoring(self) -> Ignoring:
        return self._ignoring

    def set_preset(self, name: str, is_on: bool) -> None:
        """Turn one of `ignoring.PRESETS` on or off."""
        self._change(replace(self._ignoring, **{name: is_on}))  # type: ignore[arg-type]

    def add_path(self, path: str) -> None:
        """Also ignore the value at a path. Raises UserError for an invalid path."""
        if path not in self._ignoring.paths:
            self._change(replace(self._ignoring, paths=(*self._ignoring.paths, path)))

    def remove_path(self, path: str) -> None:
        rest = tuple(each for each in self._ignoring.paths if each != path)
        self._change(replace(self._ignoring, paths=rest))

    def _change(self, ignoring: Ignoring) -> None:
        ignoring.check()
        if ignoring == self._ignoring:
            return
        self._ignoring = ignoring
        if self._layout is not None:
            self._layout.setValue(_KEY, json.dumps(asdict(ignoring)))
        self.changed.emit()

    def _read(self) -> Ignoring:
        """Return the saved choices; defaults if unreadable, since the file may be edited by hand."""
        text = self._layout.value(_KEY) if self._layout is not None else None
        try:
            kept = json.loads(str(text)) if text else {}
            ignoring = Ignoring(
                ids=kept.get("ids") is True,
                times=kept.get("times") is True,
                metadata=kept.get("metadata") is True,
                paths=tuple(str(path) for path in kept.get("paths", ())),
            )
            ignoring.check()
        except (ValueError, AttributeError, TypeError, UserError):
            return NOTHING
        return ignoring
