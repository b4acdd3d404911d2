"""Tool results: display by content type, and the check against the output schema."""

from __future__ import annotations

from typing import Any

from inspector.demo.everything.resources import as_base64, png
from inspector.engine.calls.output_check import OutputCheck, OutputState
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.views.content_view import ContentForm
from inspector.qt.views.result_view import ResultView
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.media.media import ImageView
from tests.qt.lens_driver import TIMEOUT, Lens, scripted, visible_text

OUTPUT = {
    "type": "object",
    "properties": {"high": {"type": "number"}, "city": {"type": "string"}},
    "required": ["city"],
}


def returning(output_schema: dict[str, Any] | None = None) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"result": {"type": "object"}}}
    promise = {"outputSchema": output_schema} if output_schema is not None else {}
    return {"name": "returns", "inputSchema": schema, **promise}


def shown(lens: Lens, result: dict[str, Any]) -> ResultView:
    """Let the tool return this result."""
    lens.call("returns", {"result": result})
    return lens.tools.call_view.result


def checked(lens: Lens, result: dict[str, Any]) -> tuple[ResultView, OutputCheck]:
    view = lens.tools.call_view.result
    with lens.bot.waitSignal(view.checked, timeout=TIMEOUT) as signal:
        shown(lens, result)
    (check,) = signal.args
    return view, check


def text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def tab_labels(view: ResultView) -> list[str]:
    return [
        view.tabs.tabText(position)
        for position in range(view.tabs.count())
        if view.tabs.isTabVisible(position)
    ]


def test_each_part_is_shown_by_its_type(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    content = [
        text("plain words"),
        text("# Head\n\n- one\n- two\n"),
        text('{"deep": [1, 2]}'),
        text("name,size,kind\na,1,x\nb,2,y\n"),
        {"type": "image", "data": as_base64(png()), "mimeType": "image/png"},
        {"type": "hologram", "depth": 3},
    ]
    view = shown(lens, {"content": content})
    assert view.content.list.isVisibleTo(view)
    forms = []
    for row in range(1, view.content.model.rowCount()):
        view.content.choose(row)
        forms.append(view.content.view.form())
    assert forms == [
        ContentForm.TEXT,  # all texts together
        ContentForm.TEXT,
        ContentForm.RENDERED,
        ContentForm.PRETTY,
        ContentForm.TABLE,
        ContentForm.IMAGE,
        ContentForm.PRETTY,
    ]
    assert "Unknown content type." in visible_text(view)
    assert '"depth": 3' in view.content.shown_text()
    view.content.choose(1)
    assert view.content.shown_text().startswith("plain words\n\n# Head")
    assert "6 parts" in visible_text(view)


def test_all_parts_are_stacked_and_long_ones_can_be_expanded(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    lens.window.show_tab("tools")
    image = {"type": "image", "data": as_base64(png()), "mimeType": "image/png"}
    long = "word " * 2_000
    view = shown(lens, {"content": [text("What it shows:"), image, text(long)]})
    parts = view.content
    assert parts.list.currentIndex().data() == "All 3 parts"
    assert len(parts.overview.cards) == 3
    assert parts.overview.cards[1].findChildren(ImageView), "the image is shown without a click"
    assert not parts.view.isVisibleTo(view)
    shown_text = parts.shown_text()
    assert shown_text.startswith("What it shows:\n\nword word")
    assert len(shown_text) < len(long)
    lens.press("Open", parts.overview.cards[2])
    assert parts.list.currentIndex().data().startswith("3  word")
    assert parts.shown_text() == long
    parts.choose(0)
    assert len(parts.overview.cards) == 3


def test_many_parts_are_shown_in_batches(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    link = {"type": "resource_link", "uri": "demo://readme", "name": "readme"}
    view = shown(lens, {"content": [text(f"Part {number}") for number in range(60)] + [link]})
    assert len(view.content.overview.cards) == 20
    lens.press("Show more (41 parts)", view.content.overview)
    assert len(view.content.overview.cards) == 40


def test_several_texts_and_nothing_else_are_merged(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    view = shown(lens, {"content": [text("one"), text("two")]})
    assert view.content.list.currentIndex().data() == "All 2 texts"
    assert view.content.shown_text() == "one\n\ntwo"


def test_selected_part_stays_selected_when_the_result_is_unchanged(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    result = {"content": [text("one"), {"type": "hologram"}]}
    view = shown(lens, result)
    view.content.choose(2)
    shown(lens, result)
    assert view.content.list.currentIndex().row() == 2


def test_a_tool_without_arguments_asks_for_none(lens: Lens) -> None:
    bare = {
        "name": "bare",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
    lens.connect(scripted(tools=[returning(), bare]))
    view = lens.tools.call_view.result
    assert lens.tools.choose("bare")
    assert "Call the tool." in visible_text(view).split("\n")
    assert lens.tools.choose("returns")
    assert "Fill in the arguments and call the tool." in visible_text(view).split("\n")


def test_single_part_has_no_list(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    view = shown(lens, {"content": [text("alone")]})
    assert not view.content.list.isVisibleTo(view)
    assert view.content.shown_text() == "alone"


def test_resource_link_opens_in_the_resources_tab(lens: Lens) -> None:
    capabilities: dict[str, Any] = {"tools": {}, "resources": {}}
    lens.connect(scripted(tools=[returning()], capabilities=capabilities))
    lens.window.show_tab("tools")
    view = shown(lens, {"content": [{"type": "resource_link", "uri": "demo://readme", "name": "readme"}]})
    lens.press("Open", view)
    lens.until(lambda: lens.sent("resources/read"))
    assert lens.sent("resources/read") == [{"uri": "demo://readme"}]
    assert lens.workspace.tabs.tabText(lens.workspace.tabs.currentIndex()) == "Resources"


def test_structured_content_that_matches_its_schema_says_so(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning(OUTPUT)]))
    value = {"city": "Lisbon", "high": 21.5}
    view, check = checked(
        lens, {"content": [text('{"city": "Lisbon", "high": 21.5}')], "structuredContent": value}
    )
    assert check.state is OutputState.FITS
    assert view.check_badge.text == "matches schema"
    assert tab_labels(view) == ["Content", "Structured", "Raw"]
    assert not view.alert.text("check")


def test_removed_tab_leaves_no_gap(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    lens.do("view.tools")
    view = shown(lens, {"content": [text("{}")], "structuredContent": {"city": "Lisbon"}})
    view.show_nothing()  # as when another tool is selected
    view = shown(lens, {"content": [text("only words")]})
    assert tab_labels(view) == ["Content", "Raw"]
    bar = view.tabs.tabBar()
    assert bar.tabRect(3).left() == bar.tabRect(0).right() + 1


def test_output_schema_mismatches_are_listed_at_the_top(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning(OUTPUT)]))
    view, check = checked(lens, {"content": [], "structuredContent": {"high": "warm"}})
    assert check.state is OutputState.DIFFERS
    assert view.check_badge.text == "schema mismatch"
    shown = view.alert.text("check")
    assert "in 2 places" in shown
    assert "/high: " in shown
    assert "city" in shown
    assert view.alert.isVisibleTo(view)


def test_missing_structured_content_is_reported_and_cleared_by_the_next_result(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning(OUTPUT)]))
    view, _ = checked(lens, {"content": [text("only words")]})
    assert "this result has no structured content" in view.alert.text("check")
    view, _ = checked(lens, {"content": [text("{}")], "structuredContent": {"city": "x"}})
    assert not view.alert.text("check")


def test_tool_error_and_protocol_error_are_explained_in_different_words(lens: Lens) -> None:
    view = lens.connect(scripted()).call_view.result
    lens.call("fails")
    assert "isError" in view.alert.text("outcome")
    lens.call("refuses")
    assert view.alert.text("outcome").startswith("Protocol error; the tool returned no result. ")
    assert tab_labels(view) == ["Raw"]


def test_empty_result_says_so(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    view = shown(lens, {})
    assert "The result is empty" in view.alert.text("outcome")


def test_result_without_content_names_what_it_has(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    view = shown(lens, {"foo": 1, "bar": [], "isError": False, "_meta": {}})
    assert view.alert.text("outcome") == "No content; the result has: foo, bar."
    assert tab_labels(view) == ["Raw"]


def test_result_that_is_no_object_is_a_protocol_violation(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    view = lens.tools.call_view.result
    response = b'{"jsonrpc":"2.0","id":1,"result":[1,2,3]}'
    lens.run(view.show_outcome(CallOutcome(OutcomeKind.RESULT, 1, response)))
    assert view.badge.text == "protocol violation"
    assert view.alert.text("outcome") == 'The response violates the protocol: "result" must be an object.'


def test_resource_link_without_a_uri_cannot_be_read(lens: Lens) -> None:
    lens.connect(scripted(tools=[returning()]))
    links = [
        {"type": "resource_link", "name": "x"},
        {"type": "resource_link", "name": "y", "uri": "test://y"},
    ]
    view = shown(lens, {"content": links})
    buttons = [
        [button.text() for button in card.findChildren(ActionButton)] for card in view.content.overview.cards
    ]
    assert buttons == [[], ["Read"]]
