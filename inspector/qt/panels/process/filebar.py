"""Which files restart the server when they change, and what came of the latest change."""

from __future__ import annotations

import shlex

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from inspector.base.plaintext import one_line
from inspector.base.units import duration, plural, time_of_day
from inspector.engine.filewatch import FileWatchView
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, SPACE_4, Theme, Tone
from inspector.qt.widgets.actionbutton import ActionButton
from inspector.qt.widgets.alert import Alert
from inspector.qt.widgets.labels import Heading, Muted, PlainLabel, plain_tooltip

_HINT = "src/**/*.py  *.json"
_MOST_FILES = 20


class FileBar(QWidget):
    """A line of space-separated patterns; one with a space is quoted.

    Signals:
        globs_chosen: The user wants these patterns; carries a tuple.
    """

    globs_chosen = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._view: FileWatchView | None = None
        self.line = QLineEdit(placeholderText=_HINT, clearButtonEnabled=True)
        self.line.setFont(theme.mono_font())
        self.line.setMaxLength(5_000)
        self.line.setAccessibleName("Files that restart the server when they change")
        self.apply = QAction("Apply", self)
        self.apply.setToolTip("Restart the server when a file that fits is written, added or removed")
        self.words = PlainLabel(theme, tone="muted", wrap=True, selectable=True)
        self.alert = Alert(theme)
        self._lay_out(theme)
        self.line.textChanged.connect(self._update)
        self.line.returnPressed.connect(self.apply.trigger)
        self.apply.triggered.connect(self._on_apply)
        self._update()

    def show_view(self, view: FileWatchView) -> None:
        """Show the watch's state. Unsaved input stays."""
        was = self._view.globs if self._view is not None else ()
        is_typed = self.line.isModified() and _joined(was) != self.line.text()
        self._view = view
        if not is_typed or view.globs == _split(self.line.text()):
            self.line.setText(_joined(view.globs))
            self.line.setModified(False)
        words, tone = state_words(view)
        self.words.setText(words)
        self.words.set_tone(tone)
        self.words.setToolTip(plain_tooltip("\n".join(view.changed[:_MOST_FILES])))
        self._update()

    @property
    def has_seen_change(self) -> bool:
        """True if the server was restarted because of a file change."""
        return self._view is not None and bool(self._view.changed)

    def refuse(self, summary: str, next_step: str) -> None:
        """Show why the patterns cannot be used."""
        self.alert.say("globs", summary, next_step)

    def tell_news(self, what: str, sentence: str) -> None:
        """Show what changed in a list since the restart."""
        self.alert.say(f"news {what}", f"The list of {what} changed. {sentence}", tone="wait")

    def forget_news(self) -> None:
        """Clear the list changes before lists are fetched again."""
        for what in ("tools", "resources", "prompts"):
            self.alert.close_about(f"news {what}")

    def _on_apply(self) -> None:
        globs = _split(self.line.text())
        if globs is None:
            self.refuse("The patterns cannot be read: a quotation mark is not closed.", "Close it.")
        elif self.apply.isEnabled():
            self.alert.close_about("globs")
            self.globs_chosen.emit(globs)

    def _update(self) -> None:
        shown = self._view.globs if self._view is not None else ()
        self.apply.setEnabled(self._view is not None and _split(self.line.text()) != shown)

    def _lay_out(self, theme: Theme) -> None:
        row = QHBoxLayout()
        row.setSpacing(SPACE_2)
        row.addWidget(self.line, 1)
        row.addWidget(ActionButton(self.apply))
        inside = QVBoxLayout()
        inside.setContentsMargins(SPACE_4, SPACE_3, SPACE_4, SPACE_2)
        inside.setSpacing(SPACE_1)
        inside.addWidget(Heading(theme, "Restart when files change"))
        hint = "Patterns below the working folder, with spaces between. Watched calls are then made again."
        inside.addWidget(Muted(theme, hint, wrap=True))
        inside.addLayout(row)
        inside.addWidget(self.words)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(inside)
        column.addWidget(self.alert)


def state_words(view: FileWatchView) -> tuple[str, Tone]:
    """Return the state in a sentence or two."""
    if not view.globs:
        return "No files are watched.", "muted"
    if view.is_restarting:
        return f"{_cause(view)}: restarting…", "wait"
    files = plural(view.files, "file")
    watching = f"Watching {files} in {one_line(view.folder)}." if view.is_on else "Watched while connected."
    if view.problem:
        watching = view.problem if not view.files else f"{watching} {view.problem}"
    if view.failure:
        return f"{_cause(view)}: the server did not come up. {one_line(view.failure)} {watching}", "error"
    if view.took_ns is not None:
        return f"{_cause(view)}: restarted in {duration(view.took_ns)}. {watching}", "muted"
    return watching, "warn" if view.problem else "muted"


def _cause(view: FileWatchView) -> str:
    return f"{time_of_day(view.changed_ns)[:8]} {view.cause()}"


def _joined(globs: tuple[str, ...]) -> str:
    """Join with as few quotes as possible: `*` and `?` need none here."""
    return " ".join(f"'{glob}'" if any(each in glob for each in " \t'\"\\") else glob for glob in globs)


def _split(text: str) -> tuple[str, ...] | None:
    """Split the line; None if a quote is not closed. Backslashes are literal."""
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.escape, words.commenters = True, "", ""
    try:
        return tuple(words)
    except ValueError:
        return None
