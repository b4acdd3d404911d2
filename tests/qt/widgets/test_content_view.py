"""Content views: Markdown, tables, images, bytes; list changes and URI parts."""

from __future__ import annotations

import base64
import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QTextCursor, QTextTable
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTextEdit
from pytestqt.qtbot import QtBot

from inspector.config.paths import resource_folder
from inspector.demo.everything.resources import png
from inspector.engine.content.content import Content, ContentKind, resource_content
from inspector.engine.content.text_formats import read_table
from inspector.qt.models.feature_list import ListChanges
from inspector.qt.models.resources import uri_parts
from inspector.qt.theme import Theme
from inspector.qt.views.content_view import ContentForm, ContentView, file_extension
from inspector.qt.widgets.media.markdown import (
    MAX_CHARACTERS,
    MAX_PARAGRAPH_SIZE,
    Block,
    BlockKind,
    MarkdownView,
    Span,
    Style,
    blocks,
    spans,
)
from inspector.qt.widgets.media.media import _READERS, CsvTable, DecodedImage, read_image

H, P, N, Q, C, R, T = (
    BlockKind.HEADING,
    BlockKind.PARAGRAPH,
    BlockKind.ITEM,
    BlockKind.QUOTE,
    BlockKind.CODE,
    BlockKind.RULE,
    BlockKind.TABLE,
)


@pytest.fixture
def theme(qapp: object) -> Theme:
    return Theme(resource_folder() / "icons")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n## Two ##\n#none", [Block(H, "One", 1), Block(H, "Two", 2), Block(P, "#none")]),
        ("a\nb\n\nc", [Block(P, "a b"), Block(P, "c")]),
        ("a  \nb", [Block(P, "a\u2028b")]),
        ("- a\n  more\n  - b", [Block(N, "a more", 0, "•"), Block(N, "b", 1, "•")]),
        ("1. a\n2) b", [Block(N, "a", 0, "1."), Block(N, "b", 0, "2)")]),
        ("- [x] done\n- [ ] open", [Block(N, "done", 0, "☑"), Block(N, "open", 0, "☐")]),
        ("> a\n> b\n>> c", [Block(Q, "a b", 1), Block(Q, "c", 2)]),
        ("```py\n# a\n\n  b\n```\nc", [Block(C, "# a\u2028\u2028  b"), Block(P, "c")]),
        ("```\nnever closed", [Block(C, "never closed")]),
        ("|a|b|\n|-|-|\nc", [Block(T, "", rows=(("a", "b"),)), Block(P, "c")]),
        (
            "|a|b|\n|:-:|--|\n| **1**|\n|x\\|y|z|",
            [Block(T, "", rows=(("a", "b"), ("**1**", ""), ("x\\|y", "z")))],
        ),
        ("|a|b|\n|c|d|", [Block(C, "|a|b|\u2028|c|d|")]),
        ("```\n|a|\n|-|\n```", [Block(C, "|a|\u2028|-|")]),
        ("a\n| b", [Block(P, "a | b")]),
        ("a\n\n---\n***", [Block(P, "a"), Block(R, ""), Block(R, "")]),
        ("a\r\nb\r\n", [Block(P, "a b")]),
    ],
)
def test_markdown_blocks_are_recognized(text: str, expected: list[Block]) -> None:
    assert list(blocks(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a **b** c", [Span("a "), Span("b", Style.STRONG), Span(" c")]),
        (
            "*b* _c_ ~~d~~",
            [
                Span("b", Style.EMPHASIS),
                Span(" "),
                Span("c", Style.EMPHASIS),
                Span(" "),
                Span("d", Style.STRUCK),
            ],
        ),
        ("**[a](b)**", [Span("a", Style.LINK | Style.STRONG), Span(" (b)", Style.MUTED | Style.STRONG)]),
        ("`a*b*`", [Span("a*b*", Style.CODE)]),
        ("snake_case_name 2*3*4", [Span("snake_case_name 2*3*4")]),
        (r"\*a\*", [Span("*"), Span("a"), Span("*")]),
        ("[a](b)", [Span("a", Style.LINK), Span(" (b)", Style.MUTED)]),
        ("[x://y](x://y)", [Span("x://y", Style.LINK)]),
        ("![a](b)", [Span("[image: a]", Style.MUTED), Span(" (b)", Style.MUTED)]),
        ("<https://a.b>", [Span("https://a.b", Style.LINK)]),
        ("<img src=x>", [Span("<img src=x>")]),
    ],
)
def test_inline_styles_are_recognized(text: str, expected: list[Span]) -> None:
    assert list(spans(text)) == expected


@given(st.text(alphabet=st.sampled_from("a*_`~[]()!<>#-|> \n\\1.") | st.characters()))
def test_any_text_is_parsed_into_blocks_of_bounded_size(text: str) -> None:
    for block in blocks(text):
        assert len(block.text) <= MAX_PARAGRAPH_SIZE + 1
        assert "\n" not in block.text
        list(spans(block.text))


@given(st.lists(st.text("abc xyz", min_size=1).filter(str.strip)))
def test_plain_text_is_unchanged(lines: list[str]) -> None:
    words = " ".join(block.text for block in blocks("\n".join(line.strip() for line in lines))).split()
    assert words == " ".join(lines).split()


def test_long_markdown_is_laid_out_in_steps_and_says_what_is_missing(qtbot: QtBot, theme: Theme) -> None:
    view = MarkdownView(theme, "Page")
    qtbot.addWidget(view)
    view.set_text("**a** `b` " * 40 + "\n\n" + "word\n\n" * MAX_CHARACTERS)
    fills: bool = view.is_filling
    assert fills, "the rest is added in time slices"
    qtbot.waitUntil(lambda: not view.is_filling, timeout=10_000)
    assert not view._note.isHidden()
    view.set_text("short\u202e")
    assert not view.is_filling
    assert view.page.toPlainText() == "short⟨U+202E⟩"
    assert view._note.isHidden()


def test_markdown_table_has_cells_and_links_do_not_look_clickable(qtbot: QtBot, theme: Theme) -> None:
    view = MarkdownView(theme, "Page")
    qtbot.addWidget(view)
    view.set_text("before\n\n|a|b|\n|-|-|\n|1|[x](https://a.b)|\n\nafter")
    frames = view.page.document().rootFrame().childFrames()
    (table,) = [frame for frame in frames if isinstance(frame, QTextTable)]
    cells = [[table.cellAt(row, column) for column in range(2)] for row in range(2)]
    texts = [[cell.firstCursorPosition().block().text() for cell in row] for row in cells]
    assert texts == [["a", "b"], ["1", "x (https://a.b)"]]
    link = cells[1][1].firstCursorPosition()
    link.movePosition(QTextCursor.MoveOperation.NextCharacter)
    assert link.charFormat().foreground().color() == theme.color("text")
    assert view.page.toPlainText().endswith("after")


def test_markdown_is_read_from_its_beginning(qtbot: QtBot, theme: Theme) -> None:
    view = ContentView(theme)
    qtbot.addWidget(view)
    view.resize(300, 200)
    view.show()
    view.show_content(Content(ContentKind.MARKDOWN, ("# Title\n\n" + "Some words.\n\n" * 60).encode()))
    (page,) = view.findChildren(QTextEdit)
    qtbot.waitUntil(lambda: page.verticalScrollBar().maximum() > 0)
    QApplication.processEvents()
    assert page.verticalScrollBar().value() == 0


def test_broken_image_is_shown_as_bytes_with_the_reason(qtbot: QtBot, theme: Theme) -> None:
    view = ContentView(theme)
    qtbot.addWidget(view)
    view.show_content(Content(ContentKind.IMAGE, png()[:60], "image/png"))
    assert view.form() is ContentForm.BYTES
    assert "The image is damaged" in view.alert.text("image")
    view.show_content(Content(ContentKind.IMAGE, png(), "image/png"))
    assert view.form() is ContentForm.IMAGE
    assert view.alert.isHidden()


def test_image_with_huge_dimensions_is_not_decoded(qtbot: QtBot, theme: Theme) -> None:
    """T19: a file of 69 bytes declares an image that would need gigabytes of memory."""
    bomb = png()
    bomb = bomb[:16] + (60_000).to_bytes(4, "big") * 2 + bomb[24:29]
    bomb += zlib.crc32(bomb[12:29]).to_bytes(4, "big") + png()[33:]
    assert read_image(bomb, "image/png") == DecodedImage(
        None, "60,000 × 60,000 pixels is too large to show. Save the image to view it."
    )
    view = ContentView(theme)
    qtbot.addWidget(view)
    view.show_content(Content(ContentKind.IMAGE, bomb, "image/png"))
    assert view.form() is ContentForm.BYTES


def test_svg_is_shown_as_source_and_never_rendered(qtbot: QtBot, theme: Theme, tmp_path: Path) -> None:
    """T20: an SVG image reads local files and blocks the renderer."""
    secret = tmp_path / "secret.png"
    secret.write_bytes(png())
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><image href="{secret}" width="9" height="9"/></svg>'
    # Qt detects SVG by its content, if allowed.
    for mime_type in ("image/svg+xml", "image/svg", "", *_READERS):
        assert read_image(svg.encode(), mime_type).image is None
    view = ContentView(theme)
    qtbot.addWidget(view)
    blob = base64.b64encode(svg.encode()).decode()
    view.show_content(resource_content({"uri": "x://y", "blob": blob, "mimeType": "image/svg+xml"}))
    assert view.form() is ContentForm.TEXT
    assert view.text.shown_text() == svg


def test_only_one_function_decodes_images_of_servers() -> None:
    """T20: another reader would detect SVG by its content."""
    readers = re.compile(r"QImageReader|QSvg|QMovie|loadFromData|fromData\(|QPictureIO")
    package = Path(__file__).parents[3] / "inspector"
    users = {path.name for path in package.rglob("*.py") if readers.search(path.read_text(encoding="utf-8"))}
    assert users == {"media.py"}


def test_text_is_copied_in_full_and_bytes_are_not(qtbot: QtBot, theme: Theme) -> None:
    view = ContentView(theme)
    qtbot.addWidget(view)
    view.show_content(Content(ContentKind.MARKDOWN, b"# Title"))
    view.copy_action.trigger()
    assert QGuiApplication.clipboard().text() == "# Title"
    view.show_content(Content(ContentKind.BINARY, b"\x00"))
    assert not view.copy_action.isEnabled()
    assert view.save_action.isEnabled()


def test_file_extension_does_not_depend_on_untrusted_text() -> None:
    assert file_extension(Content(ContentKind.IMAGE, b"", "image/png")) == "png"
    assert file_extension(Content(ContentKind.TEXT, b"", "../../etc/passwd")) == "txt"
    assert file_extension(Content(ContentKind.JSON, b"", "application/json", "file:///x.exe")) == "json"


def test_cells_are_shown_on_one_line_and_copied_in_full(qtbot: QtBot, theme: Theme) -> None:
    table = CsvTable(theme, "Cells")
    qtbot.addWidget(table)
    read = read_table('a,b\n"x\ny",2\n3\n')
    assert read is not None
    table.set_table(read.header, read.rows)
    assert table.model().index(0, 0).data() == "x y"
    assert table.model().index(1, 1).data() == ""
    assert table.model().headerData(1, Qt.Orientation.Horizontal) == "b"
    table.selectAll()
    table.show()
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == "x\ny\t2\n3\t"


def test_summary_of_many_changes_names_a_few_and_escapes_hidden_characters() -> None:
    changes = ListChanges(added=tuple(f"tool {n}" for n in range(1200)), removed=("x" * 500, "\u202eevil\n"))
    text = changes.sentence("tools")
    assert text.startswith(
        "Tools changed: 1,200 added (tool 0, tool 1, tool 2 and 1,197 more), 2 removed (xxx"
    )
    assert "⟨U+202E⟩evil " in text
    assert len(text) < 210


@pytest.mark.parametrize(
    ("uri", "parts"),
    [
        ("file:///a/b.txt", ["file://", "/", "a/", "b.txt"]),
        ("demo://readme", ["demo://", "readme"]),
        ("https://h/p/q?x=/y#z/", ["https://", "h/", "p/", "q?x=/y#z/"]),
        ("urn:isbn:1", ["urn:", "isbn:1"]),
        ("no uri", ["no uri"]),
    ],
)
def test_uri_is_split_at_path_segments(uri: str, parts: list[str]) -> None:
    assert uri_parts(uri) == parts


@given(st.from_regex(r"[a-z]{1,4}:(//)?[a-z/?#.:]{0,20}", fullmatch=True) | st.text(min_size=1))
def test_uri_parts_join_to_the_original_uri(uri: str) -> None:
    assert "".join(uri_parts(uri)) == uri
    assert all(uri_parts(uri))
