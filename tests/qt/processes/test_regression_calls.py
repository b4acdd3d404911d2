"""Regression calls with a real server whose file is rewritten: red or green after each edit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QIcon
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.calls.regression_calls import RegressionResult, RegressionState, RegressionView
from inspector.engine.processes.file_watch import FileWatchView
from inspector.engine.views import ServerStatus
from inspector.qt.dialogs.saved_calls import SavedCallsDialog
from inspector.qt.models.regression_calls import RegressionCallsModel, badge, summary_text
from inspector.qt.panels.processes.panel import FileWatchBar, state_text
from inspector.qt.theme import Theme
from tests.qt.lens_driver import Lens, visible_text
from tests.qt.processes.process_stage import SERVER, ProcessStage


@pytest.fixture
def stage(lens: Lens, tmp_path: Path) -> ProcessStage:
    return ProcessStage(lens, tmp_path)


ICONS = Path(__file__).parents[3] / "resources" / "icons"


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(ICONS)


def test_edit_turns_a_regression_call_red_and_reverting_it_green(lens: Lens, stage: ProcessStage) -> None:
    stage.save("one")
    stage.save("two")
    panel = stage.start("*.py", one="first", two="second")
    lens.until(lambda: panel.regression_calls.model.rowCount() == 2)
    assert "2 not run yet" in visible_text(panel.regression_calls)
    stage.run()
    panel.regression_calls.accept_all.trigger()
    lens.until(lambda: (stage.state("one"), stage.state("two")) == ("as expected", "as expected"))
    lens.until(lambda: lens.workspace.regression_badge.text == "2 of 2 regression calls as expected")
    stage.until_files_are_watched()
    stage.write(one="first", two="other", three="new")
    stage.until_ran(2)
    assert (stage.state("one"), stage.state("two")) == ("as expected", "differs")
    assert lens.workspace.regression_badge.text == "1 of 2 regression calls differs"
    lens.until(lambda: "other" in panel.regression_calls.changes.rows.as_text())
    assert "second" in panel.regression_calls.changes.rows.as_text()
    assert "Differs from the expected result: 1 change." in visible_text(panel.regression_calls)
    lens.until(lambda: "1 added (three)" in panel.files.alert.text("changes tools"))
    assert "server.py changed: restarted in" in panel.files.text.text()
    stage.write(one="first", two="second", three="new")
    stage.until_ran(3)
    assert lens.workspace.regression_badge.text == "2 of 2 regression calls as expected"
    assert panel.files.alert.text("changes tools") == ""


def test_badge_is_red_while_the_edited_server_fails_to_start(lens: Lens, stage: ProcessStage) -> None:
    stage.save("one")
    panel = stage.start("*.py", one="first")
    stage.run()
    panel.regression_calls.accept_all.trigger()
    lens.until(lambda: lens.workspace.regression_badge.text == "1 of 1 regression calls as expected")
    stage.until_files_are_watched()
    (stage.folder / "server.py").write_text("no ( server")
    stage.until_ran(2)
    assert lens.workspace.regression_badge.text == "1 of 1 regression calls failed"
    lens.until(lambda: "The server did not start." in visible_text(panel.regression_calls.placeholder))
    assert not panel.regression_calls.accept_all.isEnabled()


def test_failed_call_is_selected_and_can_be_accepted(lens: Lens, stage: ProcessStage, tmp_path: Path) -> None:
    stage.save("one")
    stage.save("two")
    panel = stage.start(one="first", two="second")
    stage.run()
    stage.restart(one="first", two="other")
    stage.run()
    chosen = panel.regression_calls._chosen()
    assert chosen is not None
    assert chosen.call.tool == "two"
    assert "Differs from the first successful result since MCP Lens started" in visible_text(
        panel.regression_calls
    )
    panel.regression_calls.accept.trigger()
    lens.until(lambda: stage.state("two") == "as expected")
    assert not panel.regression_calls.accept.isEnabled()
    [written] = (tmp_path / "calls" / "expected").iterdir()
    assert json.loads(written.read_text())["result"]["content"][0]["text"] == "other"


def test_failed_restart_is_reported(lens: Lens, stage: ProcessStage) -> None:
    panel = stage.start("*.py", one="first")
    stage.until_files_are_watched()
    (stage.folder / "server.py").write_text("this is no python")
    lens.until(lambda: "the server did not start" in panel.files.text.text())
    lens.wait_for(SERVER, ServerStatus.FAILED)
    lens.until(lambda: "SyntaxError" in panel.running.ended.as_text())
    stage.write(one="again")
    lens.wait_for(SERVER, ServerStatus.CONNECTED)
    lens.until(lambda: "restarted in" in panel.files.text.text())


def test_irrelevant_path_is_ignored_from_the_menu(lens: Lens, stage: ProcessStage) -> None:
    stage.save("one")
    panel = stage.start(one="first")
    stage.run()
    stage.restart(one="other")
    stage.run()
    lens.until(lambda: panel.regression_calls.changes.rows.changes())
    menu = panel.regression_calls.make_menu(panel.regression_calls.changes.rows.changes()[0])
    first: QAction = menu.actions()[0]
    assert first.text().startswith("Ignore result.content")
    first.trigger()
    lens.until(lambda: stage.state("one") == "as expected")
    menu.deleteLater()


def test_without_regression_calls_the_panel_says_how_to_add_one(lens: Lens, stage: ProcessStage) -> None:
    panel = stage.start(one="first")
    assert "No regression calls" in visible_text(panel)
    lens.do("call.rerun")
    lens.until(lambda: "This server has no regression calls" in panel.regression_calls.alert.text("request"))


def test_call_is_saved_as_a_regression_call_and_opened_from_the_panel(
    lens: Lens, stage: ProcessStage
) -> None:
    panel = stage.start(one="first")
    lens.do("view.tools")
    lens.do("call.save")
    saving = lens.tools.call_view.saver
    lens.until(lambda: saving.popup)
    popup = saving.popup
    assert popup is not None
    assert not popup.regression.isChecked()
    popup.regression.setChecked(True)
    popup.name.setText("Watched one")
    QTest.keyClick(popup.name, Qt.Key.Key_Return)
    lens.until(lambda: lens.tools.call_view.alert.text("saved"))
    lens.do("view.process")
    lens.until(lambda: panel.regression_calls.model.rowCount() == 1)
    lens.do("call.rerun")
    stage.until_ran(1)
    panel.regression_calls.open_call.trigger()
    assert lens.workspace.is_at("tools")
    lens.do("view.process")
    panel.regression_calls.exclude.trigger()
    lens.until(lambda: panel.regression_calls.model.rowCount() == 0)


def test_saved_calls_dialog_marks_regression_calls(lens: Lens, stage: ProcessStage, tmp_path: Path) -> None:
    call = SavedCall("Of any", "one")
    lens.ask(lambda engine: engine.calls.save(call))
    stage.save("one")
    stage.start(one="first")
    lens.do("call.manage")
    dialog = lens.dialog(SavedCallsDialog)
    flags = Qt.MatchFlag.MatchExactly | Qt.MatchFlag.MatchRecursive
    lens.until(lambda: dialog.tree.findItems("Call of one", flags))
    dialog.tree.setCurrentItem(dialog.tree.findItems("Call of one", flags)[0])
    assert dialog.regression.isChecked()
    dialog.regression.click()
    path = tmp_path / "calls" / "Call-of-one.json"
    lens.until(lambda: json.loads(path.read_text())["watch"] is False)
    dialog.tree.setCurrentItem(dialog.tree.findItems("Of any", flags)[0])
    assert not dialog.regression.isEnabled()
    dialog.close()


def test_hanging_rerun_can_be_stopped(lens: Lens, stage: ProcessStage) -> None:
    stage.save("one")
    panel = stage.start(one="never")
    lens.until(panel.regression_calls.run.isEnabled)  # the calls are listed
    panel.regression_calls.run.trigger()
    lens.until(lambda: stage.regression_calls.is_running and stage.state("one") == "running")
    lens.press("Stop", panel.regression_calls)
    lens.until(lambda: stage.state("one") == "stopped")
    assert not stage.regression_calls.is_running


def test_rerun_can_be_shown_in_the_traffic(lens: Lens, stage: ProcessStage) -> None:
    stage.save("one")
    panel = stage.start(one="first")
    stage.run()
    rows: list[int] = []
    panel.regression_calls.row_requested.connect(rows.append)
    panel.regression_calls.show_row.trigger()
    assert lens.app.bridge.log.method(rows[0]) == "tools/call"


def test_patterns_are_typed_applied_and_removed(lens: Lens, stage: ProcessStage) -> None:
    panel = stage.start(one="first")
    files = panel.files
    assert "No files are watched." in files.text.text()
    assert not files.apply.isEnabled()
    QTest.keyClicks(files.line, "*.py 'my files/*.txt'")
    assert files.apply.isEnabled()
    QTest.keyClick(files.line, Qt.Key.Key_Return)
    stage.until_files_are_watched()
    entry = lens.app.thread.engine.servers.entry(SERVER)
    assert entry.watch == ("*.py", "my files/*.txt")
    assert files.line.text() == "*.py 'my files/*.txt'"
    files.line.clear()
    files.apply.trigger()
    lens.until(lambda: "No files are watched." in files.text.text())


@pytest.mark.parametrize(
    ("typed", "text"), [("[z-a].py", "is not a valid file pattern"), ("'x", "not closed")]
)
def test_invalid_pattern_is_rejected_with_the_reason(
    lens: Lens, stage: ProcessStage, typed: str, text: str
) -> None:
    panel = stage.start(one="first")
    panel.files.line.setText(typed)
    panel.files.apply.trigger()
    lens.until(lambda: text in panel.files.alert.text("globs"))
    assert lens.app.thread.engine.servers.entry(SERVER).watch == ()


def test_unsaved_input_survives_updates(theme: Theme) -> None:
    bar = FileWatchBar(theme)
    bar.show_view(FileWatchView(SERVER, ("*.py",), "/x"))
    assert bar.line.text() == "*.py"
    QTest.keyClicks(bar.line, " *.js")
    bar.show_view(FileWatchView(SERVER, ("*.py",), "/x", is_on=True, files=3))
    assert bar.line.text() == "*.py *.js"
    bar.show_view(FileWatchView(SERVER, ("*.py", "*.js"), "/x"))
    assert not bar.apply.isEnabled()
    bar.deleteLater()


def test_file_watch_status_is_a_sentence_with_a_tone() -> None:
    on = FileWatchView(SERVER, ("*.py",), "/x", is_on=True, files=2)
    assert state_text(on) == ("Watching 2 files in /x.", "muted")
    assert state_text(FileWatchView(SERVER, ("*.py",), "/x"))[0] == "Watched while connected."
    lost = FileWatchView(SERVER, ("*.py",), "/x", is_on=True, problem="No file fits in /x.")
    assert state_text(lost) == ("No file fits in /x.", "warn")


def results(*states: RegressionState) -> RegressionView:
    calls = (SavedCall(f"c{number}", "t", path=Path(f"/c/{number}.json")) for number in range(len(states)))
    pairs = zip(calls, states, strict=True)
    return RegressionView("s", tuple(RegressionResult(call, state) for call, state in pairs), 1)


def test_model_satisfies_the_contract(theme: Theme, qtmodeltester: Any) -> None:
    model = RegressionCallsModel(theme, lambda state: QIcon())
    qtmodeltester.check(model)
    not_run, new = (RegressionState.NOT_RUN,) * 2, (RegressionState.NEW,)
    for states in ((), not_run, (RegressionState.SAME, RegressionState.FAILED), new):
        model.update(results(*states).results)
    assert (model.rowCount(), model.row_of(Path("/c/0.json")), model.row_of(None)) == (1, 0, None)


def test_the_verdict_is_red_green_or_neither() -> None:
    same, red, new = RegressionState.SAME, RegressionState.DIFFERENT, RegressionState.NEW
    assert badge(results()) == ("", "muted")
    assert badge(results(same, same)) == ("2 of 2 regression calls as expected", "ok")
    assert badge(results(same, red, RegressionState.FAILED)) == (
        "2 of 3 regression calls failed or differ",
        "error",
    )
    assert badge(results(same, new)) == ("1 of 2 regression calls as expected", "warn")
    assert summary_text(results(same, red, same)) == "1 differs, 2 as expected"


def test_call_from_a_project_folder_is_shown_before_it_runs(
    lens: Lens, stage: ProcessStage, tmp_path: Path
) -> None:
    project = tmp_path / "checkout"
    project.mkdir()
    lens.ask(lambda engine: engine.calls.add_folder(project))
    pulled = {"server": SERVER, "tool": "one", "watch": True, "arguments": {"path": "/etc"}}
    (project / "pulled.json").write_text(json.dumps(pulled))
    panel = stage.start("*.py", one="first")
    stage.until_files_are_watched()
    stage.write(one="first again")
    stage.until_ran(1)
    assert stage.state("one") == "awaiting approval"
    assert "Select Run now to allow it" in visible_text(panel.regression_calls)
    lens.until(lambda: "/etc" in panel.regression_calls.response.shown_text())
    assert lens.sent("tools/call") == []
    stage.run()
    assert stage.state("one") == "new"
