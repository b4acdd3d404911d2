"""Credentials in use: our tokens, client secrets and header values.

They are masked in every file that MCP Lens writes: a server may echo them in a message.
"""

from __future__ import annotations

import threading

_MAX_COUNT = 4096  # those of days, as tokens are refreshed; all are searched for in one pass


class Credentials:
    """Registry of credentials. Thread-safe; the oldest are dropped when there are too many.

    `version` changes with the content, so that readers notice cheaply.
    """

    def __init__(self) -> None:
        self.version = 0
        self._names: dict[bytes, str] = {}
        self._headers: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def add(self, credential: str, name: str) -> None:
        """Add a credential. `name` says what it is in a word or two, for its placeholder."""
        raw = credential.encode("utf-8", "surrogatepass")
        with self._lock:
            if not raw or next(reversed(self._names), None) == raw:
                return
            names = {value: known for value, known in self._names.items() if value != raw}
            names[raw] = name
            self._names = dict(list(names.items())[-_MAX_COUNT:])
            self.version += 1

    def add_header(self, name: str) -> None:
        """Treat values of this header as secret, however short they are and whatever the name says."""
        with self._lock:
            if name.lower() not in self._headers:
                self._headers |= {name.lower()}
                self.version += 1

    def names_by_value(self) -> dict[bytes, str]:
        """Return each credential with its name. Do not modify."""
        return self._names

    def is_secret_header(self, name: str) -> bool:
        return name.lower() in self._headers
