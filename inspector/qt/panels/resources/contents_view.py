"""Result of resources/read: contents, changes since the previous read, raw response.

The history holds the latest result of each URI and the contents before it, for at most 100 URIs and
64 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from inspector.base.json.values import JSON, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural, time_of_day
from inspector.engine.content.content import Content
from inspector.engine.views import CallOutcome
from inspector.qt.bridge import Bridge
from inspector.qt.models.servers import Look
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.content_view import ContentView
from inspector.qt.views.diff_view import ChangesTable
from inspector.qt.views.response_view import ResponseView
from inspector.qt.widgets.notices.notices import Alert
from inspector.traffic.compare.texts import compare_packed, pack


class ChangesView(QWidget):
    """What changed in a content since it was last read."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._turn = 0
        self.table = ChangesTable(theme)
        self.model = self.table.rows
        self.alert = Alert(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.alert)
        column.addWidget(self.table, 1)
        column.addStretch(0)
        self.setFocusProxy(self.table)

    async def show_changes(self, before: Content | None, now: Content | None) -> None:
        """Show the changes of one content. Binary data is only reported as different."""
        self._turn += 1
        turn = self._turn
        self.alert.close_all()
        self.table.hide()
        text = _as_text(before, now)
        if text or before is None or now is None:
            self.alert.show_message("changes", text, tone="wait")
            return
        diff = await self._bridge.work(compare_packed, pack(before.data, now.data))
        if turn != self._turn:
            return
        await self.table.show_diff(diff)
        self.table.show()
        if diff.note:
            self.alert.show_message("changes", diff.note, tone="wait")


def _as_text(before: Content | None, now: Content | None) -> str:
    if before is None or now is None:
        gone = (
            "The previous response had fewer parts"
            if before is None
            else "The previous response had more parts"
        )
        return f"{gone}, so there is nothing to compare this one with."
    if before.data == now.data:
        return "This part is unchanged."
    if not (before.is_text and now.is_text):
        return f"The bytes differ: {len(before.data):,} before, {len(now.data):,} now."
    return ""


_CONTENT, _CHANGES = range(2)
_MAX_PARTS = 2_000
_MIN_HEIGHT = 100


class ContentsView(ResponseView):
    """The latest reading of one URI. `strip` shows its status and is placed by the panel.

    Signals:
        shown: Carries the Reading.
    """

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(bridge, theme, "resource", ("Content", "Changes", "Message"), parent)
        self._reading: ReadResult | None = None
        self.parts = QComboBox()
        self.parts.setAccessibleName("Response part")
        self.parts.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.parts.setMinimumContentsLength(12)
        self.content = ContentView(theme)
        self.strip = QWidget()
        self._lay_out()
        self.parts.currentIndexChanged.connect(self._on_part_chosen)
        self.content.uri_requested.connect(self.uri_requested)
        self.setMinimumHeight(_MIN_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Ignored)
        self.show_nothing()

    @cached_property
    def changes(self) -> ChangesView:
        """The changes, created on first use like the message."""
        view = ChangesView(self._bridge, self._theme)
        self._pages.addWidget(view)
        return view

    @property
    def reading(self) -> ReadResult | None:
        return self._reading

    def show_nothing(self) -> None:
        """Show that it was not read yet."""
        self._reading = None
        self._explain("empty", "Not read yet", "Read the resource to see its content.")

    def show_waiting(self, uri: str, cancel: QAction) -> None:
        self._explain("loading", "Reading", f"Waiting for {one_line(shorten(uri, 80))}.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self._reading = None
        self.parts.hide()
        super().show_malformed(value)

    def show_reading(self, reading: ReadResult) -> None:
        """Show a reading; unchanged contents stay, with their scroll position."""
        was, self._reading = self._reading, reading
        self.alert.close_all()
        if not self._explain_end(reading.outcome):
            is_same = was is not None and bool(reading.contents) and was.contents is reading.contents
            self._show_response(reading, is_same)
            self._open()
        self.shown.emit(reading)

    def say_changed(self, read_again: QAction) -> None:
        """Show that the server reported a change since it was read."""
        self.alert.show_message(
            "changed", "The resource changed after it was read.", "", [read_again], "wait"
        )

    def _explain(
        self, inspect: Look, title: str, sentence: str, next_step: str = "", action: QAction | None = None
    ) -> None:
        super()._explain(inspect, title, sentence, next_step, action)
        self.strip.hide()

    def _open(self) -> None:
        super()._open()
        self.strip.show()

    def _show_response(self, reading: ReadResult, is_same: bool) -> None:
        self._show_response_note(reading.outcome, *_facts(reading))
        if not reading.contents and not self.alert.text("error"):
            self.alert.show_message("empty", "The response has no contents.", tone="warn")
        if not is_same:
            self._show_parts(reading)
        views = [_CONTENT] if reading.contents else []
        views += [_CHANGES] if reading.before is not None and reading.contents else []
        if not is_same or self.views.index() == self._message_view:
            self._offer(*views)

    def _show_parts(self, reading: ReadResult) -> None:
        was = self.parts.currentIndex()
        self.parts.blockSignals(True)
        self.parts.clear()
        for position, content in enumerate(reading.contents[:_MAX_PARTS]):
            self.parts.addItem(_part_name(position, len(reading.contents), content))
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
        position = max(self.parts.currentIndex(), 0)
        before = reading.before[position] if position < len(reading.before) else None
        now = reading.contents[position] if position < len(reading.contents) else None
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


def _facts(reading: ReadResult) -> list[str]:
    facts = [plural(len(reading.contents), "part")] if len(reading.contents) > 1 else []
    facts.append(f"read {time_of_day(reading.at)[:8]}")
    if reading.is_changed:
        facts.append(f"changed since {time_of_day(reading.before_at)[:8]}")
    elif reading.contents and reading.same_since < reading.at:
        facts.append(f"unchanged since {time_of_day(reading.same_since)[:8]}")
    return facts


def _part_name(position: int, count: int, content: Content) -> str:
    name = content.uri or content.mime_type or content.kind.value
    return f"{position + 1} of {count:,}: {one_line(shorten(name, 80))}"


MAX_URIS = 100
MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One result of a resources/read.

    `seen` are the contents read last: these, or the previous ones if this result has none. `before` are
    those they replaced. Times are wall times, in nanoseconds.
    """

    uri: str
    outcome: CallOutcome
    contents: tuple[Content, ...]
    at: int
    seen: tuple[Content, ...] = ()
    observed_at: int = 0  # when they were last read
    same_since: int = 0  # when they were first read
    before: tuple[Content, ...] | None = None
    before_at: int = 0
    is_changed: bool = False  # the contents differ from the previous ones

    @property
    def size(self) -> int:
        parts = (*self.seen, *(self.before or ()))
        return len(self.outcome.response) + sum(len(content.data) for content in parts)


class ReadHistory:
    """The latest reading of each URI. The oldest are dropped first."""

    def __init__(self) -> None:
        self._latest: dict[str, ReadResult] = {}

    def keep(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...], at: int) -> ReadResult:
        """Store a result. One without contents, such as an error, does not hide earlier contents.

        Unchanged contents stay the same object, so that they need not be compared again.
        """
        old = self._latest.pop(uri, None)
        reading = self._latest[uri] = _next(old, ReadResult(uri, outcome, contents, at, contents, at, at))
        self._forget()
        return reading

    def of(self, uri: str) -> ReadResult | None:
        return self._latest.get(uri)

    def _forget(self) -> None:
        while len(self._latest) > 1 and (
            len(self._latest) > MAX_URIS or sum(reading.size for reading in self._latest.values()) > MAX_BYTES
        ):
            del self._latest[next(iter(self._latest))]


def _next(old: ReadResult | None, new: ReadResult) -> ReadResult:
    """Return the new reading, completed with what the previous one knows."""
    if old is None or not old.seen:
        return new
    if not new.contents:
        return replace(
            new,
            seen=old.seen,
            observed_at=old.observed_at,
            same_since=old.same_since,
            before=old.before,
            before_at=old.before_at,
        )
    if old.seen == new.contents:
        return replace(
            new,
            contents=old.seen,
            seen=old.seen,
            same_since=old.same_since,
            before=old.before,
            before_at=old.before_at,
        )
    return replace(new, before=old.seen, before_at=old.observed_at, is_changed=True)
