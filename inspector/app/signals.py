"""Ctrl+C in the terminal, and a polite kill, close the window as a click would."""

from __future__ import annotations

import signal
import socket

from PySide6.QtCore import QSocketNotifier
from PySide6.QtWidgets import QWidget


def close_on_signals(window: QWidget) -> None:
    """Python looks at signals only between its own instructions, and Qt's loop runs none while it waits.

    So the interpreter writes each signal to a socket, and Qt wakes up for that.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave_it_to_qt)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(window.close)
    # Both ends live as long as the window does: nobody else holds them.
    window.destroyed.connect(reader.close)
    window.destroyed.connect(writer.close)


def _leave_it_to_qt(number: int, frame: object) -> None:
    """The socket has it already."""
