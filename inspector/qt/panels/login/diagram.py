"""Sequence diagram of a login: four lifelines, one row per message, filled step by step."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
)
from PySide6.QtWidgets import (
    QFrame,
    QScrollArea,
    QSizePolicy,
    QToolTip,
    QWidget,
)

from inspector.oauth.login.report import Arrow, Party, arrows_of, mermaid, parties_of
from inspector.oauth.login.steps import LoginView, StepId, StepState
from inspector.qt.panels.login.findings import STATE_TONES
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.text.labels import MutedLabel, plain_tooltip

_ROW_HEIGHT = 30
_HEADER_HEIGHT = 40
_MARGIN = 84  # from the edge to the first lifeline
_ARROW_SIZE = 6
_MIN_WIDTH = 520


class DiagramView(QWidget):
    """The sequence diagram, which can be copied as text.

    Signals:
        step_requested: The user clicked a message; carries its StepId.
    """

    step_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: LoginView | None = None
        self.canvas = SequenceDiagram(theme)
        self.canvas.step_requested.connect(self.step_requested)
        self.copy_action = QAction("Copy as text", self)
        self.copy_action.setToolTip("Copy as a Mermaid sequence diagram")
        self.copy_action.triggered.connect(self._copy)
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setWidget(self.canvas)
        head = hbox(
            None,
            (MutedLabel(theme, "Click a message to see its step."), 1),
            ActionButton(self.copy_action, "quiet"),
            gap=-1,
            margin=(SPACE_3, SPACE_2, SPACE_3, 0),
        )
        vbox(self, head, (area, 1), gap=SPACE_1)

    def show_view(self, view: LoginView | None) -> None:
        self._view = view
        self.copy_action.setEnabled(view is not None)
        self.canvas.set_arrows(arrows_of(view) if view is not None else ())

    def show_step(self, step: StepId | None) -> None:
        """Highlight the selected step."""
        self.canvas.set_step(step)

    def _copy(self) -> None:
        if self._view is not None:
            QGuiApplication.clipboard().setText(mermaid(self._view))


class SequenceDiagram(QWidget):
    """Paints the sequence diagram. Arrow keys move between messages, Enter requests the step.

    Signals:
        step_requested: A message was clicked; carries its StepId.
    """

    step_requested = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._arrows: tuple[Arrow, ...] = ()
        self._parties = parties_of(())
        self._step: StepId | None = None
        self._focused = 0
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Sequence diagram of the login")
        theme.changed.connect(self.update)

    @property
    def arrows(self) -> tuple[Arrow, ...]:
        return self._arrows

    def set_arrows(self, arrows: tuple[Arrow, ...]) -> None:
        if arrows == self._arrows:
            return
        self._arrows = arrows
        self._parties = parties_of(arrows)
        self._focused = min(self._focused, max(len(arrows) - 1, 0))
        self.setAccessibleDescription(
            "; ".join(_label(arrow) for arrow in arrows if _has_happened(arrow))[:4000]
        )
        self.setFixedHeight(self.sizeHint().height())
        self.updateGeometry()
        self.update()

    def set_step(self, step: StepId | None) -> None:
        self._step = step
        position = next((at for at, arrow in enumerate(self._arrows) if arrow.step is step), None)
        if position is not None and self._arrows[self._focused].step is not step:
            self._focused = position
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(_MIN_WIDTH, _HEADER_HEIGHT + _ROW_HEIGHT * len(self._arrows) + SPACE_3)

    def minimumSizeHint(self) -> QSize:
        return QSize(_MIN_WIDTH, self.sizeHint().height())

    def row_box(self, position: int) -> QRect:
        return QRect(0, _HEADER_HEIGHT + position * _ROW_HEIGHT, self.width(), _ROW_HEIGHT)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        position = self._position_at(event.position().y())
        if event.button() is Qt.MouseButton.LeftButton and position is not None:
            self._focused = position
            self.update()
            self.step_requested.emit(self._arrows[position].step)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}.get(Qt.Key(event.key()))
        if step is not None and self._arrows:
            self._focused = min(max(self._focused + step, 0), len(self._arrows) - 1)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._arrows:
            self.step_requested.emit(self._arrows[self._focused].step)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            position = self._position_at(event.pos().y())
            text = _label(self._arrows[position]) if position is not None else ""
            QToolTip.showText(event.globalPos(), plain_tooltip(text), self)
            return True
        return super().event(event)

    def _position_at(self, y: float) -> int | None:
        position = int((y - _HEADER_HEIGHT) // _ROW_HEIGHT)
        return position if y >= _HEADER_HEIGHT and 0 <= position < len(self._arrows) else None

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for position, arrow in enumerate(self._arrows):
            if arrow.step is self._step:
                painter.fillRect(self.row_box(position), self._theme.color("selection"))
        self._paint_lifelines(painter)
        for position, arrow in enumerate(self._arrows):
            if self.row_box(position).intersects(event.rect()):
                self._paint_arrow(painter, position, arrow)
        if self.hasFocus() and self._arrows:
            painter.setPen(QPen(self._theme.color("accent"), 1))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(self.row_box(self._focused)).adjusted(1, 0.5, -1, -0.5))

    def _x(self, party: Party) -> float:
        room = self.width() - 2 * _MARGIN
        return _MARGIN + room * self._parties.index(party) / (len(self._parties) - 1)

    def _paint_lifelines(self, painter: QPainter) -> None:
        bold = self._theme.ui_font(1.0, QFont.Weight.DemiBold)
        for party in self._parties:
            x = self._x(party)
            painter.setPen(QPen(self._theme.color("edge"), 1))
            painter.drawLine(QPointF(x, _HEADER_HEIGHT - 6), QPointF(x, self.height()))
            painter.setFont(bold)
            painter.setPen(self._theme.color("text"))
            box = QRectF(x - _MARGIN, 0, 2 * _MARGIN, _HEADER_HEIGHT - 6)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, party.value)

    def _paint_arrow(self, painter: QPainter, position: int, arrow: Arrow) -> None:
        box = self.row_box(position)
        color = self._color(arrow)
        if arrow.source is arrow.target:
            self._paint_note(painter, box, arrow, color)
            return
        y = box.bottom() - 7.0
        start, end = self._x(arrow.source), self._x(arrow.target)
        direction = 1 if end > start else -1
        dash = (
            Qt.PenStyle.DashLine if arrow.is_response or not _has_happened(arrow) else Qt.PenStyle.SolidLine
        )
        painter.setPen(QPen(color, 1.5, dash))
        painter.drawLine(QPointF(start, y), QPointF(end - direction * 1.5, y))
        painter.setPen(QPen(color, 1.5))
        painter.setBrush(color)
        tip = [
            QPointF(end, y),
            QPointF(end - direction * _ARROW_SIZE, y - 3.5),
            QPointF(end - direction * _ARROW_SIZE, y + 3.5),
        ]
        painter.drawPolygon(QPolygonF(tip))
        left, right = min(start, end) + SPACE_1, max(start, end) - SPACE_1
        self._paint_text(painter, QRectF(left, box.top(), right - left, y - box.top() - 1), arrow, color)

    def _paint_note(self, painter: QPainter, box: QRect, arrow: Arrow, color: QColor) -> None:
        """Paint an action of a single party as a rounded box on its lifeline."""
        font = self._font()
        x = self._x(arrow.source)
        width = min(QFontMetrics(font).horizontalAdvance(arrow.text) + 2 * SPACE_2, 2 * _MARGIN + 40)
        note = QRectF(x - width / 2, box.top() + 5, width, _ROW_HEIGHT - 10)
        painter.setPen(QPen(color if _has_happened(arrow) else self._theme.color("edge"), 1))
        painter.setBrush(self._theme.color("surface"))
        painter.drawRoundedRect(note, 6, 6)
        self._paint_text(painter, note.adjusted(SPACE_1, 0, -SPACE_1, 0), arrow, color)

    def _paint_text(self, painter: QPainter, box: QRectF, arrow: Arrow, color: QColor) -> None:
        font = self._font()
        painter.setFont(font)
        painter.setPen(self._theme.color("text") if _has_happened(arrow) and not arrow.is_error else color)
        text = QFontMetrics(font).elidedText(arrow.text, Qt.TextElideMode.ElideMiddle, int(box.width()))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _font(self) -> QFont:
        return self._theme.ui_font(0.92)

    def _color(self, arrow: Arrow) -> QColor:
        if arrow.is_error:
            return self._theme.color("error")
        if not _has_happened(arrow):
            return self._theme.color("muted")
        if arrow.state is StepState.DONE:
            return self._theme.color("inbound" if arrow.is_response else "outbound")
        return self._theme.color(STATE_TONES[arrow.state])


def _has_happened(arrow: Arrow) -> bool:
    """Return whether the message was sent or is being sent."""
    return arrow.state in (StepState.DONE, StepState.FAILED, StepState.RUNNING)


def _label(arrow: Arrow) -> str:
    parties = (
        arrow.source.value
        if arrow.source is arrow.target
        else f"{arrow.source.value} to {arrow.target.value}"
    )
    return f"{parties}: {arrow.text} ({arrow.state.value})"
