"""A sound: what it is, and the ways to hear it."""

from __future__ import annotations

from PySide6.QtGui import QAction, QHideEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from inspector.base.units import size
from inspector.qt.theme import Theme
from inspector.qt.widgets.emptystate import EmptyState
from inspector.qt.widgets.player import Player

_SAVE_IT = "Save it to listen to it."


class SoundView(QWidget):
    """Controls to play and save audio; where it cannot be played, only save, and the reason."""

    def __init__(self, theme: Theme, save: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._save = save
        self._data = b""
        self._facts = ""
        self._ending = ""
        self._problem = ""
        self.player = Player(self)
        self.play_action = QAction("Play", self)
        theme.dress(self.play_action, "play")
        self._state = EmptyState(theme)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._state)
        self.play_action.triggered.connect(self._on_play)
        self.player.changed.connect(self._on_player_changed)
        self.player.failed.connect(self._on_failed)

    def set_sound(self, data: bytes, mime_type: str, ending: str) -> None:
        """Set the audio; stops the one being played."""
        if data is not self._data:
            self.player.stop()
        self._data, self._ending = data, ending
        self._facts = f"{mime_type}, {size(len(data))}"
        self._problem = Player.problem()
        self._show()

    def hideEvent(self, event: QHideEvent) -> None:
        """Stop when hidden: what plays must be visible and stoppable."""
        self.player.stop()
        super().hideEvent(event)

    # --------------------------------------------------------------

    def _show(self) -> None:
        if self._problem:
            words = f"{self._facts}. {self._problem} {_SAVE_IT}"
            self._state.show_empty("save", "A sound", words, [self._save])
        else:
            self._state.show_empty("play", "A sound", f"{self._facts}.", [self.play_action, self._save])

    def _on_play(self) -> None:
        if self.player.is_playing:
            self.player.stop()
        else:
            self.player.play(self._data, self._ending)

    def _on_player_changed(self) -> None:
        is_playing = self.player.is_playing
        self.play_action.setText("Stop" if is_playing else "Play")
        self._theme.dress(self.play_action, "stop" if is_playing else "play")

    def _on_failed(self, sentence: str) -> None:
        self._problem = sentence
        self._show()
