"""Resolves a configured entry for connecting: permission, placeholders, secrets.

Runs at each connect; the result is used for that connection only.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from inspector.base.redaction import secrecy
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_secrets import resolve_secrets, secret_references
from inspector.config.servers.placeholders import Values, expand, input_secret, names_in, needs_expansion
from inspector.engine.secrets import register_entry_secrets
from inspector.traffic.credentials import Credentials
from inspector.transport.network import load_library

SecretOf: TypeAlias = Callable[[str], Awaitable[str | None]]
# Called before a server from another client's file is used. Returns the environment variables that the user
# approved; raises ConfigError if the server must not be used.
Permit: TypeAlias = Callable[[], Awaitable[frozenset[str]]]


class EntryResolver:
    """Resolves a configured server before connecting.

    `permit` is None for the user's own servers, which may use the whole environment.
    """

    def __init__(
        self,
        credentials: Credentials,
        secret_of: SecretOf | None = None,
        permit: Permit | None = None,
        folder: Path | None = None,
    ) -> None:
        self._credentials = credentials
        self._secret_of = secret_of
        self._permit = permit
        self._folder = folder

    def is_needed(self, entry: Entry) -> bool:
        """True if the entry needs resolving."""
        return self._permit is not None or bool(secret_references(entry)) or needs_expansion(entry)

    async def resolve(self, entry: Entry) -> Entry:
        """Return the entry fully resolved. Raises ConfigError."""
        if not isinstance(entry, StdioEntry):
            await load_library()
        if not self.is_needed(entry):
            register_entry_secrets(self._credentials, entry)
            return entry
        allowed = await self._permit() if self._permit is not None else None
        expanded = expand(entry, await self._values(entry, allowed))
        references = secret_references(entry)
        values = await self._secrets([reference.ref for reference in references.values()])
        resolved = resolve_secrets(expanded, values)
        register_entry_secrets(self._credentials, resolved, references)
        return resolved

    async def _values(self, entry: Entry, allowed: frozenset[str] | None) -> Values:
        names = names_in(entry)
        stored = {id: input_secret(entry.name, id) for id in names.inputs}
        found = await self._secrets(list(stored.values()))
        inputs = {id: found[name] for id, name in stored.items() if name in found}
        environment = {name: os.environ[name] for name in names.variables if name in os.environ}
        for name, value in environment.items():
            if secrecy(name):  # it may end up under a name that does not look secret
                self._credentials.add(value, name)
        return Values(
            {name: value for name, value in environment.items() if allowed is None or name in allowed},
            inputs,
            predefined_values(self._folder or Path.cwd()),
            frozenset(environment) - allowed if allowed is not None else frozenset(),
        )

    async def _secrets(self, names: list[str]) -> dict[str, str]:
        values: dict[str, str] = {}
        for name in names:
            value = await self._secret_of(name) if self._secret_of is not None else None
            if value is not None:
                values[name] = value
        return values


def predefined_values(folder: Path) -> Mapping[str, str]:
    """Return the values of predefined names, for this working directory."""
    return {
        "userHome": str(Path.home()),
        "workspaceFolder": str(folder),
        "workspaceFolderBasename": folder.name,
        "cwd": str(folder),
        "pathSeparator": os.sep,
        "/": os.sep,
    }
