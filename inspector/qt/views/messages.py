"""Messages of a prompt or sampling request, one below the other: role and content."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import plural, size
from inspector.engine.content.content import Content, ContentKind, Message
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme, Tone
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import STRETCH, discard, hbox, vbox
from inspector.qt.widgets.media.media import ImageView, read_image
from inspector.qt.widgets.text.badge import Badge
from inspector.qt.widgets.text.labels import MutedLabel, PlainLabel

BATCH_SIZE = 50
_MAX_TEXT_LENGTH = 4_000
_MAX_IMAGE_SIZE = 1024 * 1024
_IMAGE_HEIGHT = 180
_TONES: dict[str, Tone] = {"user": "outbound", "assistant": "inbound", "system prompt": "wait"}
_MONO = (ContentKind.JSON, ContentKind.TABLE, ContentKind.UNKNOWN, ContentKind.LINK)


class MessagesView(QScrollArea):
    """Messages to read. Long ones are cut; they, and content that is not text, can be opened.

    Signals:
        open_requested: The user wants to see one content separately; carries it.
        uri_requested: The user wants to follow a link; carries its URI.
    """

    open_requested = Signal(object)
    uri_requested = Signal(str)
    _noun = "message"

    def __init__(self, theme: Theme, parent: QWidget | None = None, *, batch_size: int = BATCH_SIZE) -> None:
        super().__init__(parent)
        self._theme = theme
        self._batch_size = batch_size
        self._messages: Sequence[Message] = ()
        self._cards: list[MessageCard] = []
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName("Messages")
        inside = QWidget()
        self._more_action = QAction("Show more", self)
        self._more_action.triggered.connect(self.show_more)
        self._more = ActionButton(self._more_action, "quiet")
        self._column = vbox(inside, (self._more, 0, Qt.AlignmentFlag.AlignLeft), STRETCH, gap=0)
        self.setWidget(inside)

    @property
    def cards(self) -> Sequence[MessageCard]:
        return self._cards

    def show_messages(self, messages: Sequence[Message]) -> None:
        for card in self._cards:
            discard(card)
        self._cards, self._messages = [], messages
        self.show_more()
        self.verticalScrollBar().setValue(0)

    def show_more(self) -> None:
        """Add the next messages."""
        start = len(self._cards)
        for message in self._messages[start : start + self._batch_size]:
            card = self._make_card(len(self._cards), message)
            card.open_requested.connect(self.open_requested)
            card.uri_requested.connect(self.uri_requested)
            self._column.insertWidget(len(self._cards), card)
            self._cards.append(card)
        rest = len(self._messages) - len(self._cards)
        self._more_action.setText(f"Show more ({plural(rest, self._noun)})")
        self._more.setVisible(rest > 0)

    def _make_card(self, position: int, message: Message) -> MessageCard:
        return MessageCard(self._theme, message)


class MessageCard(QWidget):
    """One message.

    Signals:
        open_requested, uri_requested: As in `MessagesView`.
    """

    open_requested = Signal(object)
    uri_requested = Signal(str)

    def __init__(
        self,
        theme: Theme,
        message: Message,
        max_length: int = _MAX_TEXT_LENGTH,
        *,
        side: int = SPACE_3,
        tone: Tone | None = None,
    ) -> None:
        super().__init__()
        self._theme = theme
        self._max_length = max_length  # how much of a text is shown here
        self._content = message.content
        self._open_action = QAction("Open", self)
        self._open_action.triggered.connect(self._on_open)
        role = message.role or "no role"
        head = hbox(
            None,
            Badge(theme, role, tone or _TONES.get(role, "warn")),
            (MutedLabel(theme, message.about or _facts(message.content)), 1),
        )
        self._body, is_complete = self._make_body()
        if not is_complete:
            self._open_action.setText(_open_label(message.content))
            head.addWidget(ActionButton(self._open_action, "quiet"))
        column = vbox(
            self,
            head,
            self._body,
            gap=SPACE_1,
            margin=(side, SPACE_2, side, SPACE_3),
        )
        if message.content.problem:
            problem = message.content.problem
            column.addWidget(
                PlainLabel(theme, f"{problem[:1].upper()}{problem[1:]}.", tone="warn", wrap=True)
            )
        theme.changed.connect(self.update)

    def text(self) -> str:
        """Return the text shown here."""
        return self._body.text() if isinstance(self._body, PlainLabel) else ""

    def _make_body(self) -> tuple[QWidget | None, bool]:
        """Create the content's widget; return it and whether it shows everything."""
        content = self._content
        match content.kind:
            case ContentKind.IMAGE:
                return self._make_image(), False
            case ContentKind.AUDIO | ContentKind.BINARY:
                return None, False
            case ContentKind.LINK:
                return PlainLabel(
                    self._theme, content.uri, mono=True, wrap=True, selectable=True
                ), not content.uri
        text = content.data[: 4 * (self._max_length + 1)].decode(errors="replace")
        is_complete = len(text) <= self._max_length and content.kind is ContentKind.TEXT
        shown = text if len(text) <= self._max_length else f"{text[: self._max_length]}…"
        mono = content.kind in _MONO
        return PlainLabel(self._theme, shown, wrap=True, selectable=True, mono=mono), is_complete

    def _make_image(self) -> QWidget | None:
        if len(self._content.data) > _MAX_IMAGE_SIZE:
            return None
        read = read_image(self._content.data, self._content.mime_type)
        if read.image is None:
            return PlainLabel(self._theme, read.text, tone="muted", wrap=True)
        image = ImageView(self._theme)
        image.set_image(read.image, read.text)
        image.setFixedHeight(min(read.image.height() + 2, _IMAGE_HEIGHT))
        return image

    def _on_open(self) -> None:
        if self._content.kind is ContentKind.LINK:
            self.uri_requested.emit(self._content.uri)
        else:
            self.open_requested.emit(self._content)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.color("line"))


def _open_label(content: Content) -> str:
    return "Read" if content.kind is ContentKind.LINK else "Open"


def _facts(content: Content) -> str:
    if content.kind is ContentKind.TEXT and not content.uri:
        return ""
    name = content.title or content.uri
    text = (content.mime_type or content.kind.value, name, size(len(content.data)))
    return " · ".join(one_line(part) for part in text if part)


def as_text(messages: Sequence[Message]) -> str:
    """Return all messages for the clipboard: role, then text; an image or file by its name."""
    return "\n\n".join(f"{message.role or 'no role'}:\n{_text_of(message.content)}" for message in messages)


def _text_of(content: Content) -> str:
    if content.kind is ContentKind.LINK:
        return content.uri
    return content.data.decode(errors="replace") if content.is_text else f"[{_facts(content)}]"
