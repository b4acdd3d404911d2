"""Process tab with real processes: running ones, exits, and the cost of a call."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from inspector.base.plain_text import one_line
from inspector.config.servers.entries import HttpEntry, StdioEntry
from inspector.engine.processes.processes import EndedProcess, ProcessView
from inspector.engine.processes.sample import ProcessFacts, Sample
from inspector.engine.servers import server as server_module
from inspector.engine.views import ServerStatus
from inspector.qt.models.processes import ProcessColumn, ProcessesModel, age_text, percent_text
from inspector.qt.panels.processes.panel import ProcessPanel
from inspector.qt.panels.processes.process_view import EndedProcesses, SparkLine
from inspector.qt.theme import Theme
from inspector.qt.window.tabs import OVERVIEW, PROCESS
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.widgets.test_hostile_text import HOSTILE, assert_harmless

WORK = Path(__file__).parent.parent.parent / "helpers" / "workserver.py"
NOW = 1_790_000_000_000_000_000


ICONS = Path(__file__).parents[3] / "resources" / "icons"


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


def work_entry(*args: str) -> StdioEntry:
    arguments = ("-I", "-S", str(WORK), *args)
    return StdioEntry(name="work", command=sys.executable, args=arguments, era="2025-11-25")


def opened(lens: Lens, *args: str) -> ProcessPanel:
    lens.connect(work_entry(*args))
    lens.do("view.process")
    panel = lens.workspace.panel(PROCESS)
    lens.until(lambda: panel.running.model.rowCount())
    return panel


def text(panel: ProcessPanel, column: ProcessColumn, row: int = 0) -> str:
    return str(panel.running.model.index(row, column).data())


def test_running_process_is_shown_with_its_metrics(lens: Lens, tmp_path: Path) -> None:
    file = tmp_path / "kept.txt"
    file.write_text("x")
    panel = opened(lens, str(file))
    pid = lens.view("work").pid
    assert text(panel, ProcessColumn.PID) == str(pid)
    assert f"PID {pid} · up" in visible_text(panel)
    assert str(WORK) in panel.running.command.text()
    assert panel.running.metrics.value("Memory").endswith("MiB")
    assert panel.running.metrics.value("Threads") == "1"
    assert panel.running.files_fold.button.text() == "Open files 1"
    panel.running.files_fold.button.setChecked(True)
    assert panel.running.files.topLevelItem(0).text(1) == str(file)  # type: ignore[union-attr]
    lens.until(lambda: panel.running.metrics.value("CPU").endswith("%"))
    lens.until(lambda: len(panel.running.metrics.lines["Memory"].values) > 1)


def test_stale_sample_from_before_the_exit_is_not_kept(lens: Lens) -> None:
    panel = opened(lens)
    running = ProcessView("work", pid=lens.view("work").pid)
    lens.do("server.disconnect")
    lens.wait_for("work", ServerStatus.IDLE)
    lens.until(lambda: not panel.running.stack.is_open())
    panel.running.show_processes(running)
    panel.running.show_processes(ProcessView("work"))
    assert not panel.running.stack.is_open()
    assert "Not connected" in visible_text(panel.running)


def test_child_processes_are_listed_below_their_parent(lens: Lens) -> None:
    panel = opened(lens)
    lens.do("view.tools")
    lens.call("family")
    lens.do("view.process")
    lens.until(lambda: panel.running.model.rowCount() == 3)
    names = [text(panel, ProcessColumn.NAME, row) for row in range(3)]
    assert [len(name) - len(name.lstrip()) for name in names] == [0, 4, 8]
    panel.running.table.selectRow(2)
    assert "time.sleep(600)" in panel.running.command.text()
    assert "subprocess" not in panel.running.command.text()


def test_processes_are_not_sampled_while_the_tab_is_hidden(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = opened(lens)
    assert panel._timer.isActive()
    lens.do("view.tools")
    assert not panel._timer.isActive()
    lens.settle()  # a sample may have started before
    runs: list[str] = []
    monkeypatch.setattr(lens.app.thread.engine.processes, "scan", runs.append)
    lens.do("server.reconnect")
    lens.wait_for("work", ServerStatus.CONNECTED)
    lens.settle()
    assert runs == []


def test_remote_server_has_no_local_process(lens: Lens) -> None:
    lens.add(HttpEntry(name="far", url="http://127.0.0.1:9/mcp"))
    lens.choose("far")
    lens.do("view.process")
    assert "This server runs elsewhere" in visible_text(lens.workspace.panel(PROCESS))
    assert not lens.workspace.panel(PROCESS).files.isVisible()


def test_disconnected_server_offers_to_connect(lens: Lens) -> None:
    lens.add(scripted())
    lens.choose("scripted")
    lens.do("view.process")
    panel = lens.workspace.panel(PROCESS)
    assert "Not connected" in visible_text(panel)
    lens.press("Connect", panel)
    lens.until(lambda: panel.running.model.rowCount() == 1)


def test_cause_and_last_output_are_shown_while_the_server_is_restarted(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_FIRST_DELAY", "_MAX_DELAY"):
        monkeypatch.setattr(server_module, name, 600.0)  # stays in the delay
    lens.connect(replace(work_entry(), auto_restart=True))
    lens.do("view.tools")
    lens.call("crash")
    lens.wait_for("work", ServerStatus.RECONNECTING)
    lens.do("view.overview")
    lens.until(lambda: "Connection lost" in visible_text(lens.workspace.panel(OVERVIEW)))
    shown = visible_text(lens.workspace.panel(OVERVIEW))
    assert "The server was terminated by signal SIGKILL. Reconnecting in " in shown
    assert "about to crash" in shown
    lens.do("server.disconnect")
    lens.wait_for("work", ServerStatus.FAILED)


def test_crash_is_in_the_history_with_its_last_output(lens: Lens) -> None:
    panel = opened(lens)
    lens.do("view.tools")
    lens.call("crash")
    lens.wait_for("work", ServerStatus.FAILED)
    lens.do("view.process")
    lens.until(lambda: panel.running.ended.topLevelItemCount())
    item = panel.running.ended.topLevelItem(0)
    assert item is not None
    assert item.text(1) == "was terminated by signal SIGKILL"
    assert item.child(0).text(0) == "about to crash"  # type: ignore[union-attr]
    assert item.isExpanded()
    assert "Connection lost" in visible_text(panel)
    lens.window.activateWindow()
    panel.running.ended.setFocus()
    panel.running.ended.setCurrentItem(item)
    QTest.keyClick(panel.running.ended, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied = QGuiApplication.clipboard().text()
    assert "was terminated by signal SIGKILL" in copied
    assert copied.endswith("    about to crash")


def test_server_can_be_removed_while_its_panel_is_shown(lens: Lens) -> None:
    panel = opened(lens)
    panel._sample()
    lens.do("server.remove")
    lens.until(lambda: lens.window.servers.model.row_of("work") is None)
    lens.settle()


def test_new_process_resets_the_metrics(lens: Lens, monkeypatch: pytest.MonkeyPatch) -> None:
    panel = opened(lens)
    first = lens.view("work").pid
    memory = panel.running.metrics.lines["Memory"]
    lens.until(lambda: len(memory.values) > 1)
    cleared: list[int] = []
    clear = memory.clear

    def record_and_clear() -> None:
        cleared.append(len(memory.values))
        clear()
        assert not memory.values

    monkeypatch.setattr(memory, "clear", record_and_clear)
    lens.do("server.reconnect")
    lens.until(lambda: panel.running.model.rowCount() and text(panel, ProcessColumn.PID) != str(first))
    assert any(count > 1 for count in cleared)
    assert len(memory.values) >= 1
    item = panel.running.ended.topLevelItem(0)
    assert item is not None
    assert "(stopped by MCP Lens)" in item.text(1)
    assert not item.isExpanded()


def test_result_shows_the_cost_of_its_call_and_its_stderr(lens: Lens) -> None:
    lens.connect(work_entry())
    lens.call("burn", {"ms": 60})
    result = lens.tools.call_view.result
    assert "CPU " in result._facts.text()
    assert "stderr" not in result._facts.text()
    assert result.tabs.count() == 4
    lens.call("chatter", {"stderr": 2, "stray": 1})
    assert "2 stderr lines · 1 stray line" in result._facts.text()
    assert result.output is not None
    position = result.tabs.indexOf(result.output)
    assert result.tabs.tabText(position) == "Output 3"
    lines = sorted(result.output.lines.line(row) for row in range(3))
    assert lines == ["note 0", "note 1", "stray 0"]
    lens.call("nothing")
    assert not result.tabs.isTabVisible(position)


def test_operation_detail_shows_its_cost(lens: Lens) -> None:
    lens.connect(work_entry())
    outcome = lens.call("chatter", {"stderr": 2, "stray": 0})
    traffic = lens.window.traffic
    traffic.detail.show_row(outcome.row)
    facts = {fact.label: fact.value for fact in traffic.detail.facts.facts}
    assert facts["CPU time"].endswith("ms")
    assert (facts["stderr lines"], facts["Stray stdout lines"]) == ("2", "0")
    initialize = next(each for each in lens.records() if each.method == "initialize")
    traffic.detail.show_row(initialize.number)
    assert "CPU time" not in {fact.label for fact in traffic.detail.facts.facts}


def facts(pid: int = 7, **more: object) -> ProcessFacts:
    plain = ProcessFacts(pid, 0, "python", "python x.py", "running", NOW - 65_000_000_000, 0, 0.5, 2048, 3, 4)
    return replace(plain, **more)  # type: ignore[arg-type]


def test_model_satisfies_the_contract(theme: Theme, qtmodeltester: Any) -> None:
    model = ProcessesModel(theme)
    qtmodeltester.check(model)
    for processes in ((facts(1), facts(2, depth=1)), (facts(1, share=None), facts(2, depth=1)), (facts(3),)):
        model.show(Sample(1, processes))
    model.show(None)
    assert model.rowCount() == 0
    assert model.columnCount() == len(ProcessColumn)


def test_rows_are_stable_while_the_processes_are_the_same(theme: Theme) -> None:
    model = ProcessesModel(theme)
    model.show(Sample(1, (facts(1), facts(2))))
    resets: list[int] = []
    model.modelReset.connect(lambda: resets.append(1))
    model.show(Sample(2, (facts(1, share=0.9), facts(2))))
    assert resets == []
    assert model.index(0, ProcessColumn.CPU).data() == "90%"
    assert not model.index(5, 0, QModelIndex()).isValid()


def test_cells_are_numbers_with_units_and_hidden_values_are_a_dash(
    theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: NOW)
    hidden = facts(share=None, rss=None, threads=None, handles=None)
    model = ProcessesModel(theme)
    model.show(Sample(1, (facts(), hidden, facts(is_stray=True, depth=1))))
    words = [model.index(0, column).data() for column in ProcessColumn]
    assert words == ["python", "7", "50%", "2.0 KiB", "3", "4", "1 min 05 s"]
    assert [model.index(1, column).data() for column in ProcessColumn][2:6] == ["—"] * 4
    assert model.index(2, ProcessColumn.NAME).data() == "    python (orphan)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59, "59 s"), (185, "3 min 05 s"), (7_620, "2 h 07 min"), (273_600, "3 d 4 h"), (-5, "0 s")],
)
def test_ages_have_at_most_two_units(seconds: int, text: str) -> None:
    assert age_text(seconds * 1_000_000_000) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "—"), (0.0, "0%"), (0.0001, "0%"), (0.004, "0.4%"), (0.0999, "10%"), (2.5, "250%")],
)
def test_cpu_shares_are_relative_to_one_core(share: float | None, text: str) -> None:
    assert percent_text(share) == text


def test_hostile_last_output_stays_plain_text(theme: Theme, qtbot: object) -> None:
    ended = EndedProcesses(theme)
    last = (one_line(HOSTILE),)
    ended.show_ended([EndedProcess(7, "exited with code 1", NOW, NOW + 1, False, last)])
    assert_harmless(ended)
    ended.deleteLater()


def test_sparkline_keeps_the_latest_values_and_paints_any_input(theme: Theme, qtbot: object) -> None:
    line = SparkLine(theme, 3)
    for value in (0.0, 5.0, 1.0, 2.0):
        line.add(value)
    assert line.values == (5.0, 1.0, 2.0)
    line.resize(100, 28)
    assert not line.grab().isNull()
    line.clear()
    assert not line.grab().isNull()
    line.deleteLater()
