"""A sound is played where Qt Multimedia is there, and saved where it is not."""

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

SOUND = Content(ContentKind.AUDIO, wav(), "audio/wav", "x://beep")
OTHER = Content(ContentKind.AUDIO, wav() + b"\0", "audio/wav", "x://boop")


class StandIn(QObject):
    """A QMediaPlayer that has no loudspeaker: the tests say what it would say."""

    class MediaStatus(Enum):
        LoadedMedia = 1
        EndOfMedia = 2

    mediaStatusChanged = Signal(object)
    errorOccurred = Signal(object, str)
    made: ClassVar[list[StandIn]] = []

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
    StandIn.made.clear()
    yield SimpleNamespace(is_null=False)
    StandIn.made.clear()


@pytest.fixture
def multimedia(monkeypatch: pytest.MonkeyPatch, devices: SimpleNamespace) -> None:
    """An installation that has it."""
    module: Any = ModuleType("PySide6.QtMultimedia")
    module.QMediaPlayer = StandIn
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
    view.show_content(SOUND)
    return view


def buttons(view: ContentView) -> list[str]:
    """The ones in the middle."""
    page = view._audio
    assert page is not None
    return [each.text() for each in page.findChildren(ActionButton) if each.isVisibleTo(page)]


def press(view: ContentView, words: str) -> None:
    page = view._audio
    assert page is not None
    found = page.findChildren(ActionButton)
    next(each for each in found if each.text() == words and each.isVisibleTo(page)).click()


def without_multimedia(monkeypatch: pytest.MonkeyPatch, error: ImportError) -> None:
    def refuse(name: str) -> ModuleType:
        raise error

    media.multimedia.cache_clear()
    monkeypatch.setattr(importlib, "import_module", refuse)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ModuleNotFoundError("No module"), "it has no Qt Multimedia."),
        (ImportError("libpulse.so.0: not found"), "cannot be loaded (libpulse.so.0: not found)."),
    ],
)
def test_without_qt_multimedia_audio_is_saved_and_the_reason_shown(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, error: ImportError, words: str
) -> None:
    without_multimedia(monkeypatch, error)
    view = ContentView(Theme(resource_folder() / "icons"))
    qtbot.addWidget(view)
    view.show_content(SOUND)
    assert view.form() is ContentForm.AUDIO
    assert buttons(view) == ["Save…"]
    assert words in visible_text(view)
    assert "Save the audio to play it." in visible_text(view)
    media.multimedia.cache_clear()


@pytest.mark.usefixtures("multimedia")
def test_audio_is_played_from_memory_and_stopped(view: ContentView) -> None:
    assert buttons(view) == ["Play", "Save…"]
    press(view, "Play")
    (playing,) = StandIn.made
    assert (playing.data, playing.name) == (SOUND.data, "sound.wav")
    assert playing.calls == ["output", "play"]
    press(view, "Stop")
    assert playing.calls[-1] == "stop"
    assert buttons(view) == ["Play", "Save…"]


@pytest.mark.usefixtures("multimedia")
def test_finished_audio_can_be_played_again(view: ContentView) -> None:
    press(view, "Play")
    StandIn.made[0].mediaStatusChanged.emit(StandIn.MediaStatus.LoadedMedia)
    assert buttons(view) == ["Stop", "Save…"]
    StandIn.made[0].mediaStatusChanged.emit(StandIn.MediaStatus.EndOfMedia)
    press(view, "Play")
    assert len(StandIn.made) == 2


@pytest.mark.usefixtures("multimedia")
def test_audio_stops_when_the_view_changes(view: ContentView) -> None:
    press(view, "Play")
    view.show_content(OTHER)
    assert StandIn.made[0].calls[-1] == "stop"
    press(view, "Play")
    view.forms.button(ContentForm.BYTES).click()
    assert StandIn.made[1].calls[-1] == "stop"


@pytest.mark.usefixtures("multimedia")
def test_unplayable_audio_says_why_and_can_be_saved(view: ContentView) -> None:
    press(view, "Play")
    StandIn.made[0].errorOccurred.emit(1, "Could not open file.")
    assert buttons(view) == ["Save…"]
    assert "It cannot be played: Could not open file. Save it to listen to it." in visible_text(view)


@pytest.mark.usefixtures("multimedia")
def test_computer_without_audio_output_says_so(view: ContentView, devices: SimpleNamespace) -> None:
    devices.is_null = True
    view.show_content(SOUND)
    assert buttons(view) == ["Save…"]
    assert "no sound output" in visible_text(view)
