"""What reading a resource gave: its contents, what changed in them, and the message as it came."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from inspector.base.jsonvalue import JSON, pretty, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import duration, plural, size, time_of_day
from inspector.engine.contents import Content
from inspector.engine.views import OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.models.standing import Look
from inspector.qt.panels.resources.changes import ChangesView
from inspector.qt.panels.resources.readings import Reading
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.bytesbody import BytesBody
from inspector.qt.widgets.contentview import ContentView
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.savefile import save_bytes
from inspector.qt.widgets.segments import Segments

_CONTENT, _CHANGES, _MESSAGE = range(3)
_MOST_PARTS = 2_000
_LEAST_HEIGHT = 100


class ReadingView(QWidget):
    """The latest reading of one URI. `strip` says how it went: it stands where the panel puts it.

    Signals:
        shown: A reading is on screen; carries it.
        uri_requested: The person wants to see what a link leads to; carries its URI.
    """

    shown = Signal(object)
    uri_requested = Signal(str)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._reading: Reading | None = None
        self.badge = Badge(theme)
        self._facts = Muted(theme)
        self.parts = QComboBox()
        self.parts.setAccessibleName("Part of the answer")
        self.parts.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.parts.setMinimumContentsLength(12)
        self.views = Segments(theme, ("Content", "Changes", "Message"))
        self.views.setAccessibleName("What is shown of the answer")
        self.alert = Alert(theme)
        self.content = ContentView(theme)
        self._shown_message: bytes = b""
        self._pages = QStackedWidget()
        self.strip = QWidget()
        self._gate = Gate(theme, self._make_inside())
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._gate)
        self.views.chosen.connect(self._on_view_chosen)
        self.parts.currentIndexChanged.connect(self._on_part_chosen)
        self.content.uri_requested.connect(self.uri_requested)
        self.setMinimumHeight(_LEAST_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.show_nothing()

    @cached_property
    def changes(self) -> ChangesView:
        """Made when it is first looked at, like the message: they cost half of the making of a panel."""
        view = ChangesView(self._bridge, self._theme)
        self._pages.addWidget(view)
        return view

    @cached_property
    def message(self) -> JsonView:
        view = JsonView(self._theme, "Whole answer")
        view.save_requested.connect(self._on_save_requested)
        self._pages.addWidget(view)
        return view

    @property
    def reading(self) -> Reading | None:
        return self._reading

    def show_nothing(self) -> None:
        """It was not read yet."""
        self._reading = None
        self._explain("empty", "resource", "Not read yet", "Read it to see what is in it.")

    def show_waiting(self, uri: str, cancel: QAction) -> None:
        words = f"Waiting for {one_line(shorten(uri, 80))}."
        self._explain("loading", "resource", "Reading", words, action=cancel)

    def show_malformed(self, value: JSON) -> None:
        """An entry of the list that cannot be read: what was sent."""
        self._reading = None
        self.badge.set_text("not usable", "warn")
        self._facts.setText("")
        self.alert.close_all()
        self.parts.hide()
        self._shown_message = pretty(value).encode(errors="surrogatepass")
        self._offer(_MESSAGE)
        self._open()

    def show_reading(self, reading: Reading) -> None:
        self._reading = reading
        outcome = reading.outcome
        self.alert.close_all()
        if outcome.kind is OutcomeKind.FAILED:
            self._explain("failed", "resource", "No answer", outcome.summary, outcome.next_step)
        elif outcome.kind is OutcomeKind.CANCELLED:
            words = "The server was told. An answer that still comes is in Traffic."
            self._explain("empty", "stop", "Cancelled", words)
        else:
            self._show_answer(reading)
            self._open()
        self.shown.emit(reading)

    def say_changed(self, read_again: QAction) -> None:
        """The server says that it is another one by now."""
        self.alert.say("changed", "It changed since it was read.", "", [read_again], "wait")

    # --------------------------------------------------------------

    def _explain(
        self,
        look: Look,
        icon: str,
        title: str,
        sentence: str,
        next_step: str = "",
        action: QAction | None = None,
    ) -> None:
        self._gate.explain(look, icon, title, sentence, next_step, action)
        self.strip.hide()

    def _open(self) -> None:
        self._gate.open()
        self.strip.show()

    def _show_answer(self, reading: Reading) -> None:
        outcome = reading.outcome
        is_error = outcome.kind is OutcomeKind.RPC_ERROR
        self.badge.set_text(outcome.kind.value, "error" if is_error else "ok")
        self._facts.setText(_facts(reading))
        self._shown_message = outcome.answer
        if is_error:
            self.alert.say("error", f"The server refused: {outcome.summary}.", tone="error")
        elif not reading.contents:
            self.alert.say("empty", "The answer holds no contents.", tone="warn")
        self._show_parts(reading)
        views = [_CONTENT] if reading.contents else []
        views += [_CHANGES] if reading.is_changed and reading.contents else []
        self._offer(*views, _MESSAGE)

    def _show_parts(self, reading: Reading) -> None:
        was = self.parts.currentIndex()
        self.parts.blockSignals(True)
        self.parts.clear()
        for place, content in enumerate(reading.contents[:_MOST_PARTS]):
            self.parts.addItem(_part_name(place, len(reading.contents), content))
        self.parts.setCurrentIndex(was if 0 <= was < len(reading.contents) else 0)
        self.parts.blockSignals(False)
        self.parts.setVisible(len(reading.contents) > 1)
        self._on_part_chosen()

    def _offer(self, *views: int) -> None:
        """These views can be chosen. Whoever looked at the changes, or the message, goes on to."""
        was = self.views.index()
        for view in range(3):
            self.views.button(view).setVisible(view in views)
        self.views.setVisible(len(views) > 1)
        self.views.choose(was if was in views else views[0])
        self._on_view_chosen()

    def _on_part_chosen(self) -> None:
        if self._reading is not None and self._reading.contents:
            self.content.show_content(self._reading.contents[max(self.parts.currentIndex(), 0)])
            if self.views.index() == _CHANGES:
                self._show_changes()

    def _on_view_chosen(self) -> None:
        self.content.strip.setVisible(self.views.index() == _CONTENT)
        match self.views.index():
            case 1:
                self._pages.setCurrentWidget(self.changes)
                self._show_changes()
            case 2:
                self.message.set_body(BytesBody(self._shown_message), "pretty")
                self._pages.setCurrentWidget(self.message)
            case _:
                self._pages.setCurrentWidget(self.content)

    def _show_changes(self) -> None:
        reading = self._reading
        if reading is None or reading.before is None:
            return
        place = max(self.parts.currentIndex(), 0)
        before = reading.before[place] if place < len(reading.before) else None
        now = reading.contents[place] if place < len(reading.contents) else None
        self._bridge.start("compare readings", self.changes.show_changes(before, now), self)

    def _on_save_requested(self) -> None:
        save_bytes(self, "Save the whole answer", "answer.json", self._shown_message)

    def _make_inside(self) -> QWidget:
        strip = QHBoxLayout(self.strip)
        strip.setContentsMargins(SPACE_2, 0, 0, 0)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self.badge)
        strip.addWidget(self._facts, 1)
        strip.addWidget(self.parts)
        views = QHBoxLayout()
        views.setContentsMargins(SPACE_3, 0, 0, SPACE_1)
        views.setSpacing(0)
        views.addWidget(self.views)
        views.addWidget(self.content.strip, 1)
        views.addStretch(0)
        self._pages.addWidget(self.content)
        inside = QWidget()
        column = QVBoxLayout(inside)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(views)
        column.addWidget(self.alert)
        column.addWidget(self._pages, 1)
        return inside


def _facts(reading: Reading) -> str:
    facts = [duration(reading.outcome.elapsed_ns), size(len(reading.outcome.answer))]
    if len(reading.contents) > 1:
        facts.append(plural(len(reading.contents), "part"))
    facts.append(f"read {time_of_day(reading.at)[:8]}")
    if reading.before is not None and reading.contents:
        since = time_of_day(reading.before_at)[:8]
        facts.append(f"changed since {since}" if reading.is_changed else f"unchanged since {since}")
    return " · ".join(facts)


def _part_name(place: int, count: int, content: Content) -> str:
    name = content.uri or content.mime_type or content.kind.value
    return f"{place + 1} of {count:,}: {one_line(shorten(name, 80))}"
