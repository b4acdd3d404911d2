"""Two messages, exchanges or captures side by side."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from inspector.base.json.values import JSON
from inspector.qt.dialogs.traffic.compare import CompareDialog
from inspector.qt.dialogs.traffic.compare_captures import CompareCapturesDialog
from inspector.qt.models.compare.capture_pairs import PairColumn, SubjectColumn
from inspector.qt.models.compare.comparison import Side, parts_of
from inspector.qt.models.compare.diff_rows import DiffColumn
from inspector.qt.models.traffic.traffic_model import TrafficSource
from inspector.qt.views.diff_view import elide_before_change
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction, RecordKind, Status
from tests.qt.lens_driver import Lens, scripted, visible_text

Call: TypeAlias = tuple[str, JSON, JSON]


def log_of(*exchanges: Call) -> TrafficLog:
    """Return a log of tool calls (tool, arguments, result); a result of None means no response."""
    log = TrafficLog()
    server = log.add_server("server")
    for number, (tool, arguments, result) in enumerate(exchanges):
        requested: JSON = {
            "id": number,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        request = _append(log, server, RecordKind.REQUEST, Direction.OUT, requested, tool, number)
        if result is not None:
            response_body: JSON = {"id": number, "result": result}
            response = _append(log, server, RecordKind.RESULT, Direction.IN, response_body, tool, number)
            log.link(request, response, Status.OK)
    log.publish()
    return log


def _append(
    log: TrafficLog, server: int, kind: RecordKind, direction: Direction, value: JSON, tool: str, id: int
) -> int:
    raw = json.dumps(value).encode()
    return log.append(server, kind, direction, len(log), 10**18, raw, "tools/call", tool, id)


def opened(lens: Lens, left: Side, right: Side) -> CompareDialog:
    lens.window.traffic_commands.open_compare(left, right)
    dialog = lens.dialog(CompareDialog)
    lens.until(lambda: dialog.diff is not None)
    return dialog


def shown(dialog: CompareDialog) -> list[tuple[str, str, str]]:
    model = dialog.model
    return [
        (
            str(model.index(row, DiffColumn.SIGN).data()),
            str(model.index(row, DiffColumn.LEFT).data()).strip(),
            str(model.index(row, DiffColumn.RIGHT).data()).strip(),
        )
        for row in range(model.rowCount())
    ]


def differing(dialog: CompareDialog) -> list[tuple[str, str, str]]:
    return [row for row in shown(dialog) if row[0] in ("+", "−", "≠", "↕")]


def compared_again(lens: Lens, dialog: CompareDialog) -> None:
    lens.until(lambda: dialog._task is not None and dialog._task.done())


def test_two_selected_rows_are_compared_request_to_request_and_response_to_response(lens: Lens) -> None:
    lens.connect(scripted())
    for text in ("one", "two"):
        lens.call("echo", {"text": text})
    lens.settle()
    log, panel = lens.app.bridge.log, lens.window.traffic
    rows = [row for row in range(len(log)) if log.method(row) == "tools/call" and log.status(row)]
    responses = [row for row in rows if log.kind(row) == RecordKind.RESULT]
    panel.compare_requested.emit(responses)
    dialog = lens.dialog(CompareDialog)
    lens.until(lambda: dialog.diff is not None)
    assert dialog.part.name == "Responses"
    assert any("one" in left and "two" in right for _, left, right in differing(dialog))
    dialog.parts.button(0).click()
    compared_again(lens, dialog)
    assert ("≠", 'text: "one"', 'text: "two"') in differing(dialog)
    text = visible_text(dialog)
    assert "tools/call echo" in text
    assert "ok" in text


def test_additions_removals_and_changes_have_distinct_symbols(lens: Lens, qtmodeltester: Any) -> None:
    log = log_of(("t", {"a": 1, "b": 2}, {}), ("t", {"b": 3, "c": 4}, {}))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    found = differing(dialog)
    assert ("−", "a: 1", "") in found
    assert ("≠", "b: 2", "b: 3") in found
    assert ("+", "", "c: 4") in found
    qtmodeltester.check(dialog.model)
    dialog.swap_action.trigger()
    compared_again(lens, dialog)
    assert ("+", "", "a: 1") in differing(dialog)
    assert ("≠", "b: 3", "b: 2") in differing(dialog)


def test_equal_sections_are_folded_until_clicked(lens: Lens) -> None:
    items: list[JSON] = list(range(50))
    log = log_of(("t", {"list": items, "x": 1}, {}), ("t", {"list": [*items, 99], "x": 1}, {}))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    folds = [row for row, (_, left, _) in enumerate(shown(dialog)) if "equal" in left]
    before = dialog.model.rowCount()
    assert folds
    position = dialog.view.visualRect(dialog.model.index(folds[0], DiffColumn.LEFT)).center()
    QTest.mouseClick(dialog.view.viewport(), Qt.MouseButton.LeftButton, pos=position)
    assert dialog.model.rowCount() > before + 20
    assert ("", "[20]: 20", "[20]: 20") in shown(dialog)
    dialog.model.fold_all()
    assert dialog.model.rowCount() == before


def test_keys_step_through_the_differences_and_wrap_around(lens: Lens) -> None:
    log = log_of(("t", {"a": 1, "b": 2, "c": 3}, {}), ("t", {"a": 9, "b": 2, "c": 9}, {}))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    positions = dialog.model.changes()
    assert dialog.view.currentIndex().row() == positions[0]
    for step, expected in ((1, 1), (1, 2), (1, 0), (-1, 2)):
        (dialog.next_action if step > 0 else dialog.previous_action).trigger()
        assert dialog.view.currentIndex().row() == positions[expected]
    assert dialog.position.text() == "params.arguments.c"


def test_in_long_text_the_keys_step_through_the_differing_lines(lens: Lens) -> None:
    lines = [f"line {number} of a text that is long" for number in range(30)]
    left, right = "\n".join(lines), "\n".join([*lines[:15], "another line", *lines[16:]])
    log = log_of(("t", {}, {"text": left}), ("t", {}, {"text": right}))
    dialog = opened(lens, Side(log, 1, "x"), Side(log, 3, "x"))
    dialog.next_action.trigger()
    assert dialog.position.text() == "result.text, line 16"
    assert len(dialog.model.changes()) == 2


def test_ignore_presets_and_paths_are_applied_and_remembered(lens: Lens) -> None:
    log = log_of(("t", [{"v": 1}], {}), ("t", [{"v": 2}], {}))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    assert len(differing(dialog)) == 2
    dialog.ignore_bar.boxes["ids"].click()
    compared_again(lens, dialog)
    ((_, left, right),) = differing(dialog)
    assert (left, right) == ("v: 1", "v: 2")
    row = dialog.model.changes()[0]
    assert dialog.model.ignorable(row) == ["params.arguments[0].v", "params.arguments[*].v"]
    menu = dialog.make_menu(row)
    next(action for action in menu.actions() if "[*]" in action.text()).trigger()
    menu.deleteLater()
    compared_again(lens, dialog)
    assert differing(dialog) == []
    assert "ignored" in dialog.summary.text()
    saved = json.loads(str(lens.window._layout.value("compare/ignoring")))
    assert (saved["ids"], saved["paths"]) == (True, ["params.arguments[*].v"])
    dialog.ignore_bar._on_unchecked("params.arguments[*].v")
    compared_again(lens, dialog)
    assert len(differing(dialog)) == 1


def test_invalid_path_is_reported_and_changes_nothing(lens: Lens) -> None:
    log = log_of(("t", {"v": 1}, {}), ("t", {"v": 2}, {}))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    dialog.ignore_bar.add_path("a..b[")
    assert "Could not parse the path" in dialog.alert.text("path")
    assert len(differing(dialog)) == 2


def test_equal_messages_say_so(lens: Lens) -> None:
    log = log_of(("t", {}, {"a": 1}))
    dialog = opened(lens, Side(log, 1, "x"), Side(log, 1, "y"))
    assert "No differences" in visible_text(dialog.gate)
    assert not dialog.next_action.isEnabled()


def test_response_that_exists_on_one_side_only_is_shown_in_full(lens: Lens) -> None:
    log = log_of(("t", {}, {"a": 1}), ("t", {}, None))
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 2, "x"))
    dialog.parts.button(1).click()
    compared_again(lens, dialog)
    assert ("−", "a: 1", "") in shown(dialog)
    assert "right side has no such message" in dialog.alert.text("note")


def test_request_and_response_are_compared_as_they_are(lens: Lens) -> None:
    log = log_of(("t", {}, {"a": 1}))
    parts, chosen = parts_of(Side(log, 0, "x"), Side(log, 1, "x"))
    assert [(part.name, part.left, part.right) for part in parts] == [("Messages", 0, 1)]
    assert chosen == 0
    dialog = opened(lens, Side(log, 0, "x"), Side(log, 1, "x"))
    assert not dialog.parts.isVisible()
    assert any("method" in left for _, left, _ in differing(dialog))


def test_comparison_can_be_copied_as_text(lens: Lens) -> None:
    log = log_of(("t", {"a": 1}, {}), ("t", {"a": 2}, {}))
    dialog = opened(lens, Side(log, 0, "monday"), Side(log, 2, "tuesday"))
    dialog.copy_action.trigger()
    lines = [line.rstrip() for line in QGuiApplication.clipboard().text().splitlines()]
    assert lines[0].startswith("- tools/call t · monday, row 1")
    assert lines[1].startswith("+ tools/call t · tuesday, row 3")
    assert "-       a: 1" in lines
    assert "+       a: 2" in lines


def test_big_messages_are_compared_in_the_background_and_can_be_cancelled(lens: Lens) -> None:
    items: list[JSON] = [{"n": number, "text": "x" * 80} for number in range(4000)]
    log = log_of(("t", {}, items), ("t", {}, [*items[:-1], {"n": -1}]))
    lens.window.traffic_commands.open_compare(Side(log, 1, "x"), Side(log, 3, "x"))
    dialog = lens.dialog(CompareDialog)
    assert "Comparing" in visible_text(dialog.gate)
    dialog.stop_action.trigger()
    assert "Not compared" in visible_text(dialog.gate)
    dialog.again_action.trigger()
    lens.until(lambda: dialog.diff is not None)
    assert differing(dialog)


def test_row_set_as_left_side_is_compared_with_one_selected_later(lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": "one"})
    lens.call("echo", {"text": "two"})
    log, panel = lens.app.bridge.log, lens.window.traffic
    rows = [row for row in range(len(log)) if log.method(row) == "tools/call"]
    lens.until(lambda: panel.model.find_row(rows[-1]) is not None)
    assert not lens.actions["traffic.compare_left"].isEnabled()
    panel.go_to(rows[0])
    lens.do("traffic.left_side")
    panel.go_to(rows[2])
    lens.do("traffic.compare_left")
    dialog = lens.dialog(CompareDialog)
    lens.until(lambda: dialog.diff is not None)
    assert ("≠", 'text: "one"', 'text: "two"') in differing(dialog)


def captures(lens: Lens, left: TrafficLog, right: TrafficLog) -> CompareCapturesDialog:
    sources = [TrafficSource(left, "monday"), TrafficSource(right, "tuesday")]
    choices = lens.window.traffic_commands._options
    dialog = CompareCapturesDialog(lens.window._theme, sources, choices, lens.window)
    for source in sources:
        source.setParent(dialog)
    dialog.pair_requested.connect(lens.window.traffic_commands.open_compare)
    dialog.show()
    dialog.compare()
    lens.until(lambda: not dialog.is_comparing)
    return dialog


def pairs(dialog: CompareCapturesDialog) -> list[tuple[str, str]]:
    model = dialog.pairs
    return [
        (
            str(model.index(row, PairColumn.RESULT).data()),
            str(model.index(row, PairColumn.EXCHANGE).data()),
        )
        for row in range(model.rowCount())
    ]


_MONDAY: tuple[Call, ...] = (("a", {}, {"x": 1}), ("b", {}, {"x": 1}), ("c", {}, {"x": 1}))
_TUESDAY: tuple[Call, ...] = (("a", {}, {"x": 1}), ("b", {}, {"x": 2}), ("d", {}, {"x": 1}))


def two_days() -> tuple[TrafficLog, TrafficLog]:
    return log_of(*_MONDAY), log_of(*_TUESDAY)


def test_exchanges_of_two_captures_are_paired_and_counted(lens: Lens, qtmodeltester: Any) -> None:
    dialog = captures(lens, *two_days())
    assert pairs(dialog) == [
        ("same", "tools/call a"),
        ("different", "tools/call b"),
        ("only left", "tools/call c"),
        ("only right", "tools/call d"),
    ]
    labels = [dialog.filters.button(position).text() for position in range(5)]
    assert labels == ["All 4", "Different 1", "Only left 1", "Only right 1", "Same 1"]
    dialog.filters.button(1).click()
    assert pairs(dialog) == [("different", "tools/call b")]
    qtmodeltester.check(dialog.pairs)
    qtmodeltester.check(dialog.subjects)


def test_pair_can_be_opened_and_an_unpaired_exchange_says_so(lens: Lens) -> None:
    dialog = captures(lens, *two_days())
    dialog.open_pair(dialog.pairs.index(2, 0))
    assert "Only the left" in dialog.alert.text("pair")
    dialog.open_pair(dialog.pairs.index(1, 0))
    compare = lens.dialog(CompareDialog)
    lens.until(lambda: compare.diff is not None)
    compare.parts.button(1).click()
    compared_again(lens, compare)
    assert ("≠", "x: 1", "x: 2") in differing(compare)


def test_ignored_paths_decide_which_pairs_differ(lens: Lens) -> None:
    dialog = captures(lens, *two_days())
    lens.window.traffic_commands._options.add_path("result.x")
    lens.until(lambda: not dialog.is_comparing)
    assert ("same", "tools/call b") in pairs(dialog)


def test_table_by_tool_has_both_counts(lens: Lens) -> None:
    dialog = captures(lens, *two_days())
    dialog.views.button(1).click()
    model = dialog.subjects
    shown_columns = (SubjectColumn.REQUEST, SubjectColumn.LEFT_COUNT, SubjectColumn.RIGHT_COUNT)
    rows = [
        tuple(model.index(row, column).data() for column in shown_columns) for row in range(model.rowCount())
    ]
    assert ("tools/call c", "1", "0") in rows
    assert ("tools/call d", "0", "1") in rows


def test_single_capture_says_that_another_is_needed(lens: Lens) -> None:
    lens.do("capture.compare")
    dialog = lens.dialog(CompareCapturesDialog)
    assert "Open a capture" in visible_text(dialog)
    assert not dialog.compare_action.isEnabled()


def test_difference_far_to_the_right_is_scrolled_into_view() -> None:
    text = '  text: "' + "a" * 100 + "B" + "c" * 100 + '"'
    start = text.index("B")
    cut, at, end = elide_before_change(text, start, start + 1, 60)
    assert cut.startswith("  text: …aaa")
    assert cut[at:end] == "B"
    assert at < 30
    assert elide_before_change(text, start, start + 1, 300) == (text, start, start + 1)
