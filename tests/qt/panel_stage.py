"""A traffic panel over a log that a test writes, without an engine."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import QObject, Signal

from inspector.qt.actions import Actions
from inspector.qt.bridge import Bridge
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.theme import Theme
from tests.qt.traffic.detail.detail_stage import Stage

ICONS = Path(__file__).parents[2] / "resources" / "icons"


class PanelBridge(QObject):
    """What a panel asks of a bridge that has no engine: nothing is big here, so nothing waits."""

    problem_found = Signal(str)
    recording_changed = Signal(object)
    setting_changed = Signal(str, object)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.source)
        self._bridge = stage.bridge
        self.ask = stage.bridge.ask

    def start(self, name: str, work: Coroutine[Any, Any, object], owner: object = None) -> object:
        return self._bridge.start(name, work, owner)


def make_panel(stage: Stage) -> TrafficPanel:
    """Not shown yet. `stage.source` keeps what it needs."""
    theme = Theme(ICONS)
    bridge = cast(Bridge, PanelBridge(stage))
    return TrafficPanel(stage.source, bridge, Actions(theme, stage.source), theme)
