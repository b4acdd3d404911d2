from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.oauth.login_stage import Desk, World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with World() as world:
        yield world


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    desk = Desk()
    yield desk
    await desk.secrets.end()
