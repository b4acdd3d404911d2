"""Which watched calls of other people's folders may be made by themselves: those that the person allowed.

A folder of a project changes with every pull. A call in it that says `watch` would be made without anybody
having seen it; so each is allowed once, by what it does: its server, tool, arguments and options. What is
kept are digests, in a private file of our own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from inspector.base.errors import ConfigError
from inspector.base.jsonvalue import JSON, to_wire
from inspector.config.exactfile import read_file, write_file
from inspector.config.savedcalls import SavedCall

FILE_NAME = ".allowed.json"
MOST = 5_000
_MEMBER = "allowed"


class AllowedCalls:
    """Digests of the watched calls that the user has allowed to run automatically.

    Without a path, nothing is persisted. An unreadable file allows no calls.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._digests: dict[str, None] | None = None  # most recent last

    def has(self, call: SavedCall) -> bool:
        return digest(call) in self._read()

    def add(self, *calls: SavedCall) -> None:
        """Allow these calls.

        Raises ConfigError when the file cannot be written; the calls are still allowed until the app exits.
        """
        known = self._read()
        new = [each for each in map(digest, calls) if each not in known]
        if not new:
            return
        known.update(dict.fromkeys(new))
        while len(known) > MOST:
            del known[next(iter(known))]
        if self._path is not None:
            write_file(self._path, {_MEMBER: list(known)}, is_private=True)

    def _read(self) -> dict[str, None]:
        if self._digests is None:
            self._digests = dict.fromkeys(self._written())
        return self._digests

    def _written(self) -> list[str]:
        if self._path is None:
            return []
        try:
            digests = read_file(self._path).get(_MEMBER)
        except (FileNotFoundError, ConfigError):
            return []
        return [each for each in digests if isinstance(each, str)] if isinstance(digests, list) else []


def digest(call: SavedCall) -> str:
    """Return a digest of everything that is sent and of the target server.

    The call's name and the location of its file are not included.
    """
    sent: list[JSON] = [call.server, call.tool, call.arguments, call.meta, call.as_task, call.capabilities]
    return hashlib.sha256(to_wire(sent)).hexdigest()
