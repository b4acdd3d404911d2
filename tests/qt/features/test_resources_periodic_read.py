"""Reading a resource at an interval, and the read history."""

from __future__ import annotations

from inspector.config.servers.entries import HttpEntry
from inspector.engine.calls.repetition import Observation, PollPlan
from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.content.content import Content, ContentKind
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.models.compare.diff_rows import DiffColumn
from inspector.qt.panels.resources.contents_view import ReadHistory
from inspector.qt.panels.resources.panel import ResourcesPanel
from inspector.qt.views.content_view import ContentForm
from inspector.qt.widgets.media.markdown import MarkdownView
from inspector.traffic.compare.texts import compare_texts
from tests.qt.features.feature_stage import open_resources
from tests.qt.features.resources_stage import go_to, read, read_aside, resource_server
from tests.qt.lens_driver import Lens, scripted, visible_text

RESULT = CallOutcome(OutcomeKind.RESULT, 1, b"{}")
REFUSED = CallOutcome(OutcomeKind.RPC_ERROR, 1, b"{}", summary="gone")


def read_at_interval(lens: Lens, panel: ResourcesPanel, uri: str) -> None:
    """Start reading at an interval and wait for the first result."""
    go_to(panel, uri)
    panel.periodic_read.start(PollPlan(1))
    lens.until(lambda: "1 read" in panel.periodic_read.bar.text())


def test_resource_is_read_at_an_interval_and_shows_changes_until_stopped(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    go_to(panel, "counter://it")
    lens.do("resource.watch")
    strip = panel.periodic_read.bar
    assert strip.plan().interval == 5
    strip.interval.setValue(0.1)
    assert strip.plan().interval == 1, "the minimum interval is one second"
    lens.press("Repeat", strip)
    lens.until(lambda: "1 read, 0 changes" in strip.text())
    assert panel.contents.content.text.shown_text() == "count\n0\nend"
    read_aside(lens, "do://touch")
    lens.until(lambda: "1 change ·" in strip.text())
    assert panel.contents.content.text.shown_text() == "count\n1\nend"
    lens.press("Changes", panel.contents)
    model = panel.contents.changes.model
    lens.until(lambda: model.rowCount())
    cells = [
        model.index(model.changes()[0], column).data().split()
        for column in (DiffColumn.LEFT, DiffColumn.RIGHT)
    ]
    assert cells == [["2", "0"], ["2", "1"]]
    runs = strip.text().split(",")[0]
    lens.until(lambda: strip.text().split(",")[0] != runs)
    assert "unchanged since" in visible_text(panel)
    assert panel.contents.changes.isVisibleTo(panel), "the latest change is still shown"
    lens.press("Stop", strip)
    lens.until(lambda: "Stopped." in strip.text())
    requested = len(lens.sent("resources/read"))
    read(lens, panel)
    assert len(lens.sent("resources/read")) == requested + 1, "no further reads"


def test_periodic_read_continues_in_the_background_and_marks_changes(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.do("resource.watch")
    read_at_interval(lens, panel, "counter://it")
    go_to(panel, "file:///home/ada/notes.md")
    assert "Reading counter://it" in visible_text(panel.periodic_read)
    lens.do("resource.watch")
    assert panel.periodic_read.isVisibleTo(panel), "it stays open while it runs"
    read_aside(lens, "do://touch")
    lens.until(lambda: "1 change ·" in panel.periodic_read.bar.text())
    assert panel.lists.resources.mark_of("counter://it") == "changed"
    assert panel.contents.result is None, "another resource is selected"
    go_to(panel, "counter://it")
    assert panel.lists.resources.mark_of("counter://it") == ""
    assert panel.contents.content.text.shown_text() == "count\n1\nend"
    assert "This resource has changed since you read it" not in visible_text(panel.contents)
    assert "Reading counter" not in visible_text(panel.periodic_read)
    go_to(panel, "file:///home/ada/notes.md")
    lens.press("Stop", panel.periodic_read)
    lens.until(lambda: "Read counter://it" in visible_text(panel.periodic_read))
    go_to(panel, "counter://it")
    assert "1 read" not in visible_text(panel.periodic_read), "the results of another resource are cleared"


def test_periodic_read_ends_with_the_connection_and_says_why(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    read_at_interval(lens, panel, "counter://it")
    lens.do("server.disconnect")
    lens.until(lambda: "The server is" in panel.periodic_read.bar.text())
    assert panel.periodic_read.uri == ""
    lens.until(lambda: not panel.periodic_read.bar.repeat_action.isEnabled())


def test_periodic_read_stopped_before_it_starts_finishes(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    go_to(panel, "counter://it")
    panel.periodic_read.start(PollPlan(1))
    panel.periodic_read.runner.cancel()
    lens.until(lambda: panel.periodic_read.bar.text() == "Stopped.")
    assert not lens.sent("resources/read")


def test_pending_read_is_cancelled_with_the_periodic_read(lens: Lens) -> None:
    panel = open_resources(lens, resource_server(resources=[{"uri": "do://wait", "name": "silent"}]))
    go_to(panel, "do://wait")
    panel.periodic_read.start(PollPlan(1))
    lens.until(lambda: lens.sent("resources/read"))
    panel.periodic_read.runner.cancel()
    lens.until(lambda: lens.sent("notifications/cancelled"))
    assert panel.periodic_read.bar.text() == "Stopped."
    assert len(lens.sent("resources/read")) == 1


def test_unchanged_content_keeps_its_scroll_position_and_view(lens: Lens) -> None:
    text = "\n".join(f"| {row} | x |" for row in range(500))
    long = {"uri": "x://long", "mimeType": "text/markdown", "text": text}
    script = {"resources": [{"uri": "x://long", "name": "long"}], "contents": {"x://long": [long]}}
    panel = open_resources(lens, resource_server(**script))
    read(lens, panel, "x://long")
    lens.press("Text", panel.contents)
    bar = panel.contents.content.text._code.verticalScrollBar()
    bar.setValue(200)
    reading = read(lens, panel)
    assert not reading.is_changed
    assert bar.value() == 200
    assert panel.contents.content.text.isVisibleTo(panel)


def test_changed_markdown_keeps_its_scroll_position_while_read_at_an_interval(lens: Lens) -> None:
    """Each read returns another text: the page grows and shrinks, and the scroll position stays."""
    panel = open_resources(lens, resource_server())
    lens.window.show_tab("resources")
    read(lens, panel, "counter://it")
    view = panel.contents.content

    def inspect(count: int) -> None:
        data = f"# {count} lines\n\n" + "\n\n".join(f"Line {number}" for number in range(count))
        view.show_content(Content(ContentKind.MARKDOWN, data.encode(), uri="x://page"))
        page = view.findChild(MarkdownView)
        assert page is not None
        lens.until(lambda: not page.is_filling)

    inspect(900)
    page = view.findChild(MarkdownView)
    assert page is not None
    assert view.form() is ContentForm.RENDERED
    bar = page.page.verticalScrollBar()
    assert bar.value() == 0
    bar.setValue(700)
    assert bar.value() == 700
    for count in (901, 950, 899):
        inspect(count)
        assert bar.value() == 700
        assert page.page.updatesEnabled()
    inspect(3)
    assert bar.value() == bar.maximum(), "at the end of the shorter text"
    view.show_content(Content(ContentKind.MARKDOWN, b"# Another", uri="x://other"))
    assert bar.value() == 0
    assert page.page.updatesEnabled()


def test_changed_text_keeps_its_scroll_position_while_read_at_an_interval(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    lens.window.show_tab("resources")
    read(lens, panel, "counter://it")
    view = panel.contents.content
    bar = view.text._code.verticalScrollBar()
    words = [f"line {number}" for number in range(301)]
    view.show_content(Content(ContentKind.TEXT, "\n".join(words[:300]).encode(), uri="x://page"))
    bar.setValue(120)
    view.show_content(Content(ContentKind.TEXT, "\n".join(words).encode(), uri="x://page"))
    assert bar.value() == 120


def test_periodic_read_over_http_sees_a_change_on_a_stateless_server(
    lens: Lens, http_demo: HttpEntry
) -> None:
    panel = open_resources(lens, http_demo)
    read_at_interval(lens, panel, "demo://counter")
    assert panel.contents.content.text.shown_text() == "0"
    lens.ask(lambda engine: engine.tool_caller.call("demo", ToolCall("bump_counter", {})))
    lens.until(lambda: "1 change ·" in panel.periodic_read.bar.text())
    assert panel.contents.content.text.shown_text() == "1"
    panel.periodic_read.runner.cancel()
    lens.until(lambda: "Stopped." in panel.periodic_read.bar.text())


def test_error_shows_the_message_and_the_next_result_its_content(lens: Lens) -> None:
    panel = open_resources(lens, resource_server())
    read(lens, panel, "file:///home/ada/notes.md")
    assert panel.contents.message.isVisibleTo(panel)
    read(lens, panel, "counter://it")
    assert panel.contents.content.isVisibleTo(panel), "the raw view was not selected"
    lens.press("Raw", panel.contents)
    read(lens, panel)
    assert panel.contents.message.isVisibleTo(panel), "the raw view was selected"


def content(text: str) -> tuple[Content, ...]:
    return (Content(ContentKind.TEXT, text.encode()),)


def test_last_change_is_remembered_across_unchanged_reads_and_errors() -> None:
    readings = ReadHistory()
    first = readings.add("x", RESULT, content("a"), 1)
    assert (first.is_changed, first.before, first.same_since) == (False, None, 1)
    changed = readings.add("x", RESULT, content("b"), 2)
    assert (changed.is_changed, changed.before, changed.before_at) == (True, content("a"), 1)
    same = readings.add("x", RESULT, content("b"), 3)
    assert (same.is_changed, same.before, same.same_since) == (False, content("a"), 2)
    assert same.contents is changed.contents
    failed = readings.add("x", REFUSED, (), 4)
    assert (failed.is_changed, failed.contents) == (False, ())
    back = readings.add("x", RESULT, content("b"), 5)
    assert (back.is_changed, back.before, back.same_since) == (False, content("a"), 2)
    other = readings.add("x", RESULT, content("c"), 6)
    assert (other.is_changed, other.before, other.before_at) == (True, content("b"), 5)


def response(number: int) -> CallOutcome:
    raw = b'{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"n":%d}}}' % number
    return CallOutcome(OutcomeKind.RESULT, 1, raw)


def test_selected_tab_stays_and_shows_the_latest_change(lens: Lens) -> None:
    result = lens.connect(scripted()).call_view.result
    result_of = [response(1), response(2)]
    diff = compare_texts(result_of[0].response, result_of[1].response)
    lens.run(result.show_observation(Observation(1, 1, result_of[0])))
    result.tabs.setCurrentWidget(result.message)
    lens.run(result.show_observation(Observation(2, 2, result_of[1], result_of[0], True, diff, 1)))
    assert result.tabs.currentWidget() is result.message
    assert '"n": 2' in result.message.shown_text()
    result.tabs.setCurrentWidget(result.changes)
    lens.run(result.show_observation(Observation(3, 3, result_of[1], result_of[1], False, None, 1)))
    assert result.tabs.currentWidget() is result.changes
    assert result.change_badge.text == "unchanged"
    lens.run(result.show_observation(Observation(1, 4, result_of[0])))
    assert result.tabs.currentWidget() is result.structured, "the first result has no change yet"
