"""Records the events of a transport and lets a test wait for them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from inspector.base.errors import UserError
from inspector.protocol.framing import Overlong
from inspector.protocol.jsonrpc import Kind, Message, read
from inspector.transport.base import FramesReceived, HttpEnded, RequestFailed, WireEvent

T = TypeVar("T")
_LIMIT = 20.0


class WireLog:
    """The callable that receives the events of a transport."""

    def __init__(self) -> None:
        self.events: list[WireEvent] = []
        self._changes = asyncio.Event()

    def __call__(self, event: WireEvent) -> None:
        self.events.append(event)
        self._changes.set()

    def all(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def frames(self) -> list[bytes]:
        return [_bytes(frame) for event in self.all(FramesReceived) for frame in event.frames]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(_LIMIT):
            while not is_so():
                self._changes.clear()
                await self._changes.wait()

    async def first(self, kind: type[T], where: Callable[[T], bool] = lambda event: True) -> T:
        """Return the first event of a type, waiting for it if necessary."""
        await self.until(lambda: any(where(event) for event in self.all(kind)))
        return next(event for event in self.all(kind) if where(event))

    async def outcome(self, request: Message) -> Message | UserError:
        """Return the response to a request, or the error that its caller gets."""
        await self.until(lambda: self._outcome(request) is not None)
        outcome = self._outcome(request)
        assert outcome is not None
        return outcome

    async def failure(self, request: Message) -> UserError:
        outcome = await self.outcome(request)
        assert isinstance(outcome, UserError), f"it was answered: {outcome}"
        return outcome

    async def response(self, request: Message) -> Message:
        outcome = await self.outcome(request)
        assert isinstance(outcome, Message), f"it failed: {outcome}"
        return outcome

    async def ended(self, exchange: int) -> HttpEnded:
        return await self.first(HttpEnded, lambda event: event.exchange == exchange)

    def _outcome(self, request: Message) -> Message | UserError | None:
        for event in self.events:
            if isinstance(event, RequestFailed) and event.request is request:
                return event.error
            if isinstance(event, FramesReceived):
                for frame in event.frames:
                    if (response := _answer_in(read(_bytes(frame)), event, request)) is not None:
                        return response
        return None


def _answer_in(message: Message, event: FramesReceived, request: Message) -> Message | None:
    if message.kind is Kind.BATCH:
        found = (_answer_in(item, event, request) for item in message.items())
        return next((response for response in found if response is not None), None)
    is_nameless = message.kind is Kind.ERROR and message.id is None and event.request == request.id
    return message if message.kind.is_response and (message.id == request.id or is_nameless) else None


def _bytes(frame: bytes | Overlong) -> bytes:
    return frame.head if isinstance(frame, Overlong) else frame
