"""Statistics: the tree of methods, the rate chart, and filters for the rows behind numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt
from PySide6.QtGui import QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inspector.qt.models.traffic.statistics import Column, StatisticsModel
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.panels.traffic.statistics import RateChart, StatisticsView, filter_for
from inspector.qt.theme import Scheme, Theme
from inspector.traffic.analysis.statistics import MethodStats, Rate, Statistics
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from tests.unit.traffic.traffic_stage import MS, WALL, TrafficBuilder

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[4] / "resources" / "icons"
DISPLAY = Qt.ItemDataRole.DisplayRole


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.prepare(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setPalette(QPalette())


@pytest.fixture
def talk() -> TrafficBuilder:
    """Three calls of `echo` (10, 20, 30 ms), a failed one of `add`, a list, a log message."""
    talk = TrafficBuilder("srv")
    for took in (10, 20, 30):
        id = talk.call("echo")
        talk.pass_ms(took)
        talk.response(id)
    id = talk.call("add")
    talk.pass_ms(5)
    talk.receive(id=id, error={"code": 1, "message": ""})
    id = talk.send("tools/list")
    talk.pass_ms(400)
    talk.response(id)
    talk.log_message()
    return talk


def all_rows(talk: TrafficBuilder) -> array[int]:
    return array("q", range(len(talk.log)))


def model_of(talk: TrafficBuilder, theme: Theme) -> StatisticsModel:
    statistics = Statistics(talk.log)
    statistics.extend(all_rows(talk))
    model = StatisticsModel(theme)
    model.update(statistics.summary())
    return model


def texts(model: StatisticsModel, column: Column, parent: QModelIndex | None = None) -> list[object]:
    parent = parent or QModelIndex()
    return [model.index(row, column, parent).data(DISPLAY) for row in range(model.rowCount(parent))]


def reported(view: StatisticsView) -> str:
    """Return the title shown instead of the statistics."""
    page = view.gate.currentWidget()
    assert page is not None
    return page.accessibleName()


def rows_of(talk: TrafficBuilder, text: str) -> list[int]:
    """Return the rows that match a filter."""
    tree = parse(text)
    assert tree is not None
    return list(compile(tree, talk.log, now_ns=0).rows(range(len(talk.log))))


@pytest.fixture
def view(qtbot: QtBot, theme: Theme, talk: TrafficBuilder) -> StatisticsView:
    view = StatisticsView(TrafficSource(talk.log, "TrafficBuilder"), theme)
    qtbot.addWidget(view)
    view.resize(1100, 500)
    view.show()
    view.extend(all_rows(talk))
    view._update()
    return view


def test_model_satisfies_the_contract(talk: TrafficBuilder, theme: Theme, qtmodeltester: ModelTester) -> None:
    model = model_of(talk, theme)
    qtmodeltester.check(model)  # type: ignore[no-untyped-call]


def test_methods_are_listed_with_their_tools_below(talk: TrafficBuilder, theme: Theme) -> None:
    model = model_of(talk, theme)
    assert texts(model, Column.METHOD) == ["All", "tools/call", "tools/list", "notifications/message"]
    calls = model.index(1, 0)
    assert texts(model, Column.METHOD, calls) == ["echo", "add"]
    assert texts(model, Column.COUNT, calls) == ["3", "1"]
    assert texts(model, Column.ERRORS, calls) == ["–", "1"]
    assert texts(model, Column.MAX, calls) == ["30 ms", "5.0 ms"]


def test_total_covers_everything_and_stays_on_top(talk: TrafficBuilder, theme: Theme) -> None:
    model = model_of(talk, theme)
    for order in Qt.SortOrder:
        model.sort(Column.METHOD, order)
        assert texts(model, Column.METHOD)[0] == "All"
    assert model.index(0, Column.COUNT).data(DISPLAY) == "6"
    assert model.index(0, Column.ERRORS).data(DISPLAY) == "1"
    assert model.index(0, Column.P50).data(DISPLAY) == "–"
    assert model.index(0, Column.MAX).data(DISPLAY) == "400 ms"


def test_clicking_a_header_sorts_and_clicking_again_reverses_the_order(
    talk: TrafficBuilder, theme: Theme
) -> None:
    model = model_of(talk, theme)
    model.sort_by(Column.P50)
    assert texts(model, Column.METHOD)[1:] == ["tools/list", "tools/call", "notifications/message"]
    assert model.headerData(Column.P50, Qt.Orientation.Horizontal) == "p50 ↓"
    model.sort_by(Column.P50)
    assert texts(model, Column.METHOD)[1:] == ["notifications/message", "tools/call", "tools/list"]
    assert texts(model, Column.METHOD, model.index(2, 0)) == ["add", "echo"]


def test_updates_do_not_move_rows(talk: TrafficBuilder, theme: Theme) -> None:
    statistics = Statistics(talk.log)
    statistics.extend(all_rows(talk))
    model = StatisticsModel(theme)
    model.update(statistics.summary())
    tool = model.index(1, Column.COUNT, model.index(1, 0))
    assert model.stats(tool).subject == "add"
    persistent = QPersistentModelIndex(tool)
    first = len(talk.log)
    for _ in range(5):
        talk.response(talk.call("add"))
    talk.response(talk.call("new"))
    statistics.extend(array("q", range(first, len(talk.log))))
    model.update(statistics.summary())
    calls = model.index(1, 0)
    assert texts(model, Column.METHOD, calls) == ["add", "echo", "new"]
    assert (persistent.row(), persistent.data(DISPLAY)) == (0, "6")
    assert model.parent(persistent) == calls


def test_server_text_is_plain_text(theme: Theme) -> None:
    talk = TrafficBuilder()
    talk.response(talk.call("<img src=x>\n\u202e"))
    model = model_of(talk, theme)
    tool = model.index(0, Column.METHOD, model.index(1, 0))
    assert tool.data(DISPLAY) == "<img src=x> ⟨U+202E⟩"
    assert "<img" not in tool.data(Qt.ItemDataRole.ToolTipRole)


def test_double_click_requests_the_underlying_rows(
    view: StatisticsView, talk: TrafficBuilder, qtbot: QtBot
) -> None:
    tool = view.model.index(1, Column.METHOD, view.model.index(1, 0))
    with qtbot.waitSignal(view.filter_requested) as requested:
        view.tree.doubleClicked.emit(tool)
    assert rows_of(talk, requested.args[0]) == [6, 7]


def test_enter_requests_the_rows_too(view: StatisticsView, qtbot: QtBot) -> None:
    view.tree.setFocus()
    view.tree.setCurrentIndex(view.model.index(2, 0))
    with qtbot.waitSignal(view.filter_requested) as requested:
        QTest.keyClick(view.tree, Qt.Key.Key_Return)
    assert requested.args == ["method=tools/list"]


def test_total_row_has_no_filter(view: StatisticsView, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(view.filter_requested):
        view.tree.doubleClicked.emit(view.model.index(0, 0))


def test_menu_offers_failed_and_slow_calls(view: StatisticsView, talk: TrafficBuilder, qtbot: QtBot) -> None:
    found: dict[str, list[int]] = {}
    for action in view.make_menu(view.model.stats(view.model.index(1, 0))).actions():
        with qtbot.waitSignal(view.filter_requested) as requested:
            action.trigger()
        found[action.text()] = rows_of(talk, requested.args[0])
    assert found == {
        "Show these messages": [0, 1, 2, 3, 4, 5, 6, 7],
        "Show failed messages": [6, 7],
        "Show messages that took 30 ms or longer": [4, 5],
    }


def test_filter_names_the_server_when_there_are_several(theme: Theme) -> None:
    talk = TrafficBuilder("one", 'two "words"')
    talk.response(talk.call('a "b"', 1), server=1)
    statistics = Statistics(talk.log)
    statistics.extend(all_rows(talk))
    text = filter_for(statistics.summary()[1], with_server=True)
    assert rows_of(talk, text) == [0, 1]
    assert "server" in text


def test_clicking_the_graph_selects_the_first_row_of_that_moment(
    view: StatisticsView, talk: TrafficBuilder, qtbot: QtBot
) -> None:
    plot = view.chart._plot()
    assert len(view.chart._rate.messages) == 10  # a second, in tenths
    at = QPoint(plot.left() + plot.width() * 45 // 100, plot.center().y())
    QTest.mouseMove(view.chart, at)
    assert "messages/s" in view.chart.text()
    with qtbot.waitSignal(view.row_chosen) as chosen:
        QTest.mouseClick(view.chart, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, at)
    assert chosen.args == [9]  # the response after 400 ms


def test_graph_can_be_read_with_the_keyboard(view: StatisticsView) -> None:
    assert view.chart.text() == "max 90 messages/s"
    QTest.keyClick(view.chart, Qt.Key.Key_Right)
    assert view.chart.text().endswith("90 messages/s, 10 errors/s  (9 messages, 1 error in 100 ms)")
    QTest.keyClick(view.chart, Qt.Key.Key_Right)
    assert view.chart.text().endswith("0 messages/s, 0 errors/s  (0 messages, 0 errors in 100 ms)")


def test_graph_is_filled_by_few_messages_per_minute_too(qtbot: QtBot, theme: Theme) -> None:
    chart = RateChart(theme)
    qtbot.addWidget(chart)
    chart.set_rate(Rate(WALL, 60_000 * MS, (3, 0, 1), (1, 0, 0)))
    assert chart._nice_top() == pytest.approx(0.06)
    assert chart.text() == "max 0.05 messages/s"
    assert not chart.grab().isNull()


def test_heavy_traffic_causes_few_updates(
    view: StatisticsView, talk: TrafficBuilder, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates: list[int] = []
    original = view.model.update

    def update(summary: Sequence[MethodStats]) -> None:
        updates.append(len(summary))
        original(summary)

    monkeypatch.setattr(view.model, "update", update)
    for _ in range(50):
        first = len(talk.log)
        talk.response(talk.call("echo"))
        view.extend(array("q", range(first, len(talk.log))))
    assert not updates
    qtbot.waitUntil(lambda: view.model.index(0, Column.COUNT).data(DISPLAY) == "56")
    assert len(updates) == 1


def test_late_response_is_counted(view: StatisticsView, talk: TrafficBuilder, qtbot: QtBot) -> None:
    first = len(talk.log)
    id = talk.call("slow")
    view.extend(array("q", [first]))
    talk.pass_ms(2000)
    talk.response(id)
    view.retouch(array("q", [first]))
    qtbot.waitUntil(lambda: view.model.index(0, Column.MAX).data(DISPLAY) == "2.00 s")


def test_hidden_view_does_no_work(view: StatisticsView, talk: TrafficBuilder) -> None:
    view.hide()
    view.extend(array("q", [0]))
    assert not view._refresh_timer.isActive()
    view.show()
    assert view.model.index(0, Column.COUNT).data(DISPLAY) == "6"


def test_empty_state_is_explained(qtbot: QtBot, theme: Theme) -> None:
    talk = TrafficBuilder()
    view = StatisticsView(TrafficSource(talk.log, "TrafficBuilder"), theme)
    qtbot.addWidget(view)
    view.show()
    assert reported(view) == "No statistics yet"
    talk.stderr()
    view.extend(array("q", [0]))
    qtbot.waitUntil(lambda: reported(view) == "No statistics")
    talk.call()
    view.extend(array("q", [1]))
    qtbot.waitUntil(view.gate.is_open)


def test_new_filter_starts_over(view: StatisticsView, qtbot: QtBot) -> None:
    view.reset()
    view.extend(array("q", [0, 1]))
    assert view.model.rowCount() == 4  # nothing flickers meanwhile
    qtbot.waitUntil(lambda: view.model.rowCount() == 2)
    assert texts(view.model, Column.COUNT) == ["1", "1"]


def test_narrow_view_keeps_the_important_columns(view: StatisticsView) -> None:
    view.resize(600, 400)
    assert view.tree.isColumnHidden(Column.INCOMPLETE)
    assert not any(view.tree.isColumnHidden(column) for column in (Column.COUNT, Column.ERRORS, Column.PLOT))
    view.resize(1400, 400)
    assert not view.tree.isColumnHidden(Column.INCOMPLETE)
    assert view.tree.isColumnHidden(Column.SERVER)  # there is only one


def test_plots_share_one_axis(view: StatisticsView) -> None:
    first, last = view.model.axis()
    assert first <= 5 * MS
    assert last >= 400 * MS
    assert not view.grab().isNull()
    assert view.chart._moment(0) // (10 * MS) == WALL // (10 * MS)
