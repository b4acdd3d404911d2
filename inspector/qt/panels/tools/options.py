"""What is said about a call besides its arguments: how long to wait, `_meta`, whether it is to be a task."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QDoubleSpinBox, QGridLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.config.exactfile import read_exactly
from inspector.engine.callmeta import meta_remarks
from inspector.engine.toolhints import TaskChoice
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.labels import PlainLabel

_LONGEST_TIMEOUT = 24 * 3600.0
_TASK_TIPS = {
    TaskChoice.MAY: "The server answers at once with a task, and with the result when that is done.",
    TaskChoice.MUST: "This tool only runs as a task.",
}


@dataclass(frozen=True, slots=True)
class CallOptions:
    """`timeout` in seconds, None for the server's own. `meta` is JSON text as it was typed."""

    timeout: float | None = None
    meta: str = ""
    as_task: bool = False

    def read_meta(self) -> JSONObject:
        """Raises UserError."""
        if not self.meta.strip():
            return {}
        try:
            value = read_exactly(self.meta)
        except JSONProblem as exc:
            raise UserError(f"_meta is not JSON: {exc}.", "Correct it, or empty it.") from exc
        if not isinstance(value, dict):
            raise UserError("_meta must be a JSON object.", 'Write it like {"name": "value"}.')
        return value


NO_OPTIONS = CallOptions()


class OptionsStrip(QWidget):
    """The options of the tool that is shown.

    Signals:
        changed: The person changed one.
    """

    changed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.timeout = QDoubleSpinBox()
        self.timeout.setRange(0, _LONGEST_TIMEOUT)
        self.timeout.setDecimals(1)
        self.timeout.setSuffix(" s")
        self.timeout.setSpecialValueText("server's own")
        self.timeout.setAccessibleName("Timeout of the call")
        self.timeout.setToolTip("How long to wait without an answer; each progress begins the time anew")
        self.meta = QLineEdit()
        self.meta.setFont(theme.mono_font(0.95))
        self.meta.setPlaceholderText('{"example.com/trace": "1"}')
        self.meta.setAccessibleName("_meta of the call, as JSON")
        self.task = QCheckBox("Run as task")
        self._remark = PlainLabel(theme, tone="warn", wrap=True)
        self._choice = TaskChoice.NO
        self._lay_out(theme)
        self.timeout.valueChanged.connect(self.changed)
        self.meta.textChanged.connect(self._on_meta_changed)
        self.task.toggled.connect(self.changed)
        self.set_options(NO_OPTIONS, TaskChoice.NO)

    def options(self) -> CallOptions:
        is_task = self._choice is TaskChoice.MUST or (
            self._choice is TaskChoice.MAY and self.task.isChecked()
        )
        return CallOptions(self.timeout.value() or None, self.meta.text(), is_task)

    def set_options(self, options: CallOptions, choice: TaskChoice) -> None:
        """Those of another tool, and what that tool offers."""
        self._choice = choice
        self.blockSignals(True)
        self.timeout.setValue(options.timeout or 0)
        self.meta.setText(options.meta)
        self.task.setChecked(options.as_task or choice is TaskChoice.MUST)
        self.blockSignals(False)
        self.task.setEnabled(choice is TaskChoice.MAY)
        self.task.setVisible(choice is not TaskChoice.NO)
        self.task.setToolTip(_TASK_TIPS.get(choice, ""))
        self._show_remark()

    def summary(self) -> str:
        """What is not as usual, in a few words: `30 s · _meta · task`."""
        options = self.options()
        words = (
            f"{options.timeout:g} s" if options.timeout else "",
            "_meta" if options.meta.strip() else "",
            "task" if options.as_task else "",
        )
        return " · ".join(word for word in words if word)

    # --------------------------------------------------------------

    def _on_meta_changed(self) -> None:
        self._show_remark()
        self.changed.emit()

    def _show_remark(self) -> None:
        try:
            words = " ".join(meta_remarks(self.options().read_meta()))
        except UserError as exc:
            words = exc.summary
        self._remark.setText(words)
        self._remark.setVisible(bool(words))

    def _lay_out(self, theme: Theme) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(SPACE_2)
        grid.setVerticalSpacing(SPACE_1)
        grid.addWidget(PlainLabel(theme, "Timeout", tone="muted"), 0, 0)
        grid.addWidget(self.timeout, 0, 1, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self.task, 0, 2)
        grid.addWidget(PlainLabel(theme, "_meta", tone="muted"), 1, 0)
        grid.addWidget(self.meta, 1, 1, 1, 2)
        grid.setColumnStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_1)
        column.setSpacing(SPACE_1)
        column.addLayout(grid)
        column.addWidget(self._remark)
