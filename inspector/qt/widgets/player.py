"""Sounds, played where this installation can: Qt Multimedia is not a part of every one.

A sound is a stranger's bytes. It is played from memory, when the person asks for it, and only if it begins
like a sound that we know; nothing is written to disk and no other program is started with it.
"""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QObject, QUrl, Signal

NO_MULTIMEDIA = "This installation cannot play sounds: it has no Qt Multimedia."
NO_OUTPUT = "This computer has no sound output."


@cache
def multimedia() -> ModuleType | str:
    """Return Qt Multimedia, or a message why it is missing. Loaded on first use: it is slow."""
    try:
        return importlib.import_module("PySide6.QtMultimedia")
    except ModuleNotFoundError:
        return NO_MULTIMEDIA
    except ImportError as exc:  # a required system library is missing
        return f"This installation cannot play sounds: Qt Multimedia cannot be loaded ({exc})."


class Player(QObject):
    """Plays one sound at a time.

    Signals:
        changed: `is_playing` may have changed.
        failed: It cannot be played; carries the message.
    """

    changed = Signal()
    failed = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._player: QObject | None = None
        self._output: QObject | None = None
        self._source: QBuffer | None = None

    @staticmethod
    def problem() -> str:
        """Return why nothing can be played here; "" if it can."""
        module = multimedia()
        if isinstance(module, str):
            return module
        return NO_OUTPUT if module.QMediaDevices.defaultAudioOutput().isNull() else ""

    @property
    def is_playing(self) -> bool:
        return self._player is not None

    def play(self, data: bytes, ending: str) -> None:
        """Play from the beginning. `ending` is the file extension, which tells the format."""
        self.stop()
        module = multimedia()
        if isinstance(module, str):
            self.failed.emit(module)
            return
        self._source = QBuffer(self)
        self._source.setData(QByteArray(data))
        self._source.open(QIODevice.OpenModeFlag.ReadOnly)
        player = module.QMediaPlayer(self)
        self._output = module.QAudioOutput(player)
        player.setAudioOutput(self._output)
        player.mediaStatusChanged.connect(self._on_status_changed)
        player.errorOccurred.connect(self._on_error)
        self._player = player
        player.setSourceDevice(self._source, QUrl(f"sound.{ending}"))
        player.play()
        self.changed.emit()

    def stop(self) -> None:
        player, source = self._player, self._source
        self._player = self._output = self._source = None
        if player is None or source is None:
            return
        player.disconnect(self)
        player.stop()  # type: ignore[attr-defined]  # a QMediaPlayer, which is imported when it is needed
        player.deleteLater()
        source.deleteLater()
        self.changed.emit()

    def _on_status_changed(self, status: object) -> None:
        module = multimedia()
        if not isinstance(module, str) and status == module.QMediaPlayer.MediaStatus.EndOfMedia:
            self.stop()

    def _on_error(self, error: object, words: str) -> None:
        self.stop()
        self.failed.emit(f"It cannot be played: {words.strip().rstrip('.') or 'no reason is given'}.")
