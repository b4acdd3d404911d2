"""Typed calls on a connected server, the same in both eras, and its subscriptions.

Sends only what the server's capabilities offer, except for raw bytes. `ChangeSubscription` keeps the
`subscriptions/listen` stream of the stateless era open; `ParamHeaderMirror` adds the tool arguments that
stateless HTTP mirrors into headers (`x-mcp-header`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from inspector.base.errors import CapabilityMissing, ConnectionLost, LensError, RemoteProtocolError
from inspector.base.json.values import JSON, JSONError, JSONObject
from inspector.base.signals import Signal
from inspector.config.calls.variables import Variables, expand_object
from inspector.protocol.handshake import NegotiationResult, declared_in
from inspector.protocol.http_rules import ParamHeaders, merge_headers, read_param_headers
from inspector.protocol.jsonrpc import HEADER_MISMATCH, Kind, Message, error_of, read
from inspector.protocol.revisions import Era, missing_capability
from inspector.protocol.round_trips import RoundTrips
from inspector.protocol.subscriptions import Filter
from inspector.protocol.types import (
    Completion,
    Listing,
    Malformed,
    Prompt,
    PromptMessage,
    Resource,
    ResourceContents,
    ResourceTemplate,
    Tool,
    read_items,
)
from inspector.session.conversation import ACKNOWLEDGE_TIMEOUT
from inspector.session.input_rounds import CompletedCall, InputCollector, result_of, run_rounds
from inspector.session.pagination import list_all
from inspector.session.pending_requests import CallTimer, Exchange, OnProgress
from inspector.session.raw_send import RawSent
from inspector.session.session import Session
from inspector.session.task_client import TaskClient
from inspector.transport.base import Headers

_SESSION = Era.SESSION  # looked up once: accessing an enum member takes 0.1 µs
_REOPEN_DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0)  # seconds before a broken stream is reopened


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the user composed it; passed unchanged from the panel to the session.

    `timeout` is in seconds since the last progress, None for the server's default. `total` is in seconds
    regardless of progress, not counting time in which a server request waits for the user; None for no
    limit. `meta` goes into `_meta` and overrides what the era puts there, except the progress token.
    `capabilities` are declared for this call instead of the usual ones (stateless era). With `variables`,
    `${name}` in the arguments and in `meta` is expanded when sent; the history keeps what was typed.
    """

    tool: str
    arguments: JSONObject = field(default_factory=dict)
    timeout: float | None = None
    meta: JSONObject = field(default_factory=dict)
    as_task: bool = False
    variables: Variables | None = None
    capabilities: JSONObject | None = None
    total: float | None = None

    def options(self) -> JSONObject:
        """Return the non-default options, with the member names of a saved call."""
        options: JSONObject = {"timeout": self.timeout, "total": self.total, "meta": self.meta or None}
        options |= {"task": self.as_task or None, "capabilities": self.capabilities}
        return {member: value for member, value in options.items() if value is not None}

    def expanded(self) -> ToolCall:
        """Return the call as sent. Raises UserError naming variables without a value."""
        if self.variables is None:
            return self
        both = expand_object({"arguments": self.arguments, "meta": self.meta}, self.variables)
        arguments, meta = both["arguments"], both["meta"]
        assert isinstance(arguments, dict)
        assert isinstance(meta, dict)
        return replace(self, arguments=arguments, meta=meta, variables=None)


class Client:
    """Typed calls on a session, the same in both eras.

    The `human` argument of a call, if given, accumulates how long it waited for replies to server requests.
    """

    def __init__(self, session: Session, max_pages: int) -> None:
        self._session = session
        self._max_pages = max_pages
        self._header_mirror = ParamHeaderMirror()
        self._subscribed: dict[str, None] = {}
        self._task_ids: tuple[str, ...] = ()
        self._log_level = ""
        self.changes = ChangeSubscription(session)
        self.tasks = TaskClient(session, self._declared, self._collector_for_task, max_pages)

    def set_max_pages(self, max_pages: int) -> None:
        self._max_pages = self.tasks.max_pages = max_pages

    async def list_tools(self) -> Listing[Tool]:
        self._require("tools/list")
        listing = await list_all(self._session, "tools/list", "tools", Tool.read, self._max_pages)
        return self._header_mirror.update(listing) if self._mirrors_arguments else listing

    async def list_resources(self) -> Listing[Resource]:
        self._require("resources/list")
        return await list_all(self._session, "resources/list", "resources", Resource.read, self._max_pages)

    async def list_resource_templates(self) -> Listing[ResourceTemplate]:
        method = "resources/templates/list"
        self._require(method)
        return await list_all(
            self._session, method, "resourceTemplates", ResourceTemplate.read, self._max_pages
        )

    async def list_prompts(self) -> Listing[Prompt]:
        self._require("prompts/list")
        return await list_all(self._session, "prompts/list", "prompts", Prompt.read, self._max_pages)

    async def call_tool(
        self, call: ToolCall, on_progress: OnProgress | None = None, human: CallTimer | None = None
    ) -> CompletedCall:
        """Call a tool; return the raw response, a result or an error. It may have become a task.

        Variables must be expanded. The `total` timeout is up to the caller.
        """
        self._require("tools/call")
        params: JSONObject = {"name": call.tool, "arguments": call.arguments}
        capabilities = call.capabilities
        if capabilities is not None:
            self._require_per_call_capabilities()
        if call.meta:
            params["_meta"] = call.meta
        if call.as_task:
            params = self.tasks.design_for_calls().augment(params)
            if capabilities is None:
                capabilities = self.tasks.declared()
        send = partial(self._call, "tools/call", params, call.timeout, on_progress, capabilities, human)
        done = await send(self._mirrored(call))
        if self._mirrors_arguments and _is_header_mismatch(done.exchange):
            # "Rebuild the map and retry once": the tool's schema may have changed since it was listed.
            await self.list_tools()
            done = await send(self._mirrored(call))
        return self._with_task(done) if call.as_task else done

    async def read_resource(self, uri: str) -> Listing[ResourceContents]:
        done = await self.request_resource(uri)
        items, malformed = read_items(
            result_of(done.exchange.response).get("contents"), ResourceContents.read
        )
        return Listing(tuple(items), tuple(malformed), pages=1)

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> Listing[PromptMessage]:
        done = await self.request_prompt(name, arguments)
        items, malformed = read_items(result_of(done.exchange.response).get("messages"), PromptMessage.read)
        return Listing(tuple(items), tuple(malformed), pages=1)

    async def request_resource(self, uri: str, human: CallTimer | None = None) -> CompletedCall:
        """Read a resource; return the raw response, a result or an error."""
        self._require("resources/read")
        return await self._call("resources/read", {"uri": uri}, human=human)

    async def request_prompt(
        self, name: str, arguments: Mapping[str, str], human: CallTimer | None = None
    ) -> CompletedCall:
        """Get a prompt; return the raw response."""
        self._require("prompts/get")
        params: JSONObject = {"name": name, "arguments": dict(arguments)}
        return await self._call("prompts/get", params, human=human)

    async def _call(
        self,
        method: str,
        params: JSONObject,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
        capabilities: JSONObject | None = None,
        human: CallTimer | None = None,
        headers: Headers = (),
    ) -> CompletedCall:
        if self._negotiated.era is _SESSION:  # capabilities and log level are fixed for the session
            return CompletedCall(
                await self._session.request(
                    method, params, timeout=timeout, on_progress=on_progress, headers=headers, human=human
                )
            )
        declared = self._declared() if capabilities is None else capabilities

        async def send(params: JSONObject | None) -> Exchange:
            return await self._session.request(
                method,
                params,
                timeout=timeout,
                on_progress=on_progress,
                headers=headers,
                capabilities=declared,
                log_level=self._log_level,
                human=human,
            )

        collector = InputCollector(self._session.conversation, human)
        own = declared_in(params)  # in a user-written `_meta`, which takes precedence
        rounds = RoundTrips(method, params, declared if own is None else own)
        return await run_rounds(rounds, params, send, collector)

    def _collector_for_task(self, id: str, human: CallTimer | None, row: int | None) -> InputCollector:
        return InputCollector(self._session.conversation, human, task_id=id, operation=row)

    def _with_task(self, done: CompletedCall) -> CompletedCall:
        if done.task is not None or done.exchange.response.kind is not Kind.RESULT:
            return done
        try:
            task = self.tasks.design_for_calls().created(result_of(done.exchange.response))
        except ValueError as exc:
            raise RemoteProtocolError(f"the call became a task that could not be parsed: {exc}") from exc
        return CompletedCall(done.exchange, done.rounds, task)

    async def complete(
        self, ref: JSONObject, argument: str, value: str, context: Mapping[str, str] | None = None
    ) -> Completion:
        """Request completions for an argument; `ref` is a prompt or a resource template."""
        params: JSONObject = {"ref": ref, "argument": {"name": argument, "value": value}}
        if context:
            params["context"] = {"arguments": dict(context)}
        return Completion.read(await self._request("completion/complete", params))

    async def set_level(self, level: str) -> None:
        """Set the log level. In the stateless era, it is sent with each later call instead."""
        if self._negotiated.era is Era.SESSION:
            await self._request("logging/setLevel", {"level": level})
        else:
            self._require("logging/setLevel")
            self._log_level = level

    async def ping(self) -> None:
        """Check that the server responds. The stateless era has no ping; `server/discover` is used."""
        is_handshake = self._negotiated.era is Era.SESSION
        result_of((await self._session.request("ping" if is_handshake else "server/discover")).response)

    async def roots_changed(self) -> None:
        """Notify the server that our roots changed, where the protocol version has a notification."""
        method, negotiated = "notifications/roots/list_changed", self._negotiated
        if negotiated.era is Era.STATELESS:
            return
        missing = missing_capability(method, self._declared(), negotiated.revision)
        if missing:
            raise CapabilityMissing(
                f"MCP Lens did not declare the capability “{missing}”.", "Nothing was sent."
            )
        await self._session.notify(method)

    async def send_raw(
        self,
        raw: bytes,
        *,
        headers: Headers = (),
        resent_of: int | None = None,
        timeout: float | None = None,
        split: bool = False,
    ) -> RawSent:
        """Send raw bytes (`Session.send_raw`) without checking capabilities; no input rounds, no retries.

        Over HTTP a call is sent with the headers that mirror its arguments; `headers` override them.
        """
        if self._session.state.negotiated is not None and self._mirrors_arguments:
            headers = merge_headers(self._header_mirror.headers_of(read(raw)), headers)
        return await self._session.send_raw(
            raw, headers=headers, resent_of=resent_of, timeout=timeout, split=split
        )

    async def subscribe(self, uri: str) -> None:
        """Subscribe to updates of a resource; the subscription is restored after reconnecting."""
        await self._request_updates("resources/subscribe", uri)
        self._subscribed[uri] = None
        self._listen()

    async def unsubscribe(self, uri: str) -> None:
        await self._request_updates("resources/unsubscribe", uri)
        self._subscribed.pop(uri, None)
        self._listen()

    def subscribe_to_tasks(self, ids: tuple[str, ...]) -> None:
        """Subscribe to updates of exactly these tasks, if the protocol version has such subscriptions."""
        if ids != self._task_ids:
            self._task_ids = ids
            self._listen()

    def resume(self) -> None:
        """Restore all subscriptions on a new connection."""
        if self._negotiated.era is Era.SESSION and self._subscribed:
            self._session.spawn("subscribe again", self._subscribe_again())
        self._listen()

    async def _request_updates(self, method: str, uri: str) -> None:
        self._require(method)
        if self._negotiated.era is Era.SESSION:
            await self._request(method, {"uri": uri})

    async def _subscribe_again(self) -> None:
        for uri in tuple(self._subscribed):
            with contextlib.suppress(LensError):  # visible in the traffic
                await self._request("resources/subscribe", {"uri": uri})

    def _listen(self) -> None:
        """Update the stream (stateless era). In the handshake era servers notify without a request."""
        if self._negotiated.era is Era.STATELESS:
            self.changes.set_filter(self._filter())

    def _filter(self) -> Filter:
        offered = self._negotiated.capabilities
        return Filter(
            tools=_announces_changes(offered.get("tools")),
            prompts=_announces_changes(offered.get("prompts")),
            resources=_announces_changes(offered.get("resources")),
            uris=tuple(self._subscribed),
            tasks=self._task_ids if self._offers_tasks else (),
        )

    @property
    def _offers_tasks(self) -> bool:
        negotiated = self._negotiated
        return not missing_capability("notifications/tasks", negotiated.capabilities, negotiated.revision)

    def _declared(self) -> JSONObject:
        return self._session.declared or {}

    def _require_per_call_capabilities(self) -> None:
        negotiated = self._negotiated
        if negotiated.era is Era.SESSION:
            raise CapabilityMissing(
                f"In {negotiated.revision}, capabilities are declared once, on connect, not for a "
                "single call. Nothing was sent.",
                "Change them on the Client tab and reconnect, or clear the capabilities of this call.",
            )

    @property
    def _negotiated(self) -> NegotiationResult:
        negotiated = self._session.state.negotiated
        if negotiated is None:
            raise ConnectionLost("The server is not connected.", "Connect first.")
        return negotiated

    def _require(self, method: str) -> None:
        negotiated = self._negotiated
        missing = missing_capability(method, negotiated.capabilities, negotiated.revision)
        if missing:
            raise CapabilityMissing(
                f"The server does not offer {method}: it did not declare the capability “{missing}”.",
                "Nothing was sent.",
            )

    async def _request(self, method: str, params: JSONObject) -> JSONObject:
        self._require(method)
        return result_of((await self._session.request(method, params)).response)

    @property
    def _mirrors_arguments(self) -> bool:
        """True over stateless HTTP, which requires some arguments in headers as well."""
        return self._negotiated.era is Era.STATELESS and self._session.is_over_http

    def _mirrored(self, call: ToolCall) -> Headers:
        return self._header_mirror.headers_for(call.tool, call.arguments) if self._mirrors_arguments else ()


def _announces_changes(capability: JSON) -> bool:
    return isinstance(capability, dict) and capability.get("listChanged") is True


def _is_header_mismatch(exchange: Exchange) -> bool:
    try:
        return exchange.response.kind is Kind.ERROR and error_of(exchange.response).code == HEADER_MISMATCH
    except JSONError:
        return False


class ChangeSubscription:
    """The open `subscriptions/listen` stream, replaced when the filter changes.

    A broken stream is reopened, a few times in a row; one that the server ends is not.

    Signals:
        missed: A broken stream is open again, so changes may have been missed; carries its filter.
    """

    def __init__(self, session: Session) -> None:
        self.missed: Signal[Filter] = Signal()
        self._session = session
        self._streams: list[asyncio.Task[Any]] = []  # the current one is last, after those it replaces

    def set_filter(self, filter: Filter) -> None:
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
        asyncio.get_running_loop().call_later(ACKNOWLEDGE_TIMEOUT, self._retire_before, stream)
        failures = 0

        def on_open() -> None:
            nonlocal failures
            self._retire_before(stream)
            if failures:
                self.missed.emit(filter)
            failures = 0

        while not await self._session.listen(filter, on_open):
            failures += 1
            if failures > len(_REOPEN_DELAYS):
                self._session.note("The notification stream failed repeatedly and stays closed.")
                return
            await asyncio.sleep(_REOPEN_DELAYS[failures - 1])

    def _retire_before(self, stream: asyncio.Task[Any]) -> None:
        """Close the streams before this one: it was acknowledged, or the timeout has expired."""
        if stream in self._streams:
            self._retire(self._streams[: self._streams.index(stream)])

    def _retire(self, streams: list[asyncio.Task[Any]]) -> None:
        for stream in streams:
            stream.cancel()
        self._streams = [stream for stream in self._streams if stream not in streams]


class ParamHeaderMirror:
    """Headers that mirror tool arguments (`x-mcp-header`), from the last tool list."""

    def __init__(self) -> None:
        self._param_headers: dict[str, ParamHeaders] = {}

    def update(self, listing: Listing[Tool]) -> Listing[Tool]:
        """Store the annotations of a tool list; move tools with invalid ones to `malformed`.

        "Clients MUST exclude a tool whose annotations are invalid".
        """
        self._param_headers = {}
        usable: list[Tool] = []
        dropped: list[Malformed] = []
        for tool in listing.items:
            headers = read_param_headers(tool.input_schema)
            if isinstance(headers, str):
                dropped.append(Malformed(tool.source, f"{tool.name}: {headers}"))
            else:
                self._param_headers[tool.name] = headers
                usable.append(tool)
        return replace(listing, items=tuple(usable), malformed=(*listing.malformed, *dropped))

    def headers_for(self, tool: JSON, arguments: JSONObject) -> Headers:
        known = self._param_headers.get(tool) if isinstance(tool, str) else None
        return () if known is None else known.headers_for(arguments)

    def headers_of(self, message: Message) -> Headers:
        """Return the mirrored headers of a raw message; only `tools/call` has any."""
        if message.method != "tools/call":
            return ()
        try:
            params = message.params
        except JSONError:
            return ()
        arguments = params.get("arguments")
        return self.headers_for(params.get("name"), arguments if isinstance(arguments, dict) else {})
