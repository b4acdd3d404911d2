"""The `lens` fixture: the whole application, built for one test and taken apart after it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.qt.lens_driver import Lens


@pytest.fixture
def lens(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[Lens]:
    """The application with an empty catalogue. Background errors fail the test, leaks do (tests/helpers)."""
    lens = Lens(qtbot, tmp_path)
    yield lens
    lens.close()
    qapp.styleHints().unsetColorScheme()
    qapp.setStyleSheet("")
    qapp.setPalette(QPalette())
    assert not lens.errors.texts, "\n".join(lens.errors.texts)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test with a `lens` runs on the window's loop."""
    lens = pyfuncitem.funcargs.get("lens")
    if not isinstance(lens, Lens):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    lens.play(partial(pyfuncitem.obj, **arguments))
    return True
