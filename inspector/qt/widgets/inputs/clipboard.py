"""Copying of secrets: after confirmation, and removed from the clipboard after 60 seconds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PySide6.QtCore import QCoreApplication, QMimeData, QObject, QTimer, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QWidget

from inspector.qt.theme import SPACE_2, Theme
from inspector.qt.widgets.layout import vbox
from inspector.qt.widgets.notices.notices import Alert

CLEAR_AFTER_SECONDS = 60
# Tells clipboard managers to skip this entry: on KDE and others, on Windows (twice), on macOS.
_HINTS = {
    "x-kde-passwordManagerHint": b"secret",
    "ExcludeClipboardContentFromMonitorProcessing": b"1",
    "CanIncludeInClipboardHistory": b"\0\0\0\0",
    "application/x-nspasteboard-concealed-type": b"1",
}


class SecretClipboard(QObject):
    """The clipboard for secrets. Other content copied meanwhile is not cleared.

    Signals:
        notified: The state of the clipboard changed; carries a message and how many seconds to show it.
    """

    notified = Signal(str, int)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._digest = b""  # of the copied secret, so that the secret itself need not be stored
        self.timer = QTimer(self, interval=CLEAR_AFTER_SECONDS * 1_000, singleShot=True)
        self.timer.timeout.connect(self._on_time_up)

    def put(self, text: str) -> None:
        """Copy a secret; it is cleared after a minute."""
        data = QMimeData()
        data.setText(text)
        for name, value in _HINTS.items():
            data.setData(name, value)
        QGuiApplication.clipboard().setMimeData(data)
        self.clear_later(text)

    def clear_later(self, text: str) -> None:
        """Clear an already copied secret after a minute."""
        self._digest = _digest(text)
        self.timer.start()
        message = f"Copied. The clipboard is cleared in {CLEAR_AFTER_SECONDS} seconds."
        self.notified.emit(message, CLEAR_AFTER_SECONDS)

    def clear(self) -> bool:
        """Clear the secret if it is still there; return whether it was."""
        self.timer.stop()
        clipboard = QGuiApplication.clipboard()
        is_ours = bool(self._digest) and _digest(clipboard.text()) == self._digest
        self._digest = b""
        if is_ours:
            clipboard.clear()
        return is_ours

    def _on_time_up(self) -> None:
        if self.clear():
            self.notified.emit("The clipboard was cleared.", 5)


@cache
def secret_clipboard() -> SecretClipboard:
    """Return the application's instance."""
    return SecretClipboard(QCoreApplication.instance())


class SecretCopyPrompt(QWidget):
    """The inline confirmation before a secret is copied. Does not block."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._get_text: Callable[[], str] | None = None
        self.alert = Alert(theme)
        self.copy_action = QAction("Copy", self)
        self.copy_action.triggered.connect(self._on_copy)
        self.cancel_action = QAction("Cancel", self)
        self.cancel_action.triggered.connect(self.close_prompt)
        vbox(self, self.alert)
        self.hide()

    @property
    def is_asking(self) -> bool:
        return self._get_text is not None

    def ask(self, what: str, get_text: Callable[[], str]) -> None:
        """Ask for confirmation; `get_text` is called once confirmed."""
        self._get_text = get_text
        message = f"Copy {what}? Anyone who has it can act as you."
        self.alert.show_message("copy", message, actions=[self.copy_action, self.cancel_action])
        self.show()
        QTimer.singleShot(0, self, self._scroll_into_view)  # once it is laid out

    def _scroll_into_view(self) -> None:
        from PySide6.QtWidgets import QScrollArea

        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            area.ensureWidgetVisible(self, 0, SPACE_2)

    def close_prompt(self) -> None:
        self._get_text = None
        self.alert.close_all()
        self.hide()

    def _on_copy(self) -> None:
        get_text = self._get_text
        self.close_prompt()
        if get_text is not None:
            secret_clipboard().put(get_text())


def _digest(text: str) -> bytes:
    import hashlib  # loads OpenSSL

    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
