"""For every test: no window on the screen, no file of the person who runs it, nothing left running.

The guards against leaks are in `helpers/leaks.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["pytester", "tests.helpers.leaks"]

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

# Times say more about the machine than about the code: pytest-timeout bounds a test as a whole.
hypothesis.settings.register_profile("project", deadline=None)
hypothesis.settings.load_profile("project")

_HOMES = ["HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"]
_FOLDERS = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"]

_HOME = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Give the run a home of its own, before anything looks for the person's files."""
    config.stash[_HOME] = home = tempfile.TemporaryDirectory(prefix="lens-tests-", ignore_cleanup_errors=True)
    for name in _HOMES:
        os.environ[name] = home.name
    for name in _FOLDERS:
        folder = Path(home.name, name.lower())
        folder.mkdir(mode=0o700)
        os.environ[name] = str(folder)


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HOME in config.stash:
        config.stash[_HOME].cleanup()
