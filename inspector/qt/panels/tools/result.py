"""What a call gave back: its content, its structured content, and the message as it came."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QTabWidget, QVBoxLayout, QWidget

from inspector.base.units import duration, size
from inspector.engine.digest import ContentBlock, ResultDigest
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.qt.bridge import Bridge
from inspector.qt.theme import SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.badge import Badge
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.labels import Muted
from inspector.qt.widgets.savefile import save_bytes

_TONES: dict[OutcomeKind, Tone] = {
    OutcomeKind.RESULT: "ok",
    OutcomeKind.TOOL_ERROR: "warn",
    OutcomeKind.RPC_ERROR: "error",
    OutcomeKind.FAILED: "error",
    OutcomeKind.CANCELLED: "muted",
}


class ResultView(QWidget):
    """The latest outcome.

    Signals:
        shown: An outcome is on screen; carries it.
    """

    shown = Signal(object)

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._answer = b""
        self._shown_count = 0
        self.badge = Badge(theme)
        self._facts = Muted(theme)
        self.content = JsonView(theme, "Content")
        self.structured = JsonView(theme, "Structured content")
        self.whole = JsonView(theme, "Whole answer")
        self.tabs = QTabWidget()
        self.message = EmptyState(theme)
        self._pages = QStackedWidget()
        self._lay_out()
        self.show_nothing()
        for view in (self.content, self.structured, self.whole):
            view.save_requested.connect(self._on_save_requested)

    def show_nothing(self) -> None:
        """No call was made yet."""
        self._shown_count += 1
        self.badge.set_text("")
        self._facts.setText("")
        self.message.show_empty("play", "No result yet", "Fill in the arguments and call the tool.")
        self._pages.setCurrentWidget(self.message)

    async def show_outcome(self, outcome: CallOutcome) -> None:
        self._show_status(outcome)
        self._answer = outcome.answer
        if outcome.kind is OutcomeKind.FAILED:
            self.message.show_failed("No answer", outcome.summary, outcome.next_step)
            self._pages.setCurrentWidget(self.message)
        elif outcome.kind is OutcomeKind.CANCELLED:
            sentence = "The server was told. An answer that still comes is in Traffic."
            self.message.show_empty("stop", "Cancelled", sentence)
            self._pages.setCurrentWidget(self.message)
        else:
            turn = self._shown_count
            digest = await self._bridge.digest(outcome.answer)
            if turn != self._shown_count:
                return  # reading it took so long that something newer is shown
            self._show_digest(outcome, digest)
        self.shown.emit(outcome)

    def show_text(self, text: str) -> None:
        """Something else than an outcome, as JSON."""
        self._shown_count += 1
        self.badge.set_text("")
        self._facts.setText("")
        self.whole.set_text(text)
        self._show_tabs({self.whole: "JSON"})

    # --------------------------------------------------------------

    def _show_status(self, outcome: CallOutcome) -> None:
        self._shown_count += 1
        self.badge.set_text(outcome.kind.value, _TONES[outcome.kind])
        facts = [duration(outcome.elapsed_ns)]
        if outcome.answer:
            facts.append(size(len(outcome.answer)))
        self._facts.setText(" · ".join(facts))

    def _show_digest(self, outcome: CallOutcome, digest: ResultDigest) -> None:
        tabs = {self.whole: "Message"}
        if digest.blocks:
            self.content.set_text(_content_text(digest.blocks), "json" if _is_json(digest.blocks) else "text")
            tabs[self.content] = "Content"
        if digest.structured is not None:
            self.structured.set_text(digest.structured.text)
            tabs[self.structured] = "Structured"
        self.whole.set_text(digest.whole.text, "json" if digest.whole.is_json else "text")
        self._show_tabs(tabs)
        if _is_cut(digest):
            self._facts.setText(f"{self._facts.text()} · only its head is shown; Save… writes it all")

    def _show_tabs(self, tabs: dict[JsonView, str]) -> None:
        """Show these tabs, with these words, and go to the first of them."""
        for place, view in enumerate((self.content, self.structured, self.whole)):
            self.tabs.setTabText(place, tabs.get(view, ""))
            self.tabs.setTabVisible(place, view in tabs)
        self.tabs.setCurrentIndex(next(place for place in range(3) if self.tabs.isTabVisible(place)))
        self._pages.setCurrentWidget(self.tabs)

    def _lay_out(self) -> None:
        strip = QHBoxLayout()
        strip.setContentsMargins(SPACE_3, SPACE_2, SPACE_3, SPACE_2)
        strip.setSpacing(SPACE_2)
        strip.addWidget(self.badge)
        strip.addWidget(self._facts)
        strip.addStretch(1)
        for view in (self.content, self.structured, self.whole):
            self.tabs.addTab(view, "")
        self._pages.addWidget(self.message)
        self._pages.addWidget(self.tabs)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(strip)
        column.addWidget(self._pages, 1)

    def _on_save_requested(self) -> None:
        save_bytes(self, "Save the whole answer", "answer.json", self._answer)


def _is_cut(digest: ResultDigest) -> bool:
    texts = [(block.text, block.length) for block in digest.blocks if block.text]
    return any(len(text) < length for text, length in (*texts, (digest.whole.text, digest.whole.length)))


def _content_text(blocks: tuple[ContentBlock, ...]) -> str:
    if len(blocks) == 1 and blocks[0].kind == "text":
        return blocks[0].text
    return "\n\n".join(f"{_caption(block)}\n{block.text}".strip() for block in blocks)


def _caption(block: ContentBlock) -> str:
    words = [block.kind, block.mime_type, block.uri, size(block.length) if block.data else "", block.problem]
    return f"── {' · '.join(word for word in words if word)}"


def _is_json(blocks: tuple[ContentBlock, ...]) -> bool:
    return len(blocks) == 1 and blocks[0].text.lstrip()[:1] in ("{", "[")
