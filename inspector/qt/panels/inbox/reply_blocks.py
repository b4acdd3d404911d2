"""Editors for the content blocks of a sampling reply: text, image or audio, tool use, JSON."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QLineEdit, QWidget

from inspector.base.json.values import JSONObject, object_of, text_of
from inspector.base.plain_text import one_line
from inspector.engine.content.content import ContentKind, Message, block_content
from inspector.protocol.server_requests.sampling import TOOL_USE, kind_of
from inspector.protocol.types import Tool
from inspector.qt.forms.json.json_text_view import JsonTextView
from inspector.qt.forms.schema.arguments_editor import ArgumentsEditor
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.views.messages import MessageCard
from inspector.qt.widgets.inputs.controls import icon_button
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.text.labels import FormStyle, MutedLabel
from inspector.qt.widgets.text.text_box import TextBox
from inspector.schema.values import FormError

_JSON_HEIGHT = 140
_TEXT_LINES = (4, 16)


class BlockRow(QWidget):
    """Base class of the editors of one content block. Members without a field are preserved.

    Signals:
        changed: The user changed it.
        removal_requested: Remove the block.
        content_requested: Show its content separately; carries it.
    """

    changed = Signal()
    content_requested = Signal(object)
    removal_requested = Signal()

    def __init__(self, theme: Theme, text: str) -> None:
        super().__init__()
        self._theme = theme
        remove = QAction(f"Remove: {text}", self)
        theme.set_icon(remove, "trash", "muted")
        remove.triggered.connect(self.removal_requested)
        self.head = hbox(None, MutedLabel(theme, text), STRETCH, icon_button(remove))
        self.column = vbox(self, self.head, gap=SPACE_1)

    def block(self, *, force: bool = False) -> JSONObject:
        """Return the block as it would be sent; `force` also allows invalid values.

        Raises FormError if it cannot be sent.
        """
        raise NotImplementedError

    def errors(self) -> list[str]:
        """Return the errors of the input, one sentence each."""
        return []

    @property
    def is_empty(self) -> bool:
        return False

    def set_focus(self) -> None:
        self.setFocus()


class TextRow(BlockRow):
    def __init__(self, theme: Theme, block: JSONObject) -> None:
        super().__init__(theme, "Text")
        self._source = block
        self.box = TextBox(theme.ui_font(), lines=_TEXT_LINES)
        self.box.setAccessibleName("Reply text")
        self.box.setPlaceholderText("Model text")
        self.box.set_text(text_of(block, "text"))
        self.column.addWidget(self.box)
        self.box.textChanged.connect(self.changed)

    def block(self, *, force: bool = False) -> JSONObject:
        return {**self._source, "type": "text", "text": self.box.text()}

    @property
    def is_empty(self) -> bool:
        return not self.box.text()

    def set_focus(self) -> None:
        self.box.setFocus()


class FileRow(BlockRow):
    """An image or audio block: shown, and replaced only as a whole."""

    def __init__(self, theme: Theme, block: JSONObject) -> None:
        super().__init__(theme, "Image" if kind_of(block) == "image" else "Audio")
        self._source = block
        card = MessageCard(theme, Message("assistant", block_content(block)), side=0)
        card.open_requested.connect(self.content_requested)
        self.column.addWidget(card)

    def block(self, *, force: bool = False) -> JSONObject:
        return self._source


class ToolUseRow(BlockRow):
    """A tool's name, an ID and the arguments in a form for the tool's schema."""

    def __init__(self, theme: Theme, block: JSONObject, tools: Sequence[Tool]) -> None:
        super().__init__(theme, "Tool use")
        self._source = block
        self._tools = {tool.name: tool for tool in tools}
        self.name = QComboBox()
        self.name.setEditable(True)
        self.name.setAccessibleName("Tool")
        self.name.addItems(list(self._tools))
        self.name.setCurrentText(text_of(block, "name") or next(iter(self._tools), ""))
        self.id = QLineEdit(text_of(block, "id") or f"call_{uuid.uuid4().hex[:8]}")
        self.id.setAccessibleName("Tool use ID")
        self.editor = ArgumentsEditor(theme, submit_keys=False, fit_content=True)
        self._show_schema()
        self.editor.set_arguments(object_of(block, "input") or {})
        tool, id_label = MutedLabel(theme, "Tool"), MutedLabel(theme, "ID")
        self.column.addLayout(hbox(None, tool, (self.name, 2), id_label, (self.id, 1)))
        self.column.addWidget(self.editor)
        self.name.currentTextChanged.connect(self._on_name_changed)
        self.id.textEdited.connect(self.changed)
        self.editor.value_changed.connect(self.changed)

    def block(self, *, force: bool = False) -> JSONObject:
        input = self.editor.arguments(force=True)
        return {
            **self._source,
            "type": TOOL_USE,
            "id": self.id.text(),
            "name": self.name.currentText(),
            "input": input,
        }

    def set_focus(self) -> None:
        self.name.setFocus()

    def errors(self) -> list[str]:
        name = one_line(self.name.currentText())
        return [f"Input of {name}: {error}." for error in self.editor.all_errors()]

    def _on_name_changed(self, name: str) -> None:
        try:
            arguments = self.editor.arguments(force=True)
        except FormError:
            arguments = {}
        self._show_schema()
        self.editor.set_arguments(arguments)
        self.changed.emit()

    def _show_schema(self) -> None:
        tool = self._tools.get(self.name.currentText())
        self.editor.set_schema(tool.input_schema if tool is not None else {"type": "object"})


class JsonRow(BlockRow):
    """Any other block, as JSON."""

    def __init__(self, theme: Theme, block: JSONObject) -> None:
        super().__init__(theme, f"JSON: {one_line(kind_of(block))}" if kind_of(block) else "JSON")
        self.view = JsonTextView(FormStyle.of(theme))
        self.view.box.setAccessibleName("Content block as JSON")
        self.view.box.setMinimumHeight(_JSON_HEIGHT)
        self.view.set_value(block)
        self.column.addWidget(self.view)
        self.view.text_changed.connect(self.changed)

    def block(self, *, force: bool = False) -> JSONObject:
        return self.view.read_object()

    def set_focus(self) -> None:
        self.view.box.setFocus()


def row_for(theme: Theme, block: JSONObject, tools: Sequence[Tool]) -> BlockRow:
    """Return an editor that can return the block unchanged."""
    kind = kind_of(block)
    if kind == "text" and isinstance(block.get("text"), str):
        row = TextRow(theme, block)
        return row if row.block() == block else JsonRow(theme, block)
    if kind in ("image", "audio") and block_content(block).kind is not ContentKind.UNKNOWN:
        return FileRow(theme, block)
    if kind == TOOL_USE and isinstance(block.get("input"), dict):
        return ToolUseRow(theme, block, tools)
    return JsonRow(theme, block)


def file_block(kind: str, data: bytes, mime_type: str) -> JSONObject:
    return {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime_type}
