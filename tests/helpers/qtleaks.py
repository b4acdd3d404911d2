"""Living Qt objects: top-level widgets and running timers. Qt is imported on use only."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

# Qt keeps these for itself, hidden, once it has made them.
_QTS_OWN = {"QTipLabel", "QShapedPixmapWidget", "QDesktopWidget"}


@dataclass(frozen=True)
class Alive:
    """A widget or timer. Two values for the same object are equal."""

    address: int
    text: str = field(compare=False)


def alive() -> set[Alive]:
    """Return everything that is alive, after deferred deletions."""
    from PySide6.QtCore import QCoreApplication, QEvent

    _watch_timers()
    if QCoreApplication.instance() is not None:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return _widgets() | _timers()


def _widgets() -> set[Alive]:
    import sys

    widgets = sys.modules.get("PySide6.QtWidgets")
    if widgets is None or not isinstance(widgets.QApplication.instance(), widgets.QApplication):
        return set()
    return {
        Alive(_address(widget), f"widget {_name(widget)}")
        for widget in widgets.QApplication.topLevelWidgets()
        if type(widget).__name__ not in _QTS_OWN and widget.metaObject().className() not in _QTS_OWN
    }


def _timers() -> set[Alive]:
    import shiboken6

    return {
        Alive(_address(timer), f"running timer {_name(timer)} of {timer.interval()} ms")
        for timer in list(_started)
        if shiboken6.isValid(timer) and timer.isActive()
    }


_started: weakref.WeakSet[Any] = weakref.WeakSet()


@functools.cache
def _watch_timers() -> None:
    """Record each timer that Python starts: Qt lists timers only by their owner."""
    from PySide6.QtCore import QTimer

    start: Callable[..., None] = QTimer.start

    def noted(timer: QTimer, *args: Any) -> None:
        _started.add(timer)
        start(timer, *args)

    QTimer.start = noted  # type: ignore[method-assign]


def _address(thing: Any) -> int:
    import shiboken6

    return int(shiboken6.getCppPointer(thing)[0])


def _name(thing: Any) -> str:
    owner = thing.parent()
    under = f" under {type(owner).__name__}" if owner is not None else ""
    return f"{type(thing).__name__} {thing.objectName()!r}{under}"
