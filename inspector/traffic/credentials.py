"""Credentials of ours that are in use: tokens, client secrets, keys in headers.

Whoever uses one says so here, and from then on it is masked wherever it would be written to a file: a server
may well send it back to us in the middle of a message.
"""

from __future__ import annotations

import threading

_MOST = 32  # each costs 0.5 ns for every byte that is recorded, and tokens are renewed all day


class Credentials:
    """Any thread may add and read. The oldest are forgotten when there are too many.

    `version` changes with what is known, so that a reader notices cheaply.
    """

    def __init__(self) -> None:
        self.version = 0
        self._names: dict[bytes, str] = {}
        self._headers: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def add(self, value: str, name: str) -> None:
        """`name` is what it is, in a word or two: it stands in the placeholder."""
        raw = value.encode("utf-8", "surrogatepass")
        with self._lock:
            if not raw or next(reversed(self._names), None) == raw:
                return
            names = {known: each for known, each in self._names.items() if known != raw}
            names[raw] = name
            self._names = dict(list(names.items())[-_MOST:])
            self.version += 1

    def add_header(self, name: str) -> None:
        """What a header of this name holds is secret, however short it is and whatever the name says."""
        with self._lock:
            if name.lower() not in self._headers:
                self._headers |= {name.lower()}
                self.version += 1

    def names(self) -> dict[bytes, str]:
        """Each value and what it is; not to be changed."""
        return self._names

    def is_header(self, name: str) -> bool:
        return name.lower() in self._headers
