"""Common part of the HTTP transports: background requests, redirects and retries.

`run_exchange` repeats a request at a redirect's target where that is safe, and with new credentials after
a 401 or 403; each attempt is a separate exchange. `judge_response` decides what a response body is to the
posted message: its response, another message, or an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost, HttpRefused, NeedsLogin, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.protocol.http_rules import Meaning, may_respond, meaning_of, overlaid, redirect_target, refusal
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.revisions import Revision
from inspector.transport.base import Authorization, Closed, Headers, Report
from inspector.transport.http_exchange import NO_TAG, Exchange, Exchanges, is_response
from inspector.transport.network import Network
from inspector.transport.task_scope import TaskScope


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
        self._report: Report = _discard
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
            raise ConnectionLost("The connection is closed.", "Reconnect.")
        return self._http

    def _now(self) -> int:
        return self._clock.monotonic_ns()


def _discard(event: object) -> None:
    """Discard events reported before `open`."""


_MAX_HOPS = 5

Take: TypeAlias = Callable[[Exchange], Awaitable[None]]


async def run_exchange(
    http: Exchanges,
    method: str,
    url: str,
    headers: Headers,
    take: Take,
    content: bytes = b"",
    tag: int = NO_TAG,
    operation: str = "",
) -> None:
    """Run an exchange, following redirects and retries; the last one is passed to `take`.

    `operation` is what the request does, for the authorization; without it, no new authorization is
    requested.
    """
    hops = 0
    asker = None
    if http.authorization is not None and not http.says_who_asks(headers):
        asker = http.authorization.begin(operation)
    while True:
        own = await asker.headers(method, url) if asker is not None else ()
        async with http.begin(method, url, overlaid(own, headers), content, tag) as exchange:
            if asker is not None:
                asker.responded(exchange.status, exchange.url, exchange.headers)
            is_refused = exchange.status in (401, 403) and asker is not None and bool(operation)
            if not is_refused and not 300 <= exchange.status < 400:
                await take(exchange)
                return
            exchange.keep(body := await exchange.read_body())
        if is_refused and asker is not None:
            # Outside the exchange: getting another authorization may wait for the user.
            if await asker.refused(exchange.status, exchange.headers, body):
                continue
            await take(exchange)
            return
        location = exchange.header("location")
        target = redirect_target(url, location, method, exchange.status)
        if target is None:
            raise _not_followed(exchange, location, body)
        hops += 1
        if hops > _MAX_HOPS:
            raise _in_circles(exchange, target, body)
        url = target


def _in_circles(exchange: Exchange, target: str, body: bytes) -> HttpRefused:
    return HttpRefused(
        f"Too many redirects: after {_MAX_HOPS} redirects the server still points to {masked_url(target)}.",
        "Check the URL and the server's configuration.",
        exchange.status,
        body,
    )


def _not_followed(exchange: Exchange, location: str, body: bytes) -> HttpRefused:
    where = shorten(one_line(masked_url(location)), 200) or "nowhere"
    return HttpRefused(
        f"The server redirects to {where} (HTTP {exchange.status}), which MCP Lens does not follow.",
        "Only redirects to the same origin that keep the method are followed. If you trust it, use that URL.",
        exchange.status,
        body,
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a response body is.

    `is_frame`: it is to be recorded as a frame. `error`: why the message got no response.
    """

    is_frame: bool = False
    error: UserError | None = None


def judge_response(
    status: int, content_type: str, posted: Message, body: bytes, *, has_session: bool = False
) -> Verdict:
    """Judge a whole body. It takes precedence over the status, where the protocol says so."""
    meaning = meaning_of(status, posted, has_session=has_session)
    message = read(body) if body.strip() else None
    is_frame = message is not None and _is_message(message, content_type, status)
    if meaning is Meaning.ACCEPTED:
        return Verdict(is_frame)
    responded = message is not None and is_frame and is_response(message, posted.id)
    if responded and posted.kind is Kind.REQUEST and may_respond(meaning, posted):
        return Verdict(True)
    if meaning in (Meaning.BODY, Meaning.UNANSWERED) and body.strip():
        return Verdict(is_frame, _not_the_answer(status, content_type, posted, message, body))
    return Verdict(is_frame, refusal(status, posted, body, has_session=has_session))


def _is_message(message: Message, content_type: str, status: int) -> bool:
    """True if a body is recorded as a frame.

    So is broken JSON where a message was required: the error must be visible.
    """
    if message.kind is Kind.INVALID:
        return content_type == "application/json" and status < 300
    return message.kind is not Kind.TEXT


def _not_the_answer(
    status: int, content_type: str, posted: Message, message: Message | None, body: bytes
) -> HttpRefused:
    assert message is not None
    what = f"The server responded to {posted.method} with HTTP {status}"
    fault = "This is a server bug. See Traffic for what it sent."
    if message.kind is Kind.INVALID:
        return HttpRefused(f"{what} and a body that is {message.problem}.", fault, status, body)
    if message.kind is not Kind.TEXT:
        wrong = (
            f"id {message.id!r} instead of {posted.id!r}" if message.kind.is_response else "not a response"
        )
        return HttpRefused(f"{what} and a message that is not the response ({wrong}).", fault, status, body)
    text = shorten(one_line(body[:600].decode(errors="replace")).strip(), 200)
    label = content_type or "data without a content type"
    return HttpRefused(
        f"{what} and {label} instead of a message: {text}",
        "Is this the URL of an MCP endpoint?",
        status,
        body,
    )


def no_stream(status: int, content_type: str, body: bytes, next_step: str) -> HttpRefused | NeedsLogin:
    """Return the error for a GET that did not open an event stream."""
    if status == 401:
        return NeedsLogin(
            "The server requires a login (HTTP 401).", "Add an Authorization header to the server."
        )
    what = f"HTTP {status}"
    if status < 300:
        what += f" and {content_type or 'no content type'}"
    summary = f"The server responded to the GET for its event stream with {what}."
    return HttpRefused(summary, next_step, status, body)
