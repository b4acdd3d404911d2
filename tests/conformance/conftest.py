"""The suite runs only on request: it needs Node, a registry and minutes."""

from __future__ import annotations

import os

import pytest

from tests.conformance.suite import Suite
from tests.peers.installs import Unavailable

_WISH = "MCP_LENS_CONFORMANCE"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get(_WISH) == "1" or "conformance" in config.getoption("markexpr"):
        return
    skip = pytest.mark.skip(reason=f"set {_WISH}=1 or give -m conformance to run the public suite")
    for item in items:
        if item.get_closest_marker("conformance") is not None:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def suite() -> Suite:
    try:
        return Suite.install()
    except Unavailable as exc:
        pytest.skip(f"the conformance suite is not here: {exc}")
