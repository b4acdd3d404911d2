"""Resolves a configured entry for connecting: permission, placeholders, secrets.

Runs at each connect; the result is used for that connection only.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from inspector.base.redaction import secrecy
from inspector.base.search_path import server_environment
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_secrets import resolve_secrets, secret_references
from inspector.config.servers.placeholders import Values, expand, input_secret, names_in, needs_expansion
from inspector.engine.secrets import register_entry_secrets
from inspector.engine.servers.server_path import ServerPath
from inspector.traffic.credentials import Credentials
from inspector.transport.network import load_library

SecretOf: TypeAlias = Callable[[str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True)
class Permission:
    """What a server from another client's file may use.

    `variables` are the environment variables that the user approved, `inputs` the values of its inputs.
    """

    variables: frozenset[str] = frozenset()
    inputs: Mapping[str, str] = field(default_factory=dict)


# Called before a server from another client's file is used; raises ConfigError if it must not be used.
Permit: TypeAlias = Callable[[], Awaitable[Permission]]


class EntryResolver:
    """Resolves a configured server before connecting.

    `permit` is None for the user's own servers, which may use the whole environment. A command waits for
    `server_path`.
    """

    def __init__(
        self,
        credentials: Credentials,
        secret_of: SecretOf | None = None,
        permit: Permit | None = None,
        folder: Path | None = None,
        server_path: ServerPath | None = None,
    ) -> None:
        self._credentials = credentials
        self._secret_of = secret_of
        self._permit = permit
        self._folder = folder
        self._server_path = server_path

    def is_needed(self, entry: Entry) -> bool:
        """True if the entry needs resolving."""
        if self.waits_for_path(entry) or self._permit is not None:
            return True
        return bool(secret_references(entry)) or needs_expansion(entry)

    def waits_for_path(self, entry: Entry) -> bool:
        """True if it is a command and its PATH is not known yet."""
        is_pending = self._server_path is not None and self._server_path.is_pending
        return is_pending and isinstance(entry, StdioEntry)

    async def resolve(self, entry: Entry) -> Entry:
        """Return the entry fully resolved. Raises ConfigError."""
        if not isinstance(entry, StdioEntry):
            await load_library()
        elif self._server_path is not None:
            await self._server_path.ready()
        if not self.is_needed(entry):
            register_entry_secrets(self._credentials, entry)
            return entry
        permission = await self._permit() if self._permit is not None else None
        expanded = expand(entry, await self._values(entry, permission))
        references = secret_references(entry)
        values = await self._secrets([reference.ref for reference in references.values()])
        resolved = resolve_secrets(expanded, values)
        register_entry_secrets(self._credentials, resolved, references)
        return resolved

    async def _values(self, entry: Entry, permission: Permission | None) -> Values:
        names = names_in(entry)
        inputs = await self._own_inputs(entry, names.inputs) if permission is None else permission.inputs
        allowed = None if permission is None else permission.variables
        inherited = server_environment()
        environment = {name: inherited[name] for name in names.variables if name in inherited}
        for name, value in environment.items():
            if secrecy(name):  # it may end up under a name that does not look secret
                self._credentials.add(value, name)
        return Values(
            {name: value for name, value in environment.items() if allowed is None or name in allowed},
            inputs,
            predefined_values(self._folder or Path.cwd()),
            frozenset(environment) - allowed if allowed is not None else frozenset(),
        )

    async def _own_inputs(self, entry: Entry, ids: Sequence[str]) -> dict[str, str]:
        stored = {id: input_secret(entry.name, id) for id in ids}
        found = await self._secrets(list(stored.values()))
        return {id: found[name] for id, name in stored.items() if name in found}

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
