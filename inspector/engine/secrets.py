"""Secrets as the application asks for them: the store, on a thread of its own beside the engine's loop.

One thread, so that a keychain which waits for the person holds up nothing else. The store is loaded there
too, when it is first asked: no start has to wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from inspector.base.errors import ConfigError
from inspector.base.signals import Signal
from inspector.engine.inuse import use_secret

if TYPE_CHECKING:
    from inspector.config.secrets.claims import Claim
    from inspector.config.secrets.standing import Rung, SecretsState, StoredSecret
    from inspector.config.secrets.store import SecretStore
    from inspector.traffic.credentials import Credentials

T = TypeVar("T")

_CLAIM_PATIENCE = 30.0
_CLAIM_POLL = 0.02  # seconds; there is no notification when a lock is released


class Secrets:
    """Async access to a `SecretStore` on its own thread.

    `make` creates the store; without it secrets are in memory. See `SecretStore` for what each method does
    and raises.

    Signals:
        changed: The state of the store changed; carries a SecretsState. Emitted on any thread.
        problem_found: A secret cannot be used; carries a sentence. Emitted on any thread.
    """

    def __init__(self, make: Callable[[], SecretStore] | None = None) -> None:
        self.changed: Signal[SecretsState] = Signal()
        self.problem_found: Signal[str] = Signal()
        self.credentials: Credentials | None = None  # registry of credentials in use
        self._make = make or make_store
        self._store: SecretStore | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._is_over = False

    @property
    def state(self) -> SecretsState | None:
        """Last known state; None if the store was not used yet. Thread-safe."""
        return self._store.state if self._store is not None else None

    async def get(self, name: str) -> str | None:
        value = await self._run(lambda store: store.get(name))
        self._use(name, value)
        return value

    async def put(self, name: str, value: str, *, for_this_run: bool = False) -> None:
        self._use(name, value)
        await self._run(lambda store: store.put(name, value, for_this_run=for_this_run))

    async def delete(self, name: str) -> bool:
        return await self._run(lambda store: store.delete(name))

    async def delete_below(self, prefix: str) -> int:
        return await self._run(lambda store: store.delete_below(prefix))

    async def stored(self) -> tuple[StoredSecret, ...]:
        return await self._run(lambda store: store.stored())

    async def look(self) -> SecretsState:
        return await self._run(lambda store: store.look())

    async def open(self) -> SecretsState:
        return await self._run(lambda store: store.open())

    async def unlock(self, passphrase: str) -> None:
        await self._run(lambda store: store.unlock(passphrase))

    async def lock(self) -> None:
        await self._run(lambda store: store.lock())

    async def keep_in(self, rung: Rung, passphrase: str = "", *, unprotected: bool = False) -> None:
        await self._run(lambda store: store.keep_in(rung, passphrase, unprotected=unprotected))

    async def reset(self) -> None:
        await self._run(lambda store: store.reset())

    @asynccontextmanager
    async def claim(self, name: str, patience: float = _CLAIM_PATIENCE) -> AsyncIterator[None]:
        """Hold an exclusive claim to refresh a secret; `get` it again inside, it may be new.

        Raises ConfigError if another holder does not release it.
        """
        claim = await self._wait_for_claim(name, patience)
        try:
            yield
        finally:
            claim.release()

    async def end(self) -> None:
        """Release all keychain waits and end the thread."""
        self._is_over = True
        if self._store is not None:
            self._store.close()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.shutdown)

    def _use(self, name: str, value: str | None) -> None:
        if self.credentials is not None and value:
            use_secret(self.credentials, name, value)

    async def _wait_for_claim(self, name: str, patience: float) -> Claim:
        store = await self._run(lambda store: store)
        deadline = asyncio.get_running_loop().time() + patience
        # Not on the thread: if cancelled meanwhile, the claim would never be released.
        while (claim := store.try_claim(name)) is None:
            if asyncio.get_running_loop().time() >= deadline:
                raise ConfigError("Another MCP Lens is busy with this secret.", "Try again when it is done.")
            await asyncio.sleep(_CLAIM_POLL)
        return claim

    async def _run(self, work: Callable[[SecretStore], T]) -> T:
        if self._is_over:
            raise ConfigError("Secrets cannot be used any more: MCP Lens is closing.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "secrets")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._made()))

    def _made(self) -> SecretStore:
        """Return the store, creating it if needed. Called on the thread."""
        if self._store is None:
            store = self._make()
            store.changed.connect(self.changed.emit)
            store.problem_found.connect(self.problem_found.emit)
            self._store = store
        if self._is_over:
            self._store.close()
        return self._store


def make_store(folder: Path | None = None) -> SecretStore:
    """Return the store of a folder; without a folder, in memory."""
    from inspector.config.secrets.store import SecretStore

    return SecretStore(folder)
