"""Hostile server text in the whole window: markup, hidden characters and very long names."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QAbstractItemModel, QAbstractTableModel, Qt
from PySide6.QtGui import Qt as GuiQt
from PySide6.QtWidgets import QAbstractItemView, QLabel, QWidget

from inspector.engine.views import ServerStatus
from inspector.qt.models.traffic.columns import Column
from inspector.qt.window.tabs import OVERVIEW, TAB_IDS
from tests.qt.lens_driver import Lens, faulty, scripted, visible_text

MARKUP = "<img src=x><b>bold</b>"
HIDDEN = "\x1b[31mred\u202etxt.exe\u200b"
HOSTILE = f"{MARKUP} {HIDDEN}"
LONG = f"{MARKUP}{'n' * 10_000}"
ROLES = (
    Qt.ItemDataRole.DisplayRole,
    Qt.ItemDataRole.ToolTipRole,
    Qt.ItemDataRole.WhatsThisRole,
    Qt.ItemDataRole.AccessibleTextRole,
)


def tools(name: str) -> list[object]:
    schema = {"type": "object", "properties": {name: {"type": "string", "description": name}}}
    reported = {"title": name, "description": name, "annotations": {"title": name, "destructiveHint": True}}
    return [{"name": name, "inputSchema": schema, **reported}, {"nameless": name}]


def item_texts(model: QAbstractItemModel) -> Iterator[tuple[Qt.ItemDataRole, str]]:
    columns = model.columnCount() if isinstance(model, QAbstractTableModel) else 1
    for row in range(model.rowCount()):
        for column in range(columns):
            for role in ROLES:
                text = model.index(row, column).data(role)
                if isinstance(text, str):
                    yield role, text


def assert_harmless(window: QWidget) -> None:
    """Assert that no text or tool tip is treated as markup or contains hidden characters."""
    for label in window.findChildren(QLabel):
        is_plain = label.textFormat() is Qt.TextFormat.PlainText
        assert is_plain or not GuiQt.mightBeRichText(label.text()), label.text()
        assert_visible(label.text())
    for widget in (window, *window.findChildren(QWidget)):
        for text in (widget.toolTip(), widget.whatsThis(), widget.statusTip()):
            assert "<img" not in text, "a tool tip with markup loads files"
            assert_visible(text)
        assert_visible(widget.accessibleName())
    for view in window.findChildren(QAbstractItemView):
        for role, text in item_texts(view.model()) if view.model() is not None else ():
            assert_visible(text)
            if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.WhatsThisRole):
                assert not GuiQt.mightBeRichText(text) or "<img" not in text, text


def assert_visible(text: str) -> None:
    assert not {"\x1b", "\u202e", "\u200b"} & set(text), ascii(text)


def check_all_tabs(lens: Lens) -> None:
    for tab in TAB_IDS:
        lens.window.show_tab(tab)
        lens.settle()
        assert_harmless(lens.window)


def test_markup_and_hidden_characters_stay_plain_and_visible_everywhere(lens: Lens) -> None:
    """T16: text of a server is rendered as rich text and loads local files."""
    info = {"name": HOSTILE, "title": HOSTILE, "version": HOSTILE}
    entry = scripted(
        HOSTILE,
        tools=tools(HOSTILE),
        info=info,
        instructions=HOSTILE,
        capabilities={"tools": {}, HOSTILE: {HOSTILE: HOSTILE}},
        stderr=[HOSTILE],
        stray=[HOSTILE],
    )
    panel = lens.connect(entry)
    lens.call(HOSTILE)
    lens.do("traffic.events")
    check_all_tabs(lens)
    assert_visible(lens.window.windowTitle())
    assert MARKUP in lens.window.windowTitle()
    assert MARKUP in visible_text(lens.workspace.panel(OVERVIEW))
    assert MARKUP in visible_text(panel.call_view)
    assert MARKUP in str(panel.model.index(0).data())
    for row in range(lens.window.traffic.model.rowCount()):
        lens.window.traffic.choose(lens.window.traffic.model.number(row))
        assert_harmless(lens.window.traffic.detail)
    panel.list.setCurrentIndex(panel.model.index(1))
    assert_harmless(panel)


def test_error_text_from_a_server_stays_plain_and_visible(lens: Lens) -> None:
    lens.add(faulty("gone", "exit"))
    lens.add(scripted("says", stderr=[HOSTILE], tools=[{"name": "dies"}]))
    lens.choose("says")
    lens.do("server.connect")
    lens.until(lambda: lens.tools.model.total)
    lens.call("dies")
    lens.wait_for("says", ServerStatus.FAILED)
    check_all_tabs(lens)
    assert MARKUP in visible_text(lens.workspace.panel(OVERVIEW))
    lens.app.bridge.problem_found.emit(HOSTILE)
    assert_harmless(lens.window.notices)


def test_id_containing_markup_is_not_rendered_in_the_tooltip(lens: Lens) -> None:
    lens.connect(scripted(stray=['{"jsonrpc":"2.0","id":"<img src=x>","result":{}}']))
    model = lens.window.traffic.model
    lens.until(
        lambda: "finding" in [model.index(row, Column.STATUS).data() for row in range(model.rowCount())]
    )
    assert_harmless(lens.window)
    tips = [
        model.index(row, Column.STATUS).data(Qt.ItemDataRole.ToolTipRole) for row in range(model.rowCount())
    ]
    assert any(tip and "img src=x" in tip for tip in tips), "the id is shown"


def test_icons_of_a_server_are_not_loaded(lens: Lens) -> None:
    """T21: the icon of a tool makes MCP Lens contact a host or read a file."""
    with socket.create_server(("127.0.0.1", 0)) as tracker:
        tracker.setblocking(False)
        url = f"http://127.0.0.1:{tracker.getsockname()[1]}/icon.png"
        icons = [{"src": url, "mimeType": "image/png"}, {"src": "file:///etc/passwd"}]
        tool = {"name": "tool", "inputSchema": {"type": "object"}, "icons": icons}
        info = {"name": "icons", "version": "1", "icons": icons}
        panel = lens.connect(scripted(tools=[tool], info=info))
        panel.choose("tool")
        check_all_tabs(lens)
        lens.window.grab()
        with pytest.raises(BlockingIOError):
            tracker.accept()


def test_long_names_do_not_stretch_the_window(style_sheet: None, lens: Lens) -> None:
    width = lens.window.minimumSizeHint().width()
    info = {"name": LONG, "title": LONG, "version": LONG}
    entry = scripted(LONG, tools=tools(LONG), info=info, instructions=LONG, stderr=[LONG], stray=[LONG])
    panel = lens.connect(entry)
    lens.call(LONG)
    check_all_tabs(lens)
    lens.window.show_tab("tools")
    lens.settle()
    assert lens.window.minimumSizeHint().width() <= max(width, 1200)
    assert lens.window.width() == 1440
    assert len(lens.window.windowTitle()) < 300
    assert panel.list.horizontalScrollBar().maximum() == 0
    assert lens.window.servers.list.horizontalScrollBar().maximum() == 0
