"""One stream of changes kept open in the stateless era, for whatever is wanted at the time."""

from __future__ import annotations

import asyncio
from typing import Any

from inspector.base.signals import Signal
from inspector.protocol.listen import Filter
from inspector.session.session import Session

_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before a broken stream is reopened
_ACKNOWLEDGE_LIMIT = 5.0


class Changes:
    """The open `subscriptions/listen` stream, replaced as the filter changes.

    A broken stream is reopened, a few times in a row; one that the server ends is not.

    Signals:
        missed: A broken stream is open again; carries its filter. Changes in between were missed.
    """

    def __init__(self, session: Session) -> None:
        self.missed: Signal[Filter] = Signal()
        self._session = session
        self._streams: list[asyncio.Task[Any]] = []  # the current one last, after those that it replaces

    def want(self, filter: Filter) -> None:
        """Open a stream with this filter.

        Previous streams stay open until it is acknowledged, so that no change is missed.
        """
        if not filter:
            self._retire(self._streams)
            return
        self._streams = [stream for stream in self._streams if not stream.done()]
        self._streams.append(self._session.spawn("listen", self._keep_open(filter)))

    async def _keep_open(self, filter: Filter) -> None:
        stream = asyncio.current_task()
        assert stream is not None
        asyncio.get_running_loop().call_later(_ACKNOWLEDGE_LIMIT, self._retire_before, stream)
        failures = 0

        def stands() -> None:
            nonlocal failures
            self._retire_before(stream)
            if failures:
                self.missed.emit(filter)
            failures = 0

        while not await self._session.listen(filter, stands):
            failures += 1
            if failures > len(_PAUSES):
                self._session.remark("The stream of changes broke off again and again; it is left closed.")
                return
            await asyncio.sleep(_PAUSES[failures - 1])

    def _retire_before(self, stream: asyncio.Task[Any]) -> None:
        """Close the streams before this one: it is acknowledged, or never will be."""
        if stream in self._streams:
            self._retire(self._streams[: self._streams.index(stream)])

    def _retire(self, streams: list[asyncio.Task[Any]]) -> None:
        for stream in streams:
            stream.cancel()
        self._streams = [stream for stream in self._streams if stream not in streams]
