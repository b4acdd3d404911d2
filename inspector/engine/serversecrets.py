"""The secrets that belong to servers: given with one, taken along when it is renamed, gone when it is."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.base.errors import ConfigError
from inspector.base.signals import Signal
from inspector.config.entries import Entry
from inspector.config.entrysecrets import named_after, own_secrets_of, with_secret_names
from inspector.config.expansion import input_secret, names_in
from inspector.config.secrets.names import make_name, parts_of
from inspector.config.secrets.standing import Rung
from inspector.engine.secrets import Secrets


class ServerSecrets:
    """Secrets that belong to servers.

    Signals:
        problem_found: A secret could not be deleted; carries a sentence.
    """

    def __init__(self, secrets: Secrets) -> None:
        self.problem_found: Signal[str] = Signal()
        self._secrets = secrets

    async def put(self, values: Mapping[str, str]) -> None:
        """Store secrets by name. Raises ConfigError."""
        for name, value in values.items():
            await self._secrets.put(name, value)

    async def take_back(self, values: Mapping[str, str]) -> None:
        """Undo `put` for a server that was not created."""
        for name in values:
            await self._secrets.delete(name)

    async def require_lasting(self) -> None:
        """Raise ConfigError if secrets are in memory only: those moved there would be lost."""
        state = await self._secrets.open()
        if state.rung is Rung.MEMORY:
            raise ConfigError(
                "Secrets are kept in memory only: these would be gone when MCP Lens is closed.",
                "Choose another place in the Secrets dialog first.",
            )

    async def forget(self, entry: Entry) -> None:
        """Delete all secrets of a removed server; failures do not stop the removal."""
        await self._delete(entry, secrets_of(entry))

    async def forget_stale(self, before: Entry, after: Entry, kind: str = "") -> None:
        """Delete secrets that a server no longer refers to; only those of `kind` if given."""
        stale = set(secrets_of(before)) - set(secrets_of(after))
        await self._delete(before, {name for name in stale if not kind or parts_of(name)[0] == kind})

    async def copied(self, entry: Entry, name: str) -> Entry:
        """Return the server under another name, with its secrets copied. Raises ConfigError.

        A missing or unreadable secret is referred to by its old name.
        """
        renamed: dict[str, str] = {}
        for old in secrets_of(entry):
            value = await self._secrets.get(old)
            new = named_after(old, entry.name, name)
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
        except ConfigError as exc:
            self.problem_found.emit(f"The inputs of server {before!r} could not be taken along. {exc}")

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
            self.problem_found.emit(f"The login of server {before!r} could not be taken along. {exc}")

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
