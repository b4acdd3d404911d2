"""Message of one row in the selected form. Its body is read on demand."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Coroutine
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QStackedWidget, QWidget

from inspector.base.errors import UserError
from inspector.base.json.values import JSONError, parse
from inspector.base.units import size
from inspector.engine.content.json_tree import JsonTree, json_tree
from inspector.qt.bridge import Bridge
from inspector.qt.models.json_tree import Leaf, Steps
from inspector.qt.panels.traffic.detail.message_forms import DecodedView, JsonTreeView
from inspector.qt.theme import Theme
from inspector.qt.widgets.code.json_view import JsonView
from inspector.qt.widgets.code.save_file import BodySaver
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.empty_state import ContentStack, EmptyState
from inspector.traffic.decode.decodings import Decoding
from inspector.traffic.decode.finder import find_decodings
from inspector.traffic.filter.row_values import ROOTS
from inspector.traffic.filter.tree import Index, Member, Path, Step, path_text
from inspector.traffic.log import BodyUnavailable, TrafficLog
from inspector.traffic.masking.masker import masked_excerpt
from inspector.traffic.records import RecordKind

if TYPE_CHECKING:
    import asyncio

# Bodies up to this size are parsed at once, without a noticeable delay; larger ones in the worker.
SMALL = 32 * 1024
_CHUNK_SIZE = 1024 * 1024
T = TypeVar("T")
# Larger messages are not searched for encoded content.
_MAX_DECODED_SIZE = 16 * 1024 * 1024
_DELAY_S = 0.1
# Message members with their own filter field.
_MEMBER_FIELDS = {("method",): "method", ("id",): "id", ("error", "code"): "code"}
# The longest first: `args` rather than `params.arguments`.
_ROOTS = sorted(ROOTS.items(), key=lambda root: -len(root[1]))


class Form(IntEnum):
    """The forms of a message, in the order of the switch."""

    TREE = 0
    PRETTY = 1
    TEXT = 2
    BYTES = 3
    DECODED = 4


FORM_LABELS = tuple(form.name.capitalize() for form in Form)


class MessageView(QWidget):
    """Shows a row in one form and creates the others on demand.

    Its cost does not grow with the message: pages are read as they are shown, and the tree of a large
    message is built in the worker process. A row whose bytes cannot be read shows the cause instead.

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
        self._failure: BodyUnavailable | None = None  # why the row cannot be read
        self.has_secrets = False
        self._is_json = False
        self._preferred = Form.PRETTY
        self._filled: set[Form] = set()
        self._views: dict[Form, QWidget] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._decodings: tuple[Decoding, ...] = ()
        self._saver = BodySaver(theme)
        self._pages = QStackedWidget()
        vbox(self, (self._pages, 1), self._saver, gap=0)

    def show_row(self, log: TrafficLog, row: int) -> None:
        """Show another row; secrets revealed in the previous one are masked again."""
        self._log, self._row = log, row
        self.has_secrets = False
        body = RowBody(log, row)
        try:
            body.part(0, SMALL)
            if log.kind(row) == RecordKind.LOGIN:
                body = masked = MaskedBody(log, row)
                self.has_secrets = masked.has_secrets
        except BodyUnavailable as exc:
            self._show_failure(body, exc)
        else:
            self._show_body(body)

    def show_secrets(self, shown: bool) -> None:
        """Reveal or mask the secrets of a row that has some."""
        if self._log is not None and self._row is not None and self.has_secrets:
            self._show_body(RowBody(self._log, self._row) if shown else MaskedBody(self._log, self._row))

    def _show_body(self, body: RowBody) -> None:
        assert self._log is not None
        assert self._row is not None
        self._stop_tasks()
        self._body, self._failure = body, None
        self._is_json = holds_json(self._log, self._row, body)
        self._filled.clear()
        self._start_decoding(self._body)
        self._show()

    def _show_failure(self, body: RowBody, error: BodyUnavailable) -> None:
        self._stop_tasks()
        self._body, self._failure = body, error
        self._is_json = False
        self._filled.clear()
        self._decodings = ()
        self._unreadable.show_failed("Could not be read", error.summary, error.next_step, [self._retry])
        self._show()

    def set_form(self, form: Form) -> None:
        """Set the preferred form; if the row does not have it, the nearest is shown."""
        self._preferred = form
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
        return next(form for form in (self._preferred, Form.PRETTY, Form.TEXT) if form in offered)

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
    def tree(self) -> JsonTreeView:
        """The filled tree; of a large message, once it has been read."""
        gate = self._view(Form.TREE)
        self._fill(Form.TREE)
        tree = gate.findChild(JsonTreeView)
        assert tree is not None
        return tree

    def save(self) -> None:
        """Save the whole message to a file."""
        if self._body is not None:
            self._saver.ask(self._body, "message.json" if self._is_json else "message.txt")

    @cached_property
    def _no_bytes(self) -> EmptyState:
        page = EmptyState(self._theme)
        page.show_empty("info", "No bytes", "This row has no body; its text is shown above.")
        self._pages.addWidget(page)
        return page

    @cached_property
    def _unreadable(self) -> EmptyState:
        page = EmptyState(self._theme)
        self._pages.addWidget(page)
        return page

    @cached_property
    def _retry(self) -> QAction:
        action = QAction("Try again", self)
        action.triggered.connect(self._on_retry)
        return action

    def _on_retry(self) -> None:
        if self._log is not None and self._row is not None:
            self.show_row(self._log, self._row)
            self.forms_changed.emit()

    def _show(self) -> None:
        if self._body is None:
            return
        if self._failure is not None:
            self._pages.setCurrentWidget(self._unreadable)
            return
        if len(self._body) == 0:
            self._pages.setCurrentWidget(self._no_bytes)
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
        view = JsonView(self._theme, f"Message as {FORM_LABELS[form].lower()}")
        view.save_requested.connect(self.save)
        return view

    def _make_tree(self) -> ContentStack:
        tree = JsonTreeView(self._theme, "Message as tree")
        tree.filter_requested.connect(self._on_filter_requested)
        tree.path_copied.connect(self._on_path_copied)
        self._to_pretty = QAction("Show as text", self)
        self._to_pretty.triggered.connect(lambda: self.form_requested.emit(Form.PRETTY))
        return ContentStack(self._theme, tree)

    def _fill(self, form: Form) -> None:
        """Fill a form, once per row: the view keeps its position for when the user returns."""
        body, view = self._body, self._view(form)
        if body is None or form in self._filled:
            return
        self._filled.add(form)
        if isinstance(view, ContentStack):
            self._fill_tree(view, body)
        elif isinstance(view, DecodedView):
            view.show_decodings(self._decodings)
        elif isinstance(view, JsonView):
            is_pretty = form is Form.PRETTY and self._is_json
            view.set_secret(self.has_secrets and not isinstance(body, MaskedBody))
            view.set_body(body, "pretty" if is_pretty else "bytes" if form is Form.BYTES else "text")

    def _fill_tree(self, gate: ContentStack, body: RowBody) -> None:
        if body.is_small:
            self._show_tree(gate, json_tree(body.part(0, len(body))))
            return
        sentence = f"Reading {size(len(body))} of JSON."
        gate.explain("loading", "", "Building the tree", sentence, action=self._to_pretty)
        self._start(self._read_tree(gate, body))

    async def _read_tree(self, gate: ContentStack, body: RowBody) -> None:
        try:
            tree = await self._work(json_tree, body)
        except UserError as exc:
            tree = JsonTree(problem=str(exc))
        if body is self._body:
            self._show_tree(gate, tree)

    def _show_tree(self, gate: ContentStack, tree: JsonTree) -> None:
        widget = gate.findChild(JsonTreeView)
        assert widget is not None
        if tree.problem:
            widget.clear()
            next_step = "Pretty and Text can still show it."
            gate.explain(
                "failed", "", "Can't show as tree", _sentence(tree.problem), next_step, self._to_pretty
            )
        else:
            widget.set_secret(self.has_secrets and not isinstance(self._body, MaskedBody))
            widget.set_value(tree.value)
            gate.open()

    def _start_decoding(self, body: RowBody) -> None:
        self._decodings = ()
        if body.is_small:
            self._decodings = find_decodings(body.part(0, len(body)))
        elif len(body) <= _MAX_DECODED_SIZE:
            self._start(self._find_decodings(body))

    async def _find_decodings(self, body: RowBody) -> None:
        with contextlib.suppress(UserError):  # the message itself is still shown
            found = await self._work(find_decodings, body)
            if body is self._body and found:
                self._decodings = found
                self._show()
                self.forms_changed.emit()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(self._bridge.start(f"read row {self._row}", work, self))

    async def _work(self, function: Callable[[bytes], T], body: RowBody) -> T:
        """Run `function` in the worker, after a delay: rows that are only scrolled past start no work."""
        import asyncio

        await asyncio.sleep(_DELAY_S)
        data = await body.read()
        return await self._bridge.ask(lambda engine: engine.work(function, data))

    def _stop_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()

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


class RowBody:
    """A row's bytes as a `Body`, read on demand from memory or disk."""

    def __init__(self, log: TrafficLog, row: int) -> None:
        self._log = log
        self._row = row
        self._length = log.kept(row)

    def __len__(self) -> int:
        return self._length

    def part(self, start: int, length: int) -> bytes:
        return self._log.part(self._row, start, length)

    @property
    def is_small(self) -> bool:
        return self._length <= SMALL

    async def read(self) -> bytes:
        """Read everything in chunks, yielding to the event loop: it may come from disk."""
        import asyncio

        pieces: list[bytes] = []
        for start in range(0, self._length, _CHUNK_SIZE):
            pieces.append(self.part(start, _CHUNK_SIZE))
            await asyncio.sleep(0)
        return b"".join(pieces)


class MaskedBody(RowBody):
    """A login's request without its secrets: the log has them, but screens are often shared."""

    def __init__(self, log: TrafficLog, row: int) -> None:
        super().__init__(log, row)
        raw = log.raw(row)  # a form, which is always short
        self._masked = masked_excerpt(raw)
        self._length = len(self._masked)
        self.has_secrets = self._masked != raw

    def part(self, start: int, length: int) -> bytes:
        return self._masked[start : start + length]


def holds_json(log: TrafficLog, row: int, body: RowBody) -> bool:
    """Return whether the row can be shown as JSON. Only small non-messages are parsed to find out."""
    kind = log.kind(row)
    if kind < RecordKind.INVALID:
        return True
    if kind > RecordKind.TEXT or body.part(0, 64).lstrip()[:1] not in (b"{", b"[", b'"'):
        return False
    if not body.is_small:
        return kind == RecordKind.INVALID
    try:
        parse(body.part(0, len(body)).decode(errors="replace").removeprefix("\ufeff"))
    except JSONError as exc:
        return exc.is_too_deep
    return True


def filter_path(steps: Steps, *, is_batch: bool = False) -> str:
    """Return a filter path: `args.path`, `result.content[0].text`, `method`.

    In a batch, a filter looks into each message.
    """
    steps_in_message = steps[1:] if is_batch and steps and isinstance(steps[0], int) else steps
    if field := _MEMBER_FIELDS.get(tuple(map(str, steps_in_message))):
        return field
    path: tuple[Step, ...] = tuple(
        Member(step) if isinstance(step, str) else Index(step) for step in steps_in_message
    )
    for field, root in _ROOTS:
        if path[: len(root)] == root:
            return path_text(Path(field, path[len(root) :]))
    raise AssertionError("`body` is the root of every path")
