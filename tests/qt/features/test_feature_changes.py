"""list_changed in all three panels: what stays in place, and how changes are reported."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.config.servers.entries import StdioEntry
from inspector.engine.calls.tool_calls import ToolCall
from inspector.qt.models.feature_list import FeatureListModel
from inspector.qt.views.feature_list import FeatureList
from tests.qt.features.feature_stage import feature_server, open_prompts, open_resources, search
from tests.qt.features.resources_stage import read_aside
from tests.qt.lens_driver import Lens, scripted, visible_text


def lots(kind: str, count: int = 200) -> list[dict[str, Any]]:
    return [
        {"name": name, "uri": f"x://{name}", "uriTemplate": f"y://{name}/{{a}}"}
        for number in range(count)
        for name in [f"{kind}{number:03}"]
    ]


def on_top(view: FeatureList) -> tuple[object, int]:
    """Return the text of the first row on screen and its pixel offset."""
    row = view.rowAt(0)
    return view.model().index(row, 0).data(), view.rowViewportPosition(row)


def open_list(lens: Lens, kind: str) -> tuple[FeatureList, FeatureListModel, Any]:
    """Open a panel with 200 entries; return the view, the model and the panel."""
    script: dict[str, Any] = {kind: lots(kind)}
    entry = feature_server(**script)
    if kind == "prompts":
        prompts = open_prompts(lens, entry)
        return prompts.list, prompts.model, prompts
    panel = open_resources(lens, entry)
    if kind == "templates":
        return panel.lists.template_list, panel.lists.templates, panel
    return panel.lists.list, panel.lists.resources, panel


@pytest.mark.parametrize("kind", ["resources", "templates", "prompts"])
def test_changed_list_keeps_selection_and_scroll_position_and_says_what_changed(
    lens: Lens, kind: str
) -> None:
    view, model, panel = open_list(lens, kind)
    what = "resource templates" if kind == "templates" else kind
    view.setCurrentIndex(model.index(100))
    chosen = view.currentIndex().data()
    view.verticalScrollBar().setValue(40 * view.rowHeight(0) + 7)
    position = on_top(view)
    read_aside(lens, f"do://{kind}/grow")
    lens.until(lambda: "1 added (" in panel.change_strip.text(what))
    assert view.currentIndex().data() == chosen
    assert on_top(view) == position, "the scroll position changed"
    key = model.key(model.items()[0])
    lens.until(lambda: model.mark_of(key) == "new")
    panel.change_strip.dismiss()
    read_aside(lens, f"do://{kind}/edit")
    lens.until(lambda: panel.change_strip.text(what).endswith(f"1 changed ({key})."))
    assert on_top(view) == position
    assert view.currentIndex().data() == chosen
    view.setCurrentIndex(model.index(0))
    assert model.mark_of(key) == "", "a viewed item is no longer marked"
    panel.change_strip.dismiss()
    read_aside(lens, f"do://{kind}/shrink")
    lens.until(lambda: not model.total)
    lens.until(lambda: "201 removed (" in panel.change_strip.text(what))


def test_list_that_changes_during_a_search_is_searched_again_and_keeps_its_position(lens: Lens) -> None:
    view, model, panel = open_list(lens, "prompts")
    search(panel.search, "prompts")
    assert view.verticalScrollBar().value() == 0
    view.verticalScrollBar().setValue(50 * view.rowHeight(0))
    position = on_top(view)
    read_aside(lens, "do://prompts/grow")
    lens.until(lambda: panel.change_strip.text("prompts"))
    assert model.rowCount() == 200, "the new item does not match the search"
    assert on_top(view) == position


def test_consecutive_changes_are_all_reported(lens: Lens) -> None:
    _, _, panel = open_list(lens, "prompts")
    for _ in range(3):
        read_aside(lens, "do://prompts/grow")
    text = "Prompts changed: 3 added ("
    lens.until(lambda: panel.change_strip.text("prompts").startswith(text))


def test_search_shows_the_best_match_and_clearing_it_restores_the_selection(lens: Lens) -> None:
    view, model, panel = open_list(lens, "prompts")
    view.setCurrentIndex(model.index(150))
    search(panel.search, "prompts")
    assert view.verticalScrollBar().value() == 0
    QTest.keyClick(panel.search, Qt.Key.Key_Escape)
    assert view.visualRect(view.currentIndex()).intersects(view.viewport().rect())


def test_down_moves_from_the_search_to_the_list_and_end_to_its_last_row(lens: Lens) -> None:
    view, model, panel = open_list(lens, "prompts")
    lens.window.activateWindow()
    panel.search.setFocus()
    QTest.keyClick(panel.search, Qt.Key.Key_Down)
    assert view.hasFocus()
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.currentIndex().row() == model.rowCount() - 1
    assert "prompts199" in visible_text(panel.view)
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert view.currentIndex().row() == 0


@pytest.mark.parametrize("kind", ["resources", "prompts"])
def test_list_that_cannot_be_refreshed_stays_with_the_reason_and_a_next_step(lens: Lens, kind: str) -> None:
    view, model, panel = open_list(lens, kind)
    view.setCurrentIndex(model.index(7))
    read_aside(lens, "do://refuse")
    lens.do(f"{kind[:-1]}.refresh")
    lens.until(lambda: "The disk is full" in visible_text(panel.alert))
    assert f"Could not refresh the {kind}: -32603 (internal error): The disk is full" in visible_text(
        panel.alert
    )
    assert view.isVisibleTo(panel)
    assert view.currentIndex().row() == 7
    assert panel.change_strip.isHidden()


def test_removed_tool_stays_in_front_and_a_changed_one_is_updated(lens: Lens) -> None:
    tools = [{"name": "alters"}, {"name": "keeps"}, {"name": "last", "description": "Before."}]
    panel = lens.connect(scripted(tools=tools))
    panel.choose("last")
    lens.ask(lambda engine: engine.tool_caller.call("scripted", ToolCall("alters", {})))
    lens.until(lambda: panel.change_strip.text("tools").endswith("1 changed (last)."))
    assert "Another." in visible_text(panel.call_view.head)
    assert panel.list.currentIndex().data() == "last"
    lens.ask(lambda engine: engine.tool_caller.call("scripted", ToolCall("drops", {})))
    lens.until(lambda: "1 removed (last)" in panel.change_strip.text("tools"))
    assert not panel.list.currentIndex().isValid()
    assert "last" in visible_text(panel.call_view.head), "the selected item stays"


def test_unusable_entry_stays_in_front_when_the_list_is_fetched_again(lens: Lens) -> None:
    panel = lens.connect(scripted(tools=[{"name": "good"}, 7, 8]))
    panel.list.setCurrentIndex(panel.model.index(2))
    lens.do("tool.refresh")
    lens.until(lambda: len(lens.sent("tools/list")) == 2)
    lens.settle()
    assert panel.list.currentIndex().row() == 2
    assert "Invalid" in visible_text(panel.call_view)


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_tool_list_change_is_reported_in_session_and_stateless_mode(lens: Lens, era: Any) -> None:
    args = ("-m", "inspector.demo", "everything")
    panel = lens.connect(StdioEntry(name="demo", command=sys.executable, args=args, era=era))
    before = panel.model.total
    panel.choose("echo")
    if era == "2026-07-28":
        text = "notifications/subscriptions/acknowledged"
        lens.until(lambda: any(each.method == text for each in lens.records()))
    lens.ask(lambda engine: engine.tool_caller.call("demo", ToolCall("toggle_bonus_tool", {})))
    lens.until(lambda: panel.model.total > before)
    lens.until(lambda: "added (" in panel.change_strip.text("tools"))
    assert panel.list.currentIndex().data() == "echo"
