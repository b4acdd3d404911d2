"""Streamable HTTP, handshake shape: every message is a POST, answered with JSON or with an event stream.

After the handshake one GET stream is kept open for what the server wants to say by itself. Redirects are
not followed, and no proxy or cookie of the surroundings is used.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from inspector.base.clock import Clock
from inspector.base.errors import ConnectionLost, NeedsLogin, UserError
from inspector.base.jsonvalue import shorten
from inspector.base.plaintext import one_line
from inspector.protocol.eventstream import EventStreamReader, EventTooLarge
from inspector.protocol.jsonrpc import Kind, Message, RequestId, read
from inspector.protocol.revisions import Revision
from inspector.transport.base import PLAIN, Envelope, FramesReceived, Report, RequestFailed
from inspector.transport.tasks import TaskScope

if TYPE_CHECKING:
    import httpx2

_ACCEPT = "application/json, text/event-stream"
_BODY_CAP = 256 * 1024 * 1024


class StreamableHttpTransport:
    """One HTTP client for one server."""

    def __init__(self, url: str, headers: Mapping[str, str], clock: Clock, connect_timeout: float) -> None:
        self._url = url
        self._headers = dict(headers)
        self._clock = clock
        self._connect_timeout = connect_timeout
        self._client: httpx2.AsyncClient | None = None
        self._report: Report = _nobody
        self._tasks = TaskScope()
        self._posts: dict[RequestId, asyncio.Task[object]] = {}
        self._session_id = ""
        self._revision: Revision | None = None
        self._may_read = asyncio.Event()
        self._may_read.set()

    async def open(self, report: Report) -> None:
        import httpx2  # costs 100 ms: paid on the engine's thread, by the first server that needs it

        self._report = report
        self._client = httpx2.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(None, connect=self._connect_timeout),
        )

    async def send(self, message: Message, envelope: Envelope = PLAIN) -> None:
        """A request is answered in the background; anything else is sent when this returns."""
        if message.kind is Kind.REQUEST and message.id is not None:
            task = self._tasks.spawn(f"POST {message.method}", self._post_request(message, message.id))
            self._posts[message.id] = task
        else:
            await self._post(message)

    def agreed(self, revision: Revision) -> None:
        self._revision = revision
        self._tasks.spawn("GET stream", self._listen())

    def forget(self, request: Message) -> None:
        """In the handshake era, closing the response only stops our waiting: the notice is what cancels."""
        task = self._posts.pop(request.id, None) if request.id is not None else None
        if task is not None:
            task.cancel()

    def pause(self) -> None:
        self._may_read.clear()

    def resume(self) -> None:
        self._may_read.set()

    async def close(self) -> None:
        client, self._client = self._client, None
        await self._tasks.close()
        if client is None:
            return
        if self._session_id:
            with contextlib.suppress(Exception):  # the server may be gone, or not allow it: 405
                await client.delete(self._url, headers=self._request_headers(), timeout=2.0)
        await client.aclose()

    # -------------------------------------------------------------- POST

    async def _post_request(self, message: Message, id: RequestId) -> None:
        """A request fails locally when HTTP fails: the person who waits for it must hear of it."""
        try:
            await self._post(message)
        except UserError as exc:
            self._report(RequestFailed(message, exc, self._clock.monotonic_ns()))
        finally:
            self._posts.pop(id, None)

    async def _post(self, message: Message) -> None:
        import httpx2

        if self._client is None:
            raise ConnectionLost("The connection is closed.", "Connect again.")
        headers = self._request_headers() | {"Content-Type": "application/json", "Accept": _ACCEPT}
        post = self._client.stream("POST", self._url, content=message.raw, headers=headers)
        try:
            async with post as response:
                await self._take(response, message)
        except httpx2.HTTPError as exc:
            raise _http_failed(self._url, exc) from exc
        except EventTooLarge as exc:
            raise ConnectionLost(f"The server sent {exc}.", "Raise the limit, or make it send less.") from exc

    async def _take(self, response: httpx2.Response, message: Message) -> None:
        if session_id := response.headers.get("mcp-session-id"):
            self._session_id = session_id
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream" and response.is_success:
            await self._read_events(response)
            return
        body = await self._read_body(response)
        answer = read(body) if kind == "application/json" and body.strip() else None
        if answer is not None and answer.kind not in (Kind.INVALID, Kind.TEXT):
            self._receive([body])
        if not response.is_success and (answer is None or answer.id != message.id):
            raise _bad_status(response.status_code, body)
        if answer is None and message.kind is Kind.REQUEST:
            raise ConnectionLost(
                f"The server answered {message.method} with HTTP {response.status_code} and no message.",
                "Is this the URL of an MCP endpoint?",
            )

    # -------------------------------------------------------------- GET

    async def _listen(self) -> None:
        """What the server says by itself. A server without such a stream answers 405: then there is none."""
        import httpx2

        assert self._client is not None
        headers = self._request_headers() | {"Accept": "text/event-stream"}
        with contextlib.suppress(httpx2.HTTPError, EventTooLarge):
            async with self._client.stream("GET", self._url, headers=headers) as response:
                kind = response.headers.get("content-type", "")
                if response.is_success and kind.startswith("text/event-stream"):
                    await self._read_events(response)

    async def _read_events(self, response: httpx2.Response) -> None:
        reader = EventStreamReader()
        async for chunk in response.aiter_bytes():
            await self._may_read.wait()
            frames = [event.data for event in reader.feed(chunk) if event.data and event.event == "message"]
            if frames:
                self._receive(frames)

    async def _read_body(self, response: httpx2.Response) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for chunk in response.aiter_bytes():
            size += len(chunk)
            if size > _BODY_CAP:
                raise ConnectionLost(f"The server sent a body of more than {_BODY_CAP:,} bytes.", "")
            parts.append(chunk)
        return b"".join(parts)

    def _receive(self, frames: list[bytes]) -> None:
        self._report(FramesReceived(frames, self._clock.monotonic_ns()))

    def _request_headers(self) -> dict[str, str]:
        headers = dict(self._headers)
        if self._session_id:
            headers["Mcp-Session-Id"] = self._session_id
        if self._revision is not None:
            headers["MCP-Protocol-Version"] = self._revision.date
        return headers


def _http_failed(url: str, exc: httpx2.HTTPError) -> ConnectionLost:
    import httpx2

    host = urlsplit(url).netloc
    if isinstance(exc, httpx2.ConnectTimeout):
        return ConnectionLost(
            f"{host} did not accept a connection in time.", "Check the address and the network."
        )
    if isinstance(exc, httpx2.ConnectError):
        return ConnectionLost(
            f"Could not connect to {host}: {exc}.", "Check that the server runs and listens on that port."
        )
    return ConnectionLost(
        f"The HTTP exchange with {host} failed: {str(exc) or type(exc).__name__}.", "Try again."
    )


def _bad_status(status: int, body: bytes) -> UserError:
    if status == 401:
        return NeedsLogin("The server wants a login (HTTP 401).", "Give the server an Authorization header.")
    text = shorten(one_line(body[:600].decode(errors="replace")).strip(), 200)
    said = f": {text}" if text else ""
    return ConnectionLost(f"The server answered HTTP {status}{said}.", _STATUS_HINTS.get(status, ""))


_STATUS_HINTS = {
    404: "Check the path of the URL; many servers listen at /mcp.",
    405: "It takes no POST there: this may be the old HTTP+SSE transport.",
    403: "It refuses this origin or these credentials.",
}


def _nobody(event: object) -> None:
    """Before `open` there is nobody to report to."""
