"""Findings at a tool, copying it as a tool definition, its qualified name, and counts of features."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from inspector.engine.server_view import FeatureCount, counts_text
from inspector.qt.models.feature_list import NoteRole
from inspector.qt.window.tabs import OVERVIEW
from tests.qt.lens_driver import Lens, scripted, visible_text
from tests.qt.window.test_command_palette import go, opened, rows


def tool(name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **members}


def test_a_tool_without_an_input_schema_is_reported_at_the_tool(lens: Lens) -> None:
    panel = lens.connect(scripted("s", tools=[{"name": "bare"}, tool("good")]))
    assert '"inputSchema" is missing.' in visible_text(panel.call_view.head)
    assert panel.model.index(0).data(NoteRole) == "1 finding"
    assert panel.model.index(1).data(NoteRole) == ""
    panel.choose("good")
    assert "Finding" not in visible_text(panel.call_view.head)


def test_names_that_collide_or_are_too_long_are_reported_at_the_tool(lens: Lens) -> None:
    panel = lens.connect(scripted("s", tools=[tool("a.b"), tool("a_b"), tool("x" * 60)]))
    assert "Its qualified name mcp__s__a_b is also that of “a_b”" in visible_text(panel.call_view.head)
    panel.choose("x" * 60)
    assert "has 68 characters. Model APIs allow 64" in visible_text(panel.call_view.head)


def test_one_tool_is_copied_as_an_object(lens: Lens) -> None:
    lens.connect(scripted("my server", tools=[tool("add", title="Add"), tool("sub")]))
    lens.do("tool.copy_openai")
    lens.until(lambda: "Copied 1 tool definition for OpenAI." in lens.window.strips.text("message"))
    function = json.loads(QGuiApplication.clipboard().text())["function"]
    assert function["name"] == "mcp__my_server__add"
    assert function["description"] == "Add"


def test_the_selection_or_all_tools_are_copied_as_an_array(lens: Lens) -> None:
    panel = lens.connect(scripted("s", tools=[tool("a"), tool("b"), tool("c")]))
    panel.list.setFocus()
    QTest.keyClick(panel.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    lens.do("tool.copy_mcp")
    lens.until(lambda: "Copied 2 tool definitions for MCP." in lens.window.strips.text("message"))
    assert [each["name"] for each in json.loads(QGuiApplication.clipboard().text())] == [
        "mcp__s__a",
        "mcp__s__b",
    ]
    lens.do("tool.copy_all_mcp")
    lens.until(lambda: "Copied 3 tool definitions for MCP." in lens.window.strips.text("message"))


def test_what_an_api_does_not_support_is_reported_after_copying(lens: Lens) -> None:
    schema = {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 2}}}
    lens.connect(scripted("s", tools=[tool("a", inputSchema=schema)]))
    lens.do("tool.copy_gemini")
    lens.until(lambda: "does not support it: multipleOf." in lens.window.strips.text("message"))


def test_the_palette_finds_a_tool_by_its_qualified_name(lens: Lens) -> None:
    lens.connect(scripted("my.server", tools=[tool("get.it"), tool("get_it_all")]))
    popup = opened(lens)
    QTest.keyClicks(popup.line, "mcp__my_server__get_it")
    lens.until(lambda: rows(popup)[:1] == ["get.it"])
    popup.line.clear()
    go(lens, popup, "mcp__my_server__get_it_all")
    lens.until(
        lambda: lens.tools.call_view.tool is not None and lens.tools.call_view.tool.name == "get_it_all"
    )


def test_counts_are_shown_in_the_tooltip_and_the_overview(lens: Lens) -> None:
    lens.connect(scripted("s", tools=[tool("a"), tool("b")]))
    lens.until(lambda: lens.view("s").counts)
    tip = lens.window.servers.model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "connected · 2 tools" in tip
    assert "connected · 2 tools" in visible_text(lens.workspace.panel(OVERVIEW))
    lens.ask(lambda engine: engine.servers.connector.disconnect("s"))
    lens.until(lambda: not lens.view("s").counts)


def test_counts_are_written_in_a_fixed_order() -> None:
    counts = [FeatureCount("resources", 6, is_complete=False), FeatureCount("tools", 1)]
    assert counts_text(counts) == "1 tool · 6 resources (incomplete)"
