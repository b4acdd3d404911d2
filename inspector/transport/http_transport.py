"""Common part of the HTTP transports: background requests, redirects and retries.

`run_exchange` repeats a request at a redirect's target where that is safe, and with new credentials after
a 401 or 403; each attempt is a separate exchange. `check_response` decides what a response body is to the
posted message: its response, another message, or an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost, FailureKind, HttpRefused, NeedsLogin, UserError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_url
from inspector.protocol.auth.challenge import rejected_header_error
from inspector.protocol.http_rules import (
    StatusMeaning,
    may_respond,
    merge_headers,
    no_message_step,
    redirect_target,
    refusal,
    status_meaning,
)
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.revisions import Revision
from inspector.protocol.unusable import Unusable, explain_id, explain_line, explain_other, explain_several
from inspector.transport.base import Authorization, Closed, Headers, Report, discard_event
from inspector.transport.http_exchange import NO_TAG, Exchange, Exchanges, is_response
from inspector.transport.network import Network
from inspector.transport.task_scope import TaskScope

_MAX_REDIRECTS = 5
OnResponse: TypeAlias = Callable[[Exchange], Awaitable[None]]


class HttpTransport:
    """Base class of the HTTP transports; subclasses define how messages are sent and received."""

    def __init__(
        self, url: str, network: Network, clock: Clock, authorization: Authorization | None = None
    ) -> None:
        self._url = url
        self._network = network
        self._clock = clock
        self._authorization = authorization
        self._http: Exchanges | None = None
        self._report: Report = discard_event
        self._tasks = TaskScope()
        self._posts: dict[RequestId, asyncio.Task[object]] = {}
        self._revision: Revision | None = None
        self._closed: Closed | None = None

    def _exchanges(self, report: Report) -> Exchanges:
        return Exchanges(self._url, self._network, self._clock, report, authorization=self._authorization)

    def set_revision(self, revision: Revision) -> None:
        self._revision = revision

    def forget(self, request: Message) -> None:
        """Close a request's exchange.

        In the stateless era that cancels the request. In the handshake era only a notification cancels it.
        """
        task = self._posts.pop(request.id, None) if request.id is not None else None
        if task is not None:
            task.cancel()

    def _begin_post(self, message: Message, id: RequestId, work: Coroutine[Any, Any, None]) -> None:
        self._posts[id] = self._tasks.spawn(f"POST {message.method}", work)

    def _end_post(self, id: RequestId) -> None:
        """Unregister the current task's request, unless another request has reused its id."""
        if self._posts.get(id) is asyncio.current_task():
            del self._posts[id]

    def pause(self) -> None:
        if self._http is not None:
            self._http.may_read.clear()

    def resume(self) -> None:
        if self._http is not None:
            self._http.may_read.set()

    def _close(
        self,
        summary: str,
        next_step: str,
        *,
        is_session_lost: bool = False,
        kind: FailureKind = FailureKind.OTHER,
    ) -> None:
        """Report that the connection is over, once."""
        if self._closed is None:
            self._closed = Closed(summary, next_step, self._now(), is_session_lost, kind)
            self._report(self._closed)

    def _require_open(self) -> Exchanges:
        if self._closed is not None:
            raise ConnectionLost(self._closed.summary, self._closed.next_step, kind=self._closed.kind)
        if self._http is None:
            raise ConnectionLost("The connection is closed.", "Reconnect.")
        return self._http

    def _now(self) -> int:
        return self._clock.monotonic_ns()


async def run_exchange(
    http: Exchanges,
    method: str,
    url: str,
    headers: Headers,
    on_response: OnResponse,
    content: bytes = b"",
    tag: int = NO_TAG,
    operation: str = "",
) -> None:
    """Run an exchange, with redirects and retries; the last response is passed to `on_response`.

    `operation` names the request for the authorization; without it, a 401 or 403 is not retried.
    """
    redirects = 0
    authorized = None
    own = http.own_authorization(headers)
    if http.authorization is not None and own is None:
        authorized = http.authorization.begin(operation)
    while True:
        credentials = await authorized.headers(method, url) if authorized is not None else ()
        async with http.begin(method, url, merge_headers(credentials, headers), content, tag) as exchange:
            if authorized is not None:
                authorized.responded(exchange.status, exchange.url, exchange.headers)
            is_refused = exchange.status in (401, 403) and authorized is not None and bool(operation)
            if not is_refused and not 300 <= exchange.status < 400:
                await _handle(exchange, on_response, own)
                return
            exchange.store_body(body := await exchange.read_body())
        if is_refused and authorized is not None:
            # Outside the exchange: getting new credentials may wait for the user.
            if await authorized.refused(exchange.status, exchange.headers, body):
                continue
            await on_response(exchange)
            return
        location = exchange.header("location")
        target = redirect_target(url, location, method, exchange.status)
        if target is None:
            raise _not_followed(exchange, location, body)
        redirects += 1
        if redirects > _MAX_REDIRECTS:
            raise _too_many_redirects(exchange, target, body)
        url = target


async def _handle(exchange: Exchange, on_response: OnResponse, own: str | None) -> None:
    """Handle a response; a required login means that the user's own Authorization header was rejected."""
    try:
        await on_response(exchange)
    except NeedsLogin as exc:
        if own is None:
            raise
        raise rejected_header_error(exchange.headers, exchange.body, own) from exc


def _too_many_redirects(exchange: Exchange, target: str, body: bytes) -> HttpRefused:
    return HttpRefused(
        f"Too many redirects: the server still redirects after {_MAX_REDIRECTS}, to {masked_url(target)}.",
        "Check the URL and the server's configuration.",
        exchange.status,
        body,
    )


def _not_followed(exchange: Exchange, location: str, body: bytes) -> HttpRefused:
    where = shorten(one_line(masked_url(location)), 200) or "no URL"
    return HttpRefused(
        f"The server redirects to {where} (HTTP {exchange.status}), which MCP Lens does not follow.",
        "Only redirects to the same origin that keep the method are followed. If you trust it, use that URL.",
        exchange.status,
        body,
    )


def check_response(
    status: int,
    content_type: str,
    posted: Message,
    body: bytes,
    *,
    has_session: bool = False,
    retry_after: str = "",
) -> BodyCheck:
    """Check a complete body; it takes precedence over the status where the protocol says so."""
    meaning = status_meaning(status, posted, has_session=has_session)
    message = read(body) if body.strip() else None
    is_message = message is not None and _is_message(message, content_type, status)
    if meaning is StatusMeaning.ACCEPTED:
        return BodyCheck(is_message)
    responded = message is not None and is_message and is_response(message, posted.id)
    if responded and posted.kind is Kind.REQUEST and may_respond(meaning, posted):
        return BodyCheck(True)
    if meaning in (StatusMeaning.BODY, StatusMeaning.UNANSWERED) and body.strip():
        return BodyCheck(is_message, _wrong_response(status, content_type, posted, message, body))
    refused = refusal(status, posted, body, has_session=has_session, retry_after=retry_after)
    return BodyCheck(is_message, refused)


@dataclass(frozen=True, slots=True)
class BodyCheck:
    """What a response body is.

    `is_message`: it is recorded as a frame. `error`: why it is not the response to the message.
    """

    is_message: bool = False
    error: UserError | None = None


def _is_message(message: Message, content_type: str, status: int) -> bool:
    """True if a body is recorded as a frame, also if it is broken JSON where a message is required."""
    if message.kind is Kind.INVALID:
        return content_type == "application/json" and status < 300
    return message.kind is not Kind.TEXT


def _wrong_response(
    status: int, content_type: str, posted: Message, message: Message | None, body: bytes
) -> HttpRefused:
    assert message is not None
    what = f"The server responded to {posted.method} with HTTP {status}"
    if message.kind is not Kind.TEXT:
        found = _explain(message, posted).over_network()
        return HttpRefused(
            f"{what} and {found.what}.", f"{found.fix} See Traffic for what it sent.", status, body
        )
    text = shorten(one_line(body[:600].decode(errors="replace")).strip(), 200)
    label = content_type or "data without a content type"
    next_step = no_message_step(
        posted, "A proxy or a login page may have responded instead of the MCP server."
    )
    return HttpRefused(f"{what} and {label} instead of a message: {text}", next_step, status, body)


def _explain(message: Message, posted: Message) -> Unusable:
    if message.kind is Kind.INVALID:
        return explain_line(message)
    if message.kind.is_response:
        return explain_id(message, posted.id)
    return explain_several(message) or explain_other(message)


def no_stream_error(status: int, content_type: str, body: bytes, next_step: str) -> HttpRefused | NeedsLogin:
    """Return the error for a GET that did not open an event stream."""
    if status == 401:
        return NeedsLogin(
            "The server requires login (HTTP 401).", "Add an Authorization header to the server's settings."
        )
    what = f"HTTP {status}"
    if status < 300:
        what += f" and {content_type or 'no content type'}"
    summary = f"The server responded to the GET for its event stream with {what}."
    return HttpRefused(summary, next_step, status, body, kind=FailureKind.EVENT_STREAM)
