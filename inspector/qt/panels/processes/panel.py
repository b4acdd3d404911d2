"""Process panel of a stdio server, and the file watch bar.

The bar has the glob patterns of files whose change restarts the server, and the result of the last one.
Processes are sampled once a second while the panel is visible.
"""

from __future__ import annotations

import shlex
from collections.abc import Coroutine
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QAction, QHideEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from inspector.base.errors import UserError
from inspector.base.plain_text import one_line
from inspector.base.units import duration, plural, time_of_day
from inspector.engine.calls.regression_calls import RegressionView
from inspector.engine.processes.file_watch import FileWatchView
from inspector.engine.server_view import ServerView
from inspector.engine.views import ServerStatus
from inspector.qt.models.feature_list import ListChanges
from inspector.qt.panels.processes.process_view import RunningProcesses
from inspector.qt.panels.processes.regression_calls import RegressionCallsView
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, hsplit, vbox
from inspector.qt.widgets.notices.empty_state import ContentStack
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel, plain_tooltip

_PLACEHOLDER = "src/**/*.py  *.json"
_MAX_FILES = 20


class FileWatchBar(QWidget):
    """A line of space-separated patterns; one with a space is quoted.

    Signals:
        globs_chosen: The user wants these patterns; carries a tuple.
    """

    globs_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: FileWatchView | None = None
        self.line = QLineEdit(placeholderText=_PLACEHOLDER, clearButtonEnabled=True)
        self.line.setFont(theme.mono_font())
        self.line.setMaxLength(5_000)
        self.line.setAccessibleName("Files that restart the server when they change")
        self.apply = QAction("Apply", self)
        self.apply.setToolTip("Restart the server when a matching file is changed, added or removed")
        self.text = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.alert = Alert(theme)
        self._lay_out(theme)
        self.line.textChanged.connect(self._update)
        self.line.returnPressed.connect(self.apply.trigger)
        self.apply.triggered.connect(self._on_apply)
        self._update()

    def show_view(self, view: FileWatchView) -> None:
        """Show the watch's state. Unsaved input stays."""
        previous = self._view.globs if self._view is not None else ()
        is_typed = self.line.isModified() and _join(previous) != self.line.text()
        self._view = view
        if not is_typed or view.globs == _split(self.line.text()):
            self.line.setText(_join(view.globs))
            self.line.setModified(False)
        text, tone = state_text(view)
        self.text.setText(text)
        self.text.set_tone(tone)
        self.text.setToolTip(plain_tooltip("\n".join(view.changed[:_MAX_FILES])))
        self._update()

    @property
    def was_restarted(self) -> bool:
        """True if the server was restarted because of a file change."""
        return self._view is not None and bool(self._view.changed)

    def show_refusal(self, summary: str, next_step: str) -> None:
        """Show why the patterns cannot be used."""
        self.alert.show_message("globs", summary, next_step)

    def show_changes(self, what: str, sentence: str) -> None:
        """Show what changed in a list since the restart."""
        self.alert.show_message(f"changes {what}", sentence, tone="wait")

    def clear_changes(self) -> None:
        """Clear the list changes before lists are fetched again."""
        for what in ("tools", "resources", "prompts"):
            self.alert.close_topic(f"changes {what}")

    def _on_apply(self) -> None:
        globs = _split(self.line.text())
        if globs is None:
            self.show_refusal(
                "The patterns can't be read: a quotation mark is not closed.",
                "Add the closing quotation mark.",
            )
        elif self.apply.isEnabled():
            self.alert.close_topic("globs")
            self.globs_chosen.emit(globs)

    def _update(self) -> None:
        current = self._view.globs if self._view is not None else ()
        self.apply.setEnabled(self._view is not None and _split(self.line.text()) != current)

    def _lay_out(self, theme: Theme) -> None:
        row = hbox(None, (self.line, 1), ActionButton(self.apply))
        hint = (
            "Patterns relative to the working directory, separated by spaces. Regression calls are rerun "
            "after each restart."
        )
        inside = vbox(
            None,
            Heading(theme, "Restart when files change"),
            MutedLabel(theme, hint, wrap=True),
            row,
            self.text,
            gap=SPACE_1,
            margin=(SPACE_4, SPACE_3, SPACE_4, SPACE_2),
        )
        vbox(self, inside, self.alert, gap=0)


def state_text(view: FileWatchView) -> tuple[str, Tone]:
    """Return the state in a sentence or two."""
    if not view.globs:
        return "No files are watched.", "muted"
    if view.is_restarting:
        return f"{_cause(view)}: restarting…", "wait"
    files = plural(view.files, "file")
    watch_text = f"Watching {files} in {one_line(view.folder)}." if view.is_on else "Watched while connected."
    if view.problem:
        watch_text = view.problem if not view.files else f"{watch_text} {view.problem}"
    if view.failure:
        return f"{_cause(view)}: the server did not start. {one_line(view.failure)} {watch_text}", "error"
    if view.took_ns is not None:
        return f"{_cause(view)}: restarted in {duration(view.took_ns)}. {watch_text}", "muted"
    return watch_text, "warn" if view.problem else "muted"


def _cause(view: FileWatchView) -> str:
    return f"{time_of_day(view.changed_ns)[:8]} {view.cause()}"


def _join(globs: tuple[str, ...]) -> str:
    """Join with as few quotes as possible: `*` and `?` need none here."""
    return " ".join(
        f"'{glob}'" if any(character in glob for character in " \t'\"\\") else glob for glob in globs
    )


def _split(text: str) -> tuple[str, ...] | None:
    """Split the line; None if a quote is not closed. Backslashes are literal."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    try:
        return tuple(lexer)
    except ValueError:
        return None


_SAMPLE_MS = 1_000


class ProcessPanel(Panel):
    """The server's process. Samples once a second, only while visible."""

    help_page = "file-watching"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        bridge, server = context.bridge, context.server
        actions, theme = context.actions, context.theme
        self._bridge = bridge
        self._server = server
        self._is_stdio = True
        self._is_sampling = False
        self._samples_again = False
        self.running = RunningProcesses(actions, theme)
        self.files = FileWatchBar(theme)
        self.regression_calls = RegressionCallsView(bridge, server, actions, theme)
        self._left = ContentStack(theme, self.running)
        self._timer = QTimer(self, interval=_SAMPLE_MS)
        self._lay_out()
        self._connect()
        self.regression_calls.call_requested.connect(context.call_requested)
        self.regression_calls.row_requested.connect(context.row_requested)
        context.list_compared.connect(self.show_changes)

    def set_view(self, view: ServerView) -> None:
        self._is_stdio = view.transport == "stdio"
        self.files.setVisible(self._is_stdio)
        if self._is_stdio:
            self._left.open()
            self.running.set_view(view)
        else:
            text = "This server runs elsewhere: MCP Lens did not start it and can't monitor it."
            self._left.explain("empty", "server", "Not started by MCP Lens", text)
        self.regression_calls.set_server(view.status is ServerStatus.CONNECTED, self._is_stdio)
        self._sample()

    def show_changes(self, what: str, changes: ListChanges) -> None:
        """Show what changed in a refetched list after a restart by the file watch."""
        if changes and self.files.was_restarted:
            self.files.show_changes(what, changes.sentence(what))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._timer.start()
        self._sample()
        self._start(f"load regression calls of {self._server}", self._load())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    async def _load(self) -> None:
        try:
            self.files.show_view(await self._bridge.ask(lambda engine: engine.filewatch.view(self._server)))
            self.regression_calls.show_view(
                await self._bridge.ask(lambda engine: engine.regression_calls.view(self._server))
            )
        except UserError:
            return  # the server is gone, and this panel with it

    def _sample(self) -> None:
        self._samples_again = self._is_sampling
        if self._is_stdio and self.isVisible() and not self._is_sampling:
            self._is_sampling = True
            self._start(f"sample processes of {self._server}", self._sample_once())

    async def _sample_once(self) -> None:
        try:
            view = await self._bridge.ask(lambda engine: engine.processes.scan(self._server))
            self.running.show_processes(view)
        finally:
            self._is_sampling = False
        if self._samples_again:  # something happened meanwhile
            self._sample()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Start work owned by this panel: the server may be removed meanwhile."""
        if self._bridge.is_attached:
            self._bridge.start(name, work, self)
        else:
            self._bridge.start_when_attached(name, work)

    def _on_process_changed(self, server: str) -> None:
        if server == self._server:
            self._sample()

    def _on_filewatch_changed(self, view: FileWatchView) -> None:
        if view.server == self._server:
            if view.is_restarting:
                self.files.clear_changes()
            self.files.show_view(view)

    def _on_reruns_changed(self, view: RegressionView) -> None:
        if view.server == self._server:
            self.regression_calls.show_view(view)

    def _on_globs_chosen(self, globs: tuple[str, ...]) -> None:
        self._bridge.start(f"watch files of {self._server}", self._set_globs(globs), self)

    async def _set_globs(self, globs: tuple[str, ...]) -> None:
        try:
            await self._bridge.ask(lambda engine: engine.filewatch.set_globs(self._server, globs))
        except UserError as exc:
            self.files.show_refusal(exc.summary, exc.next_step)
            return
        self.files.line.setModified(False)
        self.files.show_view(await self._bridge.ask(lambda engine: engine.filewatch.view(self._server)))

    def _connect(self) -> None:
        self._timer.timeout.connect(self._sample)
        self._bridge.process_changed.connect(self._on_process_changed)
        self._bridge.filewatch_changed.connect(self._on_filewatch_changed)
        self._bridge.regression_calls_changed.connect(self._on_reruns_changed)
        self.files.globs_chosen.connect(self._on_globs_chosen)

    def _lay_out(self) -> None:
        right = QWidget()
        vbox(right, self.files, (self.regression_calls, 1), gap=0)
        split = hsplit(self._left, right, sizes=[490, 630], stretch=1)
        vbox(self, split)
