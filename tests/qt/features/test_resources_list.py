"""Resource lists: search, the state that survives a change, and placeholders."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from inspector.engine.views import ServerStatus
from inspector.qt.models.feature_list import NoteRole
from inspector.qt.window.tabs import PROMPTS, RESOURCES
from tests.qt.features.feature_stage import connect, feature_server, open_resources, search
from tests.qt.features.resources_stage import (
    RESOURCE_LIST,
    go_to,
    go_to_template,
    read,
    read_aside,
    resource_server,
    rows,
)
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text
from tests.qt.widgets.test_hostile_text import HOSTILE, assert_harmless


def test_resources_and_templates_are_listed_separately_and_counted(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    assert rows(panel.lists.resources) == ["Notes", "a.csv", "it"]
    assert rows(panel.lists.templates) == ["Book", "find"]
    assert panel.lists.resources.index(0).data(NoteRole) == "markdown"
    lines = visible_text(panel).splitlines()
    assert "Templates" in lines
    assert "file:///home/ada/notes.md" in lines


def test_search_covers_every_field_of_both_lists(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    search(panel.lists.search, "engine")
    assert rows(panel.lists.resources) == ["a.csv"]
    assert "1 of 3" in visible_text(panel)
    search(panel.lists.search, "AUTHOR")
    assert rows(panel.lists.resources) == []
    assert rows(panel.lists.templates) == ["Book"]
    search(panel.lists.search, "nothing like it")
    assert "No matches" in visible_text(panel.lists)
    QTest.keyClick(panel.lists.search, Qt.Key.Key_Escape)
    assert panel.lists.list.currentIndex().data() == "Notes", "the selection is restored"


def test_unlisted_uri_can_be_typed_and_read(lens: Lens) -> None:
    contents = {"hidden://x": [{"uri": "hidden://x", "text": "found"}]}
    panel = open_resources(lens, resource_server(contents=contents))
    with lens.bot.waitSignal(panel.contents.shown, timeout=TIMEOUT):
        search(panel.lists.search, "hidden://x")
    assert panel.contents.content.text.shown_text() == "found"
    assert panel.lists.search.text() == ""
    assert lens.sent("resources/read") == [{"uri": "hidden://x"}]


def test_tree_groups_by_uri_and_keeps_the_selected_resource(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    go_to(panel, "file:///home/ada/data/a.csv")
    lens.do("resource.tree")
    tree, model = panel.lists.tree, panel.lists.tree_model
    assert tree.isVisibleTo(panel)
    assert rows(model) == ["file:///home/ada/", "counter://"]
    folder = model.index(0, 0)
    assert folder.data(NoteRole) == "2"
    assert rows(model, folder) == ["notes.md", "data/"]
    assert tree.currentIndex().data() == "a.csv"
    tree.setCurrentIndex(model.index(0, 0, model.index(1, 0)))
    assert panel.head.uri == "counter://it"
    tree.setCurrentIndex(folder)
    assert panel.head.uri == "counter://it", "a folder cannot be read"
    lens.do("resource.tree")
    assert panel.lists.list.currentIndex().data() == "it"


def test_tree_shows_matches_with_their_folders_expanded(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.do("resource.tree")
    search(panel.lists.search, "csv")
    tree, model = panel.lists.tree, panel.lists.tree_model
    assert rows(model) == ["file:///home/ada/data/"]
    assert tree.isExpanded(model.index(0, 0))


def test_tree_of_a_changed_list_keeps_expanded_folders_and_scroll_position(lens: Lens) -> None:
    resources = [
        {"uri": f"file:///deep/{folder}/{number}.txt", "name": f"{number}"}
        for folder in "abcdefgh"
        for number in range(30)
    ]
    panel = open_resources(lens, resource_server(resources=resources))
    go_to(panel, "file:///deep/c/7.txt")
    lens.do("resource.tree")
    tree, model = panel.lists.tree, panel.lists.tree_model

    def folders() -> list[bool]:
        top = next(index for beginning, index in model.folders() if beginning == "file:///deep/")
        return [tree.isExpanded(index) for _, index in model.folders(top)]

    top = model.index(0, 0)
    tree.collapseAll()
    tree.expand(top)
    for row in (2, 4):
        tree.expand(model.index(row, 0, top))
    opened = folders()
    assert opened == [False, False, True, False, True, False, False, False]
    tree.verticalScrollBar().setValue(25 * 7)
    position = tree.verticalScrollBar().value()
    assert position
    read_aside(lens, "do://edit")
    lens.until(lambda: panel.change_strip.text("resources"))
    assert folders() == opened
    assert tree.verticalScrollBar().value() == position
    read_aside(lens, "do://grow")
    lens.until(lambda: panel.lists.resources.total == 241)
    assert folders() == opened
    search(panel.lists.search, "d/1")
    QTest.keyClick(panel.lists.search, Qt.Key.Key_Escape)
    assert folders() == opened, "folders opened by a search close after it"


def test_details_show_the_resource_metadata(lens: Lens) -> None:
    annotations = {"audience": ["user"], "priority": 0.5, "lastModified": "no date", "mood": "good"}
    resource = {"uri": "x://y", "name": "y", "size": 2048, "annotations": annotations, "description": "Why"}
    panel = open_resources(lens, resource_server(resources=[resource]))
    shown = visible_text(panel.head)
    for text in ("2.0 KiB (2,048 bytes)", "user", "0.5", "no date", "good", "Why", "x://y"):
        assert text in shown


def test_changed_list_keeps_the_selection_and_says_what_is_new(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    go_to(panel, "counter://it")
    read_aside(lens, "do://grow")
    lens.until(lambda: panel.lists.resources.total == 4)
    assert panel.lists.list.currentIndex().data() == "it"
    lens.until(lambda: panel.lists.resources.mark_of("x://new3") == "new")
    assert "1 added (x://new3)" in visible_text(panel.change_strip)
    lens.press("Dismiss", panel.change_strip)
    assert panel.change_strip.isHidden()
    read_aside(lens, "do://edit")
    lens.until(lambda: "1 changed (x://new3)" in visible_text(panel.change_strip))
    read_aside(lens, "do://shrink")
    lens.until(lambda: "4 removed" in panel.change_strip.text("resources"))
    assert panel.head.uri == "counter://it", "the selected item stays"


def test_burst_of_list_changes_causes_few_requests(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    for _ in range(50):
        lens.app.bridge.list_changed.emit("features", "resources")
    lens.until(lambda: len(lens.sent("resources/list")) > 1)
    read(lens, panel, "counter://it")
    lens.settle()
    assert len(lens.sent("resources/list")) <= 3


def test_unusable_entries_are_shown_with_the_raw_data(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(resources=[*RESOURCE_LIST, {"name": "no uri"}, 7]))
    assert len([row for row in rows(panel.lists.resources) if row.startswith("⚠ invalid")]) == 2
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(3))
    assert "Invalid" in visible_text(panel.head)
    assert "no uri" in panel.contents.message.shown_text()
    assert not lens.actions["resource.read"].isEnabled()
    lens.do("resource.tree")
    assert rows(panel.lists.tree_model)[-1].startswith("⚠ invalid")


def test_panel_shows_its_state(lens: Lens) -> None:
    lens.add(resource_server())
    lens.do("view.resources")
    panel = lens.workspace.panel(RESOURCES)
    assert "Not connected" in visible_text(panel)
    lens.do("server.connect")
    lens.until(lambda: panel.lists.total)
    lens.do("server.disconnect")
    lens.wait_for("features", ServerStatus.IDLE)
    assert "Not connected" in visible_text(panel)
    assert not lens.actions["resource.read"].isEnabled()


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ({"capabilities": {}}, "This server does not offer resources"),
        ({"resources": [], "templates": []}, "The server's lists of resources and templates are empty."),
        ({"refuses": True, "templates": []}, "The disk is full"),
    ],
)
def test_panel_without_resources_says_why(lens: Lens, script: dict[str, Any], text: str) -> None:
    connect(lens, resource_server(**script))
    lens.do("view.resources")
    lens.until(lambda: text in visible_text(lens.workspace.panel(RESOURCES)))


def test_server_without_templates_causes_no_error(lens: Lens) -> None:
    panel = open_resources(lens, feature_server(resources=RESOURCE_LIST))
    assert rows(panel.lists.templates) == []
    assert "Templates" not in visible_text(panel.lists).splitlines()
    assert not panel.alert.isVisibleTo(panel)


def test_templates_are_shown_although_resources_cannot_be_listed(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(refuses=True))
    assert rows(panel.lists.templates) == ["Book", "find"]
    assert "Could not list the resources: -32603 (internal error): The disk is full" in visible_text(panel)


def test_panels_are_built_only_when_shown(lens: Lens) -> None:
    lens.connect(scripted())
    assert lens.workspace.existing(RESOURCES) is None
    assert lens.workspace.existing(PROMPTS) is None


def test_hostile_names_stay_plain_and_visible(lens: Lens) -> None:
    hostile = {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "mimeType": HOSTILE}
    annotations = {"audience": [HOSTILE], "lastModified": HOSTILE, HOSTILE: HOSTILE}
    uri = f"x://{HOSTILE}"
    resource = {"uri": uri, **hostile, "annotations": annotations}
    template = {"uriTemplate": f"{uri}/{{a}}", **hostile}
    contents = {uri: [{"uri": uri, "text": HOSTILE}, {"uri": HOSTILE, "text": HOSTILE, "mimeType": HOSTILE}]}
    panel = open_resources(
        lens, resource_server(resources=[resource, 7], templates=[template], contents=contents)
    )
    read(lens, panel, uri)
    assert_harmless(lens.window)
    lens.do("resource.tree")
    assert_harmless(lens.window)
    go_to_template(panel, 0)
    assert_harmless(lens.window)


def test_resources_that_arrived_are_shown_when_the_cursor_repeats(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(page=1, cursor="1"))
    assert rows(panel.lists.resources) == ["Notes", "a.csv"]
    shown = visible_text(panel.alert)
    assert "The list of resources is incomplete" in shown
    assert "“1” was sent before: the list never ends" in shown
