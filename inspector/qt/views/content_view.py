"""Content of a result: all parts below each other, or one part rendered by its type.

The types are text, Markdown, JSON, table, image, audio and bytes. All content is untrusted: nothing is
loaded, followed or run, and audio plays only on demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFrame, QListView, QSplitter, QStackedWidget, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import size
from inspector.engine.content.content import Content, ContentKind, Message, Part
from inspector.qt.models.content_parts import NoteRole, PartsModel, ToneRole, note
from inspector.qt.theme import SPACE_1, SPACE_2, SPACE_3, Theme
from inspector.qt.views.messages import MessageCard, MessagesView
from inspector.qt.widgets.code.json_view import MAX_COPIED, JsonView
from inspector.qt.widgets.code.save_file import BodySaver, BytesBody
from inspector.qt.widgets.inputs.controls import ActionButton, Segments, icon_button
from inspector.qt.widgets.item_views import NoteDelegate, style_list
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.media.markdown import MarkdownView
from inspector.qt.widgets.media.media import AudioView, CsvTable, ImageView, read_image
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import MutedLabel

_MAX_ROWS = 4  # of the list, before it scrolls
_BATCH_SIZE = 20  # parts shown at first
_MAX_TEXT_LENGTH = 2_000  # of one part in the overview
_LABELS = ("Rendered", "Table", "Image", "Audio", "Pretty", "Text", "Bytes")
_EXTENSIONS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/mp4": "m4a",
    "application/pdf": "pdf",
    "application/zip": "zip",
}


class ContentForm(IntEnum):
    """A form in which content is shown; the value is its position in the switch."""

    RENDERED = 0
    TABLE = 1
    IMAGE = 2
    AUDIO = 3
    PRETTY = 4
    TEXT = 5
    BYTES = 6


_FORMS: dict[ContentKind, tuple[ContentForm, ...]] = {
    ContentKind.TEXT: (ContentForm.TEXT,),
    ContentKind.MARKDOWN: (ContentForm.RENDERED, ContentForm.TEXT),
    ContentKind.JSON: (ContentForm.PRETTY, ContentForm.TEXT),
    ContentKind.TABLE: (ContentForm.TABLE, ContentForm.TEXT),
    ContentKind.IMAGE: (ContentForm.IMAGE, ContentForm.BYTES),
    ContentKind.AUDIO: (ContentForm.AUDIO, ContentForm.BYTES),
    ContentKind.BINARY: (ContentForm.BYTES,),
    ContentKind.LINK: (ContentForm.PRETTY,),
    ContentKind.UNKNOWN: (ContentForm.PRETTY, ContentForm.TEXT),
}
_KIND_EXTENSIONS = {
    ContentKind.MARKDOWN: "md",
    ContentKind.TABLE: "csv",
    ContentKind.TEXT: "txt",
    ContentKind.BINARY: "bin",
}


class ContentView(QWidget):
    """Shows a `Content`. `copy_action` and `save_action` apply to all of it.

    `strip`, with the switch and the buttons, can be placed elsewhere. `back` gets a button above it.

    Signals:
        uri_requested: The user wants to follow a link; carries its URI.
    """

    uri_requested = Signal(str)

    def __init__(self, theme: Theme, back: QAction | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._content = Content(ContentKind.TEXT)
        self.forms = Segments(theme, _LABELS)
        self.forms.setAccessibleName("Content view")
        self._facts = MutedLabel(theme)
        self.strip = QWidget()
        self.alert = Alert(theme)
        self.text = JsonView(theme, "Content")
        self.saver = BodySaver(theme)
        self._pages = QStackedWidget()
        self._markdown: MarkdownView | None = None
        self._table: CsvTable | None = None
        self._image: ImageView | None = None
        self._audio: AudioView | None = None
        self.copy_action = self._action("copy", "Copy", self.copy)
        self.save_action = self._action("save", "Save…", self.save)
        self.open_action = self._action("resource", "Open", self._on_open)
        self._open_button = ActionButton(self.open_action)
        self._lay_out(back)
        self.forms.chosen.connect(self._on_form_chosen)
        self.text.save_requested.connect(self.save)
        self.clear()

    @property
    def content(self) -> Content:
        return self._content

    def form(self) -> ContentForm:
        return ContentForm(self.forms.index())

    def show_content(self, content: Content) -> None:
        """Show content in the best form; a new version of the same keeps its form."""
        allowed = _FORMS[content.kind]
        is_same = bool(content.uri) and (content.uri, content.kind) == (self._content.uri, self._content.kind)
        keeps_position = is_same and self.form() in allowed
        best = self.form() if keeps_position else allowed[0]
        self._content = content
        for form in ContentForm:
            self.forms.button(form).setVisible(form in allowed)
        self.forms.setVisible(len(allowed) > 1)
        self._facts.setText(_facts(content))
        self.copy_action.setEnabled(content.is_text and 0 < len(content.data) <= MAX_COPIED)
        self.save_action.setEnabled(bool(content.data))
        self._open_button.setVisible(content.kind is ContentKind.LINK and bool(content.uri))
        self.alert.close_all()
        if content.problem:
            self.alert.show_message("error", f"{content.problem[:1].upper()}{content.problem[1:]}.")
        self.forms.choose(best)
        self._show_form(keeps_position=keeps_position)

    def clear(self) -> None:
        self.show_content(Content(ContentKind.TEXT))

    def copy(self) -> None:
        """Copy the whole text, as received."""
        QGuiApplication.clipboard().setText(self._content.data.decode(errors="replace"))

    def save(self) -> None:
        """Ask for a path and save everything.

        The suggested name is not the server's: server text must not get into a path.
        """
        self.saver.ask(BytesBody(self._content.data), f"content.{file_extension(self._content)}")

    def _show_form(self, *, keeps_position: bool = False) -> None:
        """Show the current form. `keeps_position`: it is a new version, and must not jump."""
        content, form = self._content, self.form()
        match form:
            case ContentForm.RENDERED:
                self._show(self._markdown_page(keeps_position))
            case ContentForm.TABLE:
                self._show(self._table_page())
            case ContentForm.IMAGE:
                self._show_image()
            case ContentForm.AUDIO:
                self._show(self._audio_page())
            case ContentForm.PRETTY:
                with self.text.keeping_position(keeps_position):
                    self.text.set_body(BytesBody(content.data), "pretty")
                self._show(self.text)
            case ContentForm.TEXT:
                with self.text.keeping_position(keeps_position):
                    self.text.set_text(content.data, "text")
                self._show(self.text)
            case ContentForm.BYTES:
                self.text.set_bytes(content.data)
                self._show(self.text)

    def _show(self, page: QWidget) -> None:
        self._pages.setCurrentWidget(page)

    def _markdown_page(self, keeps_position: bool) -> MarkdownView:
        if self._markdown is None:
            self._markdown = MarkdownView(self._theme, "Content, rendered")
            self._pages.addWidget(self._markdown)
        self._markdown.set_text(self._content.data.decode(errors="replace"), keeps_position=keeps_position)
        return self._markdown

    def _table_page(self) -> CsvTable:
        if self._table is None:
            self._table = CsvTable(self._theme, "Content as table")
            self._pages.addWidget(self._table)
        table = self._content.table
        assert table is not None, "the kind says so"
        self._table.set_table(table.header, table.rows)
        if table.note:
            self.alert.show_message("table", table.note, "See Text for the full content.", tone="wait")
        return self._table

    def _show_image(self) -> None:
        read = read_image(self._content.data, self._content.mime_type)
        if read.image is None:
            self.alert.show_message("image", read.text)
            self.forms.button(ContentForm.IMAGE).setVisible(False)
            self.forms.choose(ContentForm.BYTES)
            self._show_form()
            return
        if self._image is None:
            self._image = ImageView(self._theme)
            self._image.setContentsMargins(SPACE_3, SPACE_3, SPACE_3, SPACE_3)
            self._pages.addWidget(self._image)
        self._image.set_image(read.image, read.text)
        self._facts.setText(f"{self._content.mime_type} · {read.text}")
        self._show(self._image)

    def _audio_page(self) -> AudioView:
        if self._audio is None:
            self._audio = AudioView(self._theme, self.save_action)
            self._pages.addWidget(self._audio)
        self._audio.set_audio(self._content.data, self._content.mime_type, file_extension(self._content))
        return self._audio

    def _on_form_chosen(self, index: int) -> None:
        self._show_form()

    def _on_open(self) -> None:
        self.uri_requested.emit(self._content.uri)

    def _action(self, icon: str, text: str, slot: object) -> QAction:
        action = QAction(text, self)
        self._theme.set_icon(action, icon)
        action.triggered.connect(slot)
        return action

    def _lay_out(self, back: QAction | None) -> None:
        hbox(
            self.strip,
            self.forms,
            (self._facts, 1),
            self._open_button,
            *(icon_button(action) for action in (self.copy_action, self.save_action)),
            margin=(SPACE_3, SPACE_1, SPACE_2, SPACE_1),
        )
        self._pages.addWidget(self.text)
        button = (ActionButton(back, "quiet"), 0, Qt.AlignmentFlag.AlignLeft) if back is not None else None
        vbox(self, button, self.strip, self.alert, (self._pages, 1), self.saver, gap=0)


def _facts(content: Content) -> str:
    name = one_line(content.title or "") if content.kind is ContentKind.LINK else ""
    text = (content.mime_type or content.kind.value, name, size(len(content.data)))
    return " · ".join(one_line(part) for part in text if part)


def file_extension(content: Content) -> str:
    """Return a known file extension for it, without the dot."""
    return _EXTENSIONS.get(content.mime_type) or _KIND_EXTENSIONS.get(content.kind, "json")


class PartsView(QWidget):
    """Content parts, with a list above them if there are several.

    The arrow keys walk through the list. It begins with an overview of all parts, in which long ones are
    cut and can be opened.

    Signals:
        uri_requested: The user wants to follow a link; carries its URI.
    """

    uri_requested = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.model = PartsModel(self)
        self.list = QListView()
        self.view = ContentView(theme)
        self.overview = PartCards(theme, batch_size=_BATCH_SIZE)
        self._pages = QStackedWidget()
        self._notes = MutedLabel(theme)
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self._lay_out()
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.view.uri_requested.connect(self.uri_requested)
        self.overview.uri_requested.connect(self.uri_requested)
        self.overview.part_requested.connect(lambda position: self.choose(self.model.row_of(position)))

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show parts; does nothing if they are already shown, as while a call is repeated."""
        if parts and parts == self.model.parts:
            return
        self.model.set_parts(parts)
        rows = self.model.rowCount()
        self.list.setVisible(rows > 1)
        height = self._theme.row_height() * min(rows, _MAX_ROWS) + 4
        self._splitter.setSizes([height, max(self.height() - height, 100)])
        if rows:
            self.choose(0)
        else:
            self._show(None, Content(ContentKind.TEXT))

    def choose(self, row: int) -> None:
        self.list.setCurrentIndex(self.model.index(row))

    def shown_text(self) -> str:
        """Return the text on screen, if it is text."""
        if self._pages.currentWidget() is self.overview:
            return "\n\n".join(text for card in self.overview.cards if (text := card.text()))
        return self.view.text.shown_text()

    @property
    def is_partial(self) -> bool:
        """True if the part is shown incompletely."""
        return self.view.text.is_partial

    def _on_current_changed(self, current: QModelIndex) -> None:
        content = self.model.content(current.row())
        if self.model.is_overview(current.row()):
            self._notes.hide()
            self.overview.show_parts(self.model.parts)
            self._pages.setCurrentWidget(self.overview)
        elif content is not None:
            self._show(self.model.part(current.row()), content)

    def _show(self, part: Part | None, content: Content) -> None:
        self._notes.setText(" · ".join(part.notes) if part is not None else "")
        self._notes.setVisible(bool(self._notes.text()))
        self.view.show_content(content)
        self._pages.setCurrentWidget(self.view)

    def _lay_out(self) -> None:
        self.list.setModel(self.model)
        self.list.setAccessibleName("Parts of the result")
        style_list(self.list, self._theme)
        self.list.setItemDelegate(NoteDelegate(self._theme, NoteRole, ToneRole, self.list))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setMinimumHeight(2 * self._theme.row_height())
        self._notes.setContentsMargins(SPACE_3, 0, SPACE_3, 0)
        below = QWidget()
        self._pages.addWidget(self.view)
        self._pages.addWidget(self.overview)
        vbox(below, self._notes, (self._pages, 1), gap=0)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.addWidget(self.list)
        self._splitter.addWidget(below)
        self._splitter.setStretchFactor(1, 1)
        vbox(self, self._splitter)
        self.setFocusProxy(self.list)


class PartCards(MessagesView):
    """All parts, one below the other; more are added on demand.

    Signals:
        part_requested: The user wants to open one; carries its position.
    """

    part_requested = Signal(int)
    _noun = "part"

    def show_parts(self, parts: Sequence[Part]) -> None:
        self.setAccessibleName("All parts of the result")
        self.show_messages([_as_message(position, part) for position, part in enumerate(parts)])

    def _make_card(self, position: int, message: Message) -> MessageCard:
        card = MessageCard(self._theme, message, _MAX_TEXT_LENGTH, tone="muted")
        card.open_requested.connect(lambda content: self.part_requested.emit(position))
        return card


def _as_message(position: int, part: Part) -> Message:
    text = (part.content.title or part.content.uri, note(part.content), *part.notes)
    return Message(f"{position + 1:,}", part.content, " · ".join(one_line(part) for part in text if part))
