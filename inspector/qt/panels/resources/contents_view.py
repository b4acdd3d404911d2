"""Result of resources/read: contents, changes since the previous read, raw response.

The history holds the latest result of each URI and the contents before it, for at most 100 URIs and
64 MiB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QSizePolicy, QWidget

from inspector.base.json.values import JSON, shorten
from inspector.base.plain_text import one_line
from inspector.base.units import plural, time_of_day
from inspector.engine.content.content import Content
from inspector.engine.views import CallOutcome
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.content_view import ContentView
from inspector.qt.views.diff_view import ChangesTable
from inspector.qt.views.response_view import SwitchedResponseView
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.traffic.compare.texts import compare_packed, pack

MAX_URIS = 100
MAX_BYTES = 64 * 1024 * 1024
_CONTENT, _CHANGES = range(2)
_MAX_PARTS = 2_000
_MIN_HEIGHT = 100


class ContentsView(SwitchedResponseView):
    """The latest result of one URI. `strip` shows its status and is placed by the panel.

    Signals:
        shown: Carries the ReadResult.
    """

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(bridge, theme, "resource", ("Content", "Changes", "Raw"), parent)
        self._result: ReadResult | None = None
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
    def result(self) -> ReadResult | None:
        return self._result

    def show_nothing(self) -> None:
        """Show that it was not read yet."""
        self._result = None
        self.explain("empty", "Not read yet", "Read the resource to see its content.")

    def show_waiting(self, uri: str, cancel: QAction) -> None:
        self.explain("loading", "Reading", f"Waiting for {one_line(shorten(uri, 80))}.", action=cancel)

    def show_malformed(self, value: JSON) -> None:
        self._result = None
        self.parts.hide()
        super().show_malformed(value)

    def show_result(self, result: ReadResult) -> None:
        """Show a result; unchanged contents stay, with their scroll position."""
        previous, self._result = self._result, result
        self.alert.close_all()
        if not self._explain_missing_result(result.outcome):
            is_same = previous is not None and bool(result.contents) and previous.contents is result.contents
            self._show_response(result, is_same)
            self._stack.open()
        self.shown.emit(result)

    def show_changed_note(self, read_again: QAction) -> None:
        """Show that the server reported a change since it was read."""
        text = "This resource has changed since you read it."
        self.alert.show_message("changed", text, "", [read_again], "wait")

    def _show_strip(self) -> None:
        self.strip.setVisible(self._stack.is_open())

    def _show_response(self, result: ReadResult, is_same: bool) -> None:
        self._show_status(result.outcome, *_facts(result))
        if not result.contents and not self.alert.text("outcome"):
            self.alert.show_message("empty", "The response has no contents.", tone="warn")
        if not is_same:
            self._show_parts(result)
        views = [_CONTENT] if result.contents else []
        views += [_CHANGES] if result.before is not None and result.contents else []
        if not is_same or self.views.index() == self._message_view:
            self._set_available_views(*views)

    def _show_parts(self, result: ReadResult) -> None:
        previous = self.parts.currentIndex()
        self.parts.blockSignals(True)
        self.parts.clear()
        for position, content in enumerate(result.contents[:_MAX_PARTS]):
            self.parts.addItem(_part_name(position, len(result.contents), content))
        self.parts.setCurrentIndex(previous if 0 <= previous < len(result.contents) else 0)
        self.parts.blockSignals(False)
        self.parts.setVisible(len(result.contents) > 1)
        self._show_part()

    def _on_part_chosen(self) -> None:
        self._show_part()
        if self.views.index() == _CHANGES:
            self._show_changes()

    def _show_part(self) -> None:
        if self._result is not None and self._result.contents:
            self.content.show_content(self._result.contents[max(self.parts.currentIndex(), 0)])

    def _show_view(self) -> None:
        self.content.strip.setVisible(self.views.index() == _CONTENT)
        super()._show_view()

    def _page(self, view: int) -> QWidget:
        if view == _CONTENT:
            return self.content
        self._show_changes()
        return self.changes

    def _show_changes(self) -> None:
        result = self._result
        if result is None or result.before is None:
            return
        position = max(self.parts.currentIndex(), 0)
        before = result.before[position] if position < len(result.before) else None
        now = result.contents[position] if position < len(result.contents) else None
        self._bridge.start("compare read results", self.changes.show_changes(before, now), self)

    def _lay_out(self) -> None:
        hbox(self.strip, self.badge, (self._facts, 1), self.parts, margin=(SPACE_2, 0, 0, 0))
        views = hbox(
            None, self.views, (self.content.strip, 1), (STRETCH, 0), gap=0, margin=(SPACE_3, 0, 0, SPACE_1)
        )
        self._pages.addWidget(self.content)
        self._inside.addLayout(views)
        self._inside.addWidget(self.alert)
        self._inside.addWidget(self._pages, 1)
        self._stack.currentChanged.connect(self._show_strip)


def _facts(result: ReadResult) -> list[str]:
    facts = [plural(len(result.contents), "part")] if len(result.contents) > 1 else []
    facts.append(f"read {time_of_day(result.at)[:8]}")
    if result.is_changed:
        facts.append(f"changed since {time_of_day(result.before_at)[:8]}")
    elif result.contents and result.same_since < result.at:
        facts.append(f"unchanged since {time_of_day(result.same_since)[:8]}")
    return facts


def _part_name(position: int, count: int, content: Content) -> str:
    name = content.uri or content.mime_type or content.kind.value
    return f"{position + 1} of {count:,}: {one_line(shorten(name, 80))}"


class ChangesView(QWidget):
    """What changed in a content since it was last read."""

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._generation = 0
        self.table = ChangesTable(theme)
        self.model = self.table.rows
        self.alert = Alert(theme)
        vbox(self, self.alert, (self.table, 1), (STRETCH, 0), gap=0)
        self.setFocusProxy(self.table)

    async def show_changes(self, before: Content | None, now: Content | None) -> None:
        """Show the changes of one content. Binary data is only reported as different."""
        self._generation += 1
        generation = self._generation
        self.alert.close_all()
        self.table.hide()
        text = _difference_text(before, now)
        if text or before is None or now is None:
            self.alert.show_message("changes", text, tone="wait")
            return
        data = pack(before.data, now.data)
        diff = await self._bridge.ask(lambda engine: engine.work(compare_packed, data))
        if generation != self._generation:
            return
        await self.table.show_diff(diff)
        self.table.show()
        if diff.note:
            self.alert.show_message("changes", diff.note, tone="wait")


def _difference_text(before: Content | None, now: Content | None) -> str:
    if before is None or now is None:
        reason = (
            "The previous response had fewer parts"
            if before is None
            else "The previous response had more parts"
        )
        return f"{reason}, so there is nothing to compare this one with."
    if before.data == now.data:
        return "This part is unchanged."
    if not (before.is_text and now.is_text):
        return f"The bytes differ: {len(before.data):,} before, {len(now.data):,} now."
    return ""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One result of a resources/read.

    `latest` are the contents read last: these, or the previous ones if this result has none. `before` are
    those they replaced. Times are wall times, in nanoseconds.
    """

    uri: str
    outcome: CallOutcome
    contents: tuple[Content, ...]
    at: int
    latest: tuple[Content, ...] = ()
    observed_at: int = 0  # when they were last read
    same_since: int = 0  # when they were first read
    before: tuple[Content, ...] | None = None
    before_at: int = 0
    is_changed: bool = False  # the contents differ from the previous ones

    @property
    def size(self) -> int:
        parts = (*self.latest, *(self.before or ()))
        return len(self.outcome.response) + sum(len(content.data) for content in parts)


class ReadHistory:
    """The latest result of each URI. The oldest are dropped first."""

    def __init__(self) -> None:
        self._latest: dict[str, ReadResult] = {}

    def add(self, uri: str, outcome: CallOutcome, contents: tuple[Content, ...], at: int) -> ReadResult:
        """Store a result. One without contents, such as an error, does not hide earlier contents.

        Unchanged contents stay the same object, so that they need not be compared again.
        """
        previous = self._latest.pop(uri, None)
        result = self._latest[uri] = _next(previous, ReadResult(uri, outcome, contents, at, contents, at, at))
        self._trim()
        return result

    def of(self, uri: str) -> ReadResult | None:
        return self._latest.get(uri)

    def _trim(self) -> None:
        while len(self._latest) > 1 and (
            len(self._latest) > MAX_URIS or sum(result.size for result in self._latest.values()) > MAX_BYTES
        ):
            del self._latest[next(iter(self._latest))]


def _next(previous: ReadResult | None, new: ReadResult) -> ReadResult:
    """Return the new result, completed from the previous one."""
    if previous is None or not previous.latest:
        return new
    if not new.contents:
        return replace(
            new,
            latest=previous.latest,
            observed_at=previous.observed_at,
            same_since=previous.same_since,
            before=previous.before,
            before_at=previous.before_at,
        )
    if previous.latest == new.contents:
        return replace(
            new,
            contents=previous.latest,
            latest=previous.latest,
            same_since=previous.same_since,
            before=previous.before,
            before_at=previous.before_at,
        )
    return replace(new, before=previous.latest, before_at=previous.observed_at, is_changed=True)
