"""The stops about traffic."""

from __future__ import annotations

import tempfile
from pathlib import Path

from PySide6.QtCore import QItemSelectionModel
from PySide6.QtTest import QTest

from inspector.app.tour.guide import Guide, StopFailed
from inspector.engine.views import OutcomeKind
from inspector.qt.dialogs.compare import CompareDialog
from inspector.traffic.records import RecordKind

_FLOOD = 20_000


async def flood(guide: Guide) -> None:
    """Notifications as fast as the pipe allows: all recorded, and the window stays responsive."""
    guide.server("everything")
    log = guide.app.bridge.log
    before = len(log)
    await guide.tool("flood")
    guide.type_argument("count", str(_FLOOD))
    outcome = await guide.call(OutcomeKind.RESULT)
    if len(log) - before < _FLOOD:
        raise StopFailed(f"{_FLOOD:,} notifications were sent, {len(log) - before:,} rows recorded")
    assert outcome.row is not None
    answer, model = log.partner(outcome.row), guide.window.traffic.model
    assert answer is not None
    await guide.until("the answer in the table", lambda: model.find_row(answer) is not None)
    await guide.picture("flood")


async def filter_traffic(guide: Guide) -> None:
    panel = guide.window.traffic
    await _filter(guide, "method:tools/call and not status:ok")
    await guide.until("failed calls in the table", lambda: 0 < panel.model.rowCount() < 100)
    await guide.picture("filter")
    await _filter(guide, "method:tools/call and (status:ok")
    await guide.until("the error of the filter", lambda: panel.search.complaint is not None)
    await guide.picture("filter-error")
    await _filter(guide, "")


async def timeline(guide: Guide) -> None:
    await _filter(guide, "not tool:flood")
    guide.do("traffic.timeline")
    await guide.picture("timeline")


async def statistics(guide: Guide) -> None:
    guide.do("traffic.statistics")
    await guide.picture("statistics")
    guide.do("traffic.frames")
    await _filter(guide, "")


async def compare_two(guide: Guide) -> None:
    """Compare two calls of the same tool with different arguments."""
    panel, log = guide.window.traffic, guide.app.bridge.log
    guide.server("everything")
    await guide.tool("forecast")
    for city in ("Oslo", "Lisbon"):
        guide.type_argument("city", city)
        await guide.call(OutcomeKind.RESULT)
    answers = [row for row in range(len(log)) if log.kind(row) == RecordKind.RESULT]
    answers = [row for row in answers if log.subject(row) == "forecast"][-2:]
    await guide.until("both answers in the table", lambda: panel.choose(answers[-1]))
    both = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for place in map(panel.model.find_row, answers):
        assert place is not None
        panel.table.selectionModel().select(panel.model.index(place, 0), both)
    guide.do("traffic.compare")
    dialog = next(iter(guide.window.findChildren(CompareDialog)))
    await guide.until("what differs", lambda: dialog.model.rowCount())
    await guide.picture("compare", dialog)
    dialog.close()


async def save_and_open(guide: Guide) -> None:
    """Save a copy of the running capture and open it beside the live traffic."""
    captures = guide.window.captures
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "monday.mcpcap")
        captures.save(None, copy)
        await guide.until("the saved capture", copy.exists)
        captures.open([copy])
        await guide.until("its rows", lambda: captures.all and captures.all[0].panel.model.rowCount())
        guide.do("capture.side_by_side")
        await guide.picture("side-by-side")
        guide.do("capture.side_by_side")
        captures.close(captures.all[0].panel)


async def _filter(guide: Guide, text: str) -> None:
    """Type a filter, as a user would."""
    panel = guide.window.traffic
    guide.do("traffic.search")
    panel.search.clear()
    QTest.keyClicks(panel.search, text)
    panel.search.settle()
    await guide.until("the end of the search", lambda: not panel.model.search.is_searching)
