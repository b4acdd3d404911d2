"""The window as a whole: colors, layout, tabs, keyboard and accessible names."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psutil
from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QColor, QPixmapCache
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDockWidget,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from inspector.config.servers.entries import HttpEntry
from inspector.qt.dialogs.servers.add_server import AddServerDialog
from inspector.qt.theme import DARK, LIGHT, Scheme
from inspector.qt.window.tabs import TAB_IDS
from tests.qt.lens_driver import Lens, scripted, visible_text

CONTROLS = (
    *(QAbstractButton, QAbstractItemView, QAbstractSpinBox, QComboBox, QLineEdit, QPlainTextEdit, QTabBar),
    QTextEdit,
)


def ground(widget: QWidget) -> QColor:
    """Return the color of the bottom right corner, where there is no text."""
    image = widget.grab().toImage()
    return image.pixelColor(image.width() - 3, image.height() - 3)


def focus_chain(lens: Lens, start: QWidget) -> list[QWidget]:
    """Return the widgets that Tab visits, starting at this one."""
    start.setFocus(Qt.FocusReason.TabFocusReason)
    chain: list[QWidget] = []
    while (focused := QApplication.focusWidget()) is not None and focused not in chain:
        chain.append(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is focused:
            raise AssertionError(f"Tab does not leave {focused}")
    return chain


def owner(window: QWidget, widget: QWidget) -> str:
    names = [type(each).__name__ for each in (widget, *ancestors(widget)) if each is not window]
    return " < ".join(names)


def ancestors(widget: QWidget) -> Iterator[QWidget]:
    parent: QWidget | None = widget.parentWidget()
    while parent is not None:
        yield parent
        parent = parent.parentWidget()


def test_theme_changes_while_the_window_is_shown_and_is_remembered(
    style_sheet: None, make_lens: Callable[[], Lens]
) -> None:
    first = make_lens()

    def switch() -> None:
        first.connect(scripted())
        first.window.show_tab("tools")
        assert ground(first.window.traffic.table.viewport()) == QColor(LIGHT.surface)
        first.do("theme.dark")
        assert ground(first.window.traffic.table.viewport()) == QColor(DARK.surface)
        assert first.actions["theme.dark"].isChecked()
        assert not first.actions["theme.light"].isChecked()
        first.do("theme.dark")
        assert first.actions["theme.dark"].isChecked(), "one of the three is always on"

    first.play(switch)
    second = make_lens()
    assert second.app.frontend.theme.scheme is Scheme.DARK


def test_layout_is_remembered_across_windows(style_sheet: None, make_lens: Callable[[], Lens]) -> None:
    first = make_lens()

    def change() -> None:
        first.window.resize(777, 666)  # the offscreen platform's screen has 800 by 800
        dock(first, "Servers").hide()
        first.window.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock(first, "Traffic"))
        first.settle()

    first.play(change)
    second = make_lens()

    def inspect() -> None:
        assert (second.window.width(), second.window.height()) == (777, 666)
        assert not dock(second, "Servers").isVisible()
        area = second.window.dockWidgetArea(dock(second, "Traffic"))
        assert area is Qt.DockWidgetArea.TopDockWidgetArea
        dock(second, "Servers").toggleViewAction().trigger()
        assert dock(second, "Servers").isVisible()

    second.play(inspect)


def test_corrupt_layout_file_is_harmless(make_lens: Callable[[], Lens]) -> None:
    folder = make_lens().folder
    (folder / "layout.ini").write_bytes(b"[General]\nscheme=@Invalid()\ngeometry=7\nstate=\xff\xfe\n\x00")
    lens = make_lens()

    def inspect() -> None:
        assert lens.window.width() == 1440
        assert dock(lens, "Servers").isVisible()

    lens.play(inspect)


def dock(lens: Lens, name: str) -> QDockWidget:
    return next(each for each in lens.window.findChildren(QDockWidget) if each.objectName() == name)


def test_welcome_says_what_to_do_and_offers_it(lens: Lens) -> None:
    assert "Nothing to inspect yet" in visible_text(lens.window)
    assert "No servers yet" in visible_text(lens.window.servers)
    assert lens.actions["server.add"].text() in visible_text(lens.window).splitlines()


def test_new_workspace_opens_on_the_current_tab_and_each_keeps_its_own(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.add(scripted("two"))
    lens.do("view.console")
    lens.choose("two")
    assert lens.workspace.tabs.currentIndex() == TAB_IDS.index("console")
    lens.do("view.tools")
    lens.choose("one")
    assert lens.workspace.tabs.currentIndex() == TAB_IDS.index("console")


def test_tab_key_reaches_search_list_form_call_and_traffic(style_sheet: None, lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.window.show_tab("tools")
    lens.window.activateWindow()
    lens.settle()
    chain = focus_chain(lens, panel.search)
    field = panel.call_view.arguments.form.rows()[0].slot.editor.widget
    wanted = [panel.search, panel.list, field, *buttons(panel, "Call")]
    positions = [chain.index(widget) for widget in wanted]
    assert positions == sorted(positions), [owner(lens.window, each) for each in chain]
    for widget in (lens.window.servers.list, lens.window.traffic.table, lens.window.traffic.search):
        assert widget in chain, "\n".join(owner(lens.window, each) + each.accessibleName() for each in chain)


def test_shortcuts_reach_the_searches_and_the_tabs(lens: Lens) -> None:
    panel = lens.connect(scripted())
    lens.window.activateWindow()
    for position, tab in enumerate(TAB_IDS[:10]):
        press(lens, Qt.Key(Qt.Key.Key_0 + (position + 1) % 10))
        assert lens.workspace.tabs.currentIndex() == TAB_IDS.index(tab)
    press(lens, Qt.Key.Key_T)
    assert lens.workspace.tabs.currentIndex() == TAB_IDS.index("tools")
    assert panel.search.hasFocus()
    press(lens, Qt.Key.Key_F, Qt.KeyboardModifier.ShiftModifier)
    assert lens.window.traffic.search.hasFocus()


def test_arrow_keys_walk_through_servers_and_tools(lens: Lens) -> None:
    lens.add(scripted("one"))
    lens.connect(scripted("two"))
    lens.window.servers.list.setFocus()
    QTest.keyClick(lens.window.servers.list, Qt.Key.Key_Up)
    assert lens.workspace.view.name == "one"
    QTest.keyClick(lens.window.servers.list, Qt.Key.Key_Down)
    QTest.keyClick(lens.tools.list, Qt.Key.Key_Down)
    assert "fails" in visible_text(lens.tools.call_view)


def press(lens: Lens, key: Qt.Key, *more: Qt.KeyboardModifier) -> None:
    modifiers = Qt.KeyboardModifier.ControlModifier
    for each in more:
        modifiers |= each
    QTest.keyClick(lens.window, key, modifiers)


def buttons(widget: QWidget, words: str) -> list[QAbstractButton]:
    return [each for each in widget.findChildren(QAbstractButton) if each.text() == words]


def test_every_control_has_an_accessible_name(style_sheet: None, lens: Lens) -> None:
    lens.connect(scripted())
    lens.call("echo", {"text": "hi"})
    lens.do("server.add")
    lens.settle()
    nameless = [
        f"{owner(lens.window, widget)} ({widget.objectName()})"
        for widget in lens.window.findChildren(QWidget)
        if isinstance(widget, CONTROLS) and not is_part(widget) and not spoken(widget)
    ]
    assert nameless == []
    lens.dialog(AddServerDialog).close()


def spoken(widget: QWidget) -> str:
    """Return what a screen reader says: the accessible name, or Qt's from text or buddy."""
    return QAccessible.queryAccessibleInterface(widget).text(QAccessible.Text.Name)


def is_part(widget: QWidget) -> bool:
    """True for parts of a larger control, which has the name, and for unreachable widgets."""
    if isinstance(widget, QHeaderView) or widget.objectName().startswith("qt_"):
        return True
    whole = (QComboBox, QAbstractSpinBox, QLineEdit, QAbstractItemView)
    return any(isinstance(each, whole) for each in ancestors(widget))


def test_no_port_is_open_while_servers_are_connected(lens: Lens, http_demo: HttpEntry) -> None:
    """T7: a web page or another machine controls the app through a local port."""
    lens.connect(scripted())
    lens.connect(http_demo)
    listening = [c.laddr for c in psutil.Process().net_connections() if c.status == psutil.CONN_LISTEN]
    assert listening == []


def test_pixmaps_of_closed_windows_take_little_memory(lens: Lens) -> None:
    assert QPixmapCache.cacheLimit() <= 2048  # KiB; Qt's default is five times as much
