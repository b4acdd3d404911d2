"""All features panel: tools, resources and prompts of all connected servers in one list."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.modeltest import ModelTester

from inspector.engine.views import ServerStatus
from inspector.protocol.types import Listing, Tool
from inspector.qt.models.all_features import AllFeaturesModel
from inspector.qt.models.feature_list import NoteRole, ServerFeature
from inspector.qt.panels.all_features import AllFeaturesPanel
from inspector.qt.window.tabs import RESOURCES
from tests.qt.features.feature_stage import feature_server, search
from tests.qt.lens_driver import Lens, scripted, visible_text

Check: TypeAlias = Callable[[QAbstractItemModel], None]


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": f"About {name}.", "inputSchema": {"type": "object"}}


def rows(panel: AllFeaturesPanel) -> list[tuple[str, str]]:
    indexes = [panel.model.index(row) for row in range(panel.model.rowCount())]
    return [(str(index.data()), str(index.data(NoteRole))) for index in indexes]


def connect(lens: Lens, *entries: Any) -> None:
    for entry in entries:
        lens.add(entry)
        lens.ask(lambda engine: engine.servers.connector.connect_soon(entry.name))  # noqa: B023
        lens.wait_for(entry.name, ServerStatus.CONNECTED)


def opened(lens: Lens, count: int) -> AllFeaturesPanel:
    lens.do("app.features")
    panel = lens.window.all_features
    lens.until(lambda: panel.model.total == count and panel.list.isVisible())
    return panel


def test_model_satisfies_the_contract(qapp: QApplication, qtmodeltester: ModelTester) -> None:
    model = AllFeaturesModel()
    check = cast(Check, qtmodeltester.check)
    check(model)
    items = tuple(ServerFeature("s", "tools", Tool.read(tool(name))) for name in ("a", "b"))
    model.set_listing(Listing(items))
    check(model)


def test_tools_of_all_connected_servers_are_listed_with_their_server(lens: Lens) -> None:
    connect(lens, scripted("one", tools=[tool("add"), tool("sub")]), scripted("two", tools=[tool("add")]))
    lens.add(scripted("idle"))
    panel = opened(lens, 3)
    assert rows(panel) == [("add", "one"), ("sub", "one"), ("add", "two")]
    assert lens.window.windowTitle() == "All features — MCP Lens"
    search(panel.search, "two")
    lens.until(lambda: rows(panel) == [("add", "two")])
    search(panel.search, "mcp__one__sub")
    lens.until(lambda: rows(panel) == [("sub", "one")])


def test_resources_and_prompts_of_all_servers_are_listed(lens: Lens) -> None:
    resources = [{"uri": "x://a", "name": "A"}]
    connect(
        lens,
        feature_server("one", resources=resources, templates=[{"uriTemplate": "x://{id}", "name": "T"}]),
        feature_server("two", resources=resources, prompts=[{"name": "greet"}]),
    )
    lens.do("app.features")
    panel = lens.window.all_features
    lens.until(lambda: "No connected server offers tools." in visible_text(panel))
    lens.press("Resources", panel)
    lens.until(lambda: rows(panel) == [("A", "one"), ("T", "one"), ("A", "two")])
    lens.press("Prompts", panel)
    lens.until(lambda: rows(panel) == [("greet", "two")])


def test_enter_opens_an_item_at_its_server(lens: Lens) -> None:
    connect(lens, scripted("one", tools=[tool("add")]), scripted("two", tools=[tool("x"), tool("sub")]))
    panel = opened(lens, 3)
    panel.list.setFocus()
    QTest.keyClick(panel.list, Qt.Key.Key_End)
    lens.until(lambda: "mcp__two__sub" in visible_text(panel.detail))  # Qt shows new labels later
    QTest.keyClick(panel.list, Qt.Key.Key_Return)
    lens.until(lambda: lens.workspace.view.name == "two")
    lens.until(lambda: lens.tools.call_view.tool is not None and lens.tools.call_view.tool.name == "sub")


def test_button_opens_a_resource_at_its_server(lens: Lens) -> None:
    contents = {"x://a": {"text": "hello"}}
    connect(lens, feature_server("one", resources=[{"uri": "x://a", "name": "A"}], contents=contents))
    lens.do("app.features")
    panel = lens.window.all_features
    lens.press("Resources", panel)
    lens.until(lambda: rows(panel) == [("A", "one")])
    lens.press("Open", panel)
    lens.until(lambda: lens.workspace.panel(RESOURCES).head.uri == "x://a")


def test_list_follows_servers_that_connect_disconnect_and_change(lens: Lens) -> None:
    connect(lens, scripted("one", tools=[tool("grows")]))
    panel = opened(lens, 1)
    connect(lens, scripted("two", tools=[tool("add")]))
    lens.until(lambda: rows(panel) == [("grows", "one"), ("add", "two")])
    lens.ask(lambda engine: engine.servers.connector.disconnect("one"))
    lens.until(lambda: rows(panel) == [("add", "two")])
    lens.ask(lambda engine: engine.servers.connector.disconnect("two"))
    lens.until(lambda: "No connected servers" in visible_text(panel))


def test_a_list_that_fails_is_reported_and_the_others_are_shown(lens: Lens) -> None:
    connect(
        lens,
        feature_server("bad", refuses=True),
        feature_server("good", resources=[{"uri": "x://a", "name": "A"}]),
    )
    lens.do("app.features")
    panel = lens.window.all_features
    lens.press("Resources", panel)
    lens.until(lambda: rows(panel) == [("A", "good")])
    reason = "bad: -32603 (internal error): The disk is full"
    assert f"Could not list all resources: {reason}" in panel.alert.text("failed")


def test_view_is_reached_from_the_server_list_and_left_by_choosing_a_server(lens: Lens) -> None:
    assert not lens.window.servers.features.isVisible()
    connect(lens, scripted("one", tools=[tool("add")]))
    entry = lens.window.servers.features
    entry.click()
    assert lens.window.shown_features() is not None
    assert entry.isChecked()
    assert lens.window.current_view() is None
    lens.choose("one")
    assert not entry.isChecked()
    assert lens.workspace.view.name == "one"


def test_names_that_collide_across_servers_are_findings(lens: Lens) -> None:
    connect(lens, scripted("a.b", tools=[tool("add")]), scripted("a_b", tools=[tool("add")]))
    panel = opened(lens, 2)
    assert "also that of “add” of “a_b”" in visible_text(panel.detail)
    assert rows(panel) == [("add", "a.b · 1 finding"), ("add", "a_b · 1 finding")]


def test_selected_tools_of_several_servers_are_copied_as_definitions(lens: Lens) -> None:
    connect(lens, scripted("one", tools=[tool("add"), tool("sub")]), scripted("two", tools=[tool("add")]))
    panel = opened(lens, 3)
    panel.list.selectRow(1)
    QTest.keyClick(panel.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    lens.do("tool.copy_anthropic")
    lens.until(lambda: "Copied 2 tool definitions for Anthropic." in lens.window.strips.text("message"))
    names = [each["name"] for each in json.loads(QGuiApplication.clipboard().text())]
    assert names == ["mcp__one__sub", "mcp__two__add"]
    lens.do("tool.copy_all_gemini")
    lens.until(lambda: "Copied 3 tool definitions for Gemini." in lens.window.strips.text("message"))
    (declared,) = json.loads(QGuiApplication.clipboard().text())
    assert len(declared["functionDeclarations"]) == 3
