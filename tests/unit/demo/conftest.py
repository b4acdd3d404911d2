"""Fixtures: one process per demo server, shared by all tests that do not end it.

Importing the SDK takes a second.
"""

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
    """The `login` server without faults, reset before each test."""
    shared_login.forget()
    return shared_login
