"""Console panel, notice bar, What's new and About."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit, QToolButton

from inspector.qt.dialogs.help import AboutDialog, WhatsNewDialog
from inspector.qt.panels.console import ConsolePanel
from inspector.qt.window.tabs import CONSOLE
from tests.qt.lens_driver import Lens, scripted, visible_text


def lines(panel: ConsolePanel) -> list[tuple[object, object]]:
    model = panel.model
    return [(model.index(row, 1).data(), model.index(row, 2).data()) for row in range(model.rowCount())]


def test_console_shows_non_protocol_output_of_this_server(lens: Lens) -> None:
    lens.add(scripted("one", stderr=["ready", "steady"], stray=["*** banner ***"]))
    console = lens.workspace.panel(CONSOLE)
    assert "No output yet" in visible_text(console)
    lens.do("server.connect")
    lens.until(lambda: len(lines(console)) == 4)
    shown = lines(console)
    assert shown[0][0] == "process"
    assert {("stderr", "ready"), ("stderr", "steady"), ("stdout", "*** banner ***")} == set(shown[1:])
    lens.connect(scripted("two", stderr=["of two"]))
    lens.until(lambda: ("stderr", "of two") in lines(lens.workspace.panel(CONSOLE)))
    assert len(lines(console)) == 4
    lens.do("server.disconnect")
    lens.until(lambda: [source for source, _ in lines(lens.workspace.panel(CONSOLE))].count("process") == 2)


def test_selected_lines_are_copied_only_while_the_console_has_focus(lens: Lens) -> None:
    lens.connect(scripted(stderr=["one", "two"]))
    console = lens.workspace.panel(CONSOLE)
    lens.until(lambda: len(lines(console)) == 3)
    lens.window.show_tab("console")
    lens.window.activateWindow()
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("unchanged")
    lens.window.traffic.scope.setFocus()
    QTest.keyClick(lens.window.traffic.scope, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    console.table.setFocus()
    QTest.keyClick(console.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard.text() == "unchanged", "no line was selected"
    flags = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    for row in (1, 2):
        console.table.selectionModel().select(console.model.index(row, 0), flags)
    QTest.keyClick(console.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert clipboard.text() == "one\ntwo"


def test_notice_bar_shows_the_latest_notice_counts_earlier_ones_and_closes_on_click(lens: Lens) -> None:
    notices = lens.window.notices
    assert not notices.isVisible()
    lens.server_list.write_text("{not json")
    lens.ask(lambda engine: engine.servers.load())
    lens.until(notices.isVisible)
    assert "is not valid JSON" in notices.text()
    lens.app.bridge.problem_found.emit("<b>Second</b>")
    assert "<b>Second</b>" in visible_text(notices).splitlines()
    assert "and 1 earlier" in visible_text(notices)
    QTest.mouseClick(notices.findChildren(QToolButton)[0], Qt.MouseButton.LeftButton)
    assert not notices.isVisible()


def test_whats_new_and_about_open_beside_the_window(lens: Lens) -> None:
    lens.do("help.news")
    changes = lens.dialog(WhatsNewDialog)
    assert "MCP Lens" in changes.findChildren(QPlainTextEdit)[0].toPlainText() or changes.isVisible()
    lens.do("help.about")
    about = lens.dialog(AboutDialog)
    assert "MIT" in visible_text(about)
    for dialog in (changes, about):
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
    lens.until(lambda: not lens.dialogs(WhatsNewDialog) + lens.dialogs(AboutDialog))
