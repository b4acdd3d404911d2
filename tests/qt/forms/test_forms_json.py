"""JSON text editor: completion, folding, brackets, marks, find, and texts of a megabyte."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import shiboken6
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.base.json.text import write
from inspector.base.json.values import JSON
from inspector.qt.forms.json.completion import context_at, locate, suggestions
from inspector.qt.forms.json.json_edit import JsonEdit
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.theme import Theme
from inspector.qt.widgets.text.text_box import (
    CONTINUATION_MARK,
    MAX_ROW_LENGTH,
    from_rows,
    row_offset,
    text_offset,
    to_rows,
)
from inspector.schema.builder import build_form
from inspector.schema.values import child
from tests.qt.forms.form_driver import ICONS, LEFT

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

SCHEMA: JSON = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "mode": {"enum": ["fast", "exact"]},
        "deep": {"type": "boolean", "default": True},
        "filter": {"type": "object", "properties": {"name": {"type": "string"}, "tags": {"type": "array"}}},
        "count": {"type": "integer"},
    },
    "required": ["path"],
}


@pytest.fixture
def editor(qtbot: QtBot) -> ArgumentsEditor:
    editor = ArgumentsEditor(Theme(ICONS))
    qtbot.addWidget(editor)
    editor.set_schema(SCHEMA)
    editor.resize(480, 600)
    with qtbot.waitActive(editor):
        editor.show()
    editor.show_json()
    editor.json_view.box.setFocus()
    return editor


def options(text: str) -> list[str]:
    """Return the completions offered at the "|" in a text."""
    return [one.text for one in suggestions(build_form(SCHEMA), text.replace("|", ""), text.index("|"))]


def put_cursor(box: JsonEdit, before: str) -> None:
    cursor = box.textCursor()
    cursor.setPosition(box.toPlainText().index(before))
    box.setTextCursor(cursor)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"|', ['"path": ', '"mode": ', '"deep": ', '"filter": ', '"count": ']),
        ('{"path": "x", "|": 1, "mode": "fast"}', ['"deep"', '"filter"', '"count"']),
        ('{"path": "x", "de|', ['"deep": ', '"mode": ']),
        ('{"mode": |}', ['"fast"', '"exact"']),
        ('{"mode": "ex|"}', ['"exact"']),
        ('{"deep": |', ["true", "false"]),
        ('{"filter": {|}}', ['"name": ', '"tags": ']),
        ('{"filter": {"tags": [|', ['""', "{}", "[]", "true", "false", "null"]),
        ('{"path": "x" |}', []),
        ('{"unknown": {"|', []),
    ],
)
def test_schema_completions_are_offered_where_they_are_valid(text: str, expected: list[str]) -> None:
    found = options(text)
    assert sorted(found) == sorted(expected)


def test_a_key_and_its_value_are_completed_with_the_keyboard(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    put_cursor(box, "}")
    QTest.keyClicks(box, '"mo')
    qtbot.waitUntil(lambda: [one.text for one in box.completion.shown()] == ['"mode": '])
    QTest.keyClick(box, Qt.Key.Key_Tab)
    qtbot.waitUntil(lambda: [one.text for one in box.completion.shown()] == ['"fast"', '"exact"'])
    QTest.keyClick(box, Qt.Key.Key_Down)
    QTest.keyClick(box, Qt.Key.Key_Return)
    assert editor.json_view.text() == '{"mode": "exact"}'
    assert editor.arguments(force=True) == {"mode": "exact"}


def test_escape_closes_the_completions_and_keeps_the_text(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    put_cursor(box, "}")
    QTest.keyClick(box, Qt.Key.Key_Space, Qt.KeyboardModifier.ControlModifier)
    assert box.completion.shown()
    QTest.keyClick(box, Qt.Key.Key_Escape)
    assert not box.completion.shown()
    assert editor.json_view.text() == "{}"


def test_return_between_brackets_makes_an_indented_line(editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    put_cursor(box, "}")
    QTest.keyClick(box, Qt.Key.Key_Return)
    QTest.keyClicks(box, "1")
    assert editor.json_view.text() == "{\n  1\n}"


def test_errors_are_marked_at_their_position(editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    editor.set_arguments({"path": "x", "count": "many"})
    box.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClicks(box, " ")
    assert box.gutter.marks() == {2: "must be an integer, got 'many'"}
    assert editor.json_view.error_label.text() == "count: must be an integer, got 'many'"
    assert editor.bar.errors_button.text() == "1 error"
    QTest.mouseClick(editor.bar.errors_button, LEFT)
    assert box.textCursor().block().text() == '  "count": "many"'
    put_cursor(box, '"many"')
    QTest.keyClicks(box, "}")
    assert list(box.gutter.marks()) == [2]
    assert editor.json_view.error_label.text().startswith("Line 3, column ")


def test_missing_member_is_marked_at_its_object_after_validation(editor: ArgumentsEditor) -> None:
    editor.set_arguments({"count": 1})
    assert editor.json_view.box.gutter.marks() == {}
    editor.go_to_next_error()
    assert editor.json_view.box.gutter.marks() == {0: "is required but not set"}


def test_matching_bracket_is_highlighted(editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    editor.set_arguments({"filter": {"name": "} ]", "tags": [1]}})
    put_cursor(box, '"filter"')
    assert box.extraSelections() == []
    cursor = box.textCursor()
    cursor.setPosition(box.toPlainText().index('{\n    "name"'))
    box.setTextCursor(cursor)
    positions = [selection.cursor.selectionStart() for selection in box.extraSelections()]
    assert positions == [cursor.position(), box.toPlainText().index("\n  }\n") + 3]


def test_a_fold_hides_lines_and_changes_no_text(editor: ArgumentsEditor) -> None:
    box = editor.json_view.box
    editor.set_arguments({"path": "x", "filter": {"name": "a", "tags": [1, 2]}, "count": 1})
    text = editor.json_view.text()
    block = box.document().findBlockByNumber(2)
    assert box.folding.can_fold(block)
    middle = round(box.blockBoundingGeometry(block).center().y())
    QTest.mouseClick(box.gutter, LEFT, pos=QPoint(box.gutter.width() - 6, middle))
    shown = [one.text().strip() for one, _ in box.visible_blocks()]
    assert shown == ["{", '"path": "x",', '"filter": {', "},", '"count": 1', "}"]
    assert editor.json_view.text() == text
    assert editor.arguments() == json.loads(text)
    editor.json_view.go_to("/filter/tags/1")
    assert box.textCursor().block().isVisible()
    assert not box.folding.is_folded(block)


def test_find_counts_matches_and_moves_between_them(qtbot: QtBot, editor: ArgumentsEditor) -> None:
    box, bar = editor.json_view.box, editor.json_view.find_bar
    editor.set_arguments({"path": "needle", "filter": {"name": "Needle"}})
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert bar.isVisible()
    field = QApplication.focusWidget()
    assert field is not None
    QTest.keyClicks(field, "needle")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert '"path"' in box.textCursor().block().text()
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert '"name"' in box.textCursor().block().text()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert box.hasFocus()


def test_one_megabyte_single_line_is_edited_and_round_trips(editor: ArgumentsEditor) -> None:
    long = "x y\\n" * 200_000
    editor.set_arguments({"path": long, "count": 1})
    box = editor.json_view.box
    assert max(len(row) for row in box.rows().split("\n")) <= MAX_ROW_LENGTH + 1
    box.moveCursor(QTextCursor.MoveOperation.End)
    QTest.keyClicks(box, " ")
    assert editor.arguments() == {"path": long, "count": 1}
    box.selectAll()
    box.copy()
    assert CONTINUATION_MARK not in QApplication.clipboard().text()
    assert editor.show_form()
    assert editor.arguments() == {"path": long, "count": 1}


@settings(max_examples=60)
@given(
    text=st.text(st.characters(exclude_characters=CONTINUATION_MARK), max_size=30), times=st.integers(1, 400)
)
def test_display_rows_map_back_to_the_original_text(text: str, times: int) -> None:
    whole = text * times
    rows = to_rows(whole)
    assert from_rows(rows) == whole
    assert all(len(row) <= MAX_ROW_LENGTH + 1 for row in rows.split("\n"))
    for offset in range(0, len(whole), 997):
        assert text_offset(rows, row_offset(rows, offset)) == offset
        assert rows[row_offset(rows, offset)] == whole[offset]


values: st.SearchStrategy[JSON] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


def pointers(value: JSON, pointer: str = "") -> Iterator[tuple[str, JSON]]:
    yield pointer, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from pointers(part, child(pointer, key))


@given(value=values)
def test_every_value_is_found_at_its_position(value: JSON) -> None:
    text = write(value)
    wanted = dict(pointers(value))
    found = locate(text, list(wanted))
    assert {
        pointer: json.loads(text[position.start : position.end]) for pointer, position in found.items()
    } == wanted


@given(text=st.text('{}[]:,"a1 \\\n', max_size=30), offset=st.integers(0, 30))
def test_completion_context_of_any_text_is_within_bounds(text: str, offset: int) -> None:
    context = context_at(text, min(offset, len(text)))
    if context is not None:
        assert 0 <= context.replaced.start <= context.replaced.end <= len(text)


def test_syntax_coloring_does_not_count_as_an_edit(qtbot: QtBot) -> None:
    box = JsonEdit(Theme(ICONS))
    qtbot.addWidget(box)
    edits: list[str] = []
    box.edited.connect(lambda: edits.append("edited"))
    box.set_text('{\n  "a": [1, true, "x"]\n}')
    box.show()
    qtbot.waitUntil(lambda: bool(box.document().findBlockByNumber(1).layout().formats()))
    assert edits == []
    assert not box.document().isUndoAvailable()
    QTest.keyClicks(box, " ")
    assert edits == ["edited"]
    assert shiboken6.isValid(box)
