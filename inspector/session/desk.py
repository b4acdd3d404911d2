"""What the server of one conversation asks and has no answer to yet.

While something is asked, the limits of the call that waits for it stand still: a person may take their time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from inspector.base.errors import ConnectionLost, RequestCancelled, UserError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.protocol.jsonrpc import Message, RequestId
from inspector.session.asking import Answers, Asking, AskingEnd, Responder
from inspector.session.waiting import HumanTime, WaitingRoom

_CALL_ENDED = "The call that caused it has ended; the server may still want the answer."


class Desk:
    """Pending server requests of one connection, in either era."""

    def __init__(self, responder: Responder, waiting: WaitingRoom) -> None:
        self._responder = responder
        self._waiting = waiting
        self._open: dict[Asking, asyncio.Task[Answers]] = {}
        self._own: dict[RequestId, Asking] = {}  # server requests
        self._over: dict[Asking, UserError] = {}
        self._lost: ConnectionLost | None = None

    # -------------------------------------------------------------- asking

    async def ask(self, asking: Asking, human: HumanTime | None = None) -> Answers:
        """Return the replies to what a result asks for. `human` accumulates the time that took.

        Raises Refusal, and ConnectionLost if the connection ends meanwhile.
        """
        if human is None:
            return await self._ask(asking)
        human.begin()
        try:
            return await self._ask(asking)
        finally:
            human.end()

    def take(self, id: RequestId, asking: Asking) -> None:
        """Register a server request. It may be cancelled before the user is asked."""
        self._own[id] = asking

    def leave(self, id: RequestId, asking: Asking) -> None:
        """Unregister a server request that was answered or needs no response."""
        self._over.pop(asking, None)
        if self._own.get(id) is asking:
            del self._own[id]

    async def ask_own(self, asking: Asking, id: RequestId) -> Answers:
        """Return the reply to a server request.

        Raises as `ask` does, and RequestCancelled if the server cancelled it, or the user has already
        responded by hand.
        """
        self.take(id, asking)
        try:
            with self._paused(asking):
                return await self._ask(asking)
        finally:
            self.leave(id, asking)

    async def _ask(self, asking: Asking) -> Answers:
        if error := self._over.pop(asking, None) or self._lost:
            raise error
        # A separate task: it can be cancelled while its waiter goes on.
        task = asyncio.get_running_loop().create_task(self._respond(asking), name="ask")
        self._open[asking] = task
        try:
            return await task
        except asyncio.CancelledError:
            error = self._over.pop(asking, None)
            if error is None:
                self._responder.ended(asking, AskingEnd.CALL_ENDED, "")
            current = asyncio.current_task()
            if error is None or (current is not None and current.cancelling()):
                raise
            raise error from None
        finally:
            del self._open[asking]

    async def _respond(self, asking: Asking) -> Answers:
        return await self._responder.respond(asking)

    @contextmanager
    def _paused(self, asking: Asking) -> Iterator[None]:
        """Pause the timeouts of the call that the request is for; of all calls if unknown."""

        def on_over(answer: asyncio.Future[Message]) -> None:
            if asking in self._open and asking not in self._over:
                self._responder.noted(asking, _CALL_ENDED)

        waiters = self._waiting.of_operation(asking.operation)
        for waiter in waiters:
            waiter.pause()
            if asking.operation is not None:
                waiter.answer.add_done_callback(on_over)
        try:
            yield
        finally:
            for waiter in waiters:
                waiter.unpause()
                waiter.answer.remove_done_callback(on_over)  # a call may go through this for hours

    def sent(self, asking: Asking, problem: str = "") -> None:
        """Report that the reply to a server request was sent, or why not."""
        self._responder.sent(asking, problem)

    # -------------------------------------------------------------- without an answer

    def refuse(self, asking: Asking, why: str) -> None:
        """Reject without asking: the user only sees the request and why it was not answered."""
        if asking not in self._over:
            self._responder.ended(asking, AskingEnd.REFUSED, why)

    def withdraw(self, id: RequestId, reason: str) -> None:
        """Cancel a pending request on behalf of the server."""
        words = shorten(one_line(reason), 300)
        self._end(self._own.get(id), AskingEnd.WITHDRAWN, words, RequestCancelled("The server took it back."))

    def answered_by_hand(self, id: RequestId) -> None:
        error = RequestCancelled("It was answered by hand.")
        self._end(self._own.get(id), AskingEnd.BY_HAND, "The answer was written by hand.", error)

    def close(self, error: ConnectionLost) -> None:
        """End all pending requests: the connection is over."""
        if self._lost is None:
            self._lost = error
            for asking in tuple(self._open):
                self._end(asking, AskingEnd.SERVER_GONE, error.summary, error)

    def _end(self, asking: Asking | None, end: AskingEnd, why: str, error: UserError) -> None:
        task = self._open.get(asking) if asking is not None else None
        if asking is None or asking in self._over or (task is not None and task.done()):
            return
        self._over[asking] = error
        self._responder.ended(asking, end, why)
        if task is not None:
            task.cancel()
