"""Client panel of one server: capability switches, roots and the JSON that is declared.

Changes take effect at once where the protocol version allows it; those that need a reconnect are listed
at the top.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QScrollArea,
    QSplitter,
    QWidget,
)

from inspector.base.errors import UserError
from inspector.base.json.values import JSON, JSONObject
from inspector.base.plain_text import visible
from inspector.engine.server_view import ClientSide, ServerView
from inspector.protocol.client_capabilities import ALL, NOTHING, ClientCapabilities, exact_capabilities
from inspector.protocol.revisions import Era
from inspector.qt.panels.client.capabilities import CapabilityList, ExactCapabilities
from inspector.qt.theme import SPACE_1, SPACE_3, SPACE_4, SPACE_6, Theme
from inspector.qt.views.panel import Panel, PanelContext
from inspector.qt.widgets.inputs.controls import ActionButton, icon_button
from inspector.qt.widgets.item_views import style_list
from inspector.qt.widgets.layout import STRETCH, hbox, vbox
from inspector.qt.widgets.notices.notices import Alert
from inspector.qt.widgets.text.labels import Heading, MutedLabel, PlainLabel, plain_tooltip

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

# When narrower, the switches and the JSON are stacked.
_MIN_WIDE_WIDTH = 760
_MAX_ROWS = 8
_DIFFERS = "The server was sent different capabilities when it connected."
_EDITING = "You are editing the JSON. Apply or discard it before you use the switches."


class ClientPanel(Panel):
    """Client capabilities: switches and roots on the left, the JSON on the right.

    Changes that need a reconnect are listed at the top.
    """

    help_page = "inbox"

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        theme = context.theme
        self._bridge = context.bridge
        self._server = context.server
        self._theme = theme
        self._client_side: ClientSide | None = None
        self._declared = NOTHING
        self._sending = 0
        self.alert = Alert(theme)
        self.switches = CapabilityList(theme)
        self.roots = RootsList(theme)
        self.exact = ExactCapabilities(theme)
        self.declare_all = QAction("Declare all", self)
        self.declare_all.setToolTip("Declare everything you can reply to in the Inbox")
        self.declare_none = QAction("Declare none", self)
        self.declare_none.setToolTip("Declare an empty object")
        self._reconnect = context.actions["server.reconnect"]
        self._split = QSplitter(Qt.Orientation.Horizontal)
        self._lay_out()
        self.declare_all.triggered.connect(lambda: self._choose(None))
        self.declare_none.triggered.connect(lambda: self._choose(NOTHING))
        self.switches.switched.connect(self._on_switched)
        self.exact.apply_requested.connect(self._on_apply_requested)
        self.exact.edited.connect(self._show_readiness)
        self.roots.changed.connect(self._on_roots_changed)

    def set_view(self, view: ServerView) -> None:
        """Show the view, unless a change is being sent: an older view would revert it briefly."""
        if view.client_side is None or self._sending:
            return
        self._client_side = view.client_side
        self._declared = view.client_side.declared
        self._show()

    def _on_switched(self, path: tuple[str, ...], value: JSON) -> None:
        self._choose(self._declared.with_member(path, value))

    def _on_apply_requested(self, capabilities: JSONObject) -> None:
        declared = exact_capabilities(capabilities)
        self._send("declare", lambda engine: engine.servers.set_declared(self._server, declared))

    def _choose(self, declared: ClientCapabilities | None) -> None:
        self._declared = ALL if declared is None else declared
        self._show_declared()
        self._send("declare", lambda engine: engine.servers.set_declared(self._server, declared))

    def _on_roots_changed(self, roots: tuple[str, ...]) -> None:
        self._send("roots", lambda engine: engine.servers.set_roots(self._server, roots))

    def _send(self, name: str, work: Callable[[Engine], Coroutine[Any, Any, None] | None]) -> None:
        self._sending += 1
        self._bridge.start(f"{name} {self._server}", self._send_and_update(work), self)

    async def _send_and_update(self, work: Callable[[Engine], Coroutine[Any, Any, None] | None]) -> None:
        """Send a change, then show the resulting state whether or not it failed. Raises UserError."""
        error: UserError | None = None
        try:
            await self._bridge.ask(work)
        except UserError as exc:
            error = exc
        view = await self._bridge.ask(lambda engine: engine.servers.get(self._server).view)
        self._sending -= 1
        self.set_view(view)
        if error is not None:
            raise error

    def _show(self) -> None:
        assert self._client_side is not None
        client_side = self._client_side
        self._show_declared()
        self.roots.show_roots(client_side.roots, _roots_note(client_side))
        if client_side.differs:
            self.alert.show_message("differs", _DIFFERS, "Reconnect to apply.", [self._reconnect], "wait")
        else:
            self.alert.close_topic("differs")
        self._show_readiness()

    def _show_declared(self) -> None:
        revision = self._client_side.revision if self._client_side is not None else None
        self.switches.show_declared(self._declared, revision)
        self.exact.show_declared(self._declared, revision, _when_text(self._client_side))

    def _show_readiness(self) -> None:
        """Disable the switches during an edit: using one would lose it."""
        is_free, client_side = not self.exact.is_edited, self._client_side
        self.switches.setEnabled(is_free)
        self.declare_all.setEnabled(is_free and client_side is not None and not client_side.is_default)
        self.declare_none.setEnabled(
            is_free and client_side is not None and client_side.declared.members != {}
        )
        if self.exact.is_edited:
            self.alert.show_message("writing", _EDITING, tone="wait")
        else:
            self.alert.close_topic("writing")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= _MIN_WIDE_WIDTH
        orientation = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if orientation is not self._split.orientation():
            self._split.setOrientation(orientation)
            whole = self.width() if is_wide else self.height()
            self._split.setSizes([whole // 2, whole - whole // 2])

    def _lay_out(self) -> None:
        page = QWidget()
        head = hbox(
            None,
            (Heading(self._theme, "Client capabilities"), 1),
            ActionButton(self.declare_none),
            ActionButton(self.declare_all),
        )
        vbox(
            page,
            head,
            self.switches,
            SPACE_4,
            Heading(self._theme, "Roots"),
            self.roots,
            STRETCH,
            margin=(SPACE_3, SPACE_4, SPACE_3, SPACE_6),
        )
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(page)
        self._split.setChildrenCollapsible(False)
        self._split.addWidget(scroll)
        self._split.addWidget(self.exact)
        self._split.setSizes([500, 500])
        vbox(self, self.alert, (self._split, 1), gap=0)


def _roots_note(client_side: ClientSide) -> str:
    if not client_side.declared.has(("roots",)):
        return "Not declared: the server must not request roots."
    return "" if client_side.roots else "No folders: a server that requests roots gets an empty list."


def _when_text(client_side: ClientSide | None) -> str:
    """Return when the capabilities are sent, in the terms of the server's protocol version."""
    if client_side is None or client_side.revision is None:
        return "Each protocol version supports different capabilities; the version is negotiated on connect."
    if client_side.revision.era is Era.STATELESS:
        return (
            f"Declared in every request (protocol version {client_side.revision}). Changes apply "
            "from the next request on."
        )
    return f"Declared once, in initialize (protocol version {client_side.revision})."


class RootsList(QWidget):
    """The roots: folders, as paths or URIs.

    Signals:
        changed: The user changed the folders or their order; carries all of them.
    """

    changed = Signal(object)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._roots: tuple[str, ...] = ()
        self.list = QListWidget()
        self.list.setFont(theme.mono_font(0.95))
        self.list.setAccessibleName("Roots")
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        style_list(self.list, theme)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.currentRowChanged.connect(self._on_chosen)
        self.path = QLineEdit()
        self.path.setFont(theme.mono_font(0.95))
        self.path.setPlaceholderText("/a/folder, ~/folder or file:///…")
        self.path.setAccessibleName("Folder to add")
        self.path.returnPressed.connect(self._on_entered)
        self.path.textChanged.connect(self._on_typed)
        self._error_label = PlainLabel(theme, tone="warn", wrap=True)
        self._error_label.hide()
        self._note = MutedLabel(theme, wrap=True)
        self._list_area = QWidget()
        self._browse = QAction("Add folder…", self)
        self._browse.triggered.connect(self.browse)
        self.up, self.down = QAction("Move up", self), QAction("Move down", self)
        self.remove = QAction("Remove", self)
        for action, icon, key in (
            (self.up, "chevron-up", "Alt+Up"),
            (self.down, "chevron-down", "Alt+Down"),
            (self.remove, "trash", "Del"),
        ):
            theme.set_icon(action, icon)
            action.setShortcut(QKeySequence(key))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self.list.addAction(action)
        self.up.triggered.connect(lambda: self._move(-1))
        self.down.triggered.connect(lambda: self._move(1))
        self.remove.triggered.connect(self._remove)
        self._lay_out()
        self._show(0)

    def roots(self) -> tuple[str, ...]:
        return self._roots

    def show_roots(self, roots: tuple[str, ...], note: str) -> None:
        """Show the roots; `note` says what effect they have."""
        self._note.setText(note)
        self._note.setVisible(bool(note))
        if roots != self._roots:
            self._roots = roots
            self._show(self.list.currentRow())

    def add(self, folder: str) -> bool:
        """Append a folder. Return False, and show why, if it is not valid."""
        error = self._error_of(folder)
        self._error_label.setText(error)
        self._error_label.setVisible(bool(error))
        if not error:
            self._change((*self._roots, folder), len(self._roots))
        return not error

    def browse(self) -> None:
        dialog = QFileDialog(self, "Add a folder")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.add)
        dialog.open()

    def _error_of(self, folder: str) -> str:
        if folder in self._roots:
            return "This folder is already in the list."
        if not folder.isprintable():
            return "The path contains invisible characters. Type it again."
        if "://" in folder or folder.startswith("~") or PurePath(folder).is_absolute():
            return ""
        return "Enter an absolute path or one that starts with ~. A server has a different working directory."

    def _on_entered(self) -> None:
        folder = self.path.text().strip()
        if folder and self.add(folder):
            self.path.clear()

    def _on_typed(self) -> None:
        self._error_label.hide()

    def _on_chosen(self, row: int) -> None:
        self.up.setEnabled(row > 0)
        self.down.setEnabled(0 <= row < len(self._roots) - 1)
        self.remove.setEnabled(row >= 0)

    def _move(self, step: int) -> None:
        row = self.list.currentRow()
        roots = list(self._roots)
        roots.insert(row + step, roots.pop(row))
        self._change(tuple(roots), row + step)

    def _remove(self) -> None:
        row = self.list.currentRow()
        roots = [root for number, root in enumerate(self._roots) if number != row]
        self._change(tuple(roots), min(row, len(roots) - 1))

    def _change(self, roots: tuple[str, ...], row: int) -> None:
        self._roots = roots
        self._show(row)
        self.changed.emit(roots)

    def _show(self, row: int) -> None:
        self.list.clear()
        for root in self._roots:
            item = QListWidgetItem(visible(root))
            item.setToolTip(plain_tooltip(root))
            self.list.addItem(item)
        self.list.setCurrentRow(min(row, len(self._roots) - 1))
        self._on_chosen(self.list.currentRow())
        shown = min(max(len(self._roots), 3), _MAX_ROWS)  # at least as tall as the buttons beside it
        self.list.setFixedHeight(shown * self._theme.row_height() + 2 * self.list.frameWidth())
        self._list_area.setVisible(bool(self._roots))

    def _lay_out(self) -> None:
        add_row = hbox(None, (self.path, 1), ActionButton(self._browse))
        buttons = vbox(
            None, *(icon_button(action) for action in (self.up, self.down, self.remove)), STRETCH, gap=SPACE_1
        )
        hbox(self._list_area, (self.list, 1), buttons, gap=SPACE_1)
        vbox(self, self._note, self._list_area, add_row, self._error_label)
