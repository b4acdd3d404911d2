"""For every test: no visible window, no file of the user, nothing left running.

The leak guards are in `helpers/leaks.py`.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["pytester", "tests.helpers.leaks", "tests.helpers.stage", "tests.helpers.servers"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# A temporary home, before anything looks for the user's files.
_HOME = tempfile.TemporaryDirectory(prefix="lens-tests-", ignore_cleanup_errors=True)
for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
    os.environ[name] = _HOME.name
for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
    folder = Path(_HOME.name, name.lower())
    folder.mkdir(mode=0o700)
    os.environ[f"XDG_{name}"] = str(folder)

# No keychain either: this keyring backend stores nothing and does not count as a keychain.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Times say more about the machine than about the code: pytest-timeout bounds a whole test. The examples are
# the same each time, so that nothing fails by chance; LENS_TESTS_RANDOM=1 tries others.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    # Not `explain`: it traces every line, also those that PySide adds to each import statement.
    phases=set(hypothesis.Phase) - {hypothesis.Phase.explain},
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="LENS_TESTS_RANDOM" not in os.environ,
)
# For slow machines and emulators: `--hypothesis-profile quick`. Numbers that a test sets itself are kept.
hypothesis.settings.register_profile("quick", hypothesis.settings.get_profile("project"), max_examples=10)
hypothesis.settings.load_profile("project")

_TESTS_BETWEEN_TRIMS = 20
_finished = itertools.count(1)


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection: traversing them takes a third of a second."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logfinish() -> None:
    """Return free memory to the system now and then, as the application does, if a test has loaded it."""
    hooks = sys.modules.get("inspector.app.runtime_hooks")
    if hooks is not None and next(_finished) % _TESTS_BETWEEN_TRIMS == 0:
        hooks.trim_heap()


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    _clear_clipboard()
    _HOME.cleanup()


def _clear_clipboard() -> None:
    """Free what tests have copied: Qt would free it after Python has ended, and crash (offscreen only)."""
    gui = sys.modules.get("PySide6.QtGui")
    if gui is not None and gui.QGuiApplication.instance() is not None:
        gui.QGuiApplication.clipboard().clear()
