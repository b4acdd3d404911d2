"""The timeline: bars, zoom, overview, keys and painting."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QPainter, QPalette, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.protocol import jsonrpc
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.timeline import bar_pass, timeline_view
from inspector.qt.panels.traffic.timeline.time_scale import Mode
from inspector.qt.panels.traffic.timeline.timeline_view import TimelineView
from inspector.qt.theme import Scheme, Theme
from inspector.traffic.analysis.lanes import Piece
from inspector.traffic.analysis.timeline import MarkKind
from tests.unit.traffic.traffic_stage import MS, WALL, TrafficBuilder

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[4] / "resources" / "icons"
LEFT, NO_MODIFIER = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    yield theme
    # Reference cycles of a test must not be collected while a later one paints: destroying Qt objects
    # there crashes the process.
    gc.collect()
    qapp.styleHints().unsetColorScheme()
    qapp.setPalette(QPalette())


class Scene:
    """A view over recorded traffic; `feed` passes new rows to it."""

    def __init__(self, qtbot: QtBot, theme: Theme, talk: TrafficBuilder, *, is_live: bool = False) -> None:
        self.talk = talk
        self.source = TrafficSource(talk.log, "TrafficBuilder", is_live=is_live)
        self.view = TimelineView(self.source, theme, clock=talk.clock.wall_ns)
        self._fed = self._touched = 0
        qtbot.addWidget(self.view)
        self.view.resize(1000, 400)
        self.view.show()
        self.feed()

    def feed(self) -> None:
        log = self.talk.log
        rows = array("q", range(self._fed, len(log)))
        touched = array("q", [row for row in log.touched[self._touched :] if row < self._fed])
        self._fed, self._touched = len(log), len(log.touched)
        self.view.extend(rows)
        self.view.retouch(touched)
        self.view._update()
        self.view.lanes.viewport().grab()

    def point_of(self, operation: int) -> QPoint:
        """Return the middle of a bar."""
        lanes = self.view.lanes
        position = self.view.bars.where(operation)
        assert position is not None
        box = lanes._layout.of(position.server)
        assert box is not None
        end = position.end_ns if position.end_ns is not None else self.view._now()
        x = lanes.gutter + round(lanes.scale().x((position.start_ns + end) // 2))
        return QPoint(x, box.y_of(position.subrow) + 8 - lanes.verticalScrollBar().value())


def reported(view: TimelineView) -> str:
    """Return the title shown instead of the timeline."""
    page = view.gate.currentWidget()
    assert page is not None
    return page.accessibleName()


def three_calls() -> TrafficBuilder:
    """Three calls on one server, one after the other, of a second each."""
    talk = TrafficBuilder("srv", "other")
    for tool in ("first", "second", "third"):
        id = talk.call(tool)
        talk.pass_ms(1000)
        talk.response(id)
        talk.pass_ms(500)
    return talk


@pytest.fixture
def scene(qtbot: QtBot, theme: Theme) -> Scene:
    return Scene(qtbot, theme, three_calls())


def wheel(view: TimelineView, at: QPoint, up: int, modifiers: Qt.KeyboardModifier) -> None:
    viewport = view.lanes.viewport()
    event = QWheelEvent(
        QPointF(at),
        QPointF(viewport.mapToGlobal(at)),
        QPoint(),
        QPoint(0, 120 * up),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)


def test_clicking_a_bar_selects_its_row(scene: Scene, qtbot: QtBot) -> None:
    with qtbot.waitSignal(scene.view.row_chosen) as chosen:
        QTest.mouseClick(scene.view.lanes.viewport(), LEFT, NO_MODIFIER, scene.point_of(2))
    assert chosen.args == [2]
    assert scene.view.lanes.current == 2


def test_clicking_outside_all_bars_selects_nothing(scene: Scene, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(scene.view.row_chosen):
        at = scene.point_of(2) + QPoint(0, 120)
        QTest.mouseClick(scene.view.lanes.viewport(), LEFT, NO_MODIFIER, at)


def test_selected_row_brings_its_operation_into_view(scene: Scene) -> None:
    scene.view.span.show_span(WALL, WALL + 100 * MS)
    scene.view.show_row(5)  # the response of the third call
    assert scene.view.lanes.current == 4
    start, end = scene.view.span.shown
    assert start <= WALL + 3000 * MS <= WALL + 4000 * MS <= end


def test_row_selected_before_it_arrives_is_marked_on_arrival(scene: Scene) -> None:
    scene.talk.call("fourth")
    scene.view.show_row(6)
    assert scene.view.lanes.current is None
    scene.feed()
    assert scene.view.lanes.current == 6


def test_row_without_an_operation_clears_the_mark(scene: Scene) -> None:
    scene.talk.stderr()
    scene.feed()
    scene.view.show_row(2)
    scene.view.show_row(6)
    assert scene.view.lanes.current is None


def test_ctrl_wheel_zooms_at_the_pointer(scene: Scene) -> None:
    view, at = scene.view, scene.point_of(2)
    before = view.lanes.scale().at(at.x() - view.lanes.gutter)
    length = view.span.length
    wheel(view, at, 2, Qt.KeyboardModifier.ControlModifier)
    assert view.span.length < length * 0.7
    after = view.lanes.scale().at(at.x() - view.lanes.gutter)
    assert abs(after - before) <= view.lanes.scale().ns(1)


def test_shift_wheel_scrolls_through_time(scene: Scene) -> None:
    view = scene.view
    view.span.show_span(WALL, WALL + 1000 * MS)
    wheel(view, scene.point_of(0), -1, Qt.KeyboardModifier.ShiftModifier)
    assert view.span.shown[0] > WALL
    assert view.span.length == 1000 * MS


def test_dragging_pans_and_selects_nothing(scene: Scene, qtbot: QtBot) -> None:
    view, viewport, at = scene.view, scene.view.lanes.viewport(), QPoint(500, 60)
    view.span.show_span(WALL + 1000 * MS, WALL + 2000 * MS)
    with qtbot.assertNotEmitted(view.row_chosen):
        QTest.mousePress(viewport, LEFT, NO_MODIFIER, at)
        QTest.mouseMove(viewport, at + QPoint(100, 0))
        QTest.mouseRelease(viewport, LEFT, NO_MODIFIER, at + QPoint(100, 0))
    moved = WALL + 1000 * MS - view.span.shown[0]
    assert moved == pytest.approx(view.lanes.scale().ns(100), rel=0.01)


def test_keys_zoom_and_fit(scene: Scene) -> None:
    lanes, span = scene.view.lanes, scene.view.span
    whole = span.shown
    QTest.keyClick(lanes, Qt.Key.Key_Plus)
    assert span.length < whole[1] - whole[0]
    QTest.keyClick(lanes, Qt.Key.Key_0)
    assert span.shown == whole
    assert span.mode is Mode.FIT


def test_arrows_move_between_bars_and_enter_selects_the_row(scene: Scene, qtbot: QtBot) -> None:
    lanes = scene.view.lanes
    seen = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left):
        QTest.keyClick(lanes, key)
        seen.append(lanes.current)
    assert seen == [0, 2, 4, 4, 2]
    with qtbot.waitSignal(scene.view.row_chosen) as chosen:
        QTest.keyClick(lanes, Qt.Key.Key_Return)
    assert chosen.args == [2]


def test_arrows_move_to_the_lane_below(qtbot: QtBot, theme: Theme) -> None:
    talk = three_calls()
    id = talk.call("elsewhere", 1)
    talk.pass_ms(10)
    talk.response(id, server=1)
    scene = Scene(qtbot, theme, talk)
    scene.view.show_row(4)
    QTest.keyClick(scene.view.lanes, Qt.Key.Key_Down)
    assert scene.view.lanes.current == 6
    QTest.keyClick(scene.view.lanes, Qt.Key.Key_Up)
    assert scene.view.lanes.current == 4


def test_left_finds_the_neighbor_among_crowded_bars(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    for _ in range(3000):
        id = talk.call()
        talk.pass_ms(1)
        talk.response(id)
        talk.pass_ms(1)
    scene = Scene(qtbot, theme, talk)
    assert scene.view.bars.neighbor(4000, -1) == 3998
    assert scene.view.bars.neighbor(4000, 1) == 4002
    assert scene.view.bars.neighbor(0, -1) is None


def drag(scene: Scene, first: int, last: int) -> None:
    strip = scene.view.strip
    QTest.mousePress(strip, LEFT, NO_MODIFIER, QPoint(strip.left + first, 20))
    QTest.mouseMove(strip, QPoint(strip.left + last, 20))
    QTest.mouseRelease(strip, LEFT, NO_MODIFIER, QPoint(strip.left + last, 20))


def test_dragging_over_the_overview_selects_that_range(scene: Scene, qtbot: QtBot) -> None:
    scale = scene.view.strip.scale()
    with qtbot.waitSignal(scene.view.range_chosen) as chosen:
        drag(scene, 200, 400)
    assert chosen.args == [(scale.at(200), scale.at(400))]
    assert scene.view.span.shown == (scale.at(200), scale.at(400))
    assert scene.view.head._clear.isVisible()


def test_selected_range_is_moved_and_resized_by_dragging(scene: Scene) -> None:
    drag(scene, 200, 400)
    start, end = scene.view.span.shown
    drag(scene, 300, 350)
    by = scene.view.span.shown[0] - start
    assert by == pytest.approx(scene.view.strip.scale().ns(50), rel=0.01)
    assert scene.view.span.shown[1] - end == by
    drag(scene, 450, 600)
    assert scene.view.span.shown == (start + by, scene.view.strip.scale().at(600))


def test_double_click_shows_everything_and_clears_the_range(scene: Scene, qtbot: QtBot) -> None:
    whole = scene.view.span.shown
    drag(scene, 200, 400)
    with qtbot.waitSignal(scene.view.range_chosen) as chosen:
        QTest.mouseDClick(scene.view.strip, LEFT)
    assert chosen.args == [None]
    assert scene.view.span.shown == whole
    assert not scene.view.head._clear.isVisible()


def test_button_clears_the_range(scene: Scene, qtbot: QtBot) -> None:
    drag(scene, 200, 400)
    with qtbot.waitSignal(scene.view.range_chosen) as chosen:
        scene.view.head._clear.click()
    assert chosen.args == [None]


def test_overview_stays_when_a_range_hides_rows(scene: Scene) -> None:
    before = scene.view.strip.scale()
    drag(scene, 300, 600)
    shown = scene.view.span.shown
    scene.view.reset()
    scene.view.extend(array("q", [2, 3]))
    scene.view._update()
    assert scene.view.strip.scale() == before
    assert scene.view.span.shown == shown


def test_range_cleared_elsewhere_is_forgotten(scene: Scene, qtbot: QtBot) -> None:
    drag(scene, 300, 500)
    scene.view.reset()
    with qtbot.assertNotEmitted(scene.view.range_chosen):
        scene.view.extend(array("q", range(6)))
    assert not scene.view.head._clear.isVisible()
    assert scene.view.span.mode is Mode.FIT


def test_overview_works_with_the_keyboard(scene: Scene, qtbot: QtBot) -> None:
    strip, span = scene.view.strip, scene.view.span
    QTest.keyClick(strip, Qt.Key.Key_Plus)
    first = span.shown[0]
    QTest.keyClick(strip, Qt.Key.Key_Right)
    assert span.shown[0] > first
    with qtbot.waitSignal(scene.view.range_chosen) as chosen:
        QTest.keyClick(strip, Qt.Key.Key_Return)
    assert chosen.args == [span.shown]


def test_empty_state_is_explained(qtbot: QtBot, theme: Theme) -> None:
    scene = Scene(qtbot, theme, TrafficBuilder())
    assert not scene.view.gate.is_open()
    assert reported(scene.view) == "No operations yet"
    scene.talk.stderr()
    scene.feed()
    qtbot.waitUntil(lambda: reported(scene.view) == "No operations to show")
    scene.talk.call()
    scene.feed()
    assert scene.view.gate.is_open()


def test_range_without_operations_can_be_cleared(scene: Scene) -> None:
    drag(scene, 200, 400)
    scene.view.reset()
    scene.view._update()
    assert scene.view.gate.is_open()
    assert scene.view.head._clear.isVisible()


def test_new_filter_gets_a_moment_before_no_matches_is_shown(scene: Scene, qtbot: QtBot) -> None:
    scene.view.reset()
    scene.view._update()
    assert scene.view.gate.is_open()
    qtbot.waitUntil(lambda: reported(scene.view) == "No operations to show")
    scene.view.extend(array("q", range(6)))
    qtbot.waitUntil(scene.view.gate.is_open)


def test_tooltip_describes_a_bar_in_plain_text(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder("<b>srv</b>")
    id = talk.call("<img src=x>")
    talk.receive(id=7, method="elicitation/create", params={})
    talk.pass_ms(2000)
    talk.recorders[0].sent(jsonrpc.result(7, {}))
    talk.pass_ms(1000)
    talk.response(id, {"isError": True, "content": []})
    scene = Scene(qtbot, theme, talk)
    lines = scene.view.lanes.tip_at(scene.point_of(0)).splitlines()
    assert lines[:3] == ["tools/call  <img src=x>", "<b>srv</b>", "tool error, 3.00 s"]
    assert "2.00 s waiting for user input" in lines
    assert "1 server request" in lines


def test_server_names_show_hidden_characters(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder("a\u202eb\nc" + "x" * 500)
    talk.call()
    scene = Scene(qtbot, theme, talk)
    name = scene.view.lanes._layout.boxes[0].name
    assert name.startswith("a⟨U+202E⟩b cxxx")
    assert len(name) <= 120


def test_bogus_times_from_a_file_are_still_painted(qtbot: QtBot, theme: Theme) -> None:
    talk = three_calls()
    wall, monotonic = talk.log.columns.wall, talk.log.columns.monotonic
    wall[0], wall[1], monotonic[2], wall[5] = -(2**63), 2**63 - 1, -5, 0
    scene = Scene(qtbot, theme, talk)
    assert len(scene.view.bars) == 3
    for zoom in (0.5, 0.001, 100.0):
        scene.view.span.zoom(zoom, sum(scene.view.span.shown) // 2)
        assert not scene.view.grab().isNull()
        assert scene.view.lanes.tip_at(scene.point_of(2))


def test_bar_contents_are_computed_when_idle(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    id = talk.call("echo", 0, _meta={"progressToken": "p"})
    for step in range(3):
        talk.pass_ms(100)
        talk.receive(method="notifications/progress", params={"progressToken": "p", "progress": step})
    talk.response(id)
    scene = Scene(qtbot, theme, talk)
    with qtbot.waitSignal(scene.view.bars.found):
        scene.view.lanes.viewport().grab()
    details = scene.view.bars.inside(0)
    assert details is not None
    assert [mark.kind for mark in details[1]] == [MarkKind.PROGRESS] * 3


def test_lane_is_collapsed_and_expanded_by_its_name(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    for _ in range(4):
        talk.call()
        talk.pass_ms(10)
    scene = Scene(qtbot, theme, talk)
    lanes = scene.view.lanes
    height = lanes._layout.height
    QTest.mouseClick(lanes.viewport(), LEFT, NO_MODIFIER, QPoint(30, 14))
    assert lanes._layout.height < height / 2
    assert lanes.operation_at(scene.point_of(2)) is not None
    QTest.mouseClick(lanes.viewport(), LEFT, NO_MODIFIER, QPoint(30, 14))
    assert lanes._layout.height == height


def test_pending_operation_grows_slowly_once_the_traffic_is_idle(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder("srv")
    talk.call("slow")
    scene = Scene(qtbot, theme, talk, is_live=True)
    assert scene.view._grow_timer.interval() == timeline_view._GROW_MS
    talk.pass_ms(11_000)
    scene.feed()
    assert scene.view._grow_timer.isActive()
    assert scene.view._grow_timer.interval() == timeline_view._SLOW_GROW_MS


def test_pending_operation_grows_while_the_view_is_visible(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    talk.call()
    talk.pass_ms(1000)
    scene = Scene(qtbot, theme, talk, is_live=True)
    end = scene.view.span.shown[1]
    assert end >= WALL + 1000 * MS
    talk.pass_ms(1000)
    qtbot.waitUntil(lambda: scene.view.span.shown[1] >= WALL + 2000 * MS)
    scene.view.hide()
    assert not scene.view._grow_timer.isActive()


def test_timer_stops_once_every_request_has_a_response(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    id = talk.call()
    talk.pass_ms(1000)
    scene = Scene(qtbot, theme, talk, is_live=True)
    talk.response(id)
    scene.feed()
    qtbot.waitUntil(lambda: not scene.view._grow_timer.isActive())
    scene.view.lanes.viewport().grab()
    assert not scene.view._grow_timer.isActive()


def test_pending_operation_of_a_capture_ends_at_the_end_of_the_capture(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    talk.call()
    talk.pass_ms(1000)
    talk.stderr()
    scene = Scene(qtbot, theme, talk)
    talk.pass_ms(60_000)
    assert scene.view._now() == WALL + 1000 * MS
    assert not scene.view._grow_timer.isActive()


def test_painting_cost_depends_on_pixels(qtbot: QtBot, theme: Theme, monkeypatch: pytest.MonkeyPatch) -> None:
    talk = TrafficBuilder()
    for _ in range(4000):
        id = talk.call()
        talk.pass_ms(1)
        talk.response(id)
        talk.pass_ms(1)
    scene = Scene(qtbot, theme, talk)
    painted: list[Piece] = []
    original = bar_pass.BarPass.paint

    def paint(
        self: bar_pass.BarPass,
        painter: QPainter,
        pieces: Sequence[Piece],
        tops: Sequence[int],
        *,
        is_closed: bool,
    ) -> None:
        painted.extend(pieces)
        original(self, painter, pieces, tops, is_closed=is_closed)

    monkeypatch.setattr(bar_pass.BarPass, "paint", paint)
    scene.view.bars._window = None
    scene.view.lanes.viewport().grab()
    assert sum(piece.bars for piece in painted) == 4000
    assert len(painted) <= scene.view.lanes.scale().width
