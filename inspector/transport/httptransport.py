"""What the HTTP transports share: one client for one server, and requests answered in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.protocol.revisions import Revision
from inspector.transport.base import Authorization, Closed, Report
from inspector.transport.exchange import Exchanges
from inspector.transport.network import Network
from inspector.transport.tasks import TaskScope


class HttpTransport:
    """The common part of the HTTP transports; subclasses define how messages travel."""

    def __init__(
        self, url: str, network: Network, clock: Clock, authorization: Authorization | None = None
    ) -> None:
        self._url = url
        self._network = network
        self._clock = clock
        self._authorization = authorization
        self._http: Exchanges | None = None
        self._report: Report = _nobody
        self._tasks = TaskScope()
        self._posts: dict[RequestId, asyncio.Task[object]] = {}
        self._revision: Revision | None = None
        self._closed: Closed | None = None

    def _exchanges(self, report: Report) -> Exchanges:
        return Exchanges(self._url, self._network, self._clock, report, authorization=self._authorization)

    def agreed(self, revision: Revision) -> None:
        self._revision = revision

    def forget(self, request: Message) -> None:
        """Close a request's exchange.

        In the stateless era that cancels the request; before, it only stops waiting, and the notification
        cancels.
        """
        task = self._posts.pop(request.id, None) if request.id is not None else None
        if task is not None:
            task.cancel()

    def _begin_post(self, message: Message, id: RequestId, work: Coroutine[Any, Any, None]) -> None:
        self._posts[id] = self._tasks.spawn(f"POST {message.method}", work)

    def _end_post(self, id: RequestId) -> None:
        """Unregister the current task's request, unless another request has taken its id."""
        if self._posts.get(id) is asyncio.current_task():
            del self._posts[id]

    def pause(self) -> None:
        if self._http is not None:
            self._http.may_read.clear()

    def resume(self) -> None:
        if self._http is not None:
            self._http.may_read.set()

    def _close(self, summary: str, next_step: str, *, is_session_lost: bool = False) -> None:
        """Report that the connection is over, once."""
        if self._closed is None:
            self._closed = Closed(summary, next_step, self._now(), is_session_lost)
            self._report(self._closed)

    def _require_open(self) -> Exchanges:
        if self._closed is not None:
            raise ConnectionLost(self._closed.summary, self._closed.next_step)
        if self._http is None:
            raise ConnectionLost("The connection is closed.", "Connect again.")
        return self._http

    def _now(self) -> int:
        return self._clock.monotonic_ns()


def _nobody(event: object) -> None:
    """Discard events reported before `open`."""
