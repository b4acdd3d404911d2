"""Async access to the secret store, secrets of servers, and credentials to mask.

The store runs on one dedicated thread, so that a keychain that prompts the user blocks nothing else. It
is also loaded there at first use, so that start-up does not wait for it. `ServerSecrets` creates, copies
and deletes the secrets of servers. `register_secret` and `register_entry_secrets` tell the log which
values are in use, so that they are never written to a file.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from inspector.base.environment import child_environment, secrets_in_variables
from inspector.base.errors import ConfigError
from inspector.base.json.values import JSON, JSONError, parse
from inspector.base.redaction import (
    MASK,
    is_secret_name,
    is_secret_parameter,
    masked_command,
    secret_header,
    url_start,
)
from inspector.base.signals import Signal
from inspector.config.secrets.records import StorageKind, is_below, make_name, parts_of
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_secrets import (
    own_secrets_of,
    plain_values,
    renamed_secret,
    with_secret_names,
)
from inspector.config.servers.placeholders import InputOwner, input_secret, names_in
from inspector.traffic.credentials import Credentials

if TYPE_CHECKING:
    from inspector.config.secrets.records import SecretsState, StoredSecret
    from inspector.config.secrets.store import RefreshLock, SecretStore

T = TypeVar("T")

_CLAIM_TIMEOUT = 30.0
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
        self._register(name, value)
        return value

    async def put(self, name: str, value: str, *, in_memory: bool = False) -> None:
        self._register(name, value)
        await self._run(lambda store: store.put(name, value, in_memory=in_memory))

    async def delete(self, name: str) -> bool:
        return await self._run(lambda store: store.delete(name))

    async def delete_below(self, prefix: str) -> int:
        return await self._run(lambda store: store.delete_below(prefix))

    async def stored(self) -> tuple[StoredSecret, ...]:
        return await self._run(lambda store: store.stored())

    async def inspect(self) -> SecretsState:
        return await self._run(lambda store: store.read_state())

    async def open(self) -> SecretsState:
        return await self._run(lambda store: store.open())

    async def unlock(self, passphrase: str) -> None:
        await self._run(lambda store: store.unlock(passphrase))

    async def lock(self) -> None:
        await self._run(lambda store: store.lock())

    async def move_to(self, level: StorageKind, passphrase: str = "", *, unprotected: bool = False) -> None:
        await self._run(lambda store: store.move_to(level, passphrase, unprotected=unprotected))

    async def reset(self) -> None:
        await self._run(lambda store: store.reset())

    @asynccontextmanager
    async def claim(self, name: str, timeout: float = _CLAIM_TIMEOUT) -> AsyncIterator[None]:
        """Hold an exclusive claim to refresh a secret; `get` it again inside, it may be new.

        Raises ConfigError if another holder does not release it.
        """
        claim = await self._wait_for_claim(name, timeout)
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

    def _register(self, name: str, value: str | None) -> None:
        if self.credentials is not None and value:
            register_secret(self.credentials, name, value)

    async def _wait_for_claim(self, name: str, timeout: float) -> RefreshLock:
        store = await self._run(lambda store: store)
        deadline = asyncio.get_running_loop().time() + timeout
        # Not on the thread: if cancelled meanwhile, the claim would never be released.
        while (claim := store.try_lock(name)) is None:
            if asyncio.get_running_loop().time() >= deadline:
                raise ConfigError("Another MCP Lens is using this secret.", "Try again in a moment.")
            await asyncio.sleep(_CLAIM_POLL)
        return claim

    async def _run(self, work: Callable[[SecretStore], T]) -> T:
        if self._is_over:
            raise ConfigError("Secrets are not available: MCP Lens is closing.")
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "secrets")
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: work(self._get_store()))

    def _get_store(self) -> SecretStore:
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


class ServerSecrets:
    """Secrets that belong to servers.

    Signals:
        problem_found: A secret could not be deleted; carries a sentence.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.problem_found: Signal[str] = Signal()
        self._secrets = secrets

    async def inputs(self, owner: InputOwner, ids: Iterable[str]) -> dict[str, str]:
        """Return the stored values of these inputs; those without a value are left out."""
        values = {id: await self._secrets.get(owner.secret(id)) for id in ids}
        return {id: value for id, value in values.items() if value is not None}

    async def put(self, values: Mapping[str, str]) -> None:
        """Store secrets by name. Raises ConfigError."""
        for name, value in values.items():
            await self._secrets.put(name, value)

    async def delete_new(self, values: Mapping[str, str]) -> None:
        """Undo `put` for a server that was not created."""
        for name in values:
            await self._secrets.delete(name)

    async def require_lasting(self) -> None:
        """Raise ConfigError if secrets are in memory only: those moved there would be lost."""
        state = await self._secrets.open()
        if state.level is StorageKind.MEMORY:
            raise ConfigError(
                "Secrets are held only in memory, so these would be lost when MCP Lens quits.",
                "Choose another secret storage in the Secrets dialog first.",
            )

    async def forget(self, entry: Entry) -> None:
        """Delete all secrets of a removed server; failures do not stop the removal."""
        await self._delete(entry, secrets_of(entry))

    async def forget_inputs(self, owner: InputOwner) -> None:
        """Delete all input values of a server that is no longer trusted. Raises ConfigError."""
        await self._secrets.delete_below(owner.place)

    async def forget_other_inputs(self, owner: InputOwner) -> None:
        """Delete the input values that were stored for other settings of a server. Raises ConfigError."""
        for stored in await self._secrets.stored():
            if is_below(stored.name, owner.place) and not is_below(stored.name, owner.prefix):
                await self._secrets.delete(stored.name)

    async def forget_leftovers(self, entry: Entry, values: Collection[str]) -> None:
        """Delete input values under a new server's name that are not among its `values`.

        They were stored for another server that had this name. Raises ConfigError.
        """
        for id in names_in(entry).inputs:
            if (name := input_secret(entry.name, id)) not in values:
                await self._secrets.delete(name)

    async def forget_stale(self, before: Entry, after: Entry, kind: str = "") -> None:
        """Delete secrets that a server no longer refers to; only those of `kind` if given."""
        stale = set(secrets_of(before)) - set(secrets_of(after))
        await self._delete(before, {name for name in stale if not kind or parts_of(name)[0] == kind})

    async def copied(self, entry: Entry, name: str, owner: InputOwner | None = None) -> Entry:
        """Return the server under another name, with its secrets copied. Raises ConfigError.

        A missing or unreadable secret is referred to by its old name.
        """
        owner = owner or InputOwner(entry.name)
        names = {old: renamed_secret(old, entry.name, name) for old in own_secrets_of(entry)}
        names |= {owner.secret(id): input_secret(name, id) for id in names_in(entry).inputs}
        renamed: dict[str, str] = {}
        for old, new in names.items():
            value = await self._secrets.get(old)
            if value is not None and new != old:
                await self._secrets.put(new, value)
                renamed[old] = new
        return with_secret_names(entry, name, renamed)

    async def copy_inputs(self, entry: Entry, before: str) -> None:
        """Copy the input values of a renamed server."""
        try:
            for id in names_in(entry).inputs:
                value = await self._secrets.get(input_secret(before, id))
                if value is not None:
                    await self._secrets.put(input_secret(entry.name, id), value)
                else:
                    await self._secrets.delete(input_secret(entry.name, id))  # of another server
        except ConfigError as exc:
            self.problem_found.emit(f"Could not copy the inputs of the renamed server {before!r}. {exc}")

    async def move_logins(self, before: str, after: str) -> None:
        """Move what logins stored for a server to its new name."""
        from inspector.oauth.store import KIND  # renames are rare

        try:
            for stored in await self._secrets.stored():
                kind, *parts = parts_of(stored.name)
                if kind == KIND and len(parts) > 1 and parts[1] == before:
                    value = await self._secrets.get(stored.name)
                    if value is not None:
                        await self._secrets.put(make_name(kind, parts[0], after, *parts[2:]), value)
                        await self._secrets.delete(stored.name)
        except ConfigError as exc:
            self.problem_found.emit(f"Could not move the login of the renamed server {before!r}. {exc}")

    async def _delete(self, entry: Entry, names: tuple[str, ...] | set[str]) -> None:
        try:
            for name in names:
                await self._secrets.delete(name)
        except ConfigError as exc:
            self.problem_found.emit(f"The secrets of server {entry.name!r} are still stored. {exc}")


def secrets_of(entry: Entry) -> tuple[str, ...]:
    """Return all secrets named after this server: references and input values."""
    inputs = (input_secret(entry.name, id) for id in names_in(entry).inputs)
    return (*own_secrets_of(entry), *inputs)


# Schemes before the credentials in `Authorization`.
_SCHEMES = frozenset({"bearer", "basic", "dpop", "token", "apikey"})


def register_secret(credentials: Credentials, name: str, value: str) -> None:
    """Register a secret that was read or stored. Login secrets are JSON with tokens inside."""
    for label, secret in _secrets_in(name.partition("/")[0], value):
        credentials.add(secret, label)


def register_entry_secrets(credentials: Credentials, entry: Entry, references: Collection[str] = ()) -> None:
    """Register the secrets in a server's configuration, on connecting.

    `references` are headers or variables from the secret store: secret whatever their names.
    """
    found = [
        (name, value)
        for name, value in plain_values(entry).items()
        if name in references or is_secret_name(name)
    ]
    if isinstance(entry, StdioEntry):
        found += _in_arguments(entry.args)
        variables = child_environment(os.environ, plain_values(entry), whole=entry.inherit_environment)
        found += secrets_in_variables(variables)
    else:
        for name in references:
            credentials.add_header(name)
        found += _in_url(entry.url)
        found += _in_url(entry.network.proxy)
    for name, value in found:
        scheme, _, token = value.partition(" ")
        has_scheme = scheme.lower() in _SCHEMES
        credentials.add(token if has_scheme else value, name)
        if scheme.lower() == "basic":
            credentials.add(_password(token), "password")


def _password(basic: str) -> str:
    """Return the password of Basic credentials."""
    try:
        return base64.b64decode(basic, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _secrets_in(name: str, value: str) -> Iterator[tuple[str, str]]:
    document: JSON = None
    if value.lstrip()[:1] in ("{", '"'):
        try:
            document = parse(value)
        except JSONError:
            document = None
    if isinstance(document, dict):
        yield from _members(document)
    else:
        yield name, document if isinstance(document, str) else value


def _members(value: JSON) -> Iterator[tuple[str, str]]:
    """Yield texts under secret names, at any depth."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left += item
        elif isinstance(item, dict):
            left += item.values()
            for name, text in item.items():
                if isinstance(text, str) and is_secret_name(name):
                    yield name, text


def _in_arguments(arguments: tuple[str, ...]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for argument, masked in zip(arguments, masked_command(arguments), strict=True):
        name, equals, value = argument.partition("=")
        if masked == MASK:
            found.append(("argument", argument))
        elif header := secret_header(argument):
            found.append((header["name"], header["value"]))
        elif "://" in argument:
            found += _in_url(argument[max(0, url_start(argument)) :])
        elif equals and masked != argument:
            found.append((name.lstrip("-"), value))
    return found


def _in_url(url: str) -> list[tuple[str, str]]:
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        return []
    found = [(name, value) for name, value in parse_qsl(parts.query) if is_secret_parameter(name)]
    return [*found, ("password", unquote(password))] if password else found
