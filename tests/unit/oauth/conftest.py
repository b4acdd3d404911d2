from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.oauth.login_stage import Harness, World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as world:
        yield world


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    harness = Harness()
    yield harness
    await harness.secrets.end()
