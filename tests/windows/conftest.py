"""Tests of behavior that only Windows has; `packaging/test-windows` runs them under Wine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests of this folder elsewhere."""
    if sys.platform == "win32":
        return
    skip = pytest.mark.skip(reason="needs Windows; packaging/test-windows runs it under Wine")
    for item in items:
        if _FOLDER in item.path.parents:
            item.add_marker(skip)
