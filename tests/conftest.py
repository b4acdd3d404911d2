"""For every test: no window on the screen, no file of the person who runs it, nothing left running.

The guards against leaks are in `helpers/leaks.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import hypothesis

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

# Times say more about the machine than about the code: pytest-timeout bounds a test as a whole.
hypothesis.settings.register_profile("project", deadline=None)
hypothesis.settings.load_profile("project")


def pytest_unconfigure() -> None:
    _HOME.cleanup()
