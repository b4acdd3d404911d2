"""One process of each server for all tests that do not end it: the SDK takes a second to import."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.demo.demo_client import DemoProcess
from tests.unit.demo.login.login_client import LoginDemo


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


@pytest.fixture(scope="session")
def shared_login() -> Iterator[LoginDemo]:
    with LoginDemo() as server:
        yield server


@pytest.fixture
def demo(shared_login: LoginDemo) -> LoginDemo:
    """The server `login`, without faults, and without memory of earlier tests."""
    shared_login.forget()
    return shared_login
