"""Secrets on the engine's loop: exclusive refresh, and closing without waiting for a keychain."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspector.base.errors import ConfigError
from inspector.config.secrets.keychain import Keychain
from inspector.config.secrets.records import SecretsUnavailable, StorageKind
from inspector.config.secrets.store import SecretStore
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets
from tests.helpers.keychains import MemoryKeychain, WaitingKeychain
from tests.helpers.secretsstage import CHEAP, NAME, PASSPHRASE, VALUE


@pytest.fixture
def waiting() -> Iterator[WaitingKeychain]:
    backend = WaitingKeychain()
    yield backend
    backend.release_bodies.set()


def secrets_in(folder: Path, backend: MemoryKeychain) -> Secrets:
    return Secrets(lambda: SecretStore(folder, Keychain(lambda: backend), CHEAP))


async def test_engine_owns_and_closes_its_secrets(tmp_path: Path) -> None:
    engine = Engine(secrets=secrets_in(tmp_path, MemoryKeychain()))
    await engine.secrets.put(NAME, VALUE)
    assert await engine.secrets.get(NAME) == VALUE
    assert [secret.name for secret in await engine.secrets.stored()] == [NAME]
    await engine.close()
    with pytest.raises(ConfigError, match="closing"):
        await engine.secrets.get(NAME)
    await engine.close()


async def test_an_engine_without_a_folder_keeps_secrets_in_memory() -> None:
    engine = Engine()
    await engine.secrets.put(NAME, VALUE)
    assert await engine.secrets.get(NAME) == VALUE
    assert await engine.secrets.delete(NAME) is True
    assert engine.secrets.state is not None
    assert engine.secrets.state.level is StorageKind.MEMORY
    await engine.close()


async def test_nothing_is_loaded_before_it_is_needed() -> None:
    def make() -> SecretStore:
        raise AssertionError("asked")

    engine = Engine(secrets=Secrets(make))
    assert engine.secrets.state is None
    await engine.close()


async def test_storage_changes_run_on_the_secrets_thread(tmp_path: Path) -> None:
    secrets = secrets_in(tmp_path, MemoryKeychain())
    await secrets.put(NAME, VALUE)
    await secrets.move_to(StorageKind.PASSPHRASE, PASSPHRASE)
    await secrets.lock()
    assert await secrets.get(NAME) is None
    await secrets.unlock(PASSPHRASE)
    assert await secrets.get(NAME) == VALUE
    assert await secrets.delete_below("header") == 1
    await secrets.reset()
    assert (await secrets.inspect()).is_chosen is False
    await secrets.end()


async def test_closing_does_not_wait_for_a_blocked_keychain(tmp_path: Path, waiting: WaitingKeychain) -> None:
    secrets = secrets_in(tmp_path, waiting)
    put = asyncio.create_task(secrets.put(NAME, VALUE))
    after = asyncio.create_task(secrets.put("a/b", VALUE))
    await asyncio.to_thread(waiting.is_requested.wait)
    async with asyncio.timeout(30):
        await secrets.end()
    for task in (put, after):
        with pytest.raises(SecretsUnavailable):
            await task


async def test_secret_is_refreshed_by_one_task_at_a_time(tmp_path: Path) -> None:
    secrets = secrets_in(tmp_path, MemoryKeychain())
    await secrets.put(NAME, "old")
    grants = 0

    async def renew() -> str | None:
        nonlocal grants
        async with secrets.claim(NAME):
            if await secrets.get(NAME) == "old":
                grants += 1
                await secrets.put(NAME, "new")
            return await secrets.get(NAME)

    assert await asyncio.gather(*(renew() for _ in range(5))) == ["new"] * 5
    assert grants == 1
    await secrets.end()


async def test_wait_for_a_claim_is_limited_and_errors_release_it(tmp_path: Path) -> None:
    secrets = secrets_in(tmp_path, MemoryKeychain())

    async def fail_inside() -> None:
        async with secrets.claim(NAME):
            with pytest.raises(ConfigError, match="is using this secret"):
                await secrets.claim(NAME, timeout=0).__aenter__()
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail_inside()
    async with secrets.claim(NAME, timeout=0):
        pass
    await secrets.end()
