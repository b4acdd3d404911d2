"""Installed peers; tests of those that cannot be installed are skipped."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.peers.installs import NODE_SERVERS, Unavailable, npm_packages, python_packages

_PYTHON = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
_OLD_SDK = ("mcp==1.30.0",)


@pytest.fixture(scope="session")
def installs() -> dict[str, Future[Path]]:
    """Install everything at once: most of it is waiting for a registry."""
    with ThreadPoolExecutor() as pool:
        return {
            "npm": pool.submit(npm_packages, *NODE_SERVERS),
            "python": pool.submit(python_packages, *_PYTHON),
            "old sdk": pool.submit(python_packages, *_OLD_SDK),
        }


@pytest.fixture(scope="session")
def node_modules(installs: dict[str, Future[Path]]) -> Path:
    """The reference servers for Node."""
    return _or_skip(installs["npm"]) / "@modelcontextprotocol"


@pytest.fixture
def short_stdin_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """For `server-everything`, which keeps running when its stdin closes: it is terminated soon."""
    monkeypatch.setattr("inspector.transport.process.GRACE_AFTER_STDIN", 0.1)


@pytest.fixture(scope="session")
def reference_python(installs: dict[str, Future[Path]]) -> Path:
    """A Python with the reference servers for Python."""
    return _or_skip(installs["python"])


@pytest.fixture(scope="session")
def old_sdk_python(installs: dict[str, Future[Path]]) -> Path:
    """A Python with the last SDK without the stateless shape."""
    return _or_skip(installs["old sdk"])


def _or_skip(install: Future[Path]) -> Path:
    try:
        return install.result()
    except Unavailable as exc:
        pytest.skip(f"the peers are not here: {exc}")
