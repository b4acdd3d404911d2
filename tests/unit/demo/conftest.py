"""One `everything` process for all tests that do not end it: the SDK takes a second to import."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess


@pytest.fixture(scope="session")
def shared_everything() -> Iterator[DemoProcess]:
    with DemoProcess("everything") as server:
        server.initialize()
        yield server


@pytest.fixture
def everything(shared_everything: DemoProcess) -> DemoProcess:
    """The server `everything`, connected by a client that declares no capabilities."""
    shared_everything.received.clear()
    return shared_everything
