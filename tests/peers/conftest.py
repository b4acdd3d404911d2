"""The peers, installed: what cannot be is skipped."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.peers.installs import NODE_SERVERS, Unavailable, npm_packages, python_packages

_PYTHON = ("mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19")
_OLD_SDK = ("mcp==1.30.0",)


@pytest.fixture(scope="session")
def installs() -> dict[str, Future[Path]]:
    """All at once, because most of it is waiting for a registry."""
    with ThreadPoolExecutor() as pool:
        return {
            "npm": pool.submit(npm_packages, *NODE_SERVERS),
            "python": pool.submit(python_packages, *_PYTHON),
            "old sdk": pool.submit(python_packages, *_OLD_SDK),
        }


@pytest.fixture(scope="session")
def node_modules(installs: dict[str, Future[Path]]) -> Path:
    """The reference servers of Node."""
    return _or_skip(installs["npm"]) / "@modelcontextprotocol"


@pytest.fixture(scope="session")
def reference_python(installs: dict[str, Future[Path]]) -> Path:
    """A Python with the reference servers of Python."""
    return _or_skip(installs["python"])


@pytest.fixture(scope="session")
def old_sdk_python(installs: dict[str, Future[Path]]) -> Path:
    """A Python with the SDK as it was before the stateless era."""
    return _or_skip(installs["old sdk"])


def _or_skip(install: Future[Path]) -> Path:
    try:
        return install.result()
    except Unavailable as exc:
        pytest.skip(f"the peers are not here: {exc}")
