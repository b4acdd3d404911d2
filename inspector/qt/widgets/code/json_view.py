"""Viewer for anything received: JSON, text or bytes, of any size.

Only pages are put on screen (`pager.PAGE_SIZE`); a footer says which part is shown and leads to the rest.
Showing 50 MB costs the same as showing 256 KiB, and a `Body` is read no further than it is shown. If it
cannot be read, the cause is shown instead.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Literal

from PySide6.QtCore import QPoint, QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QVBoxLayout, QWidget

from inspector.base import units
from inspector.base.errors import UserError
from inspector.qt.theme import ICON_SIZE, SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.code.code_edit import CodeEdit
from inspector.qt.widgets.code.pager import Body, HexPager, JsonPager, Page, Pager, TextPager
from inspector.qt.widgets.inputs.clipboard import SecretCopyPrompt
from inspector.qt.widgets.inputs.controls import ActionButton, ActionToolButton
from inspector.qt.widgets.inputs.search import FindBar
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.empty_state import EmptyState
from inspector.qt.widgets.text.labels import MutedLabel

Language = Literal["json", "text"]
Form = Literal["pretty", "text", "bytes"]

MAX_SHOWN = 2 * 1024 * 1024
MAX_COPIED = 16 * 1024 * 1024


class JsonView(QWidget):
    """A read-only code view with paging, find (Ctrl+F), copy and wrapping.

    Its QActions are public so that a panel can put them into its header: `find_action`, `copy_action` (see
    `copy_all`), `wrap_action`, `save_action`. `copy_prompt` asks before secrets are copied.
    `line_actions` returns more actions for the context menu of a line.

    Signals:
        save_requested: The user wants to save the whole content to a file.
    """

    save_requested = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._source: str | bytes | Body = ""
        self._pager: Pager = TextPager("")
        self._here: Pager = self._pager  # positioned at the start of the part shown
        self._before: list[Pager] = []  # those of the parts shown before
        self._shown_length = 0  # in characters
        self._is_json = self._is_secret = False
        self.line_actions: Callable[[int], Sequence[QAction]] = lambda line: ()
        self._code = CodeEdit(theme)
        self._code.setAccessibleName(name)
        self._find = FindBar(theme, self._code)
        self._find.closed.connect(self._code.setFocus)
        self._make_actions(theme)
        self._footer = _Footer(theme, (self._earlier_action, self._end_action))
        self._more_button = self._footer.add_button(self._more_action)
        self._footer.add_button(self.save_action)
        self._code.copy_requested.connect(self._copy_selected)
        self.copy_prompt = SecretCopyPrompt(theme)
        vbox(self, self._find, self._code, self.copy_prompt, self._footer, gap=0)
        self.setFocusProxy(self._code)
        self.set_wrap(True)
        self.clear()

    @property
    def is_partial(self) -> bool:
        """True if only a part of the content is shown."""
        return self._here.shown > 0 or self._pager.shown < self._pager.total

    def set_text(self, text: str | bytes, language: Language = "json") -> None:
        """Show text; UTF-8 bytes are decoded page by page, so a large message is not copied."""
        self._source = text
        self._begin(TextPager(text), json=language == "json")

    def set_bytes(self, raw: bytes) -> None:
        """Show bytes as a hex dump."""
        self._source = raw
        self._begin(HexPager(raw), json=False)

    def set_body(self, body: Body, form: Form) -> None:
        """Show bytes that are read on demand: as pretty-printed JSON, as text, or as a hex dump."""
        self._source = body
        pagers: dict[Form, Callable[[Body], Pager]] = {
            "pretty": JsonPager,
            "text": TextPager,
            "bytes": HexPager,
        }
        self._begin(pagers[form](body), json=form == "pretty")

    def set_secret(self, is_secret: bool) -> None:
        """Set whether unmasked secrets are shown; then a confirmation is required before copying."""
        self._is_secret = is_secret
        self.copy_prompt.close_prompt()

    @contextmanager
    def keeping_position(self, keeps_position: bool) -> Iterator[None]:
        """With `keeps_position`, keep the scroll position while a new version is set inside."""
        bar = self._code.verticalScrollBar()
        position = bar.value()
        yield
        if keeps_position:
            bar.setValue(position)

    def clear(self) -> None:
        self.set_text("", "text")

    def shown_text(self) -> str:
        """Return the text on screen, with hidden characters as tokens."""
        return self._code.shown_text()

    def progress_text(self) -> str:
        """Return the footer's text on the part shown; "" if that is everything."""
        return self._footer.text() if self.is_partial else ""

    def show_more(self) -> None:
        """Add the next page. If the view is full, the page replaces its content."""
        if self._pager.shown >= self._pager.total:
            return
        if self._shown_length >= MAX_SHOWN:
            self._before.append(self._here)
            self._show_part(self._pager)
            return
        try:
            page = self._pager.next_page()
        except UserError as exc:
            self._footer.set_text(str(exc))  # what was read is still shown
            return
        self._shown_length += _length(page)
        self._code.add_page(page)
        self._find.refresh()
        self._report()

    def show_earlier(self) -> None:
        """Go back to the previously shown part."""
        if self._before:
            self._show_part(self._before.pop())

    def show_end(self) -> None:
        """Go to the last page, if that is possible without reading the others."""
        if not self._pager.can_jump:
            return
        last = copy.copy(self._pager)
        try:
            last.go_to_end()
        except UserError as exc:
            self._footer.set_text(str(exc))
            return
        self._before.append(self._here)
        self._show_part(last)
        self._code.scroll_to_end()

    def set_wrap(self, wrap: bool) -> None:
        """Wrap long lines, or scroll sideways. A hex dump is never wrapped."""
        self.wrap_action.setChecked(wrap)
        self._apply_wrap()

    def open_find(self) -> None:
        self._find.open_bar()

    def copy_all(self) -> None:
        """Copy everything as text: a dump, or JSON shown in full, as shown; else as received."""
        self._copy(self._copied_text)

    def _copy_selected(self) -> None:
        if text := self._code.selected_text():
            self._copy(lambda: text)

    def _copy(self, get_text: Callable[[], str]) -> None:
        if self._is_secret:
            self.copy_prompt.ask("this, including its secrets", get_text)
            return
        try:
            QGuiApplication.clipboard().setText(get_text())
        except UserError as exc:
            self._footer.set_text(f"Not copied. {exc}")
            self._footer.show()

    def _copied_text(self) -> str:
        source = self._source
        if isinstance(self._pager, HexPager) or self._copies_layout():
            return self.shown_text()
        if isinstance(source, Body):
            source = source.part(0, len(source))
        return source if isinstance(source, str) else source.decode("utf-8", "replace")

    def _copies_layout(self) -> bool:
        """Return whether JSON is copied pretty-printed; if only a part is shown, it is copied as received."""
        return isinstance(self._pager, JsonPager) and not self.is_partial

    def _apply_wrap(self) -> None:
        mode = QPlainTextEdit.LineWrapMode
        wraps = self.wrap_action.isChecked() and not isinstance(self._pager, HexPager)
        self._code.setLineWrapMode(mode.WidgetWidth if wraps else mode.NoWrap)

    def _begin(self, pager: Pager, *, json: bool) -> None:
        self._is_json = json
        self._before = []
        self.copy_prompt.close_prompt()
        self._code.clear()  # before the wrap mode changes: avoids another layout of the old text
        self._pager = pager
        self._apply_wrap()
        self._show_part(pager)

    def _show_part(self, start: Pager) -> None:
        """Show only the pager's next page."""
        self._here, self._pager = copy.copy(start), copy.copy(start)
        try:
            page = self._pager.next_page()
        except UserError as exc:
            self._show_failure(exc)
            return
        self._set_failed(False)
        self._shown_length = _length(page)
        is_dump = isinstance(self._pager, HexPager)
        self._code.set_page(page, json=self._is_json, numbered=self._pager.is_counted, is_dump=is_dump)
        self._find.refresh()
        self._report()

    def _show_failure(self, error: UserError) -> None:
        self._code.clear()
        self._find.refresh()
        self._footer.hide()
        self.copy_action.setEnabled(False)
        self.save_action.setEnabled(False)
        self._failure.show_failed("Could not be read", error.summary, error.next_step, [self._retry_action])
        self._set_failed(True)

    @cached_property
    def _failure(self) -> EmptyState:
        page = EmptyState(self._theme)
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.insertWidget(layout.indexOf(self._code), page)
        return page

    def _set_failed(self, is_failed: bool) -> None:
        if is_failed or "_failure" in vars(self):
            self._failure.setVisible(is_failed)
            self._code.setVisible(not is_failed)

    def _on_retry(self) -> None:
        self._show_part(self._here)

    def _report(self) -> None:
        pager, is_cut = self._pager, self._pager.shown < self._pager.total
        self._more_action.setEnabled(is_cut)
        self._more_button.setVisible(is_cut)
        self._more_action.setText("Show more" if self._shown_length < MAX_SHOWN else "Continue")
        self._earlier_action.setEnabled(bool(self._before))
        self._end_action.setEnabled(is_cut and pager.can_jump)
        self._earlier_action.setVisible(pager.total > MAX_SHOWN)
        self._end_action.setVisible(pager.total > MAX_SHOWN and pager.can_jump)
        self.copy_action.setEnabled(0 < len(self._source) <= MAX_COPIED)
        self.save_action.setEnabled(len(self._source) > 0)
        self._footer.set_text(self._part_text())
        self._footer.setVisible(self.is_partial)

    def _part_text(self) -> str:
        """Return `256 KiB of 50 MiB` at the start; `2.0 MiB to 2.3 MiB of 50 MiB` in the middle."""
        pager, start = self._pager, self._here.shown
        total = pager.size_text(pager.total)
        total = total if total[-1] == "B" else units.plural(pager.total, "character")
        since = f"{pager.size_text(start)} to " if start else ""
        return f"{since}{pager.size_text(pager.shown)} of {total}"

    def _make_actions(self, theme: Theme) -> None:
        self.find_action = self._action(theme, "search", "Find", self.open_find)
        self.find_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Find))
        self.find_action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.addAction(self.find_action)
        self.copy_action = self._action(theme, "copy", "Copy all", self.copy_all)
        self.wrap_action = self._action(theme, "wrap", "Wrap lines", self.set_wrap)
        self.wrap_action.setCheckable(True)
        self.save_action = self._action(theme, "save", "Save…", self.save_requested)
        self._more_action = self._action(theme, "chevron-down", "Show more", self.show_more)
        self._earlier_action = self._action(theme, "chevron-up", "Show earlier", self.show_earlier)
        self._end_action = self._action(theme, "to-end", "Go to the end", self.show_end)
        self._retry_action = self._action(theme, "refresh", "Try again", self._on_retry)
        self._code.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self._code.customContextMenuRequested.connect(self._on_menu_requested)
        copy_selected = QAction("Copy", self)
        copy_selected.triggered.connect(self._copy_selected)
        copy_selected.setEnabled(False)
        self._code.copyAvailable.connect(copy_selected.setEnabled)
        self._code.addActions(
            [copy_selected, self.copy_action, self.find_action, self.wrap_action, self.save_action]
        )

    def menu(self, line: int) -> QMenu:
        """Create the context menu of a line."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in self.line_actions(line):
            action.setParent(menu)
            menu.addAction(action)
        menu.addSeparator()
        menu.addActions(self._code.actions())
        return menu

    def _on_menu_requested(self, at: QPoint) -> None:
        line = self._code.cursorForPosition(at).blockNumber()
        self.menu(line).popup(self._code.viewport().mapToGlobal(at))

    def _action(self, theme: Theme, icon: str, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        theme.set_icon(action, icon)
        action.triggered.connect(slot)
        return action


def _length(page: Page) -> int:
    return sum(map(len, page.rows))


class _Footer(QWidget):
    """Shows which part is shown, and the navigation; rarely used actions are icons."""

    def __init__(self, theme: Theme, icons: Sequence[QAction]) -> None:
        super().__init__()
        self._theme = theme
        self._label = MutedLabel(theme)
        self._row = hbox(
            self,
            (self._label, 1),
            *(_IconButton(action) for action in icons),
            gap=SPACE_1,
            margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1),
        )
        theme.changed.connect(self.update)

    def add_button(self, action: QAction) -> ActionButton:
        button = ActionButton(action, "quiet")
        self._row.addWidget(button)
        return button

    def text(self) -> str:
        return self._label.text()

    def set_text(self, text: str) -> None:
        self._label.setText(text)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))


class _IconButton(ActionToolButton):
    """An action's icon, hidden with the action; Qt does that in tool bars only."""

    def __init__(self, action: QAction) -> None:
        super().__init__(action)
        self.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(action.iconText())
        action.visibleChanged.connect(self._on_visible_changed)

    def _on_visible_changed(self) -> None:
        self.setVisible(self.defaultAction().isVisible())
