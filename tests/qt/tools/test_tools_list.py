"""Tool list: pagination, search, and the state that survives a change."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTableView
from pytestqt.qtbot import QtBot

from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.types import Listing, Tool
from inspector.qt.models.feature_list import ToolsModel
from inspector.qt.panels.tools.panel import ToolsPanel
from tests.qt.lens_driver import Lens, faulty, scripted, visible_text


def names(panel: ToolsPanel) -> list[object]:
    return [panel.model.index(row).data() for row in range(panel.model.rowCount())]


def chosen(panel: ToolsPanel) -> object:
    return panel.list.currentIndex().data()


def search(panel: ToolsPanel, text: str) -> None:
    panel.search.setFocus()
    panel.search.clear()
    QTest.keyClicks(panel.search, text)
    QTest.keyClick(panel.search, Qt.Key.Key_Return)


def test_tools_of_all_pages_are_listed_and_counted(lens: Lens) -> None:
    tools = [{"name": f"tool_{number:03}"} for number in range(250)]
    panel = lens.connect(scripted(tools=tools, page=50))
    assert len(lens.sent("tools/list")) == 5
    assert names(panel) == [tool["name"] for tool in tools]
    assert "250" in visible_text(panel).splitlines()
    search(panel, "_24")
    assert len(names(panel)) == 10
    assert "10 of 250" in visible_text(panel)
    assert "No matches" not in visible_text(panel)
    search(panel, "no such tool")
    assert "No matches" in visible_text(panel)


def test_first_tool_is_selected_and_described(lens: Lens) -> None:
    panel = lens.connect(scripted())
    assert chosen(panel) == "echo"
    shown = visible_text(panel)
    assert "Say it again" in shown
    assert "Answers with the arguments it got." in shown
    assert "No result yet" in shown


def test_tool_hidden_by_a_search_is_reselected_when_the_search_is_cleared(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("waits")
    search(panel, "echo")
    assert names(panel) == ["echo"]
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert chosen(panel) == "waits"
    search(panel, "echo")
    lens.do("tool.refresh")
    lens.until(lambda: len(lens.sent("tools/list")) == 2)
    lens.settle()
    assert "waits" in visible_text(panel.call_view), "a refresh changed the selected tool"


def test_changed_list_is_fetched_and_the_selected_tool_keeps_its_arguments(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.call("echo", {"text": "typed"})
    lens.call("grows")
    lens.until(lambda: panel.model.row_of("new_9") is not None)
    assert chosen(panel) == "grows"
    panel.choose("echo")
    assert panel.call_view.arguments.arguments() == {"text": "typed"}
    lens.do("tool.refresh")
    lens.until(lambda: len(lens.sent("tools/list")) == 3)
    lens.settle()
    assert chosen(panel) == "echo"
    assert panel.call_view.arguments.arguments() == {"text": "typed"}


def test_changed_list_says_what_was_added_and_marks_it_until_viewed(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.call("grows")
    lens.until(lambda: panel.change_strip.text("tools"))
    assert panel.change_strip.text("tools").startswith("Tools changed: 1 added (new_9)")
    lens.until(lambda: panel.model.mark_of("new_9") == "new")
    assert chosen(panel) == "grows"
    panel.choose("new_9")
    assert panel.model.mark_of("new_9") == ""


def test_tool_whose_schema_changed_is_named_and_marked(lens: Lens) -> None:
    panel = lens.connect(scripted())
    before = panel.model.tools()
    tools = [Tool.read({**tool.source, "description": "Another."}) for tool in before[:1]]
    panel.model.set_listing(Listing((*tools, *before[2:])))
    changes = lens.run(panel.model.take_changes())
    assert (changes.added, changes.removed, changes.changed) == ((), ("fails",), ("echo",))


def test_ten_thousand_tools_are_searched_letter_by_letter(qtbot: QtBot) -> None:
    view, model = QTableView(), ToolsModel()
    qtbot.addWidget(view)
    view.setModel(model)
    view.show()
    words = "words " * 50
    tools = [Tool.read({"name": f"tool_{number:05}", "description": words}) for number in range(10_000)]
    model.set_listing(Listing(tuple(tools)))
    for end in range(1, len("tool_099") + 1):
        model.set_text("tool_099"[:end])
        qtbot.waitUntil(lambda: not model.is_searching, timeout=5_000)
    assert model.rowCount() == 100


def test_list_that_becomes_empty_says_so(lens: Lens) -> None:
    panel = lens.connect(scripted())
    assert lens.call("shrinks").kind is OutcomeKind.RESULT
    lens.until(lambda: "No tools" in visible_text(panel))
    assert lens.actions["tool.refresh"].text() in visible_text(panel).splitlines()
    lens.until(lambda: not lens.actions["tool.call"].isEnabled())
    assert panel.call_view.result.content.shown_text() == "shrunk"
    assert panel.call_view.isVisible()


def test_result_is_shown_if_the_list_became_empty_during_the_call(lens: Lens) -> None:
    panel = lens.connect(scripted())
    panel.choose("waits")
    lens.do("tool.call")
    lens.until(lambda: panel.call_view.is_running)
    panel.choose("echo")
    lens.run(panel._show_listing(Listing(())))
    assert panel.call_view.tool is not None
    assert panel.call_view.tool.name == "waits"
    with lens.bot.waitSignal(panel.call_view.result.shown):
        lens.do("tool.cancel")
    assert "Cancelled" in visible_text(panel.call_view.result)


def test_empty_list_without_a_call_shows_only_that(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.run(panel._show_listing(Listing(())))
    assert "The server's list of tools is empty." in visible_text(panel)
    assert not panel.call_view.isVisible()
    assert not lens.actions["tool.call"].isEnabled()


def test_burst_of_list_changes_causes_few_requests(lens: Lens) -> None:
    lens.connect(scripted())
    for _ in range(50):
        lens.app.bridge.list_changed.emit("scripted", "tools")
    lens.until(lambda: len(lens.sent("tools/list")) > 1)
    lens.call("echo", {"text": "after them"})
    lens.settle()
    assert len(lens.sent("tools/list")) <= 3


def test_server_without_tools_says_so(lens: Lens) -> None:
    lens.add(scripted(capabilities={}))
    lens.do("server.connect")
    lens.wait_for("scripted", ServerStatus.CONNECTED)
    assert "This server does not offer tools" in visible_text(lens.tools)
    assert lens.sent("tools/list") == []


def test_endless_list_is_shown_with_the_reason_and_a_next_step(lens: Lens) -> None:
    panel = lens.connect(faulty("endless", "list-loops"))
    assert names(panel)
    shown = visible_text(panel)
    assert "the list never ends" in shown
    assert lens.actions["tool.refresh"].text() in shown.splitlines()


def test_malformed_entry_is_shown_with_the_raw_data_and_cannot_be_called(lens: Lens) -> None:
    panel = lens.connect(faulty("sloppy", "list-malformed"))
    assert "good" in names(panel)
    assert len(names(panel)) == 4
    panel.list.setCurrentIndex(panel.model.index(2))
    assert "Invalid" in visible_text(panel.call_view)
    assert "nameless" in panel.call_view.result.message.shown_text()
    assert not lens.actions["tool.call"].isEnabled()
    panel.choose("good")
    shown = visible_text(panel.call_view)
    assert "good" in shown
    assert "No result yet" in shown
    assert lens.actions["tool.call"].isEnabled()


def test_malformed_entry_shows_nothing_of_the_previous_tool(lens: Lens) -> None:
    hints = {"destructiveHint": True}
    tools = [{"name": "bad_tool", "title": "Wipe the disk", "annotations": hints}, 7]
    panel = lens.connect(scripted(tools=tools))
    assert "destructive" in visible_text(panel.call_view)
    panel.list.setCurrentIndex(panel.model.index(1))
    shown = visible_text(panel.call_view)
    assert "bad_tool" not in shown
    assert "destructive" not in shown


def test_panel_shows_the_server_state_while_disconnected(lens: Lens) -> None:
    lens.add(scripted())
    assert "Not connected" in visible_text(lens.tools)
    lens.do("server.connect")
    lens.until(lambda: lens.tools.model.total)
    lens.do("server.enable")
    lens.wait_for("scripted", ServerStatus.DISABLED)
    assert "Disabled" in visible_text(lens.tools)


def test_tools_that_arrived_are_shown_when_the_next_page_cannot_be_fetched(lens: Lens) -> None:
    tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(4)]
    panel = lens.connect(scripted(tools=tools, page=2, cursor=2))
    assert names(panel) == ["tool_0", "tool_1"]
    shown = visible_text(panel.alert)
    assert "The list of tools is incomplete" in shown
    assert '"nextCursor" must be a string, not 2' in shown
    assert "This is a bug in the server." in shown
    assert [row.problem for row in lens.records() if row.problem] == ['"nextCursor" must be a string, not 2']


def test_incomplete_list_without_any_tool_is_a_failure(lens: Lens) -> None:
    entry = scripted(tools=[{"name": "a"}], page=0, cursor=[])
    lens.add(entry)
    lens.do("server.connect")
    lens.wait_for(entry.name, ServerStatus.CONNECTED)
    lens.until(lambda: "Could not list the tools" in visible_text(lens.tools))
    assert '"nextCursor" must be a string' in visible_text(lens.tools)
