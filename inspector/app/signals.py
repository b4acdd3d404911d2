"""Ctrl+C in the terminal, and a polite kill, close the window as a click would."""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtWidgets import QWidget


def close_on_signals(window: QWidget) -> None:
    """Close the window on SIGINT and SIGTERM, for as long as it exists."""
    _SignalWatch(window)


class _SignalWatch(QObject):
    """Wakes Qt's event loop when a signal arrives.

    Python handles signals only between bytecode instructions, and Qt's loop runs none while it waits. So
    the interpreter writes each signal to a socket, which wakes Qt up.
    """

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _leave_it_to_qt)
        notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        notifier.activated.connect(window.close)


def _leave_it_to_qt(number: int, frame: object) -> None:
    """Do nothing: the signal has already been written to the socket."""
