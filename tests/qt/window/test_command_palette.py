"""Command palette: everything can be reached with a few letters and the keyboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, cast

import pytest
from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.modeltest import ModelTester

from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.views import ServerStatus
from inspector.qt.models.palette import (
    MAX_SHOWN,
    NoteRole,
    PaletteItem,
    PaletteModel,
    PositionsRole,
    Query,
    haystack,
)
from inspector.qt.widgets.inputs.popups import PickerPopup
from inspector.qt.window.tabs import PROMPTS, RESOURCES
from tests.qt.features.feature_stage import feature_server, open_prompts, search
from tests.qt.lens_driver import Lens, scripted

Check: TypeAlias = Callable[[QAbstractItemModel], None]


def opened(lens: Lens) -> PickerPopup:
    lens.do("app.palette")
    popup = lens.window.command_palette.popup
    assert popup is not None
    assert popup.isVisible()
    return popup


def rows(popup: PickerPopup) -> list[str]:
    model = popup.list.model()
    return [str(model.index(row, 0).data()) for row in range(model.rowCount())]


def notes(popup: PickerPopup) -> list[str]:
    model = popup.list.model()
    return [str(model.index(row, 0).data(NoteRole)) for row in range(model.rowCount())]


def go(lens: Lens, popup: PickerPopup, words: str) -> None:
    """Type a text and pick the first match."""
    QTest.keyClicks(popup.line, words)
    lens.until(lambda: popup.text() != "No matches")
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    lens.until(lambda: lens.window.command_palette.popup is None)


@pytest.mark.parametrize(
    ("words", "better", "worse"),
    [
        ("call", "call_tool", "recall"),
        ("list", "add list", "enlisted"),
        ("gi", "get_issue", "logging in"),
        ("issue", "add_issue", "i s s u e"),
        ("rti", "return_text_image", "restitution"),
    ],
)
def test_better_match_positions_score_higher(words: str, better: str, worse: str) -> None:
    query = Query(words)
    good, bad = query.match(better, haystack(better, "")), query.match(worse, haystack(worse, ""))
    assert good is not None
    assert bad is not None
    assert good.score < bad.score


def test_matching_letters_are_returned_and_word_starts_are_preferred() -> None:
    name = "restart_return_image"
    match = Query("rim").match(name, haystack(name, ""))
    assert match is not None
    assert "".join(name[position] for position in match.positions) == "rim"
    assert match.positions[-2:] == (15, 16)


def test_every_word_must_match_and_the_note_is_searched_too() -> None:
    name, note = "add_issue", "tool · github"
    assert Query("github add").match(name, haystack(name, note)) is not None
    assert Query("gitlab add").match(name, haystack(name, note)) is None
    assert Query("ghb").match(name, haystack(name, note)) is None, "letters are looked for in the name"


def test_letters_with_a_longer_lowercase_form_do_not_shift_the_positions() -> None:
    name = "İİİx"
    match = Query("x").match(name, haystack(name, ""))
    assert match is not None
    assert match.positions == (3,)


def picks(count: int) -> Iterator[PaletteItem]:
    for number in range(count):
        yield PaletteItem(f"k{number}", f"tool_number_{number}", "tool · server", "tool")


def test_model_satisfies_the_contract(qapp: QApplication, qtmodeltester: ModelTester) -> None:
    model = PaletteModel()
    check = cast(Check, qtmodeltester.check)
    check(model)
    model.set_items(picks(30))
    model.set_text("9")
    model.finish()
    check(model)


def test_only_the_best_matches_are_rows_and_all_are_counted(qapp: QApplication) -> None:
    model = PaletteModel()
    model.set_items(picks(1_000))
    model.finish()
    assert model.rowCount() == MAX_SHOWN
    assert model.found == 1_000
    model.set_text("number_99")
    model.finish()
    assert model.index(0).data() == "tool_number_99"
    names = [str(model.index(row).data()) for row in range(model.rowCount())]
    assert all(name.startswith("tool_number_99") for name in names[:11])
    assert "tool_number_909" in names[11:], "letters that do not stand together come after those that do"
    assert model.found == len(names)
    assert model.index(0).data(PositionsRole) == tuple(range(5, 14))


def test_last_used_entry_comes_first(qapp: QApplication) -> None:
    model = PaletteModel()
    model.set_items(picks(100), recent=["k70", "k3"])
    model.finish()
    assert [model.index(row).data() for row in range(3)] == [
        "tool_number_70",
        "tool_number_3",
        "tool_number_0",
    ]
    model.set_text("number")
    model.finish()
    assert model.index(0).data() == "tool_number_70"


def test_palette_runs_commands_and_remembers_the_last_used(lens: Lens) -> None:
    lens.connect(scripted())
    lens.window.show_tab("tools")
    go(lens, opened(lens), "conso")
    assert lens.workspace.tabs.tabText(lens.workspace.tabs.currentIndex()) == "Console"
    popup = opened(lens)
    lens.until(lambda: rows(popup))
    assert rows(popup)[0] == "Console"
    QTest.keyClick(popup.line, Qt.Key.Key_Escape)
    assert not popup.isVisible()


def test_palette_finds_tools_of_servers_not_opened_yet(lens: Lens) -> None:
    lens.connect(scripted("one"))
    lens.add(scripted("two", tools=[{"name": "only_here", "inputSchema": {"type": "object"}}]))
    lens.ask(lambda engine: engine.servers.connector.connect_soon("two"))
    lens.wait_for("two", ServerStatus.CONNECTED)
    assert "two" not in lens.window.workspaces
    popup = opened(lens)
    QTest.keyClicks(popup.line, "onlyhere")
    lens.until(lambda: rows(popup) == ["only_here"])
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert lens.workspace.view.name == "two"
    lens.until(lambda: lens.tools.call_view.tool is not None)
    tool = lens.tools.call_view.tool
    assert tool is not None
    assert tool.name == "only_here"


def test_palette_finds_resources_and_prompts(lens: Lens) -> None:
    entry = feature_server(
        "shelf",
        resources=[{"uri": "x://deep/book", "name": "book"}],
        prompts=[{"name": "first"}, {"name": "greet_user"}],
        contents={"x://deep/book": [{"uri": "x://deep/book", "text": "Once upon"}]},
    )
    lens.add(entry)
    lens.choose(entry.name)
    lens.do("server.connect")
    lens.wait_for(entry.name, ServerStatus.CONNECTED)
    popup = opened(lens)
    QTest.keyClicks(popup.line, "greet")
    lens.until(lambda: rows(popup) == ["greet_user"])
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    lens.until(lambda: lens.workspace.panel(PROMPTS).view.prompt is not None)
    lens.until(lambda: getattr(lens.workspace.panel(PROMPTS).view.prompt, "name", "") == "greet_user")
    popup = opened(lens)
    QTest.keyClicks(popup.line, "book")
    lens.until(lambda: "book" in rows(popup))
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    lens.until(lambda: lens.sent("resources/read"))
    assert lens.sent("resources/read") == [{"uri": "x://deep/book"}]


def test_palette_finds_items_hidden_by_a_search_whatever_their_name(lens: Lens) -> None:
    odd = "greet\x1fsome\x1fbody"
    panel = open_prompts(lens, feature_server("shelf", prompts=[{"name": "first"}, {"name": odd}]))
    search(panel.search, "first")
    lens.until(lambda: panel.model.rowCount() == 1)
    lens.do("view.tools")
    go(lens, opened(lens), "greet")
    lens.until(lambda: getattr(panel.view.prompt, "name", "") == odd)
    assert panel.list.currentIndex().data() == "greet␟some␟body"


def test_palette_opens_templates_with_focus_on_the_first_field(lens: Lens) -> None:
    templates = [
        {"uriTemplate": "x://a/{one}", "name": "first"},
        {"uriTemplate": "x://b/{two}", "name": "book"},
    ]
    entry = feature_server("shelf", resources=[{"uri": "x://r", "name": "other"}], templates=templates)
    lens.add(entry)
    lens.choose(entry.name)
    lens.do("server.connect")
    lens.wait_for(entry.name, ServerStatus.CONNECTED)
    for _ in range(2):  # with a list that is fetched first, and with one that is there
        popup = opened(lens)
        QTest.keyClicks(popup.line, "x://b")
        lens.until(lambda: rows(popup) == ["book"])  # noqa: B023
        assert notes(popup) == ["shelf · resource template · x://b/{two}"]
        QTest.keyClick(popup.line, Qt.Key.Key_Return)
        head = lens.workspace.panel(RESOURCES).head
        lens.until(lambda: getattr(head.item, "uri_template", "") == "x://b/{two}")  # noqa: B023
        lens.until(lambda: list(head.form.rows) == ["two"])  # noqa: B023
        assert lens.window.focusWidget() in head.form.rows["two"].findChildren(QWidget) or (
            lens.window.focusWidget() is head.form.rows["two"]
        )
        lens.workspace.panel(RESOURCES).lists.list.setFocus()
    assert len(lens.sent("resources/templates/list")) <= 2, "the panel and the palette, once each"


def test_every_entry_names_its_server_however_long_the_title(lens: Lens) -> None:
    tools = [{"name": "t" * 200, "title": "Long " * 50, "inputSchema": {"type": "object"}}]
    lens.connect(scripted("one", tools=tools))
    lens.connect(scripted("two", tools=tools))
    popup = opened(lens)
    QTest.keyClicks(popup.line, "ttttt")
    lens.until(lambda: len(rows(popup)) == 2)
    assert sorted(note.split(" · ")[:2] for note in notes(popup)) == [["one", "tool"], ["two", "tool"]]


def test_palette_finds_saved_calls_of_another_server(lens: Lens) -> None:
    lens.connect(scripted("one"))
    lens.connect(scripted("two"))
    saved = SavedCall("Hello from one", "echo", "one", {"text": "hello"})
    lens.ask(lambda engine: engine.calls.save(saved))
    popup = opened(lens)
    QTest.keyClicks(popup.line, "hello from")
    lens.until(lambda: rows(popup) == ["Hello from one"])
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert lens.workspace.view.name == "one"
    lens.until(lambda: lens.tools.call_view.arguments_stack.typed() == {"text": "hello"})


def test_lists_are_fetched_once_and_again_when_the_server_reports_a_change(lens: Lens) -> None:
    lens.connect(scripted("one"))
    lens.add(scripted("two", tools=[{"name": "only_here"}]))
    lens.ask(lambda engine: engine.servers.connector.connect_soon("two"))
    lens.wait_for("two", ServerStatus.CONNECTED)
    listed = len(lens.sent("tools/list"))
    for _ in range(2):
        popup = opened(lens)
        QTest.keyClicks(popup.line, "onlyhere")
        lens.until(lambda: rows(popup) == ["only_here"])  # noqa: B023
        popup.close()
    assert len(lens.sent("tools/list")) == listed + 1
    lens.app.bridge.list_changed.emit("two", "tools")
    opened(lens)
    lens.until(lambda: len(lens.sent("tools/list")) == listed + 2)


def test_palette_opens_by_its_shortcut_wherever_the_focus_is(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.window.show_tab("tools")
    lens.window.activateWindow()
    editor = panel.call_view.arguments
    editor.show_json()
    for position in (panel.search, editor.json_view.box, lens.window.traffic.table):
        position.setFocus()
        QTest.keyClick(position, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        popup = lens.window.command_palette.popup
        assert popup is not None, position
        popup.close()
