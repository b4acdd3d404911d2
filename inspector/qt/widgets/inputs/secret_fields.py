"""Fields for secrets: what is typed, pasted or read from a file is never shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QAction, QContextMenuEvent, QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFileDialog, QLineEdit, QMenu, QWidget

from inspector.base.errors import UserError
from inspector.base.redaction import MASK
from inspector.base.units import size
from inspector.qt.theme import SPACE_1, Theme
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.text.labels import PlainLabel

_MAX_SIZE = 64 * 1024


def secret_line(name: str, hint: str = "") -> QLineEdit:
    """Create a password field. Without a hint, the name is the placeholder."""
    line = QLineEdit(placeholderText=hint or name)
    line.setEchoMode(QLineEdit.EchoMode.Password)
    line.setAccessibleName(name)
    return line


class SecretText(QWidget):
    """A multi-line secret such as a private key. Only its length is shown.

    It is pasted or read from a file. `check` raises UserError for invalid text.

    Signals:
        changed: The secret was replaced or removed.
    """

    changed = Signal()

    def __init__(self, theme: Theme, name: str, check: Callable[[str], object] = str) -> None:
        super().__init__()
        self._name, self._check = name, check
        self._text = ""
        self.line = _PasteLine(name)
        self.error_label = PlainLabel(theme, tone="error", wrap=True)
        self.error_label.hide()
        self.paste_action = self._action("Paste", "Paste from the clipboard", self.paste)
        self.open_action = self._action("Open…", "Read from a file", self._ask_for_file)
        self.clear_action = self._action("Clear", "Clear this field", self.clear)
        self.line.pasted.connect(self.paste)
        self.line.menu_actions = (self.paste_action, self.open_action, self.clear_action)
        row = hbox(None, (self.line, 1))
        for action in (self.paste_action, self.open_action, self.clear_action):
            button = ActionButton(action)
            button.setAutoDefault(False)
            row.addWidget(button)
        vbox(self, row, self.error_label, gap=SPACE_1)
        self.setFocusProxy(self.line)
        self.clear()

    def text(self) -> str:
        return self._text

    def set_text(self, text: str) -> None:
        """Set the secret if it is valid; else show why not and keep the old one."""
        try:
            self._check(text.strip())
        except UserError as exc:
            self._show_error(str(exc))
            return
        self._store(text.strip())

    def clear(self) -> None:
        self._store("")

    def set_hint(self, hint: str) -> None:
        """Set the placeholder."""
        self.line.setPlaceholderText(hint)

    def paste(self) -> None:
        text = QGuiApplication.clipboard().text()
        if text.strip():
            self.set_text(text)
        else:
            self._show_error("The clipboard contains no text.")

    def read_file(self, path: Path) -> None:
        try:
            self.set_text(_read(path))
        except UserError as exc:
            self._show_error(str(exc))

    def _store(self, text: str) -> None:
        self._text = text
        self.error_label.hide()
        self.line.setText(f"{MASK} ({len(text):,} characters)" if text else "")
        self.clear_action.setEnabled(bool(text))
        self.changed.emit()

    def _show_error(self, text: str) -> None:
        self.error_label.setText(text)
        self.error_label.show()

    def _ask_for_file(self) -> None:
        dialog = QFileDialog(self, f"Open {self._name.lower()}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda path: self.read_file(Path(path)))
        dialog.open()

    def _action(self, text: str, tip: str, slot: Callable[[], None]) -> QAction:
        action = QAction(text, self)
        action.setToolTip(tip)
        action.triggered.connect(lambda _: slot())
        return action


class _PasteLine(QLineEdit):
    """A read-only line that shows the length of the secret, not the secret."""

    pasted = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setAccessibleName(name)
        self.menu_actions: tuple[QAction, ...] = ()

    def event(self, event: QEvent) -> bool:
        # Otherwise a window shortcut with these keys would take precedence.
        if event.type() is QEvent.Type.ShortcutOverride and _is_paste(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _is_paste(event):
            self.pasted.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(list(self.menu_actions))
        menu.popup(event.globalPos())


def _is_paste(event: QEvent) -> bool:
    return isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Paste)


def _read(path: Path) -> str:
    """Read a file. Raises UserError, which does not quote the content."""
    try:
        if not path.is_file():
            raise UserError(f"{path.name} is not a file.", "Choose another file.")
        with path.open("rb") as file:
            data = file.read(_MAX_SIZE + 1)
    except OSError as exc:
        raise UserError(f"Could not read {path.name}: {exc.strerror}.", "Choose another file.") from exc
    if len(data) > _MAX_SIZE:
        raise UserError(f"{path.name} is larger than {size(_MAX_SIZE)}.", "Choose another file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(
            f"{path.name} is not a text file.", "Choose a file in PEM format (BEGIN PRIVATE KEY)."
        ) from None
