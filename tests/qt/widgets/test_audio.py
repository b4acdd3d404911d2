"""Audio: played with Qt Multimedia, only saved without it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from enum import Enum
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import pytest
from PySide6.QtCore import QBuffer, QObject, QUrl, Signal
from pytestqt.qtbot import QtBot

from inspector.config.paths import resource_folder
from inspector.demo.everything.resources import wav
from inspector.engine.content.content import Content, ContentKind
from inspector.qt.theme import Theme
from inspector.qt.views.content_view import ContentForm, ContentView
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.media import media
from tests.qt.lens_driver import visible_text

AUDIO = Content(ContentKind.AUDIO, wav(), "audio/wav", "x://beep")
OTHER = Content(ContentKind.AUDIO, wav() + b"\0", "audio/wav", "x://boop")


class FakeMediaPlayer(QObject):
    """A QMediaPlayer without output; the tests emit its signals."""

    class MediaStatus(Enum):
        LoadedMedia = 1
        EndOfMedia = 2

    mediaStatusChanged = Signal(object)
    errorOccurred = Signal(object, str)
    made: ClassVar[list[FakeMediaPlayer]] = []

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.data = b""
        self.name = ""
        self.calls: list[str] = []
        self.made.append(self)

    def setAudioOutput(self, output: QObject) -> None:
        self.calls.append("output")

    def setSourceDevice(self, device: QBuffer, url: QUrl) -> None:
        self.data, self.name = bytes(device.data().data()), url.toString()

    def play(self) -> None:
        self.calls.append("play")

    def stop(self) -> None:
        self.calls.append("stop")


@pytest.fixture
def devices() -> Iterator[SimpleNamespace]:
    FakeMediaPlayer.made.clear()
    yield SimpleNamespace(is_null=False)
    FakeMediaPlayer.made.clear()


@pytest.fixture
def multimedia(monkeypatch: pytest.MonkeyPatch, devices: SimpleNamespace) -> None:
    """Install a fake Qt Multimedia."""
    module: Any = ModuleType("PySide6.QtMultimedia")
    module.QMediaPlayer = FakeMediaPlayer
    module.QAudioOutput = QObject
    output = SimpleNamespace(isNull=lambda: devices.is_null)
    module.QMediaDevices = SimpleNamespace(defaultAudioOutput=lambda: output)
    monkeypatch.setattr(media, "multimedia", lambda: module)


@pytest.fixture
def view(qtbot: QtBot) -> ContentView:
    view = ContentView(Theme(resource_folder() / "icons"))
    qtbot.addWidget(view)
    view.resize(500, 400)
    view.show()
    view.show_content(AUDIO)
    return view


def buttons(view: ContentView) -> list[str]:
    """Return the texts of the visible buttons."""
    page = view._audio
    assert page is not None
    return [each.text() for each in page.findChildren(ActionButton) if each.isVisibleTo(page)]


def press(view: ContentView, text: str) -> None:
    page = view._audio
    assert page is not None
    found = page.findChildren(ActionButton)
    next(each for each in found if each.text() == text and each.isVisibleTo(page)).click()


def without_multimedia(monkeypatch: pytest.MonkeyPatch, error: ImportError) -> None:
    def refuse(name: str) -> ModuleType:
        raise error

    media.multimedia.cache_clear()
    monkeypatch.setattr(importlib, "import_module", refuse)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ModuleNotFoundError("No module"), "Qt Multimedia is missing."),
        (ImportError("libpulse.so.0: not found"), "could not be loaded (libpulse.so.0: not found)."),
    ],
)
def test_without_qt_multimedia_audio_is_saved_and_the_reason_shown(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, error: ImportError, text: str
) -> None:
    without_multimedia(monkeypatch, error)
    view = ContentView(Theme(resource_folder() / "icons"))
    qtbot.addWidget(view)
    view.show_content(AUDIO)
    assert view.form() is ContentForm.AUDIO
    assert buttons(view) == ["Save…"]
    assert text in visible_text(view)
    assert "Save the audio to play it." in visible_text(view)
    media.multimedia.cache_clear()


@pytest.mark.usefixtures("multimedia")
def test_audio_is_played_from_memory_and_stopped(view: ContentView) -> None:
    assert buttons(view) == ["Play", "Save…"]
    press(view, "Play")
    (playing,) = FakeMediaPlayer.made
    assert (playing.data, playing.name) == (AUDIO.data, "audio.wav")
    assert playing.calls == ["output", "play"]
    press(view, "Stop")
    assert playing.calls[-1] == "stop"
    assert buttons(view) == ["Play", "Save…"]


@pytest.mark.usefixtures("multimedia")
def test_finished_audio_can_be_played_again(view: ContentView) -> None:
    press(view, "Play")
    FakeMediaPlayer.made[0].mediaStatusChanged.emit(FakeMediaPlayer.MediaStatus.LoadedMedia)
    assert buttons(view) == ["Stop", "Save…"]
    FakeMediaPlayer.made[0].mediaStatusChanged.emit(FakeMediaPlayer.MediaStatus.EndOfMedia)
    press(view, "Play")
    assert len(FakeMediaPlayer.made) == 2


@pytest.mark.usefixtures("multimedia")
def test_audio_stops_when_the_view_changes(view: ContentView) -> None:
    press(view, "Play")
    view.show_content(OTHER)
    assert FakeMediaPlayer.made[0].calls[-1] == "stop"
    press(view, "Play")
    view.forms.button(ContentForm.BYTES).click()
    assert FakeMediaPlayer.made[1].calls[-1] == "stop"


@pytest.mark.usefixtures("multimedia")
def test_unplayable_audio_says_why_and_can_be_saved(view: ContentView) -> None:
    press(view, "Play")
    FakeMediaPlayer.made[0].errorOccurred.emit(1, "Could not open file.")
    assert buttons(view) == ["Save…"]
    assert "Could not play the audio: Could not open file. Save the audio to play it." in visible_text(view)


@pytest.mark.usefixtures("multimedia")
def test_computer_without_audio_output_says_so(view: ContentView, devices: SimpleNamespace) -> None:
    devices.is_null = True
    view.show_content(AUDIO)
    assert buttons(view) == ["Save…"]
    assert "no audio output" in visible_text(view)
