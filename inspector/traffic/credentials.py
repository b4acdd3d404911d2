"""Credentials of ours that are in use: tokens, client secrets, keys in headers.

Whoever uses one says so here, and from then on it is masked wherever it would be written to a file: a server
may well send it back to us in the middle of a message.
"""

from __future__ import annotations

import threading

_MOST = 32  # each costs 0.5 ns per recorded byte, and tokens are refreshed all day


class Credentials:
    """Credentials in use. Thread-safe; the oldest are dropped when there are too many.

    `version` changes with the content, so that readers notice cheaply.
    """

    def __init__(self) -> None:
        self.version = 0
        self._names: dict[bytes, str] = {}
        self._headers: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def add(self, value: str, name: str) -> None:
        """Add a credential. `name` says what it is in a word or two, for the placeholder."""
        raw = value.encode("utf-8", "surrogatepass")
        with self._lock:
            if not raw or next(reversed(self._names), None) == raw:
                return
            names = {known: each for known, each in self._names.items() if known != raw}
            names[raw] = name
            self._names = dict(list(names.items())[-_MOST:])
            self.version += 1

    def add_header(self, name: str) -> None:
        """Treat values of this header as secret, however short they are and whatever the name says."""
        with self._lock:
            if name.lower() not in self._headers:
                self._headers |= {name.lower()}
                self.version += 1

    def names(self) -> dict[bytes, str]:
        """Return each value and what it is. Do not modify."""
        return self._names

    def is_header(self, name: str) -> bool:
        return name.lower() in self._headers
