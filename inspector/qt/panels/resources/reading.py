"""What reading a resource gave: its contents, what changed in them, and the message as it came."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from inspector.base.jsonvalue import JSON, shorten
from inspector.base.plaintext import one_line
from inspector.base.units import plural, time_of_day
from inspector.engine.contents import Content
from inspector.qt.bridge import Bridge
from inspector.qt.forms.answerview import AnswerView
from inspector.qt.models.standing import Look
from inspector.qt.panels.resources.changes import ChangesView
from inspector.qt.panels.resources.readings import Reading
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.contentview import ContentView

_CONTENT, _CHANGES = range(2)
_MOST_PARTS = 2_000
_LEAST_HEIGHT = 100


class ReadingView(AnswerView):
    """The latest reading of one URI. `strip` shows its status and is placed by the panel.

    Signals:
        shown: Carries the Reading.
    """

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(bridge, theme, "resource", ("Content", "Changes", "Message"), parent)
        self._reading: Reading | None = None
        self.parts = QComboBox()
        self.parts.setAccessibleName("Part of the answer")
        self.parts.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.parts.setMinimumContentsLength(12)
        self.content = ContentView(theme)
        self.strip = QWidget()
        self._lay_out()
        self.parts.currentIndexChanged.connect(self._on_part_chosen)
        self.content.uri_requested.connect(self.uri_requested)
        self.setMinimumHeight(_LEAST_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.show_nothing()

    @cached_property
    def changes(self) -> ChangesView:
        """The changes, created on first use like the message."""
        view = ChangesView(self._bridge, self._theme)
        self._pages.addWidget(view)
        return view

    @property
    def reading(self) -> Reading | None:
        return self._reading

    def show_nothing(self) -> None:
        """Show that it was not read yet."""
        self._reading = None
        self._explain("empty", "Not read yet", "Read it to see what is in it.")

    def show_waiting(self, uri: str, cancel: QAction) -> None:
        self._explain("loading", "Reading", f"Waiting for {one_line(shorten(uri, 80))}.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self._reading = None
        self.parts.hide()
        super().show_malformed(value)

    def show_reading(self, reading: Reading) -> None:
        """Show a reading; unchanged contents stay, with their scroll position."""
        was, self._reading = self._reading, reading
        self.alert.close_all()
        if not self._explain_end(reading.outcome):
            is_same = was is not None and bool(reading.contents) and was.contents is reading.contents
            self._show_answer(reading, is_same)
            self._open()
        self.shown.emit(reading)

    def say_changed(self, read_again: QAction) -> None:
        """Show that the server reported a change since it was read."""
        self.alert.say("changed", "It changed since it was read.", "", [read_again], "wait")

    # --------------------------------------------------------------

    def _explain(
        self, look: Look, title: str, sentence: str, next_step: str = "", action: QAction | None = None
    ) -> None:
        super()._explain(look, title, sentence, next_step, action)
        self.strip.hide()

    def _open(self) -> None:
        super()._open()
        self.strip.show()

    def _show_answer(self, reading: Reading, is_same: bool) -> None:
        self._tell_answer(reading.outcome, *_facts(reading))
        if not reading.contents and not self.alert.text("error"):
            self.alert.say("empty", "The answer holds no contents.", tone="warn")
        if not is_same:
            self._show_parts(reading)
        views = [_CONTENT] if reading.contents else []
        views += [_CHANGES] if reading.before is not None and reading.contents else []
        if not is_same or self.views.index() == self._message_view:
            self._offer(*views)

    def _show_parts(self, reading: Reading) -> None:
        was = self.parts.currentIndex()
        self.parts.blockSignals(True)
        self.parts.clear()
        for place, content in enumerate(reading.contents[:_MOST_PARTS]):
            self.parts.addItem(_part_name(place, len(reading.contents), content))
        self.parts.setCurrentIndex(was if 0 <= was < len(reading.contents) else 0)
        self.parts.blockSignals(False)
        self.parts.setVisible(len(reading.contents) > 1)
        self._show_part()

    def _on_part_chosen(self) -> None:
        self._show_part()
        if self.views.index() == _CHANGES:
            self._show_changes()

    def _show_part(self) -> None:
        if self._reading is not None and self._reading.contents:
            self.content.show_content(self._reading.contents[max(self.parts.currentIndex(), 0)])

    def _show_view(self) -> None:
        self.content.strip.setVisible(self.views.index() == _CONTENT)
        super()._show_view()

    def _page(self, view: int) -> QWidget:
        if view == _CONTENT:
            return self.content
        self._show_changes()
        return self.changes

    def _show_changes(self) -> None:
        reading = self._reading
        if reading is None or reading.before is None:
            return
        place = max(self.parts.currentIndex(), 0)
        before = reading.before[place] if place < len(reading.before) else None
        now = reading.contents[place] if place < len(reading.contents) else None
        self._bridge.start("compare readings", self.changes.show_changes(before, now), self)

    def _lay_out(self) -> None:
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
        self._inside.addLayout(views)
        self._inside.addWidget(self.alert)
        self._inside.addWidget(self._pages, 1)
        self._inside.addWidget(self.saver)


def _facts(reading: Reading) -> list[str]:
    facts = [plural(len(reading.contents), "part")] if len(reading.contents) > 1 else []
    facts.append(f"read {time_of_day(reading.at)[:8]}")
    if reading.is_changed:
        facts.append(f"changed since {time_of_day(reading.before_at)[:8]}")
    elif reading.contents and reading.same_since < reading.at:
        facts.append(f"unchanged since {time_of_day(reading.same_since)[:8]}")
    return facts


def _part_name(place: int, count: int, content: Content) -> str:
    name = content.uri or content.mime_type or content.kind.value
    return f"{place + 1} of {count:,}: {one_line(shorten(name, 80))}"
