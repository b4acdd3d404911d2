"""For every test: no window on the screen, no file of the person who runs it, nothing left running.

The guards against leaks are in `helpers/leaks.py`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["pytester", "tests.helpers.leaks", "tests.helpers.stage", "tests.helpers.servers"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# A home for the run, before anything looks for the person's files.
_HOME = tempfile.TemporaryDirectory(prefix="lens-tests-", ignore_cleanup_errors=True)
for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
    os.environ[name] = _HOME.name
for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR"):
    folder = Path(_HOME.name, name.lower())
    folder.mkdir(mode=0o700)
    os.environ[f"XDG_{name}"] = str(folder)

# Nor their keychain: this backend of keyring keeps nothing, and is not one that we take for a keychain.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

# Times say more about the machine than about the code: pytest-timeout bounds a test as a whole. The examples
# are the same each time, so that nothing fails by chance; LENS_TESTS_RANDOM=1 looks for others.
hypothesis.settings.register_profile(
    "project",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="LENS_TESTS_RANDOM" not in os.environ,
)
hypothesis.settings.load_profile("project")


_ended: list[int] = []


def pytest_sessionfinish(exitstatus: int) -> None:
    _ended.append(int(exitstatus))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    _HOME.cleanup()
    if _ended and _has_windows():
        # Python takes down what is left of a thousand windows in no order, and now and then crashes in Qt.
        # The result is told, so end here.
        config.get_terminal_writer().flush()
        os._exit(_ended[-1])


def _has_windows() -> bool:
    widgets = sys.modules.get("PySide6.QtWidgets")
    return widgets is not None and widgets.QApplication.instance() is not None
