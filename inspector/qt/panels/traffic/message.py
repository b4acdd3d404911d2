"""One row's message, in the form that the person wants to read it in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from inspector.base.errors import UserError
from inspector.base.units import size
from inspector.engine.jsontree import JsonTree as ReadTree
from inspector.engine.jsontree import json_tree
from inspector.qt.bridge import Bridge
from inspector.qt.models.jsontree import Leaf, Steps
from inspector.qt.panels.traffic.body import MaskedBody, RowBody, holds_json
from inspector.qt.panels.traffic.decoded import DecodedView
from inspector.qt.panels.traffic.paths import filter_path
from inspector.qt.panels.traffic.tree import JsonTree
from inspector.qt.theme import Theme
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.gate import Gate
from inspector.qt.widgets.jsonview import JsonView
from inspector.qt.widgets.savebody import BodySaver
from inspector.traffic.decode.decoding import Decoding
from inspector.traffic.decode.find import find_decodings
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

# Larger messages are not searched for encoded content.
_BIGGEST_DECODED = 16 * 1024 * 1024
_PASSING_BY_S = 0.1


class Form(IntEnum):
    """The forms of a message, in the order of the switch."""

    TREE = 0
    PRETTY = 1
    TEXT = 2
    BYTES = 3
    DECODED = 4


FORM_WORDS = tuple(form.name.capitalize() for form in Form)


class MessageView(QWidget):
    """Shows a row in one form and creates the others on demand.

    Its cost does not grow with the message: pages are read as they are shown, and the tree of a large
    message is built in the worker process.

    Signals:
        filter_requested: Filter for a value, or exclude it; carries its path in the filter language, the
            value, and whether to exclude.
        form_requested: Switch to a form that shows what this one cannot; carries it (`Form`).
        forms_changed: Another form is available now.
    """

    filter_requested = Signal(str, object, bool)
    form_requested = Signal(int)
    forms_changed = Signal()

    def __init__(self, bridge: Bridge, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._theme = theme
        self._log: TrafficLog | None = None
        self._row: int | None = None
        self._body: RowBody | None = None
        self.has_secrets = False
        self._is_json = False
        self._wanted = Form.PRETTY
        self._filled: set[Form] = set()
        self._views: dict[Form, QWidget] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._decodings: tuple[Decoding, ...] = ()
        self._saver = BodySaver(theme)
        self._pages = QStackedWidget()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._pages, 1)
        column.addWidget(self._saver)

    def show_row(self, log: TrafficLog, row: int) -> None:
        """Show another row; secrets revealed in the previous one are masked again."""
        self._log, self._row = log, row
        if log.kind(row) == RecordKind.LOGIN:
            masked = MaskedBody(log, row)
            self.has_secrets = masked.has_secrets
            self._show_body(masked)
        else:
            self.has_secrets = False
            self._show_body(RowBody(log, row))

    def show_secrets(self, shown: bool) -> None:
        """Reveal or mask the secrets of a row that has some."""
        if self._log is not None and self._row is not None and self.has_secrets:
            self._show_body(RowBody(self._log, self._row) if shown else MaskedBody(self._log, self._row))

    def _show_body(self, body: RowBody) -> None:
        assert self._log is not None
        assert self._row is not None
        self._stop_tasks()
        self._body = body
        self._is_json = holds_json(self._log, self._row, body)
        self._filled.clear()
        self._look_inside(self._body)
        self._show()

    def set_form(self, form: Form) -> None:
        """Set the preferred form; if the row does not have it, the nearest is shown."""
        self._wanted = form
        self._show()

    def offered(self) -> set[Form]:
        """Return the forms the row has."""
        forms = {Form.TEXT, Form.BYTES}
        if self._is_json:
            forms |= {Form.TREE, Form.PRETTY}
        if self._decodings:
            forms.add(Form.DECODED)
        return forms

    def form(self) -> Form:
        """Return the form shown."""
        offered = self.offered()
        return next(form for form in (self._wanted, Form.PRETTY, Form.TEXT) if form in offered)

    def shown_text(self) -> str:
        """Return the message for reading: pretty-printed if it is JSON, else as received."""
        return self.text_view(Form.PRETTY if self._is_json else Form.TEXT).shown_text()

    def text_view(self, form: Form) -> JsonView:
        """Return the filled view of a textual form."""
        view = self._view(form)
        assert isinstance(view, JsonView)
        self._fill(form)
        return view

    @property
    def tree(self) -> JsonTree:
        """The filled tree; of a large message, once it has been read."""
        gate = self._view(Form.TREE)
        self._fill(Form.TREE)
        tree = gate.findChild(JsonTree)
        assert tree is not None
        return tree

    def save(self) -> None:
        """Save the whole message to a file."""
        if self._body is not None:
            self._saver.ask(self._body, "message.json" if self._is_json else "message.txt")

    # -------------------------------------------------------------- showing

    @cached_property
    def _nothing(self) -> EmptyState:
        nothing = EmptyState(self._theme)
        nothing.show_empty("info", "No bytes", "This row has none: what it says is in its head.")
        self._pages.addWidget(nothing)
        return nothing

    def _show(self) -> None:
        if self._body is None:
            return
        if len(self._body) == 0:
            self._pages.setCurrentWidget(self._nothing)
            return
        form = self.form()
        view = self._view(form)
        self._fill(form)
        self._pages.setCurrentWidget(view)

    def _view(self, form: Form) -> QWidget:
        if form not in self._views:
            makers: dict[Form, Callable[[], QWidget]] = {
                Form.TREE: self._make_tree,
                Form.DECODED: lambda: DecodedView(self._theme),
            }
            self._views[form] = makers.get(form, lambda: self._make_text(form))()
            self._pages.addWidget(self._views[form])
        return self._views[form]

    def _make_text(self, form: Form) -> JsonView:
        view = JsonView(self._theme, f"Message as {FORM_WORDS[form].lower()}")
        view.save_requested.connect(self.save)
        return view

    def _make_tree(self) -> Gate:
        tree = JsonTree(self._theme, "Message as a tree")
        tree.filter_requested.connect(self._on_filter_requested)
        tree.path_copied.connect(self._on_path_copied)
        self._to_pretty = QAction("Show as text", self)
        self._to_pretty.triggered.connect(lambda: self.form_requested.emit(Form.PRETTY))
        return Gate(self._theme, tree)

    def _fill(self, form: Form) -> None:
        """Fill a form, once per row: the view keeps its position for when the user returns."""
        body, view = self._body, self._view(form)
        if body is None or form in self._filled:
            return
        self._filled.add(form)
        if isinstance(view, Gate):
            self._fill_tree(view, body)
        elif isinstance(view, DecodedView):
            view.show_decodings(self._decodings)
        elif isinstance(view, JsonView):
            is_pretty = form is Form.PRETTY and self._is_json
            view.set_secret(self.has_secrets and not isinstance(body, MaskedBody))
            view.set_body(body, "pretty" if is_pretty else "bytes" if form is Form.BYTES else "text")

    # -------------------------------------------------------------- the tree

    def _fill_tree(self, gate: Gate, body: RowBody) -> None:
        if body.is_small:
            self._show_tree(gate, json_tree(body.part(0, len(body))))
            return
        sentence = f"Reading {size(len(body))} of JSON."
        gate.explain("loading", "", "Making the tree", sentence, action=self._to_pretty)
        self._start(self._read_tree(gate, body))

    async def _read_tree(self, gate: Gate, body: RowBody) -> None:
        try:
            tree = await self._work(json_tree, body)
        except UserError as exc:
            tree = ReadTree(problem=str(exc))
        if body is self._body:
            self._show_tree(gate, tree)

    def _show_tree(self, gate: Gate, tree: ReadTree) -> None:
        widget = gate.findChild(JsonTree)
        assert widget is not None
        if tree.problem:
            widget.clear()
            next_step = "Pretty and Text show it all the same."
            gate.explain("failed", "", "No tree", _sentence(tree.problem), next_step, self._to_pretty)
        else:
            widget.set_secret(self.has_secrets and not isinstance(self._body, MaskedBody))
            widget.set_value(tree.value)
            gate.open()

    # -------------------------------------------------------------- what is packed inside

    def _look_inside(self, body: RowBody) -> None:
        self._decodings = ()
        if body.is_small:
            self._decodings = find_decodings(body.part(0, len(body)))
        elif len(body) <= _BIGGEST_DECODED:
            self._start(self._find_decodings(body))

    async def _find_decodings(self, body: RowBody) -> None:
        with contextlib.suppress(UserError):  # then there is nothing to decode; the message itself is shown
            found = await self._work(find_decodings, body)
            if body is self._body and found:
                self._decodings = found
                self._show()
                self.forms_changed.emit()

    # -------------------------------------------------------------- work elsewhere

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self._bridge.start(f"read row {self._row}", work, self))

    async def _work(self, function: Callable[[bytes], T], body: RowBody) -> T:
        """Run work for a row, delayed so that rows merely passed start none."""
        import asyncio

        await asyncio.sleep(_PASSING_BY_S)
        return await self._bridge.work(function, await body.read())

    def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

    # -------------------------------------------------------------- paths

    def _path(self, steps: Steps) -> str:
        assert self._log is not None
        assert self._row is not None
        return filter_path(steps, is_batch=self._log.kind(self._row) == RecordKind.BATCH)

    def _on_filter_requested(self, steps: Steps, value: Leaf, exclude: bool) -> None:
        self.filter_requested.emit(self._path(steps), value, exclude)

    def _on_path_copied(self, steps: Steps) -> None:
        QGuiApplication.clipboard().setText(self._path(steps))


def _sentence(cause: str) -> str:
    return f"{cause[:1].upper()}{cause[1:].rstrip('.')}."
