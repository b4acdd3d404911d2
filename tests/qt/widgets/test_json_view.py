"""Code view: paging, plain text, highlighting of visible rows, find and copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QPalette, QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from inspector.base.errors import UserError
from inspector.base.json.scanner import reindent
from inspector.base.plain_text import visible
from inspector.qt.theme import DARK, LIGHT, Scheme, Theme
from inspector.qt.widgets.code.code_edit import CodeEdit, Span, ends_in_string, qt_column, scan
from inspector.qt.widgets.code.json_view import MAX_SHOWN, Form, JsonView
from inspector.qt.widgets.code.pager import (
    PAGE_LINES,
    PAGE_SIZE,
    ROW_LENGTH,
    HexPager,
    JsonPager,
    Page,
    TextPager,
)
from inspector.qt.widgets.inputs.search import FindBar, SearchField
from tests.helpers.steps import steps_of
from tests.qt.lens_driver import visible_text

# The offscreen platform warns about raising windows and grabbing keys.
pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")

ICONS = Path(__file__).parents[3] / "resources" / "icons"
MIB = 1024 * 1024


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    theme = Theme(ICONS)
    theme.apply(qapp, Scheme.LIGHT)
    yield theme
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())


@pytest.fixture
def view(theme: Theme, qtbot: QtBot) -> JsonView:
    view = JsonView(theme, "Message")
    qtbot.addWidget(view)
    view.resize(500, 400)
    with qtbot.waitActive(view):
        view.show()
        view.activateWindow()
    return view


def code_of(view: JsonView) -> CodeEdit:
    code = view.findChild(CodeEdit)
    assert code is not None
    return code


def pages(pager: TextPager | HexPager) -> list[Page]:
    result = [pager.next_page()]
    while pager.shown < pager.total:
        result.append(pager.next_page())
    return result


def text_of(parts: list[Page]) -> str:
    """Return the text of the pages, with the rows of each line joined."""
    rows = [(row, number) for page in parts for row, number in zip(page.rows, page.numbers, strict=True)]
    return "".join("\n" * (number > 1) + row for row, number in rows)


@given(st.text(alphabet=st.sampled_from('ab"\\\n漢😀\u200b\r'), max_size=300), st.integers(1, 40))
def test_pages_concatenate_to_the_text(text: str, repeat: int) -> None:
    source = text * repeat * 40
    assert text_of(pages(TextPager(source))) == visible(source)
    assert text_of(pages(TextPager(source.encode()))) == visible(source)


@given(st.binary(max_size=400), st.integers(1, 2000))
def test_any_bytes_can_be_paged_to_their_end(raw: bytes, repeat: int) -> None:
    pager = TextPager(raw * repeat)
    pages(pager)
    assert pager.shown == pager.total


@pytest.mark.parametrize("unit", ["xxx", "\n\n\n", "漢", b"\0", b"\xff", "\u200b"])
def test_page_size_is_bounded_whatever_the_content(unit: str | bytes) -> None:
    page = TextPager(unit * MIB).next_page()
    assert sum(map(len, page.rows)) <= PAGE_SIZE * 1.1
    assert len(page.rows) <= PAGE_LINES + PAGE_SIZE // ROW_LENGTH + 1
    assert max(map(len, page.rows)) <= ROW_LENGTH + 1


def test_bytes_that_are_not_utf8_are_shown_as_bytes() -> None:
    assert TextPager(b'{"a": "\xff\xfe"}').next_page().rows == ['{"a": "⟨0xFF⟩⟨0xFE⟩"}']


def test_character_on_the_page_boundary_is_not_split() -> None:
    source = ("a" * (PAGE_SIZE - 1) + "😀").encode()
    assert "".join(row for page in pages(TextPager(source)) for row in page.rows).endswith("a😀")


def test_unicode_separators_do_not_start_rows() -> None:
    assert TextPager("a\u2028b\u2029c").next_page().rows == ["a⟨U+2028⟩b⟨U+2029⟩c"]


def test_escape_sequence_is_not_split() -> None:
    line = '"' + "x" * (ROW_LENGTH - 2) + '\\"' + "y" * 10 + '"'
    rows = TextPager(line).next_page().rows
    assert rows[0].endswith('\\"')


def test_only_rows_that_start_a_line_are_numbered() -> None:
    page = TextPager("a\n" + "b" * (ROW_LENGTH * 2) + "\nc").next_page()
    assert page.numbers == [1, 2, 0, 3]


def test_hex_rows_have_offset_digits_and_characters() -> None:
    rows = HexPager(b'{"a": 1}\n\x00\xffxyz12').next_page().rows
    assert rows == ['00000000  7b 22 61 22 3a 20 31 7d  0a 00 ff 78 79 7a 31 32  {"a": 1}...xyz12']


def test_keys_strings_numbers_and_literals_are_distinguished() -> None:
    spans, is_open = scan('{"a" : "b", "n": -1.5e3, "t": true, "x": null}')
    assert [span.kind for span in spans] == [
        "key", "string", "key", "number", "key", "literal", "key", "literal",
    ]  # fmt: skip
    assert not is_open


def test_string_continues_in_the_next_row() -> None:
    assert scan('{"a": "begin') == ([Span(1, 3, "key"), Span(6, 6, "string")], True)
    assert scan("middle 12", True) == ([Span(0, 9, "string")], True)
    assert scan('end", 7]', True) == ([Span(0, 4, "string"), Span(6, 1, "number")], False)


@given(st.lists(st.sampled_from(['"', "a", "\\\\", '\\"', ",", "1", " "]), max_size=30), st.booleans())
def test_fast_row_end_scan_agrees_inside_strings(parts: list[str], in_string: bool) -> None:
    row = json.dumps("".join(parts)) if not in_string else json.dumps("".join(parts))[1:]
    assert ends_in_string(row, in_string) == scan(row, in_string)[1] is False
    assert ends_in_string(row[:-1], in_string) == scan(row[:-1], in_string)[1] is True


def test_columns_are_counted_like_qt_does() -> None:
    assert [qt_column("a😀b", column) for column in range(4)] == [0, 1, 3, 4]


def test_only_visible_rows_are_colored(view: JsonView) -> None:
    view.set_text(json.dumps(list(range(2000)), indent=1))
    document = code_of(view).document()
    assert document.findBlockByNumber(3).layout().formats()
    assert not document.findBlockByNumber(1500).layout().formats()
    code_of(view).verticalScrollBar().setValue(1500)
    assert document.findBlockByNumber(1501).layout().formats()


def test_colors_follow_the_theme(view: JsonView, theme: Theme, qapp: QApplication) -> None:
    view.set_text("1")
    layout = code_of(view).document().firstBlock().layout()
    assert layout.formats()[0].format.foreground().color().name() == LIGHT.number
    theme.apply(qapp, Scheme.DARK)
    assert layout.formats()[0].format.foreground().color().name() == DARK.number


def test_plain_text_is_not_colored(view: JsonView) -> None:
    view.set_text("true 1", "text")
    assert not code_of(view).document().firstBlock().layout().formats()


@pytest.mark.parametrize("text", ["<img src='/etc/hostname'>", "<b>x</b>", "&amp;"])
def test_markup_is_shown_literally(view: JsonView, text: str) -> None:
    view.set_text(text, "text")
    assert view.shown_text() == code_of(view).toPlainText() == text


def test_hidden_characters_are_shown(view: JsonView) -> None:
    view.set_text("a\x1b[31m\u202eb")
    assert "\x1b" not in view.shown_text()
    assert "\u202e" not in view.shown_text()


@pytest.mark.parametrize(
    "make", [lambda: '{"k": "' + "x" * 50 * MIB + '"}', lambda: b"[" + b"1," * 25 * MIB + b"1]"]
)
def test_fifty_megabytes_cost_no_more_than_a_page(view: JsonView, make: Callable[[], str | bytes]) -> None:
    source = make()  # here, because parameters stay in memory until the last test has run
    page = source[:PAGE_SIZE]
    small = steps_of(lambda: view.set_text(page))
    large = steps_of(lambda: view.set_text(source))
    assert large < 1.5 * small
    assert len(view.shown_text()) <= 2 * PAGE_SIZE


def test_partial_view_says_so_and_more_can_be_shown(view: JsonView) -> None:
    view.set_text("x" * MIB)
    assert view.progress_text() == "256 KiB of 1.0 MiB"
    partial = [view.is_partial]
    for _ in range(3):
        view.show_more()
        partial.append(view.is_partial)
    assert partial == [True, True, True, False]
    assert view.shown_text() == "x" * MIB


def test_complete_view_has_no_footer(view: JsonView) -> None:
    view.set_text("x" * MIB)
    assert view.progress_text()
    view.set_text("{}")
    assert view.progress_text() == ""


class Numbered:
    """A generated body of numbered lines; `max_size` is the largest part that was requested."""

    def __init__(self, lines: int, line: str = "{:015d}\n") -> None:
        self._line = line
        self._width = len(line.format(0))
        self._length = lines * self._width
        self.max_size = 0

    def __len__(self) -> int:
        return self._length

    def part(self, start: int, length: int) -> bytes:
        self.max_size = max(self.max_size, length)
        end = min(start + length, self._length)
        lines = range(start // self._width, -(-end // self._width))
        text = "".join(map(self._line.format, lines)).encode()
        return text[start % self._width :][: max(0, end - start)]


def test_view_slides_over_the_content_and_its_size_is_bounded(view: JsonView) -> None:
    body = Numbered(4 * MIB // 16)
    view.set_body(body, "text")
    maximum = 0
    while view.is_partial and not view.shown_text().rstrip().endswith(f"{4 * MIB // 16 - 1}"):
        view.show_more()
        maximum = max(maximum, len(view.shown_text()))
    assert maximum <= MAX_SHOWN + PAGE_SIZE
    assert view.progress_text().endswith("to 4.0 MiB of 4.0 MiB")
    last = view.shown_text().splitlines()[0]
    view.show_earlier()
    assert view.shown_text().splitlines()[0] < last
    for _ in range(4):
        view.show_earlier()
    assert view.shown_text().startswith("000000000000000\n000000000000001")


def test_end_and_start_of_a_big_body_are_reached_in_one_step(view: JsonView) -> None:
    body = Numbered(50 * MIB // 16)
    forms: tuple[Form, ...] = ("text", "bytes")
    for form in forms:
        view.set_body(body, form)
        head = view.shown_text()
        view.show_end()
        assert f"{50 * MIB // 16 - 1}" in view.shown_text().rstrip()[-30:]
        view.show_earlier()
        assert view.shown_text() == head
    assert body.max_size <= PAGE_SIZE + 1


@pytest.mark.parametrize("raw", [b"[" + b"1," * 60_000 + b"1]", b'{"k":"' + b"\\u00e9\\n" * 200_000 + b'"}'])
def test_big_json_is_formatted_page_by_page_to_its_end(raw: bytes) -> None:
    pager = JsonPager(raw)
    parts = [pager.next_page()]
    while pager.shown < pager.total:
        parts.append(pager.next_page())
    assert text_of(parts) == reindent(raw.decode())
    assert max(len(part.rows) for part in parts) < 4 * PAGE_LINES
    assert parts[-1].starts_in_string is (b"k" in raw)


class Lost:
    """A body of which only the start can be read; the rest is missing or raises."""

    def __init__(self, text: bytes, readable: int, *, is_silent: bool = False) -> None:
        self._text, self.readable, self._is_silent = text, readable, is_silent

    def __len__(self) -> int:
        return len(self._text)

    def part(self, start: int, length: int) -> bytes:
        if start + length > self.readable and self.readable < len(self._text) and not self._is_silent:
            raise UserError("The disk is gone.", "Plug it in again.")
        return self._text[start : min(start + length, self.readable)]


PAGERS = [JsonPager, TextPager, HexPager]


@pytest.mark.parametrize("is_silent", [True, False])
@pytest.mark.parametrize("pager", PAGERS)
def test_page_that_cannot_be_read_raises_and_never_loops(
    pager: type[JsonPager | TextPager | HexPager], is_silent: bool
) -> None:
    lost = pager(Lost(b"[1, 2]" * 100, 0, is_silent=is_silent))
    for _ in range(2):
        with pytest.raises(UserError):
            lost.next_page()
    assert lost.shown == 0


def test_json_that_was_read_is_shown_before_the_failure() -> None:
    text = b"[" + b"1,  " * PAGE_SIZE + b"1]"  # white space, so that a page takes more than one read
    body = Lost(text, 2 * PAGE_SIZE)
    pager, rows = JsonPager(body), list[str]()
    with suppress(UserError):
        while True:
            rows += pager.next_page().rows
    assert len(rows) > PAGE_SIZE // 8
    body.readable = len(text)
    while pager.shown < pager.total:
        rows += pager.next_page().rows
    assert "".join(row.strip() for row in rows) == text.decode().replace(" ", "")


@pytest.mark.parametrize("form", ["pretty", "text", "bytes"])
def test_body_that_cannot_be_read_shows_the_cause_and_can_be_tried_again(view: JsonView, form: Form) -> None:
    body = Lost(b'{"a": 1}', 0)
    view.set_body(body, form)
    shown = visible_text(view)
    assert all(text in shown for text in ("Could not be read", "The disk is gone.", "Plug it in again."))
    assert view.shown_text() == ""
    assert not view.copy_action.isEnabled()
    body.readable = len(body)
    next(button for button in view.findChildren(QPushButton) if button.text() == "Try again").click()
    assert "Could not be read" not in visible_text(view)
    assert "a" in view.shown_text()


def test_failure_after_the_first_page_keeps_what_is_shown(view: JsonView) -> None:
    body = Lost(b"x\n" * MIB, MIB)
    view.set_body(body, "text")
    head = view.shown_text()
    for go in (view.show_end, view.copy_all):
        go()
        assert "The disk is gone. Plug it in again." in view.progress_text()
        assert view.shown_text() == head
    while "gone" not in view.progress_text():
        view.show_more()
    assert view.shown_text().startswith(head)


def test_saving_is_requested_and_not_performed(view: JsonView, qtbot: QtBot) -> None:
    view.set_text("{}")
    with qtbot.waitSignal(view.save_requested):
        view.save_action.trigger()


def test_empty_view_offers_neither_copy_nor_save(view: JsonView) -> None:
    view.clear()
    assert not view.copy_action.isEnabled()
    assert not view.save_action.isEnabled()


def test_everything_is_copied_verbatim(view: JsonView) -> None:
    text = "a\u200b" * MIB
    view.set_text(text)
    view.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == text


def test_copied_selection_joins_the_rows_of_a_line(view: JsonView) -> None:
    text = "a\n" + "b" * 3 * ROW_LENGTH + "\nc"
    view.set_text(text, "text")
    code = code_of(view)
    code.selectAll()
    code.copy()
    assert QGuiApplication.clipboard().text() == text


def test_bytes_are_shown_as_an_unwrapped_hex_dump(view: JsonView) -> None:
    view.set_bytes(bytes(range(256)))
    assert view.shown_text().count("\n") == 15
    assert code_of(view).lineWrapMode() is QPlainTextEdit.LineWrapMode.NoWrap
    view.set_text("{}")
    assert code_of(view).lineWrapMode() is QPlainTextEdit.LineWrapMode.WidgetWidth


def test_empty_bytes_are_shown_as_nothing(view: JsonView) -> None:
    view.set_bytes(b"")
    assert view.shown_text() == ""


def test_action_toggles_wrapping(view: JsonView) -> None:
    view.wrap_action.trigger()
    assert code_of(view).lineWrapMode() is QPlainTextEdit.LineWrapMode.NoWrap


@pytest.fixture
def find_field(view: JsonView, qtbot: QtBot) -> SearchField:
    QTest.keyClick(code_of(view), Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    field = view.findChild(SearchField)
    assert field is not None
    assert field.isVisible()
    return field


def found_at(view: JsonView) -> int:
    return code_of(view).textCursor().position()


def test_ctrl_f_opens_find_and_enter_steps_through_matches(
    view: JsonView, find_field: SearchField, qtbot: QtBot
) -> None:
    view.set_text("one two\nONE two one", "text")
    find_field.setText("one")
    QTest.keyClick(find_field, Qt.Key.Key_Return)
    positions = [found_at(view)]
    for _ in range(3):
        QTest.keyClick(find_field, Qt.Key.Key_Return)
        positions.append(found_at(view))
    assert positions == [0, 8, 16, 0]
    QTest.keyClick(find_field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert found_at(view) == 16


def test_match_is_found_across_rows_of_one_line_and_after_wide_characters(
    view: JsonView, find_field: SearchField
) -> None:
    view.set_text("😀" * 3 + "b" * (ROW_LENGTH - 4) + "needle" + "c" * 10, "text")
    find_field.setText("needle")
    find_field.settle()
    (mark,) = code_of(view).extraSelections()
    assert mark.cursor.selectedText() == "n\u2029eedle"


def test_highlighted_match_is_the_searched_text(view: JsonView, find_field: SearchField) -> None:
    view.set_text("x 😀 (a.b) y", "text")
    find_field.setText("(A.B)")
    find_field.settle()
    assert [mark.cursor.selectedText() for mark in code_of(view).extraSelections()] == ["(a.b)"]


def test_only_visible_matches_are_highlighted(view: JsonView, find_field: SearchField) -> None:
    view.set_text("a\n" * 3000, "text")
    find_field.setText("a")
    find_field.settle()
    assert 0 < len(code_of(view).extraSelections()) < 100


def test_new_content_is_searched_again(view: JsonView, find_field: SearchField) -> None:
    find_field.setText("a")
    find_field.settle()
    view.set_text("b a", "text")
    assert found_at(view) == 2


def test_escape_closes_find_and_clears_the_highlights(
    view: JsonView, find_field: SearchField, qtbot: QtBot
) -> None:
    view.set_text("aaa", "text")
    find_field.setText("a")
    find_field.settle()
    QTest.keyClick(find_field, Qt.Key.Key_Escape)
    bar = view.findChild(FindBar)
    assert bar is not None
    assert bar.isHidden()
    assert code_of(view).extraSelections() == []


def test_selection_becomes_the_text_to_find(view: JsonView) -> None:
    view.set_text("alpha beta", "text")
    cursor = code_of(view).textCursor()
    cursor.setPosition(6)
    cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
    code_of(view).setTextCursor(cursor)
    view.find_action.trigger()
    field = view.findChild(SearchField)
    assert field is not None
    assert field.text() == "beta"
