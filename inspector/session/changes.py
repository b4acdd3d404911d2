"""One stream of changes kept open in the stateless era, for whatever is wanted at the time."""

from __future__ import annotations

import asyncio
from typing import Any

from inspector.base.signals import Signal
from inspector.protocol.listen import Filter
from inspector.session.session import Session

_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before a stream that broke off is opened again
_ACKNOWLEDGE_LIMIT = 5.0


class Changes:
    """A stream that breaks off is opened again, a few times in a row; one that the server ends is over.

    Signals:
        missed: A broken stream stands again; carries its filter. What changed meanwhile was told to nobody.
    """

    def __init__(self, session: Session) -> None:
        self.missed: Signal[Filter] = Signal()
        self._session = session
        self._streams: list[asyncio.Task[Any]] = []  # the wanted one, behind those that it replaces

    def want(self, filter: Filter) -> None:
        """Open a stream for this. The ones before stay until it stands, so that no change falls between."""
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
        """The stream stands, or the server will not say so: either way the ones before it are done with."""
        if stream in self._streams:
            self._retire(self._streams[: self._streams.index(stream)])

    def _retire(self, streams: list[asyncio.Task[Any]]) -> None:
        for stream in streams:
            stream.cancel()
        self._streams = [stream for stream in self._streams if stream not in streams]
