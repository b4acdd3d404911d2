"""The timeline and the statistics in the traffic panel of the running application."""

from __future__ import annotations

from inspector.qt.models.traffic.statistics import Column
from inspector.qt.panels.traffic.panel import TrafficPanel
from inspector.qt.panels.traffic.statistics import StatisticsView
from inspector.qt.panels.traffic.timeline.timeline_view import TimelineView
from inspector.qt.panels.traffic.view_stack import View
from inspector.traffic.records import RecordKind
from tests.qt.lens_driver import Lens, scripted, visible_text


def timeline_of(lens: Lens) -> tuple[TrafficPanel, TimelineView]:
    panel = lens.window.traffic
    panel.show_view(View.TIMELINE)
    timeline = panel.views.timeline
    assert timeline is not None
    return panel, timeline


def first_rows(lens: Lens) -> list[int]:
    """Return the first row of each operation."""
    rows = lens.records()
    return [row.number for row in rows if row.kind is RecordKind.REQUEST and row.operation == row.number]


def test_bar_selects_its_message_and_a_row_its_bar(lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    panel, timeline = timeline_of(lens)
    lens.until(lambda: len(timeline.bars) == 3)
    call = first_rows(lens)[-1]
    timeline.lanes.chosen.emit(call)
    assert panel.detail.number == call
    panel.show_view(View.MESSAGES)
    assert panel.choose(first_rows(lens)[0])
    panel.show_view(View.TIMELINE)
    lens.until(lambda: timeline.lanes.current == first_rows(lens)[0])


def test_range_of_the_timeline_narrows_the_table_until_its_chip_is_closed(lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    panel, timeline = timeline_of(lens)
    lens.until(lambda: len(timeline.bars) == 3)
    whole, call = panel.model.rowCount(), first_rows(lens)[-1]
    wall = panel.source.log.columns.wall
    timeline.strip.range_chosen.emit((wall[call], wall[len(panel.source.log) - 1]))
    lens.until(lambda: len(timeline.bars) == 1)
    assert 0 < panel.model.rowCount() < whole
    assert "Clear range" in visible_text(timeline)
    panel.filter_bar.chip_closed.emit()
    lens.until(lambda: len(timeline.bars) == 3)
    assert "Clear range" not in visible_text(timeline)


def test_pending_call_grows_until_it_is_cancelled(lens: Lens) -> None:
    tools = lens.connect(scripted())
    _, timeline = timeline_of(lens)
    tools.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: len(timeline.bars) == 3 and timeline._grow_timer.isActive())
    end = timeline.span.shown[1]
    lens.until(lambda: timeline.span.shown[1] > end)
    lens.do("tool.cancel")
    call = first_rows(lens)[-1]
    lens.until(lambda: (position := timeline.bars.where(call)) is not None and position.end_ns is not None)
    lens.until(lambda: not timeline._grow_timer.isActive())


def test_statistics_count_rows_matching_the_filter(lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    panel = lens.window.traffic
    panel.show_view(View.STATISTICS)
    view = panel.views.currentWidget()
    assert isinstance(view, StatisticsView)
    lens.until(lambda: view.model.index(0, Column.COUNT).data() == "4")
    panel.filter_bar.set_text("method:tools/call")
    lens.until(lambda: view.model.index(0, Column.COUNT).data() == "1")
    assert view.model.index(0, 0, view.model.index(1, 0)).data() == "echo"


def test_statistics_line_opens_its_rows(lens: Lens) -> None:
    panel = lens.window.traffic
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.settle()
    lens.do("traffic.statistics")
    panel.views.filter_requested.emit('method="tools/call" and tool="echo"')
    assert panel.views.is_table
    assert lens.actions["traffic.frames"].isChecked()
    assert panel.model.rowCount() == 2
