"""Workspaces: a tab is built when it is shown, and a removed server leaves nothing behind."""

from __future__ import annotations

import gc
import weakref

import pytest
import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QStackedWidget, QWidget
from pytestqt.qtbot import QtBot

from inspector.engine.views import ServerStatus
from inspector.qt.panels.console import ConsolePanel, RawConsole
from inspector.qt.panels.overview import OverviewPanel, plain_secrets_text
from inspector.qt.panels.tools.panel import ToolsPanel
from inspector.qt.widgets.layout import discard
from inspector.qt.window import workspace as workspace_module
from inspector.qt.window.tabs import CONSOLE, TAB_IDS
from inspector.qt.window.workspace import _short
from tests.qt.lens_driver import Lens, scripted


def _built(lens: Lens) -> set[str]:
    kinds = (OverviewPanel, ToolsPanel, RawConsole, ConsolePanel)
    return {kind.__name__ for kind in kinds if lens.workspace.findChildren(kind)}


def test_only_the_shown_tab_is_built(lens: Lens) -> None:
    lens.add(scripted())
    lens.choose("scripted")
    assert _built(lens) == {"OverviewPanel"}
    lens.do("view.console")
    assert _built(lens) == {"OverviewPanel", "ConsolePanel"}


def test_another_server_is_shown_at_the_same_tab_and_only_that_is_built(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.add(scripted("two"))
    lens.choose("one")
    lens.do("view.tools")
    lens.choose("two")
    assert lens.workspace.is_at("tools")
    assert _built(lens) == {"ToolsPanel"}


def test_commands_build_the_tab_that_they_need(lens: Lens) -> None:
    lens.add(scripted())
    lens.choose("scripted")
    lens.do("server.connect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    lens.do("view.raw")
    assert lens.workspace.is_at("raw")
    lens.do("tool.search")
    assert lens.workspace.is_at("tools")
    lens.until(lambda: lens.actions["tool.call"].isEnabled())
    assert _built(lens) == {"OverviewPanel", "RawConsole", "ToolsPanel"}


def test_each_tab_has_a_command(lens: Lens) -> None:
    assert {id for id, _ in lens.actions.starting_with("view.")} == {f"view.{id}" for id in TAB_IDS}


def test_tab_built_late_shows_the_output_of_before(lens: Lens) -> None:
    lens.add(scripted(stderr=["starting up"]))
    lens.choose("scripted")
    lens.do("server.connect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    lens.until(lambda: any(b"starting up" in record.raw for record in lens.records()))
    lens.do("view.console")
    model = lens.workspace.panel(CONSOLE).model
    assert any("starting up" in model.line(row) for row in range(model.rowCount()))


def test_removed_server_is_freed_with_all_its_panels(lens: Lens) -> None:
    lens.connect(scripted())
    for tab in TAB_IDS:
        lens.window.show_tab(tab)
    workspace = weakref.ref(lens.workspace)
    lens.do("server.remove")
    lens.until(lambda: "scripted" not in lens.window.workspaces)
    lens.window.findChildren(QWidget)  # as for a tour or a style change, before it is deleted

    def is_freed() -> bool:
        gc.collect()
        return workspace() is None

    lens.until(is_freed)


def test_panels_of_a_removed_server_are_deleted_in_turns_of_the_event_loop(
    lens: Lens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All at once would block the window."""
    lens.connect(scripted())
    for tab in TAB_IDS:
        lens.window.show_tab(tab)
    turns = 0
    deleted: list[int] = []  # the turn of each

    def count_turn() -> None:
        nonlocal turns
        turns += 1

    def note_and_discard(widget: QWidget) -> None:
        deleted.append(turns)
        discard(widget)

    ticks = QTimer(lens.window, interval=0)
    ticks.timeout.connect(count_turn)
    ticks.start()
    monkeypatch.setattr(workspace_module, "discard", note_and_discard)
    lens.do("server.remove")
    lens.until(lambda: len(deleted) == len(TAB_IDS) + 1)
    ticks.stop()
    assert deleted == sorted(set(deleted))


def test_discarded_widget_is_freed_even_if_the_children_are_listed_meanwhile(qtbot: QtBot) -> None:
    stack = QStackedWidget()
    qtbot.addWidget(stack)
    stack.addWidget(QWidget())
    widget = QWidget()
    stack.addWidget(widget)
    discard(widget)
    found = weakref.ref(widget)
    stack.findChildren(QWidget)
    del widget
    assert shiboken6.isValid(found())  # deleted later: its own event may still be running
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    assert found() is None
    assert stack.count() == 1


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/usr/bin/node /srv/a.js", "node /srv/a.js"),
        (r"C:\nodejs\node.exe C:\srv\a.js", r"node.exe C:\srv\a.js"),
        (r'"C:\Program Files\node.exe" a.js', "node.exe a.js"),
        (r'"C:\Program Files\my server.exe" -v', '"my server.exe" -v'),
        ("https://host/a/b", "https://host/a/b"),
    ],
)
def test_folders_of_the_program_are_left_out(address: str, shown: str) -> None:
    assert _short(address) == shown


def test_plain_text_secrets_say_that_windows_files_have_no_mode() -> None:
    posix, windows = (plain_secrets_text(("X-Key",), platform) for platform in ("linux", "win32"))
    assert windows.startswith(posix)
    assert "permissions of its folder" in windows
    assert "permissions" not in posix
