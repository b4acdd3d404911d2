"""The steps of a login in their order: how each stands, and the gravest of what was found in it."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyleOptionViewItem, QWidget

from inspector.base.units import plural
from inspector.oauth.steps import LoginView, Step, StepId, StepState
from inspector.qt.panels.auth.marks import SEVERITY_MARKS, paint_state, worst
from inspector.qt.theme import ICON_SIZE, SPACE_1, Theme
from inspector.qt.widgets.badge import paint_dot
from inspector.qt.widgets.itemviews import dress_list
from inspector.qt.widgets.labels import plain_tooltip
from inspector.qt.widgets.markedrows import PaintedRows

_STEP = Qt.ItemDataRole.UserRole


class StepList(QListWidget):
    """The login's steps. Follows the login while the user stays on its current step.

    Signals:
        step_chosen: Another step was selected; carries its StepId.
    """

    step_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._steps: tuple[Step, ...] = ()
        self._flow = 0
        self._current: StepId | None = None
        self.setAccessibleName("Steps of the login")
        dress_list(self, theme)
        self.setItemDelegate(_StepRows(theme, self))
        self.currentRowChanged.connect(self._on_row_changed)
        theme.changed.connect(self.viewport().update)

    def show_view(self, view: LoginView) -> None:
        follows = view.flow_id != self._flow or self.chosen() in (self._current, None)
        self._flow = view.flow_id
        self._fill(view.steps)
        current = view.current
        self._current = current.id if current is not None else None
        if follows:
            self.choose(self._current or view.steps[-1].id)

    def choose(self, step: StepId) -> None:
        row = next((place for place, each in enumerate(self._steps) if each.id is step), -1)
        if row >= 0:
            self.setCurrentRow(row)

    def chosen(self) -> StepId | None:
        row = self.currentRow()
        return self._steps[row].id if 0 <= row < len(self._steps) else None

    def sizeHint(self) -> QSize:
        return QSize(230, super().sizeHint().height())

    # --------------------------------------------------------------

    def _fill(self, steps: tuple[Step, ...]) -> None:
        if [each.id for each in steps] != [each.id for each in self._steps]:
            self.blockSignals(True)
            self.clear()
            for _ in steps:
                self.addItem(QListWidgetItem())
            self.blockSignals(False)
        self._steps = steps
        for place, step in enumerate(steps):
            item = self.item(place)
            if item.data(_STEP) != step:
                item.setData(_STEP, step)
                item.setText(f"{place + 1}  {step.id.value}")
                words = _words(step)
                item.setToolTip(plain_tooltip(words))
                item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{step.id.value}, {words}")

    def _on_row_changed(self, row: int) -> None:
        if 0 <= row < len(self._steps):
            self.step_chosen.emit(self._steps[row].id)


def _words(step: Step) -> str:
    found = f", {plural(len(step.findings), 'finding')}" if step.findings else ""
    return f"{step.state.value}{found}"


class _StepRows(PaintedRows):
    def paint_row(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        box: QRect,
        text: str,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        step = index.data(_STEP)
        if not isinstance(step, Step):
            return
        mark = QRectF(box.left(), box.top(), ICON_SIZE, box.height())
        paint_state(painter, mark, self._theme, step.state)
        room = box.adjusted(ICON_SIZE + SPACE_1, 0, -self._paint_worst(painter, box, step), 0)
        is_quiet = step.state in (StepState.WAITING, StepState.SKIPPED)
        painter.setFont(option.font)
        painter.setPen(self._theme.color("muted" if is_quiet else "text"))
        self.draw_text(painter, room, text)

    def _paint_worst(self, painter: QPainter, box: QRect, step: Step) -> int:
        """Paint the worst severity and return the width it takes."""
        severity = worst(step.findings)
        if severity is None:
            return 0
        shape, tone = SEVERITY_MARKS[severity]
        mark = QRectF(box.right() - ICON_SIZE, box.top(), ICON_SIZE, box.height())
        paint_dot(painter, mark, shape, self._theme.color(tone))
        return ICON_SIZE + SPACE_1
