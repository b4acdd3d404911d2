"""How a person wants the logins of each server: one section of the preferences file, without secrets."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSONObject
from inspector.config.document import JsonDocument

if TYPE_CHECKING:
    from inspector.oauth.steps import Overrides

_SECTION = "logins"


class LoginOptions:
    """By the names of servers. Without a file they are remembered for this run."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = JsonDocument(path) if path is not None else None
        self._in_memory: JSONObject = {}

    async def of(self, server: str) -> Overrides:
        """What was chosen last. Never raises: a file that cannot be read, of which the start tells, has the
        usual."""
        from inspector.oauth.remembered import read_overrides

        try:
            section = (await asyncio.to_thread(self._read)).get(_SECTION)
        except ConfigError:
            section = None
        return read_overrides(section.get(server) if isinstance(section, dict) else None)

    async def keep(self, server: str, overrides: Overrides) -> None:
        """For the next time, but for secrets. Raises ConfigError."""
        from inspector.oauth.remembered import write_overrides

        await asyncio.to_thread(self._put, server, write_overrides(overrides))

    async def move(self, before: str, after: str) -> None:
        """The server has another name. It gets that though the file cannot be written. Where nothing was
        chosen, another window may have moved it already."""
        from inspector.oauth.steps import Overrides

        chosen = await self.of(before)
        with suppress(ConfigError):
            if chosen != Overrides():
                await self.keep(after, chosen)
                await self.forget(before)

    async def forget(self, server: str) -> None:
        """The server is no more. It goes though the file cannot be written."""
        with suppress(ConfigError):
            await asyncio.to_thread(self._put, server, {})

    def _read(self) -> JSONObject:
        return self._file.read() if self._file is not None else self._in_memory

    def _put(self, server: str, options: JSONObject) -> None:
        with self._file.changing() if self._file is not None else nullcontext():
            self._put_in_turn(server, options)

    def _put_in_turn(self, server: str, options: JSONObject) -> None:
        document = self._read()
        before = document.get(_SECTION)
        section = dict(before) if isinstance(before, dict) else {}
        if section.get(server, {}) == options:
            return  # nothing to write: most servers have none
        section.pop(server, None)
        if options:
            section[server] = options
        changed = {**document, _SECTION: section}
        if self._file is not None:
            self._file.write(changed)
        else:
            self._in_memory = changed
