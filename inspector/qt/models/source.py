"""Where a traffic view gets its rows from: the running log, or a capture that was opened."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from inspector.qt.bridge import Bridge
from inspector.traffic.log import TrafficLog


class TrafficSource(QObject):
    """A log and its name. An opened log does not grow, but its remarks may change.

    Signals:
        grew: Rows were added to the log or changed; carries its length.
    """

    grew = Signal(int)

    def __init__(
        self, log: TrafficLog, title: str, *, is_live: bool = False, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.log = log
        self.title = title
        self.is_live = is_live


class LiveSource(TrafficSource):
    """The traffic being recorded by the engine."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(bridge.log, "Traffic", is_live=True, parent=parent)
        bridge.traffic_grew.connect(self.grew)
