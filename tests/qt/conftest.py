"""The `lens` fixture: the whole application, built for one test and shut down after it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from inspector.config.foreign.discovery import ConfigLocation
from inspector.config.servers.entries import HttpEntry
from inspector.demo.servers import command
from inspector.qt.theme import Scheme
from tests.peers.netserver import listening
from tests.qt.lens_driver import TIMEOUT, Lens

# The applications that tests have closed: their parts must be gone once the test is over.
_closed: list[weakref.ref[Any]] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """As `app/runtime_hooks.py` does: freeing a widget inside an event crashes the process."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Collect what a test has left, and fail if a closed application is still in memory."""
    yield
    getattr(item, "funcargs", {}).clear()
    gc.collect(1)  # a test's objects are young: nothing was collected meanwhile
    if any(part() is not None for part in _closed):
        gc.collect()
    left = sorted({type(found).__name__ for part in _closed if (found := part()) is not None})
    _closed.clear()
    assert not left, f"still in memory after the window was closed: {', '.join(left)}"


class _PatientBot(QtBot):
    """A qtbot with the timeout of whole-window tests as its default."""

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = TIMEOUT) -> None:
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = TIMEOUT, **options: Any) -> Any:
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitSignals(self, signals: Any, *, timeout: int = TIMEOUT, **options: Any) -> Any:
        return super().waitSignals(signals, timeout=timeout, **options)


@pytest.fixture
def qtbot(qapp: QApplication, request: pytest.FixtureRequest) -> QtBot:
    return _PatientBot(request)


@pytest.fixture
def style_sheet() -> None:
    """For theme tests: with the style sheet, which costs a third of a test's time."""


@pytest.fixture
def remembering() -> None:
    """For drift tests: baselines are stored, so lists are also fetched when no panel shows them."""


@pytest.fixture
def checks_failed_servers() -> None:
    """For Doctor tests: a current server that fails to connect is checked automatically."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For tests of discovered servers: a folder with an `.mcp.json`, the only one searched.

    Request it before `lens`.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    position = ConfigLocation("Claude Code", "folder", folder / ".mcp.json", "mcp.json", folder)
    monkeypatch.setattr("inspector.app.backend.local_locations", lambda folder=None: (position,))
    return folder


@pytest.fixture
def make_lens(
    request: pytest.FixtureRequest,
    qtbot: QtBot,
    qapp: QApplication,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], Lens]]:
    """Build the application, one after another, over the same files. The first one is light.

    Errors of background tasks fail the test; so do leaks (`tests/helpers/leaks.py`).
    """
    if "style_sheet" not in request.fixturenames:
        monkeypatch.setattr("inspector.qt.theme.stylesheet", lambda: "")
    made: list[Lens] = []

    def make() -> Lens:
        scheme = None if made else Scheme.LIGHT
        remembers, finds = (name in request.fixturenames for name in ("remembering", "project"))
        made.append(Lens(qtbot, tmp_path, scheme, remembers=remembers, finds=finds))
        # A test of something else should not run Doctor on the servers that it lets fail.
        settings = made[-1].app.thread.engine.settings
        settings.defaults["connections.examineFailures"] = "checks_failed_servers" in request.fixturenames
        return made[-1]

    yield make
    for lens in made:
        lens.close()
        if not lens.has_failed:  # a traceback keeps everything
            parts = (lens.window, lens.app.bridge, lens.app.thread.engine, *lens.window.workspaces.values())
            _closed.extend(weakref.ref(part) for part in parts)
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())
    errors = [text for lens in made for text in lens.errors.texts]
    assert not errors, "\n".join(errors)


@pytest.fixture
def lens(make_lens: Callable[[], Lens]) -> Lens:
    """The application with an empty server list."""
    return make_lens()


@pytest.fixture
def http_demo() -> Iterator[HttpEntry]:
    """The demo server over HTTP, which is detected as stateless."""
    with listening(command("everything", http=True), r"listening on (http://\S+)") as url:
        yield HttpEntry(name="demo", url=url)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test with a `lens` on the window's loop."""
    lens = pyfuncitem.funcargs.get("lens")
    if not isinstance(lens, Lens):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    lens.play(partial(pyfuncitem.obj, **arguments))
    return True
