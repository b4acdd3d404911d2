"""The view for whatever came over the wire: JSON, text or bytes, of any size.

Only a head is put on screen (`paging.PAGE_SIZE`); a footer says so and offers more. Setting 50 MB costs the
same as setting 256 KiB. Pretty-printing is not done here: hand in what is to be read.
"""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.codeedit import CodeEdit
from inspector.qt.widgets.findbar import FindBar
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.paging import HexPager, Pager, TextPager

Language = Literal["json", "text"]

MAX_SHOWN = 2 * 1024 * 1024
MAX_COPIED = 16 * 1024 * 1024


class JsonView(QWidget):
    """A read-only code view with paging, find (Ctrl+F), copy and wrapping.

    Its QActions are public so that a panel can put them into its header: `find_action`, `copy_action`
    (everything, as it was given), `wrap_action`, `save_action`.

    Signals:
        save_requested: The person wants the whole content in a file.
    """

    save_requested = Signal()

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source: str | bytes = ""
        self._pager: Pager = TextPager("")
        self._code = CodeEdit(theme)
        self._code.setAccessibleName(name)
        self._find = FindBar(theme, self._code)
        self._find.closed.connect(self._code.setFocus)
        self._make_actions(theme)
        self._footer = _Footer(theme, self._more_action, self.save_action)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for widget in (self._find, self._code, self._footer):
            column.addWidget(widget)
        self.setFocusProxy(self._code)
        self.set_wrap(True)
        self.clear()

    @property
    def is_partial(self) -> bool:
        """Whether less than the whole content is shown."""
        return self._pager.shown < self._pager.total

    def set_text(self, text: str | bytes, language: Language = "json") -> None:
        """Show text; UTF-8 bytes are decoded page by page, so a large frame needs no copy."""
        self._source = text
        self._begin(TextPager(text), json=language == "json", numbered=True)

    def set_bytes(self, raw: bytes) -> None:
        """Show bytes as a hex dump."""
        self._source = raw
        self._begin(HexPager(raw), json=False, numbered=False)

    def clear(self) -> None:
        self.set_text("", "text")

    def shown_text(self) -> str:
        """What is on screen, hidden characters as tokens."""
        return self._code.shown_text()

    def progress_text(self) -> str:
        """What the footer says of the part shown; nothing when that is everything."""
        return self._footer.words() if self.is_partial else ""

    def show_more(self) -> None:
        """Add the next page, as far as the view may grow."""
        if self._more_action.isEnabled():
            self._code.add_page(self._pager.next_page())
            self._find.refresh()
            self._report()

    def set_wrap(self, wrap: bool) -> None:
        """Wrap long lines, or scroll sideways. A hex dump is never wrapped."""
        self.wrap_action.setChecked(wrap)
        self._apply_wrap()

    def open_find(self) -> None:
        self._find.open_bar()

    def copy_all(self) -> None:
        """Put the whole content on the clipboard as text: a dump as it is shown, anything else as it came."""
        QGuiApplication.clipboard().setText(self._copied_text())

    def _copied_text(self) -> str:
        if isinstance(self._pager, HexPager):
            return self.shown_text()
        return self._source if isinstance(self._source, str) else self._source.decode("utf-8", "replace")

    def _apply_wrap(self) -> None:
        mode = QPlainTextEdit.LineWrapMode
        wraps = self.wrap_action.isChecked() and not isinstance(self._pager, HexPager)
        self._code.setLineWrapMode(mode.WidgetWidth if wraps else mode.NoWrap)

    def _begin(self, pager: Pager, *, json: bool, numbered: bool) -> None:
        self._pager = pager
        self._code.clear()  # before wrapping changes: the old text need not be laid out again
        self._apply_wrap()
        self._code.set_page(pager.next_page(), json=json, numbered=numbered)
        self._find.refresh()
        self._report()

    def _report(self) -> None:
        can_grow = self._pager.shown < MAX_SHOWN
        self._more_action.setEnabled(self.is_partial and can_grow)
        self.copy_action.setEnabled(0 < len(self._source) <= MAX_COPIED)
        self.save_action.setEnabled(len(self._source) > 0)
        hint = "" if can_grow else " · save it to read the rest"
        self._footer.set_words(self._pager.progress() + hint)
        self._footer.setVisible(self.is_partial)

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
        self._code.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        copy_selected = QAction("Copy", self)
        copy_selected.triggered.connect(self._code.copy)
        copy_selected.setEnabled(False)
        self._code.copyAvailable.connect(copy_selected.setEnabled)
        self._code.addActions(
            [copy_selected, self.copy_action, self.find_action, self.wrap_action, self.save_action]
        )

    def _action(self, theme: Theme, icon: str, words: str, slot: object) -> QAction:
        action = QAction(words, self)
        theme.dress(action, icon)
        action.triggered.connect(slot)
        return action


class _Footer(QWidget):
    """How much is shown, and the ways to the rest."""

    def __init__(self, theme: Theme, more: QAction, save: QAction) -> None:
        super().__init__()
        self._theme = theme
        self._words = Muted(theme)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACE_3, SPACE_1, SPACE_2, SPACE_1)
        row.setSpacing(SPACE_1)
        row.addWidget(self._words, 1)
        for action in (more, save):
            row.addWidget(ActionButton(action, "quiet"))
        theme.changed.connect(self.update)

    def words(self) -> str:
        return self._words.text()

    def set_words(self, words: str) -> None:
        self._words.setText(words)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))
