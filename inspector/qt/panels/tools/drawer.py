"""Below the form: what can be said about a call besides its arguments. Closed until it is asked for."""

from __future__ import annotations

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, JSONObject, to_wire
from inspector.config.notkept import without_marks
from inspector.config.savedcalls import SavedCall
from inspector.engine.toolhints import TaskChoice
from inspector.qt.forms.watchstrip import WatchStrip
from inspector.qt.panels.tools.options import NO_OPTIONS, CallOptions, OptionsStrip
from inspector.qt.panels.tools.repeating import RepeatStrip
from inspector.qt.theme import Theme


class Drawer(QWidget):
    """The strips of a call: options, repeat and watch, one open at a time.

    Options are kept per tool.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._tool = ""
        self._choice = TaskChoice.NO
        self._options: dict[str, CallOptions] = {}
        self.options = OptionsStrip(theme)
        self.repeating = RepeatStrip(theme)
        self.watching = WatchStrip(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        for strip in self._strips():
            column.addWidget(strip)
            strip.hide()
        self.hide()
        self.options.changed.connect(self._on_options_changed)
        theme.changed.connect(self.update)

    def open(self, strip: QWidget) -> None:
        for each in self._strips():
            each.setVisible(each is strip)
        self.show()

    def toggle(self, strip: QWidget) -> None:
        if strip.isVisibleTo(self) and not self.isHidden():
            self.hide()
        else:
            self.open(strip)
            first = strip.nextInFocusChain()
            if first is not None:
                first.setFocus()

    def clear(self) -> None:
        """Clear the results of another tool."""
        self.repeating.clear()
        self.watching.clear()

    def show_options(self, tool: str, choice: TaskChoice) -> None:
        if (tool, choice) != (self._tool, self._choice):
            self._tool, self._choice = tool, choice
            self.options.set_options(self._options.get(tool, NO_OPTIONS), choice)

    def put_saved(self, call: SavedCall) -> None:
        """Load the options of a saved call."""
        meta, declared = _line(call.meta or None), _line(call.capabilities)
        self._put(call.tool, CallOptions(call.timeout, meta, call.as_task, declared, call.total))

    def put_earlier(self, tool: str, said: JSONObject) -> None:
        """Load the options of an earlier call (`KeptCall.said`); secrets were not kept."""
        said, _ = without_marks(said)
        timeout, total = (
            value if isinstance(value := said.get(name), int | float) else None
            for name in ("timeout", "total")
        )
        meta, declared = _line(said.get("meta")), _line(said.get("capabilities"))
        self._put(tool, CallOptions(timeout, meta, said.get("task") is True, declared, total))

    def _put(self, tool: str, options: CallOptions) -> None:
        self._options[tool] = options
        if tool == self._tool:
            self.options.set_options(options, self._choice)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, 0, self.width(), 1, self._theme.color("line"))

    def _strips(self) -> tuple[QWidget, ...]:
        return (self.options, self.repeating, self.watching)

    def _on_options_changed(self) -> None:
        self._options[self._tool] = self.options.options()


def _line(value: JSON) -> str:
    """Return a value as one line of JSON; "" for None."""
    return "" if value is None else to_wire(value).decode()
