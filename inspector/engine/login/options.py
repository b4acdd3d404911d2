"""Login options per server: one section of the preferences file, without secrets."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError
from inspector.base.json.values import JSONObject
from inspector.config.json_file import JsonDocument

if TYPE_CHECKING:
    from inspector.oauth.login.steps import Overrides

_SECTION = "logins"


class LoginOptions:
    """Login options by server. Without a file, they are not saved."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = JsonDocument(path) if path is not None else None
        self._in_memory: JSONObject = {}

    async def of(self, server: str) -> Overrides:
        """Return the saved options. Never raises: an unreadable file means defaults.

        The file's problems are reported at startup.
        """
        from inspector.oauth.login.steps import read_overrides

        try:
            section = (await asyncio.to_thread(self._read)).get(_SECTION)
        except ConfigError:
            section = None
        return read_overrides(section.get(server) if isinstance(section, dict) else None)

    async def save(self, server: str, overrides: Overrides) -> None:
        """Save the options without secrets. Raises ConfigError."""
        from inspector.oauth.login.steps import write_overrides

        await asyncio.to_thread(self._put, server, write_overrides(overrides))

    async def move(self, before: str, after: str) -> None:
        """Move options to a renamed server; ignores write errors.

        If there are none, another window may already have moved them.
        """
        from inspector.oauth.login.steps import Overrides

        overrides = await self.of(before)
        with suppress(ConfigError):
            if overrides != Overrides():
                await self.save(after, overrides)
                await self.forget(before)

    async def forget(self, server: str) -> None:
        """Delete the options of a removed server; ignores write errors."""
        with suppress(ConfigError):
            await asyncio.to_thread(self._put, server, {})

    def _read(self) -> JSONObject:
        return self._file.read() if self._file is not None else self._in_memory

    def _put(self, server: str, options: JSONObject) -> None:
        with self._file.locked() if self._file is not None else nullcontext():
            self._put_locked(server, options)

    def _put_locked(self, server: str, options: JSONObject) -> None:
        document = self._read()
        before = document.get(_SECTION)
        section = dict(before) if isinstance(before, dict) else {}
        if section.get(server, {}) == options:
            return  # unchanged: most servers have no options
        section.pop(server, None)
        if options:
            section[server] = options
        changed = {**document, _SECTION: section}
        if self._file is not None:
            self._file.write(changed)
        else:
            self._in_memory = changed
