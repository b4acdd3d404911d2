"""Raw bytes that the user wrote, sent unchanged, valid or not.

Parsing them only decides which responses are awaited: one per request, also within a batch. If an id is
already in use, the newer request gets the response and the older one fails at once
(`pending_requests.PendingRequests`). Without a valid id no response is awaited.

A rejection by the server, including an HTTP error, is a reply here and not an exception.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspector.base.errors import RequestTimedOut, UserError
from inspector.base.units import duration
from inspector.protocol.jsonrpc import Kind, Message, items_of, read
from inspector.protocol.raw_message import is_one_line
from inspector.protocol.subscriptions import LISTEN
from inspector.session.conversation import ACKNOWLEDGE_TIMEOUT, Conversation
from inspector.session.pending_requests import PendingRequest, call_when_ended
from inspector.transport.base import Envelope


@dataclass(frozen=True, slots=True)
class RawReply:
    """The responses, one per request sent, or why some are missing.

    A `failure` of type HttpRefused holds the HTTP status and body that the server sent instead.
    """

    responses: tuple[Message, ...] = ()
    failure: UserError | None = None


@dataclass(frozen=True, slots=True)
class RawSent:
    """Raw bytes that were sent.

    `row` is theirs in the log, `request` what they parse as; for several frames, those of the first.
    `failure` says why the server did not accept them.
    """

    row: int
    request: Message
    failure: UserError | None
    _conversation: Conversation
    _pending: tuple[PendingRequest, ...]

    async def response(self) -> RawReply:
        """Wait for the responses, within the timeout passed to `send_raw`. Call once.

        When it times out or the caller is cancelled, the server gets a cancellation, as for any request.
        """
        responses: list[Message] = []
        try:
            for request in self._pending:
                responses.append(await request.wait_for_response())
            _remove(self._conversation, self._pending)
            return RawReply(tuple(responses), self.failure)
        except UserError as exc:
            _abandon(self._conversation, self._pending, exc)
            return RawReply(tuple(responses), exc)
        except asyncio.CancelledError as exc:
            _abandon(self._conversation, self._pending, exc)
            raise


async def send_raw(
    conversation: Conversation,
    frames: Sequence[bytes],
    envelope: Envelope,
    resent_of: int | None,
    timeout: float | None,
) -> RawSent:
    """Send each frame unchanged.

    `resent_of` is the row of the request that the first frame repeats. If the server gets one request at a
    time, a frame with a request waits for all earlier ones.
    """
    messages = [read(frame) for frame in frames]
    rows: list[int] = []
    pending: list[PendingRequest] = []
    failure: UserError | None = None
    limit = conversation.limits(timeout).idle
    try:
        for message in messages:
            release = await _turn(conversation, message, pending)
            async with asyncio.timeout(limit):
                try:
                    transport = conversation.transport
                    adopted = conversation.adopt(message, timeout)
                except BaseException:
                    release()
                    raise
                if conversation.queue is not None:
                    _release_when_ended(adopted, release, conversation.limits(timeout).total)
                pending += adopted
                rows.append(conversation.recorder.sent(message, None if rows else resent_of))
                await transport.send(message, envelope._replace(tag=rows[-1]))
    except TimeoutError:
        failure = _send_timeout(limit)
    except UserError as exc:
        failure = exc
    except asyncio.CancelledError as exc:
        _abandon(conversation, pending, exc)
        raise
    if failure is not None:
        _abandon(conversation, pending, failure)
        pending = []
        if not rows:  # the connection was lost before anything was sent
            raise failure
    return RawSent(rows[0], messages[0], failure, conversation, tuple(pending))


async def _turn(
    conversation: Conversation, message: Message, earlier: Sequence[PendingRequest]
) -> Callable[[], None]:
    """Wait for the turn of a message with requests; return the function that ends it.

    `earlier` are the requests of the frames before it, whose timeouts apply only while they are waited for.
    """
    if conversation.queue is None or all(item.kind is not Kind.REQUEST for item in items_of(message)):
        return lambda: None
    for request in earlier:
        await request.wait_for_response()
    return await conversation.queue.wait()


def _release_when_ended(
    pending: Sequence[PendingRequest], release: Callable[[], None], timeout: float
) -> None:
    """End the turn of these requests when they have ended, at the latest after the timeout.

    The caller may not wait for the responses, and a `subscriptions/listen` stream stays open.
    """
    if any(request.request.method == LISTEN for request in pending):
        timeout = ACKNOWLEDGE_TIMEOUT
    timer = asyncio.get_running_loop().call_later(timeout, release)

    def on_ended() -> None:
        timer.cancel()
        release()

    call_when_ended(pending, on_ended)


def lines_of(raw: bytes, *, split: bool) -> list[bytes]:
    """Split bytes into frames for stdio, where a line break ends a frame.

    Returns more than one only with `split`: otherwise one message would arrive in pieces. Raises UserError.
    """
    if split:
        lines = raw.split(b"\n")
        return lines[:-1] if len(lines) > 1 and not lines[-1] else lines  # the last line break is added
    if not is_one_line(raw):
        line = min(at for at in (raw.find(b"\n"), raw.find(b"\r")) if at >= 0)
        raise UserError(
            f"The message contains a line break (byte {line + 1}), which ends a message over stdio.",
            "Send it compacted on one line, or split into one message per line.",
        )
    return [raw]


def _abandon(conversation: Conversation, pending: Sequence[PendingRequest], error: BaseException) -> None:
    """Cancel the requests that have no response yet, and stop waiting."""
    for request in pending:
        if not request.has_response:
            conversation.abandon(request.request, error)
    _remove(conversation, pending)


def _remove(conversation: Conversation, pending: Sequence[PendingRequest]) -> None:
    for request in pending:
        conversation.pending.remove(request.request)


def _send_timeout(limit: float) -> RequestTimedOut:
    return RequestTimedOut(
        f"The message could not be sent within {duration(round(limit * 1e9))}.",
        "The server may have stopped reading: check its log, or reconnect.",
    )
