"""The Resources panel: finding, reading, templates, subscriptions, and what stays when lists change."""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QTextFormat
from PySide6.QtTest import QTest
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from inspector.config.entries import StdioEntry
from inspector.demo.everything.media import png, wav
from inspector.engine.views import OutcomeKind, ServerStatus
from inspector.protocol.types import Malformed, Resource, ResourceTemplate
from inspector.qt.models.diffrows import Column
from inspector.qt.models.offered import NoteRole, OfferedModel
from inspector.qt.models.resources import RESOURCES, TEMPLATES
from inspector.qt.models.resourcetree import ResourceTreeModel
from inspector.qt.panels.resources.panel import ResourcesPanel
from inspector.qt.panels.resources.readings import Reading
from inspector.qt.widgets.contentview import Form
from tests.qt.lens_driver import PATIENCE, Lens, scripted, words_on
from tests.qt.offering_stage import connect, offering, open_resources, search, type_into
from tests.qt.test_hostile_text import HOSTILE, assert_harmless

RESOURCE_LIST = [
    {"uri": "file:///home/ada/notes.md", "name": "notes", "title": "Notes", "mimeType": "text/markdown"},
    {"uri": "file:///home/ada/data/a.csv", "name": "a.csv", "description": "Numbers of the engine"},
    {"uri": "counter://it", "name": "it"},
]
TEMPLATE_LIST = [
    {"uriTemplate": "book://{author}/{title}", "name": "book", "title": "A book"},
    {"uriTemplate": "find://all{?q,tags*}", "name": "find"},
]
COMPLETIONS = {"author": ["Ada", "Alan", "Grace"], "title": ["Notes on the Engine"]}


def offered(**script: Any) -> StdioEntry:
    return offering(
        **{"resources": RESOURCE_LIST, "templates": TEMPLATE_LIST, "completions": COMPLETIONS, **script}
    )


def rows(model: QAbstractItemModel, parent: QModelIndex | None = None) -> list[Any]:
    parent = parent or QModelIndex()
    return [model.index(row, 0, parent).data() for row in range(model.rowCount(parent))]


def go_to(panel: ResourcesPanel, uri: str) -> None:
    row = panel.lists.resources.row_of(uri)
    assert row is not None, f"{uri} is not in the list"
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(row))


def go_to_template(panel: ResourcesPanel, place: int) -> None:
    panel.lists.template_list.setCurrentIndex(panel.lists.templates.index(place))


def read(lens: Lens, panel: ResourcesPanel, uri: str = "") -> Reading:
    """Read what is chosen, or a URI of the list, and wait until it is on screen."""
    if uri:
        go_to(panel, uri)
    with lens.bot.waitSignal(panel.reading.shown, timeout=PATIENCE) as shown:
        lens.do("resource.read")
    assert shown.args is not None
    reading = shown.args[0]
    assert isinstance(reading, Reading)
    return reading


def read_aside(lens: Lens, uri: str) -> None:
    """Make the server do something, behind the panel's back."""
    lens.run(lens.app.bridge.read_resource("offering", uri))


# ------------------------------------------------------------------ finding


def test_resources_and_templates_are_listed_apart_and_counted(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    assert rows(panel.lists.resources) == ["Notes", "a.csv", "it"]
    assert rows(panel.lists.templates) == ["A book", "find"]
    assert panel.lists.resources.index(0).data(NoteRole) == "markdown"
    lines = words_on(panel).splitlines()
    assert "Templates" in lines
    assert "file:///home/ada/notes.md" in lines


def test_search_looks_into_everything_of_both_lists(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    search(panel.lists.search, "engine")
    assert rows(panel.lists.resources) == ["a.csv"]
    assert "1 of 3" in words_on(panel)
    search(panel.lists.search, "AUTHOR")
    assert rows(panel.lists.resources) == []
    assert rows(panel.lists.templates) == ["A book"]
    search(panel.lists.search, "nothing like it")
    assert "Nothing fits." in words_on(panel.lists)
    QTest.keyClick(panel.lists.search, Qt.Key.Key_Escape)
    assert panel.lists.list.currentIndex().data() == "Notes", "what was chosen is chosen again"


def test_uri_that_is_in_no_list_can_be_typed_and_read(lens: Lens) -> None:
    contents = {"hidden://x": [{"uri": "hidden://x", "text": "found"}]}
    panel = open_resources(lens, offered(contents=contents))
    with lens.bot.waitSignal(panel.reading.shown, timeout=PATIENCE):
        search(panel.lists.search, "hidden://x")
    assert panel.reading.content.text.shown_text() == "found"
    assert panel.lists.search.text() == ""
    assert lens.sent("resources/read") == [{"uri": "hidden://x"}]


def test_tree_groups_by_uri_and_has_the_same_resource_chosen(lens: Lens) -> None:
    panel = open_resources(lens, offered())
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
    assert panel.head.uri == "counter://it", "a folder is nothing to read"
    lens.do("resource.tree")
    assert panel.lists.list.currentIndex().data() == "it"


def test_tree_shows_what_fits_the_words_with_its_folders_open(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    lens.do("resource.tree")
    search(panel.lists.search, "csv")
    tree, model = panel.lists.tree, panel.lists.tree_model
    assert rows(model) == ["file:///home/ada/data/"]
    assert tree.isExpanded(model.index(0, 0))


def test_details_tell_what_the_server_says_of_a_resource(lens: Lens) -> None:
    annotations = {"audience": ["user"], "priority": 0.5, "lastModified": "no date", "mood": "good"}
    resource = {"uri": "x://y", "name": "y", "size": 2048, "annotations": annotations, "description": "Why"}
    panel = open_resources(lens, offered(resources=[resource]))
    words = words_on(panel.head)
    for told in ("2.0 KiB (2,048 bytes)", "user", "0.5", "no date", "good", "Why", "x://y"):
        assert told in words


# ------------------------------------------------------------------ reading

MARKDOWN = (
    "# Title\n\nSome **bold** words ![cat](file:///etc/passwd) <img src=x> [here](https://evil.example)"
)
KINDS: dict[str, tuple[dict[str, str], Form]] = {
    "x://text": ({"text": "plain <b>words</b>"}, Form.TEXT),
    "x://markdown": ({"text": MARKDOWN, "mimeType": "text/markdown"}, Form.RENDERED),
    "x://json": ({"text": '{"a":[1,2]}', "mimeType": "application/json"}, Form.PRETTY),
    "x://csv": ({"text": "a,b\n1,2\n", "mimeType": "text/csv"}, Form.TABLE),
    "x://picture": ({"blob": base64.b64encode(png()).decode(), "mimeType": "image/png"}, Form.PICTURE),
    "x://sound": ({"blob": base64.b64encode(wav()).decode(), "mimeType": "audio/wav"}, Form.SOUND),
    "x://bytes": ({"blob": base64.b64encode(b"\x00\xffABC").decode()}, Form.BYTES),
}


def kinds() -> StdioEntry:
    resources = [{"uri": uri, "name": uri} for uri in KINDS]
    contents = {uri: [{"uri": uri, **content}] for uri, (content, _) in KINDS.items()}
    return offered(resources=resources, contents=contents)


def test_each_kind_of_content_is_shown_in_its_own_form(lens: Lens) -> None:
    panel = open_resources(lens, kinds())
    view = panel.reading.content
    for uri, (_, form) in KINDS.items():
        reading = read(lens, panel, uri)
        assert reading.outcome.kind is OutcomeKind.RESULT
        assert view.form() is form, uri
        assert view.save_action.isEnabled()
    assert "41 42 43" in view.text.shown_text(), "bytes as a dump"
    read(lens, panel, "x://json")
    assert view.text.shown_text() == '{\n  "a": [\n    1,\n    2\n  ]\n}'
    view.forms.button(Form.TEXT).click()
    assert view.text.shown_text() == '{"a":[1,2]}'
    read(lens, panel, "x://sound")
    assert "Save it to listen to it." in words_on(view)


def test_markdown_loads_nothing_and_has_nothing_to_click(lens: Lens) -> None:
    panel = open_resources(lens, kinds())
    read(lens, panel, "x://markdown")
    view = panel.reading.content._markdown
    assert view is not None
    lens.until(lambda: not view.is_filling)
    text = view.page.toPlainText()
    assert text.startswith("Title\nSome bold words [picture: cat] (file:///etc/passwd) <img src=x> here")
    assert "(https://evil.example)" in text, "where a link leads is written out"
    for form in view.page.document().allFormats():
        assert form.objectType() != QTextFormat.ObjectTypes.ImageObject.value
        assert not form.toCharFormat().isAnchor()


def test_parts_of_one_answer_can_be_looked_at_one_by_one(lens: Lens) -> None:
    parts = [{"uri": "x://a", "text": "first"}, {"uri": "x://b", "text": "second"}, {"uri": "x://c"}]
    panel = open_resources(lens, offered(resources=RESOURCE_LIST, contents={"counter://many": parts}))
    panel.open_uri("counter://many")
    lens.until(lambda: panel.reading.reading is not None)
    assert panel.reading.parts.count() == 3
    assert panel.reading.content.text.shown_text() == "first"
    panel.reading.parts.setCurrentIndex(1)
    assert panel.reading.content.text.shown_text() == "second"
    panel.reading.parts.setCurrentIndex(2)
    assert "neither a “text” nor a “blob”" in words_on(panel.reading)


def test_refusal_is_shown_with_the_servers_words_and_the_message(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    reading = read(lens, panel, "file:///home/ada/notes.md")
    assert reading.outcome.kind is OutcomeKind.RPC_ERROR
    assert "Resource not found (-32002)" in words_on(panel.reading)
    assert '"code": -32002' in panel.reading.message.shown_text()


def test_reading_can_be_cancelled_and_the_server_is_told(lens: Lens) -> None:
    panel = open_resources(lens, offered(resources=[{"uri": "do://wait", "name": "waits"}]))
    lens.do("resource.read")
    lens.until(lambda: lens.sent("resources/read"))
    assert "Waiting for do://wait." in words_on(panel)
    assert not lens.actions["resource.read"].isEnabled()
    lens.press("Cancel", panel)
    lens.until(lambda: "Cancelled" in words_on(panel))
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert lens.actions["resource.read"].isEnabled()


def test_reading_that_is_cancelled_before_it_began_has_an_end(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    panel.read()
    panel.cancel()
    lens.until(lambda: "Cancelled" in words_on(panel))
    assert lens.actions["resource.read"].isEnabled()


def test_return_reads_and_control_return_does_not_call_a_tool(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    lens.window.activateWindow()
    go_to(panel, "counter://it")
    panel.lists.list.setFocus()
    with lens.bot.waitSignal(panel.reading.shown, timeout=PATIENCE):
        QTest.keyClick(panel.lists.list, Qt.Key.Key_Return)
    panel.lists.search.setFocus()
    with lens.bot.waitSignal(panel.reading.shown, timeout=PATIENCE):
        QTest.keyClick(panel.lists.search, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert lens.sent("resources/read") == [{"uri": "counter://it"}] * 2
    assert lens.workspace.tabs.currentWidget().isAncestorOf(panel)


def test_what_was_read_is_there_again_when_one_comes_back(lens: Lens) -> None:
    panel = open_resources(lens, kinds())
    read(lens, panel, "x://text")
    go_to(panel, "x://json")
    assert "Not read yet" in words_on(panel.reading)
    go_to(panel, "x://text")
    assert panel.reading.content.text.shown_text() == "plain <b>words</b>"
    assert len(lens.sent("resources/read")) == 1


# ------------------------------------------------------------------ templates


def test_variables_make_the_uri_that_is_read(lens: Lens) -> None:
    contents = {"find://all?q=a%20b&tags=x&tags=y": [{"uri": "f", "text": "found"}]}
    panel = open_resources(lens, offered(contents=contents))
    go_to_template(panel, 1)
    form = panel.head.form
    assert panel.head.uri == "find://all"
    line, lines = form.rows["q"].line, form.rows["tags"].lines
    assert line is not None
    assert lines is not None
    type_into(line, "a b")
    lines.setPlainText("x\ny")
    assert "find://all?q=a%20b&tags=x&tags=y" in words_on(panel.head)
    read(lens, panel)
    assert panel.reading.content.text.shown_text() == "found"
    line.clear()
    form.rows["tags"].set_text(None)
    assert panel.head.uri == "find://all"
    form.rows["q"].empty.click()
    assert panel.head.uri == "find://all?q=", "an empty text is not the same as none"


def test_typed_values_are_there_again_when_one_comes_back(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    go_to_template(panel, 0)
    panel.head.form.rows["author"].set_text("Ada")
    go_to(panel, "counter://it")
    go_to_template(panel, 0)
    assert panel.head.uri == "book://Ada/"


def test_completions_come_as_one_types_with_the_other_values_as_context(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    lens.window.activateWindow()
    go_to_template(panel, 0)
    author, title = panel.head.form.rows["author"].line, panel.head.form.rows["title"].line
    assert author is not None
    assert title is not None
    type_into(author, "A")
    lens.until(lambda: [each.text for each in author.suggestions()] == ["Ada", "Alan"])
    QTest.keyClick(author, Qt.Key.Key_Down)
    QTest.keyClick(author, Qt.Key.Key_Return)
    assert author.text() == "Ada"
    title.setFocus()
    QTest.keyClick(title, Qt.Key.Key_Down)
    lens.until(lambda: title.suggestions())
    QTest.keyClick(title, Qt.Key.Key_Tab)
    assert panel.head.uri == "book://Ada/Notes%20on%20the%20Engine"
    ref = {"type": "ref/resource", "uri": "book://{author}/{title}"}
    asked = lens.sent("completion/complete")
    assert asked[0] == {"ref": ref, "argument": {"name": "author", "value": "A"}}
    context = {"arguments": {"author": "Ada"}}
    assert asked[-1] == {"ref": ref, "argument": {"name": "title", "value": ""}, "context": context}


def test_completion_that_is_superseded_is_cancelled(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    lens.window.activateWindow()
    go_to_template(panel, 0)
    author = panel.head.form.rows["author"].line
    assert author is not None
    type_into(author, "slow")
    lens.until(lambda: lens.sent("completion/complete"))
    type_into(author, "Al")
    lens.until(lambda: lens.sent("notifications/cancelled"))
    lens.until(lambda: [each.text for each in author.suggestions()] == ["Alan"])


def test_completion_is_not_asked_for_where_it_is_not_offered(lens: Lens) -> None:
    panel = open_resources(lens, offered(capabilities={"resources": {}}))
    go_to_template(panel, 0)
    author = panel.head.form.rows["author"].line
    assert author is not None
    type_into(author, "A")
    author.ask()
    lens.settle()
    assert lens.sent("completion/complete") == []


def test_template_that_is_none_is_named_and_can_be_read_all_the_same(lens: Lens) -> None:
    panel = open_resources(lens, offered(templates=[{"uriTemplate": "x://{a b}/{ok}", "name": "odd"}]))
    go_to_template(panel, 0)
    assert "“{a b}” is no expression of RFC 6570" in words_on(panel.head)
    panel.head.form.rows["ok"].set_text("yes")
    assert panel.head.uri == "x://{a b}/yes"


# ------------------------------------------------------------------ subscriptions


def test_change_of_a_subscribed_resource_is_marked_and_the_difference_shown(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    read(lens, panel, "counter://it")
    lens.do("resource.subscribe")
    lens.until(lambda: panel.is_subscribed)
    assert lens.actions["resource.subscribe"].text() == "Unsubscribe"
    assert panel.lists.resources.mark_of("counter://it") == "subscribed"
    read_aside(lens, "do://touch")
    lens.until(lambda: panel.lists.resources.mark_of("counter://it") == "changed")
    assert "It changed since it was read." in words_on(panel.reading)
    with lens.bot.waitSignal(panel.reading.shown, timeout=PATIENCE):
        lens.press("Read again", panel.reading)
    assert panel.lists.resources.mark_of("counter://it") == "subscribed"
    assert "changed since" in words_on(panel)
    lens.press("Changes", panel.reading)
    model = panel.reading.changes.model
    lens.until(lambda: model.rowCount())
    changed = model.changes()[0]
    cells = [model.index(changed, column).data().split() for column in (Column.LEFT, Column.RIGHT)]
    assert cells == [["2", "0"], ["2", "1"]], "the second line, before and now"
    lens.do("resource.subscribe")
    lens.until(lambda: not panel.is_subscribed)
    assert lens.sent("resources/unsubscribe") == [{"uri": "counter://it"}]
    assert panel.lists.resources.mark_of("counter://it") == ""


def test_subscribing_works_in_the_stateless_era(lens: Lens) -> None:
    args = ("-m", "inspector.demo", "everything")
    entry = StdioEntry(name="demo", command=sys.executable, args=args, era="2026-07-28")
    panel = open_resources(lens, entry)
    read(lens, panel, "demo://counter")
    lens.do("resource.subscribe")
    lens.until(lambda: panel.is_subscribed)
    wanted = {"resourceSubscriptions": ["demo://counter"]}
    lens.until(lambda: wanted.items() <= lens.sent("subscriptions/listen")[-1]["notifications"].items())  # type: ignore[union-attr]
    lens.until(lambda: "demo://counter" in _acknowledged(lens))
    lens.run(lens.app.bridge.call_tool("demo", "bump_counter", {}, lambda event: None))
    lens.until(lambda: panel.lists.resources.mark_of("demo://counter") == "changed")


def _acknowledged(lens: Lens) -> str:
    acks = [each for each in lens.records() if each.method == "notifications/subscriptions/acknowledged"]
    return acks[-1].raw.decode()


def test_refused_subscription_says_why(lens: Lens) -> None:
    panel = open_resources(lens, offered(resources=[{"uri": "x://stubborn", "name": "stubborn"}]))
    lens.do("resource.subscribe")
    lens.until(lambda: "Nobody watches that" in words_on(panel))
    assert not panel.is_subscribed
    lens.press("Dismiss", panel.alert)
    assert "Nobody watches that" not in words_on(panel)


def test_subscribing_is_not_offered_where_the_server_does_not(lens: Lens) -> None:
    open_resources(lens, offered(capabilities={"resources": {}}))
    assert lens.actions["resource.read"].isEnabled()
    assert not lens.actions["resource.subscribe"].isEnabled()


# ------------------------------------------------------------------ lists that change


def test_changed_list_keeps_the_choice_and_says_what_is_new(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    go_to(panel, "counter://it")
    read_aside(lens, "do://grow")
    lens.until(lambda: panel.lists.resources.total == 4)
    assert panel.lists.list.currentIndex().data() == "it"
    assert "1 added: x://new3." in words_on(panel.news)
    assert panel.lists.resources.mark_of("x://new3") == "new"
    read_aside(lens, "do://edit")
    lens.until(lambda: "1 changed: x://new3." in words_on(panel.news))
    lens.press("Dismiss", panel.news)
    assert panel.news.isHidden()
    read_aside(lens, "do://shrink")
    lens.until(lambda: "4 removed" in panel.news.text("resources"))
    assert panel.head.uri == "counter://it", "what is looked at does not go away"


def test_burst_of_list_changes_is_answered_with_few_requests(lens: Lens) -> None:
    panel = open_resources(lens, offered())
    for _ in range(50):
        lens.app.bridge.list_changed.emit("offering", "resources")
    lens.until(lambda: len(lens.sent("resources/list")) > 1)
    read(lens, panel, "counter://it")
    lens.settle()
    assert len(lens.sent("resources/list")) <= 3


def test_unusable_entries_are_shown_with_what_was_sent(lens: Lens) -> None:
    panel = open_resources(lens, offered(resources=[*RESOURCE_LIST, {"name": "no uri"}, 7]))
    assert len([row for row in rows(panel.lists.resources) if row.startswith("⚠ not usable")]) == 2
    panel.lists.list.setCurrentIndex(panel.lists.resources.index(3))
    assert "Not usable" in words_on(panel.head)
    assert "no uri" in panel.reading.message.shown_text()
    assert not lens.actions["resource.read"].isEnabled()
    lens.do("resource.tree")
    assert rows(panel.lists.tree_model)[-1].startswith("⚠ not usable")


# ------------------------------------------------------------------ states


def test_panel_says_how_it_stands(lens: Lens) -> None:
    lens.add(offered())
    lens.do("view.resources")
    panel = lens.workspace.resources
    assert "Not connected" in words_on(panel)
    lens.do("server.connect")
    lens.until(lambda: panel.lists.total)
    lens.do("server.disconnect")
    lens.wait_for("offering", ServerStatus.STOPPED)
    assert "Not connected" in words_on(panel)
    assert not lens.actions["resource.read"].isEnabled()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"capabilities": {}}, "This server does not offer resources"),
        ({"resources": [], "templates": []}, "The server's lists of resources and templates are empty."),
        ({"refuses": True, "templates": []}, "The disk is full"),
    ],
)
def test_panel_without_resources_says_why(lens: Lens, script: dict[str, Any], words: str) -> None:
    connect(lens, offered(**script))
    lens.do("view.resources")
    lens.until(lambda: words in words_on(lens.workspace.resources))


def test_server_that_knows_no_templates_is_not_complained_about(lens: Lens) -> None:
    panel = open_resources(lens, offering(resources=RESOURCE_LIST))
    assert rows(panel.lists.templates) == []
    assert "Templates" not in words_on(panel.lists).splitlines()
    assert not panel.alert.isVisibleTo(panel)


def test_templates_are_there_though_resources_cannot_be_listed(lens: Lens) -> None:
    panel = open_resources(lens, offered(refuses=True))
    assert rows(panel.lists.templates) == ["A book", "find"]
    assert "The resources could not be listed: The disk is full" in words_on(panel)


def test_panels_are_made_only_when_they_are_looked_at(lens: Lens) -> None:
    lens.connect(scripted())
    assert lens.workspace.made_resources() is None
    assert lens.workspace.made_prompts() is None


def test_hostile_names_stay_plain_and_visible(lens: Lens) -> None:
    told = {"name": HOSTILE, "title": HOSTILE, "description": HOSTILE, "mimeType": HOSTILE}
    annotations = {"audience": [HOSTILE], "lastModified": HOSTILE, HOSTILE: HOSTILE}
    uri = f"x://{HOSTILE}"
    resource = {"uri": uri, **told, "annotations": annotations}
    template = {"uriTemplate": f"{uri}/{{a}}", **told}
    contents = {uri: [{"uri": uri, "text": HOSTILE}, {"uri": HOSTILE, "text": HOSTILE, "mimeType": HOSTILE}]}
    panel = open_resources(lens, offered(resources=[resource, 7], templates=[template], contents=contents))
    read(lens, panel, uri)
    assert_harmless(lens.window)
    lens.do("resource.tree")
    assert_harmless(lens.window)
    go_to_template(panel, 0)
    assert_harmless(lens.window)


# ------------------------------------------------------------------ models


def many(count: int) -> list[Resource]:
    return [
        Resource(uri, f"name {number}", "", "", "text/plain", {"uri": uri})
        for number in range(count)
        for uri in [f"file:///{number % 100}/{number}.txt"]
    ]


def test_models_obey_the_model_contract(qtmodeltester: ModelTester) -> None:
    model = OfferedModel(RESOURCES)
    tree = ResourceTreeModel(model)
    model.set_items(many(200), [Malformed(7, "not an object")])
    tree.rebuild()
    tree.index_of("file:///7/107.txt")
    check = cast("Callable[[QAbstractItemModel], None]", qtmodeltester.check)
    check(model)
    check(tree)


def test_long_list_is_searched_in_slices(qtbot: QtBot) -> None:
    model = OfferedModel(RESOURCES)
    model.set_items(many(60_000), [])
    model.set_words("name 59999")
    assert model.is_searching, "the window gets its turn"
    qtbot.waitUntil(lambda: not model.is_searching, timeout=PATIENCE)
    assert rows(model) == ["name 59999"]


def test_first_list_is_no_news_and_templates_are_named_by_their_template() -> None:
    model = OfferedModel(TEMPLATES)
    template = ResourceTemplate("x://{a}", "", "", "", "", {"uriTemplate": "x://{a}"})
    model.set_items([template], [])
    assert not model.news()
    model.set_items([], [])
    assert model.news().sentence() == "1 removed: x://{a}."
