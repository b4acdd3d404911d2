"""Secrets as the application asks for them: the store, on a thread of its own beside the engine's loop.

One thread, so that a keychain which waits for the person holds up nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from inspector.base.errors import ConfigError
from inspector.base.signals import Signal
from inspector.config.secrets.claims import Claim
from inspector.config.secrets.filelock import POLL_S
from inspector.config.secrets.standing import Rung, SecretsState, StoredSecret
from inspector.config.secrets.store import SecretStore

T = TypeVar("T")

_CLAIM_PATIENCE = 30.0


class Secrets:
    """What each method does and raises is said in `SecretStore`. Without a store they are in memory only.

    Signals:
        changed: How they are kept stands differently; carries a SecretsState. On any thread.
        problem_found: A secret cannot be used; carries a sentence. On any thread.
    """

    def __init__(self, store: SecretStore | None = None) -> None:
        self._store = store or SecretStore()
        self._thread: ThreadPoolExecutor | None = None
        self._is_over = False

    @property
    def changed(self) -> Signal[SecretsState]:
        return self._store.changed

    @property
    def problem_found(self) -> Signal[str]:
        return self._store.problem_found

    @property
    def state(self) -> SecretsState:
        """As it was found last. From any thread."""
        return self._store.state

    async def get(self, name: str) -> str | None:
        return await self._run(partial(self._store.get, name))

    async def put(self, name: str, value: str, *, for_this_run: bool = False) -> None:
        await self._run(partial(self._store.put, name, value, for_this_run=for_this_run))

    async def delete(self, name: str) -> bool:
        return await self._run(partial(self._store.delete, name))

    async def delete_below(self, prefix: str) -> int:
        return await self._run(partial(self._store.delete_below, prefix))

    async def stored(self) -> tuple[StoredSecret, ...]:
        return await self._run(self._store.stored)

    async def look(self) -> SecretsState:
        return await self._run(self._store.look)

    async def open(self) -> SecretsState:
        return await self._run(self._store.open)

    async def unlock(self, passphrase: str) -> None:
        await self._run(partial(self._store.unlock, passphrase))

    async def lock(self) -> None:
        await self._run(self._store.lock)

    async def keep_in(self, rung: Rung, passphrase: str = "", *, unprotected: bool = False) -> None:
        await self._run(partial(self._store.keep_in, rung, passphrase, unprotected=unprotected))

    async def reset(self) -> None:
        await self._run(self._store.reset)

    @asynccontextmanager
    async def claim(self, name: str, patience: float = _CLAIM_PATIENCE) -> AsyncIterator[None]:
        """Alone with a secret, to renew it: `get` it again inside, somebody may just have done so.

        Raises ConfigError when somebody else does not let go of it.
        """
        claim = await self._wait_for_claim(name, patience)
        try:
            yield
        finally:
            claim.release()

    async def end(self) -> None:
        """Nobody waits for the keychain any more, and the thread is over."""
        self._is_over = True
        self._store.close()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.shutdown)

    async def _wait_for_claim(self, name: str, patience: float) -> Claim:
        deadline = asyncio.get_running_loop().time() + patience
        while (claim := self._store.try_claim(name)) is None:
            if asyncio.get_running_loop().time() >= deadline:
                raise ConfigError("Another MCP Lens is busy with this secret.", "Try again when it is done.")
            await asyncio.sleep(POLL_S)
        return claim

    async def _run(self, work: Callable[[], T]) -> T:
        if self._is_over:
            raise ConfigError("Secrets cannot be used any more: MCP Lens is closing.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "secrets")
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
