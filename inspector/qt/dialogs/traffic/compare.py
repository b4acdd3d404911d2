"""Side-by-side comparison of two messages or exchanges, its header and its ignore bar.

The header shows the origin, status and duration of both sides. The ignore bar has a check box per preset
and a menu of ignored paths; `compare_captures` uses it too.
"""

from __future__ import annotations

import asyncio
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QDialog, QMenu, QToolButton, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, compact, shorten
from inspector.base.plain_text import one_line
from inspector.qt.bridge import Bridge
from inspector.qt.models.compare.comparison import CompareOptions, Part, Side, compare_part, parts_of
from inspector.qt.models.compare.diff_rows import DiffRowsModel
from inspector.qt.models.traffic.columns import STATUS_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.diff_view import DiffView
from inspector.qt.widgets.inputs.controls import ActionToolButton, Segments
from inspector.qt.widgets.inputs.popups import NotePopup
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel
from inspector.traffic.compare.diff import PRESETS, ChangeKind, Cut, Diff
from inspector.traffic.records import STATUS_LABELS

_SIGN_WIDTH = 28


class CompareDialog(QDialog):
    """Compares two exchanges: requests with requests, responses with responses.

    It compares again when the ignored parts change.
    """

    help_page = "traffic"

    def __init__(
        self,
        bridge: Bridge,
        theme: Theme,
        left: Side,
        right: Side,
        options: CompareOptions,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._sides = (left, right)
        self._options = options
        self._task: asyncio.Task[None] | None = None
        self.diff: Diff | None = None  # the comparison shown
        self._parts, chosen = parts_of(left, right)
        self.parts = Segments(theme, [part.name for part in self._parts])
        self.parts.setAccessibleName("Messages to compare")
        self.parts.choose(chosen)
        self.head = DiffHead(theme)
        self.model = DiffRowsModel(theme)
        self.view = DiffView(self.model, theme)
        self.summary = PlainLabel(theme)
        self.position = PlainLabel(theme, tone="muted", mono=True, elide=Qt.TextElideMode.ElideMiddle)
        self.ignore_bar = IgnoreBar(options, theme)
        self.alert = Alert(theme)
        self.gate = ContentStack(theme, self.view)
        self._make_actions(theme)
        self._lay_out()
        self._connect()
        self.compare()

    @property
    def part(self) -> Part:
        return self._parts[self.parts.index()]

    def compare(self) -> None:
        """Compare the chosen sides; cancels a running comparison."""
        self.stop()
        left, right = self._sides
        self.setWindowTitle(f"Compare {shorten(one_line(left.name() or right.name()), 80)}")
        self.head.show_sides(left, right, self.part)
        self.summary.setText("")
        self.gate.explain("loading", "", "Comparing", "Large messages take a while.", action=self.stop_action)
        self._task = self._bridge.start("compare", self._compare(), self)

    def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            message = "The comparison was stopped."
            self.gate.explain("empty", "stop", "Not compared", message, action=self.again_action)

    async def _compare(self) -> None:
        left, right = self._sides
        try:
            diff = await compare_part(self._bridge, left, right, self.part, self._options.ignoring)
        except UserError as exc:
            self.gate.explain("failed", "", "Not compared", exc.summary, exc.next_step, self.again_action)
            return
        await self.model.show(diff)
        self._show(diff)

    def _show(self, diff: Diff) -> None:
        self.diff = diff
        self.summary.setText(diff.summary())
        self.alert.close_all()
        if diff.note:
            self.alert.show_message("note", diff.note, tone="muted")
        is_ignoring = any(entry.kind is ChangeKind.IGNORED for entry in diff.entries)
        if diff.is_same and not is_ignoring:
            self.gate.explain("empty", "check", "No differences", "Both messages are the same.")
        else:
            self.gate.open()
        has_changes = not diff.is_same
        for action in (self.next_action, self.previous_action):
            action.setEnabled(has_changes)
        self.copy_action.setEnabled(self.gate.is_open())
        self._on_row_changed()
        if has_changes:
            self.go_to_change(1)

    def go_to_change(self, step: int) -> None:
        number = self.view.go_to_change(step)
        if number is not None:
            self.summary.setText(f"{number + 1:,} of {len(self.model.changes()):,} · {self._summary()}")

    def swap(self) -> None:
        self._sides = (self._sides[1], self._sides[0])
        self._parts = [Part(part.name, part.right, part.left) for part in self._parts]
        self.compare()

    def copy_text(self) -> None:
        """Copy the comparison as text, headed by what was compared."""
        lines = [*self.head.as_text(), self._summary(), "", self.model.as_text()]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _summary(self) -> str:
        return self.diff.summary() if self.diff is not None else ""

    def _on_row_changed(self) -> None:
        row = self.view.currentIndex().row()
        is_valid = 0 <= row < self.model.rowCount()
        self.position.setText(f"{self.model.path(row)}   {self.model.note(row)}".strip() if is_valid else "")

    def make_menu(self, row: int) -> QMenu:
        """Create the context menu of a row."""
        menu = QMenu(self)
        for path in self.model.ignorable(row):
            message = f"Ignore {shorten(one_line(path), 60)}".replace("&", "&&")
            menu.addAction(message).triggered.connect(partial(self._on_ignore, path))
        menu.addSeparator()
        copies = {"Copy path": self.model.path(row)}
        values = self.model.values(row)
        if values is not None:
            copies |= {"Copy left value": _written(values[0]), "Copy right value": _written(values[1])}
        for message, text in copies.items():
            if text:
                menu.addAction(message).triggered.connect(partial(_copy, text))
        menu.addSeparator()
        menu.addAction("Collapse all").triggered.connect(self.model.fold_all)
        return menu

    def _on_ignore(self, path: str, checked: bool = False) -> None:
        self.ignore_bar.add_path(path)

    def _on_menu_requested(self, row: int, position: QPoint) -> None:
        menu = self.make_menu(row)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(position)

    def _make_actions(self, theme: Theme) -> None:
        self.next_action = self._action("chevron-down", "Next difference", "F7")
        self.previous_action = self._action("chevron-up", "Previous difference", "Shift+F7")
        self.swap_action = self._action("swap", "Swap sides", "")
        self.copy_action = self._action("copy", "Copy as text", "")
        self.stop_action = QAction("Stop", self)
        self.again_action = QAction("Compare again", self)

    def _action(self, icon: str, message: str, keys: str) -> QAction:
        action = QAction(message, self)
        self._theme.set_icon(action, icon)
        if keys:
            action.setShortcut(QKeySequence(keys))
            action.setToolTip(f"{message} ({keys})")
        self.addAction(action)
        return action

    def _connect(self) -> None:
        self.next_action.triggered.connect(lambda: self.go_to_change(1))
        self.previous_action.triggered.connect(lambda: self.go_to_change(-1))
        self.swap_action.triggered.connect(self.swap)
        self.copy_action.triggered.connect(self.copy_text)
        self.stop_action.triggered.connect(self.stop)
        self.again_action.triggered.connect(self.compare)
        self.parts.chosen.connect(lambda index: self.compare())
        self._options.changed.connect(self.compare)
        self.ignore_bar.problem_found.connect(lambda message: self.alert.show_message("path", message))
        self.view.menu_requested.connect(self._on_menu_requested)
        self.view.selectionModel().currentRowChanged.connect(lambda *rows: self._on_row_changed())
        self.finished.connect(self.stop)
        self.view.verticalScrollBar().rangeChanged.connect(self._on_scroll_range_changed)

    def _on_scroll_range_changed(self, low: int, high: int) -> None:
        """Keep the header as wide as the columns, which the scroll bar makes narrower."""
        bar = self.view.verticalScrollBar()
        self.head.set_right_margin(bar.sizeHint().width() if high > low else 0)

    def _lay_out(self) -> None:
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowFlag(Qt.WindowType.WindowMaximizeButtonHint)
        self.resize(1100, 720)
        top = hbox(None, self.parts, margin=(SPACE_3, SPACE_2, SPACE_2, SPACE_2))
        self.parts.setVisible(len(self._parts) > 1)
        top.addWidget(self.summary, 1)
        top.addWidget(self.ignore_bar)
        top.addSpacing(SPACE_2)
        for action in (self.previous_action, self.next_action, self.swap_action, self.copy_action):
            button = ActionToolButton(action)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(action.iconText())
            top.addWidget(button)
        foot = hbox(None, (self.position, 1), gap=-1, margin=(SPACE_3, SPACE_2))
        vbox(self, top, self.head, self.alert, (self.gate, 1), foot, gap=0)


def _written(value: JSON | Cut) -> str:
    if value is None or isinstance(value, Cut):
        return ""
    return value if isinstance(value, str) else compact(value)


def _copy(text: str, checked: bool = False) -> None:
    QGuiApplication.clipboard().setText(text)


class DiffHead(QWidget):
    """The header of a diff. Both halves are as wide as the columns below."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._halves = (_Half(theme), _Half(theme))
        self._row = hbox(self, *((half, 1) for half in self._halves), gap=0, margin=None)
        self.set_right_margin(0)
        theme.changed.connect(self.update)

    def show_sides(self, left: Side, right: Side, part: Part) -> None:
        for half, side, row in zip(self._halves, (left, right), (part.left, part.right), strict=True):
            half.show_side(side, row)

    def set_right_margin(self, width: int) -> None:
        """Leave room on the right for the scroll bar of the columns below."""
        self._row.setContentsMargins(_SIGN_WIDTH, SPACE_2, width, SPACE_2)

    def as_text(self) -> list[str]:
        """Return one line per side, for copying."""
        return [f"{sign} {half.text()}" for sign, half in zip("-+", self._halves, strict=True)]

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        for top in (0, self.height() - 1):
            painter.fillRect(0, top, self.width(), 1, self._theme.color("line"))


class _Half(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._title, self._origin = Heading(theme), MutedLabel(theme)
        self._status = Badge(theme)
        self._facts = MutedLabel(theme)
        first = hbox(None, self._title, (self._origin, 1))
        second = hbox(None, self._status, (self._facts, 1))
        vbox(self, first, second, gap=SPACE_1, margin=(SPACE_1, 0, SPACE_3, 0))

    def show_side(self, side: Side, row: int | None) -> None:
        position = f"row {(side.row if row is None else row) + 1:,}"
        self._title.setText(one_line(side.name()) or position)
        self._origin.setText(f"{one_line(side.title)}, {position}")
        self._status.set_text(STATUS_LABELS[side.status], STATUS_TONES[side.status])
        self._facts.setText(side.facts(row) if row is not None else "no matching message")

    def text(self) -> str:
        message = [self._title.text(), self._origin.text(), self._status.text, self._facts.text()]
        return " · ".join(filter(None, message))


class IgnoreBar(QWidget):
    """Shows and changes `CompareOptions`.

    Signals:
        problem_found: A path is invalid; carries the message.
    """

    problem_found = Signal(str)

    def __init__(self, options: CompareOptions, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._options = options
        self._theme = theme
        self.boxes = {name: QCheckBox(name.capitalize()) for name in PRESETS}
        self.paths = QToolButton()
        self._menu = QMenu(self)
        self._lay_out()
        for name, box in self.boxes.items():
            box.setToolTip(PRESETS[name])
            box.toggled.connect(partial(options.set_preset, name))
        self._menu.aboutToShow.connect(self._fill_menu)
        options.changed.connect(self._show)
        self._show()

    def add_path(self, path: str) -> None:
        """Ignore the value at a path; an invalid path is reported."""
        try:
            if path:
                self._options.add_path(path)
        except UserError as exc:
            self.problem_found.emit(str(exc))

    def ask_for_path(self) -> None:
        popup = NotePopup(self._theme, "Ignore a path, such as result.content[*].text", "", self)
        popup.accepted.connect(self.add_path)
        popup.open_at(self.paths.mapToGlobal(QPoint(0, self.paths.height())))

    def _show(self) -> None:
        ignoring = self._options.ignoring
        for name, box in self.boxes.items():
            box.setChecked(getattr(ignoring, name))
        count = len(ignoring.paths)
        self.paths.setText(f"Paths ({count})" if count else "Paths")

    def _fill_menu(self) -> None:
        self._menu.clear()
        for path in self._options.ignoring.paths:
            action = self._menu.addAction(shorten(one_line(path), 80).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(True)
            action.triggered.connect(partial(self._on_unchecked, path))
        self._menu.addSeparator()
        self._menu.addAction("Ignore a path…").triggered.connect(self.ask_for_path)

    def _on_unchecked(self, path: str, checked: bool = False) -> None:
        self._options.remove_path(path)

    def _lay_out(self) -> None:
        self.paths.setMenu(self._menu)
        self.paths.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.paths.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.paths.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.paths.setToolTip("Ignored paths; right-click a line to add its path")
        self._theme.set_icon(self.paths, "chevron-down")
        hbox(
            self,
            PlainLabel(self._theme, "Ignore", tone="muted"),
            *self.boxes.values(),
            self.paths,
            gap=SPACE_3,
        )
