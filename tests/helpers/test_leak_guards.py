"""The leak guards: an inner run of leaking tests, each of which must fail and name its leak."""

from __future__ import annotations

import pytest

_LEAKING_TESTS = """
import asyncio, atexit, subprocess, sys, threading
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

kept = []

async def test_task():
    kept.append(asyncio.get_running_loop().create_task(asyncio.sleep(60), name="forgotten"))

def test_thread():
    threading.Thread(target=threading.Event().wait, name="stuck", daemon=True).start()

def test_process():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    atexit.register(process.kill)
    kept.append(process)

def test_ended_process():
    process = subprocess.Popen(["/bin/echo", "ended"], stdout=subprocess.PIPE)
    process.stdout.read()
    kept.append(process)

def test_timer(qapp):
    timer = QTimer()
    timer.setObjectName("ticking")
    timer.start(1000)
    kept.append(timer)

def test_widget(qapp):
    widget = QWidget()
    widget.setObjectName("abandoned")
    kept.append(widget)
"""

_CLEAN_TESTS = """
import asyncio, subprocess, sys, threading
import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

@pytest.fixture(scope="module")
def shared_process():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield
    process.kill()
    process.wait()
    process.stdin.close()

def test_what_a_module_shares(shared_process): pass

async def test_task_that_ends():
    task = asyncio.get_running_loop().create_task(asyncio.sleep(60))
    task.cancel()

async def test_thread_of_the_loop():
    await asyncio.to_thread(int)

def test_thread_that_ends_soon():
    threading.Timer(0.05, int).start()

def test_process_that_was_waited_for():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_timer_that_stopped(qapp):
    timer = QTimer()
    timer.start(1000)
    timer.stop()

def test_widget_given_to_qtbot(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    timer = QTimer(widget)
    timer.start(1000)

def test_widget_in_a_cycle(qapp):
    widget = QWidget()
    widget.me = widget
"""

_OPTIONS = [
    "-p",
    "tests.helpers.leaks",
    "-p",
    "no:cacheprovider",
    "-o",
    "asyncio_mode=auto",
    "-o",
    "qt_api=pyside6",
]


@pytest.fixture
def inner(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(request.config.rootpath))
    monkeypatch.setenv("LENS_TESTS_GRACE", "1")
    return pytester


def test_each_kind_of_leak_fails_its_test_and_is_named(inner: pytest.Pytester) -> None:
    inner.makepyfile(_LEAKING_TESTS)

    result = inner.runpytest_subprocess(*_OPTIONS)

    result.assert_outcomes(passed=6, errors=6)  # the tests themselves pass; taking them down does not
    result.stdout.fnmatch_lines(
        [
            "*the test left tasks running: forgotten",
            "*the test left running: thread 'stuck'",
            "*the test left running: process * -c input())",
            "*the test left running: process * without reading its exit code (*echo*",
            "*the test left behind: running timer QTimer 'ticking' of 1000 ms",
            "*the test left behind: widget QWidget 'abandoned'",
        ],
    )


def test_test_that_cleans_up_passes(inner: pytest.Pytester) -> None:
    inner.makepyfile(_CLEAN_TESTS)

    result = inner.runpytest_subprocess(*_OPTIONS)

    result.assert_outcomes(passed=8)


def test_tests_without_qt_do_not_import_it(inner: pytest.Pytester) -> None:
    inner.makepyfile("import sys\ndef test_qt_is_not_there(): assert 'PySide6' not in sys.modules")

    result = inner.runpytest_subprocess(
        "-p", "tests.helpers.leaks", "-p", "no:pytest-qt", "-p", "no:cacheprovider"
    )

    result.assert_outcomes(passed=1)
