"""Editor for a sampling reply: content blocks, role, model and stop reason, or all as JSON."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QToolButton,
    QWidget,
)

from inspector.base.json.text import same
from inspector.base.json.values import JSONObject, text_of
from inspector.base.units import size
from inspector.protocol.server_requests.replies import (
    END_TURN,
    STOP_FOR_TOOL,
    STOP_REASONS,
    sampling_reply,
    text_block,
)
from inspector.protocol.server_requests.sampling import ASSISTANT, TOOL_USE, USER, read_blocks
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.panels.inbox.reply_blocks import BlockRow, file_block, row_for
from inspector.qt.theme import ICON_SIZE, SPACE_2, SPACE_3, Theme
from inspector.qt.widgets.inputs.controls import ActionToolButton, Segments
from inspector.qt.widgets.layout import Pages, discard, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import FormStyle, Heading, MutedLabel
from inspector.schema.values import FormError
from inspector.traffic.decode.decodings import recognized

MANUAL_MODEL = "mcp-lens-person"  # the model name of replies that the user writes
MAX_FILE_SIZE = 16 * 1024 * 1024
_FORM, _JSON = 0, 1
_JSON_HEIGHT = 260
_FORM_MEMBERS = ("role", "content", "model", "stopReason")
_FILTERS = {"image": "Images (*.png *.jpg *.jpeg *.gif *.webp);;All files (*)",
            "audio": "Audio files (*.wav *.mp3 *.ogg *.flac *.m4a);;All files (*)"}  # fmt: skip


class ReplyEditor(QWidget):
    """An editor for a sampling reply, initially an empty text.

    Switching between form and JSON is lossless.

    Signals:
        changed: The reply may have changed.
        content_requested: Show an image or audio of it separately; carries the Content.
    """

    changed = Signal()
    content_requested = Signal(object)

    def __init__(
        self, bridge: Bridge, theme: Theme, tools: Sequence[Tool], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._bridge, self._theme, self._tools = bridge, theme, tools
        self._other_members: JSONObject = {}  # members without a field in the form
        self._loaded: JSONObject | None = None  # the reply loaded into the form
        self._loaded_form: JSONObject = {}  # the form's value right after loading it
        self._json_value: JSONObject | None = None  # the value of the JSON text
        self.rows: list[BlockRow] = []
        self.switch = Segments(theme, ("Form", "JSON"))
        self.switch.setAccessibleName("Reply view")
        self.role, self.stop_reason = _choice("Role", (ASSISTANT, USER)), _choice("Stop reason", STOP_REASONS)
        self.model = QLineEdit(MANUAL_MODEL)
        self.model.setAccessibleName("Model")
        self.alert = Alert(theme)
        self.json_view = JsonTextView(FormStyle.of(theme))
        self.json_view.box.setAccessibleName("Reply as JSON")
        self.json_view.box.setMinimumHeight(_JSON_HEIGHT)
        self.add_menu = QMenu(self)
        self.head = hbox(None, margin=(SPACE_3, SPACE_2, SPACE_3, 0))
        self._form = QWidget()
        self._pages = Pages((self._form, self.json_view))
        self._lay_out()
        self._connect()
        self.set_reply(sampling_reply(ASSISTANT, text_block(""), MANUAL_MODEL, END_TURN))

    def reply(self) -> JSONObject:
        """Return the reply as it would be sent, valid or not. Raises FormError if it cannot be sent."""
        return self.json_view.read_object() if self.is_json_shown() else self._form_value()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was entered."""
        return not self.is_json_shown() and all(row.is_empty for row in self.rows)

    def set_focus(self) -> None:
        """Focus the first input."""
        if self.is_json_shown() or not self.rows:
            self.json_view.box.setFocus()
        else:
            self.rows[0].set_focus()

    def errors(self) -> list[str]:
        """Return what violates the schemas of the tools used, one sentence each."""
        return [] if self.is_json_shown() else [text for row in self.rows for text in row.errors()]

    def set_reply(self, reply: JSONObject) -> None:
        """Show a reply, in the current view if possible."""
        if self.is_json_shown() or not self._load(reply):
            self.json_view.set_value(reply)
            self._show(_JSON)
        self.changed.emit()

    def add_block(self, block: JSONObject) -> BlockRow:
        """Append a block and focus it."""
        row = self._add_row(block)
        row.set_focus()
        self.changed.emit()
        return row

    def add_tool_use(self) -> None:
        self.stop_reason.setCurrentText(STOP_FOR_TOOL)
        self.add_block({"type": TOOL_USE, "id": "", "name": "", "input": {}})

    def add_file(self, kind: str, path: Path) -> None:
        """Append an image or audio file, read without blocking the window."""
        self._bridge.start("read a file for a reply", self._add_file(kind, path), self)

    async def _add_file(self, kind: str, path: Path) -> None:
        self.alert.close_topic("file")
        try:
            data = await asyncio.to_thread(_read_file, path)
        except OSError as exc:
            self.alert.show_message(
                "file", f"Could not read {path.name}: {exc.strerror or exc}.", "Choose another file."
            )
            return
        if len(data) > MAX_FILE_SIZE:
            self.alert.show_message(
                "file", f"{path.name} is larger than {size(MAX_FILE_SIZE)}.", "Choose a smaller file."
            )
            return
        self.add_block(file_block(kind, data, _mime_type(data, path)))

    def _form_value(self) -> JSONObject:
        """Return the form's value; the reply as loaded until something changes."""
        value = self._composed()
        if self._loaded is not None and same(self._loaded_form, value):
            return self._loaded
        return value

    def _composed(self) -> JSONObject:
        blocks = [row.block() for row in self.rows]
        stop = self.stop_reason.currentText()
        reply = sampling_reply(self.role.currentText(), blocks, self.model.text(), stop)
        return {**reply, **self._other_members}

    def _load(self, reply: JSONObject) -> bool:
        """Load a reply into the form; return False if the form would change it."""
        try:
            blocks = read_blocks(reply.get("content"))
        except ValueError:
            return False
        texts = [reply.get(name, "") for name in ("role", "model", "stopReason")]
        if not all(isinstance(text, str) for text in texts):
            return False
        self._remove_all()
        self._other_members = {name: value for name, value in reply.items() if name not in _FORM_MEMBERS}
        self.role.setCurrentText(text_of(reply, "role"))
        self.model.setText(text_of(reply, "model"))
        self.stop_reason.setCurrentText(text_of(reply, "stopReason"))
        for block in blocks:
            self._add_row(block)
        self._loaded, self._loaded_form = reply, self._composed()
        return True

    def is_json_shown(self) -> bool:
        return self._pages.index() == _JSON

    def show_json(self) -> None:
        """Switch to JSON; the text is restored as written if the form changed nothing."""
        try:
            value = self._form_value()
        except FormError as exc:
            self._stay(_FORM, f"Can't switch views: {exc}")
            return
        if self._json_value is None or not same(self._json_value, value):
            self.json_view.set_value(value)
        self._show(_JSON)

    def show_form(self) -> None:
        try:
            value = self.json_view.read_object()
        except FormError:
            self.switch.choose(_JSON)
            return
        if not self._load(value):
            self._stay(_JSON, "Can't switch views: the form can't show this reply.")
            return
        self._json_value = value
        self._show(_FORM)

    def _show(self, view: int) -> None:
        self._pages.choose(view)
        self.switch.choose(view)
        self.alert.close_topic("switch")

    def _stay(self, view: int, text: str) -> None:
        self.switch.choose(view)
        self.alert.show_message("switch", text)

    def _on_view_chosen(self, view: int) -> None:
        if view == _JSON:
            self.show_json()
        else:
            self.show_form()
        self.changed.emit()

    def _add_row(self, block: JSONObject) -> BlockRow:
        row = row_for(self._theme, block, self._tools)
        row.changed.connect(self.changed)
        row.content_requested.connect(self.content_requested)
        row.removal_requested.connect(lambda: self._on_removal_requested(row))
        self.rows.append(row)
        self._blocks.addWidget(row)
        return row

    def _on_removal_requested(self, row: BlockRow) -> None:
        self._remove(row)
        self.changed.emit()

    def _remove(self, row: BlockRow) -> None:
        self.rows.remove(row)
        discard(row)

    def _remove_all(self) -> None:
        for row in list(self.rows):
            self._remove(row)

    def _choose_file(self, kind: str) -> None:
        dialog = QFileDialog(self, f"Add {kind} file", "", _FILTERS[kind])
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.add_file(kind, Path(path)))
        dialog.open()

    def _connect(self) -> None:
        self.switch.chosen.connect(self._on_view_chosen)
        self.json_view.text_changed.connect(self.changed)
        self.model.textEdited.connect(self.changed)
        for combo in (self.role, self.stop_reason):
            combo.currentTextChanged.connect(self.changed)

    def _make_menu(self) -> QToolButton:
        for text, slot in (
            ("Text", lambda: self.add_block(text_block(""))),
            ("Image…", lambda: self._choose_file("image")),
            ("Audio…", lambda: self._choose_file("audio")),
            ("Tool use", self.add_tool_use),
            ("JSON", lambda: self.add_block({"type": ""})),
        ):
            self.add_menu.addAction(text).triggered.connect(slot)
        add = QAction("Add", self)
        self._theme.set_icon(add, "plus")
        button = ActionToolButton(add)
        button.setMenu(self.add_menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setIconSize(QSize(ICON_SIZE, ICON_SIZE))
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setAccessibleName("Add a content block to the reply")
        return button

    def _lay_out(self) -> None:
        self.head.addWidget(Heading(self._theme, "Your reply"))
        self.head.addWidget(self.switch)
        self.head.addStretch(1)
        self._blocks = vbox(None)
        role, model, reason = (MutedLabel(self._theme, text) for text in ("Role", "Model", "Stop reason"))
        facts = hbox(None, role, self.role, model, (self.model, 2), reason, (self.stop_reason, 1))
        vbox(
            self._form,
            self._blocks,
            (self._make_menu(), 0, Qt.AlignmentFlag.AlignLeft),
            facts,
            margin=(SPACE_3, SPACE_2, SPACE_3, 0),
        )
        vbox(self, self.head, self.alert, self._pages, gap=0)


def _choice(name: str, items: Sequence[str]) -> QComboBox:
    combo = QComboBox()
    combo.setEditable(True)
    combo.addItems(list(items))
    combo.setAccessibleName(name)
    return combo


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_FILE_SIZE + 1)


def _mime_type(data: bytes, path: Path) -> str:
    """Return the MIME type by content, else by file name."""
    found = recognized(data, "")
    known = found.mime_type if found is not None and found.data == data else ""
    return known or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
