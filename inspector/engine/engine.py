"""`Engine`, the headless application, and `EngineThread`, which runs it on a thread.

All methods of `Engine` must be called on its asyncio loop. The separate thread keeps repaints from
delaying bytes and bytes from delaying repaints.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from inspector.base.clock import Clock, SystemClock
from inspector.base.json.values import JSON, JSONError
from inspector.base.search_path import SearchPath
from inspector.base.signals import Signal
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.server_list import ServerListFile
from inspector.config.servers.trust import TrustStore
from inspector.engine.calls.library import CallLibrary
from inspector.engine.calls.output_check import TIME_LIMIT
from inspector.engine.calls.regression_calls import RegressionCalls
from inspector.engine.calls.tool_calls import (
    ToolCaller,
    conclude,
    raw_outcome,
    require_sent_message,
)
from inspector.engine.captures import Captures
from inspector.engine.content.text_formats import PrettyText, pretty_text
from inspector.engine.doctor.doctor import Doctor
from inspector.engine.drift.drift import Drift
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.inbox.reply_rules import ReplyRules
from inspector.engine.login.logins import LoginController
from inspector.engine.processes.file_watch import FileWatch
from inspector.engine.processes.processes import Processes
from inspector.engine.secrets import Secrets
from inspector.engine.server_view import FeatureCount, ServerView
from inspector.engine.servers.discovered_servers import FindLocations, ServerDiscovery
from inspector.engine.servers.entry_resolver import EntryResolver, Permit
from inspector.engine.servers.registry import ServerRegistry
from inspector.engine.servers.server import Server
from inspector.engine.servers.server_list_watch import ServerListWatch
from inspector.engine.servers.server_path import ServerPath
from inspector.engine.settings import SettingsStore
from inspector.engine.tasks.store import TASK_NOTIFICATIONS, TaskStore
from inspector.engine.views import CallOutcome, RawOutcome, ServerStatus
from inspector.engine.workers import Worker
from inspector.oauth.login_reason import LoginReason
from inspector.protocol.jsonrpc import Message
from inspector.protocol.subscriptions import Filter
from inspector.protocol.types import Listing, Prompt, Resource, ResourceTemplate, Tool
from inspector.session.pending_requests import CallTimer
from inspector.session.raw_send import RawReply
from inspector.session.state import RequestHandler
from inspector.traffic.log import TrafficLog
from inspector.transport.base import Authorization, Headers
from inspector.transport.orphan_guard import OrphanGuard

T = TypeVar("T")
Feature = TypeVar("Feature", Tool, Resource, ResourceTemplate, Prompt)

_LIST_CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}


class Engine:
    """The application without a window: servers, their traffic and the worker processes.

    `handlers` reply to server requests. With an `inbox` the user answers the rest, and all client
    capabilities are declared; without one, only those that have a handler.

    Signals:
        list_changed: A server's list of tools, resources or prompts changed; carries both names.
        resource_changed: A subscribed resource, or one below it, changed; carries server and URI.
    """

    def __init__(
        self,
        server_list: ServerListFile | None = None,
        settings: SettingsStore | None = None,
        clock: Clock | None = None,
        log: TrafficLog | None = None,
        handlers: Mapping[str, RequestHandler] | None = None,
        captures: Captures | None = None,
        calls: CallLibrary | None = None,
        secrets: Secrets | None = None,
        inbox: Inbox | None = None,
        reply_rules: ReplyRules | None = None,
        baselines: Path | None = None,
        trust: TrustStore | None = None,
        locations: FindLocations | None = None,
    ) -> None:
        self.log = log if log is not None else TrafficLog()  # an empty log is falsy
        self.captures = captures or Captures(self.log)
        self.calls = calls or CallLibrary()
        self.secrets = secrets or Secrets()
        self.secrets.credentials = self.log.credentials
        self.reply_rules = reply_rules or ReplyRules()
        self.tool_caller = ToolCaller(self)
        self.clock = clock or SystemClock()
        self.processes = Processes(self.log, self.clock)
        self.settings = settings or SettingsStore()
        self.settings.changed.connect(self._on_setting_changed)
        self.logins = LoginController(
            self.secrets, self.log, self.clock, self.settings, lambda name: self.servers.get(name)
        )
        self._guard = OrphanGuard()
        self.server_path = ServerPath(self._guard)
        self.servers = ServerRegistry(server_list, self.secrets, self.logins, self._make_server)
        self.discovery = ServerDiscovery(
            self.servers, self._make_server, trust, locations, server_path=self.server_path
        )
        self.server_list_watch = ServerListWatch(self.servers)
        self.servers.removed.connect(self.processes.forget)
        self.servers.renamed.connect(lambda old, new: self.processes.rename(old.name, new.name))
        self.servers.renamer.rename_hooks.append(self._on_server_renamed)
        self.tasks = TaskStore(self)
        self.list_changed: Signal[str, str] = Signal()
        self.resource_changed: Signal[str, str] = Signal()
        self._handlers = handlers or {}
        self.inbox = inbox or Inbox(self.clock)
        self._has_inbox = inbox is not None
        self.servers.changed.connect(self._on_server_changed)
        if self._has_inbox:
            self.logins.opens_browser = frozenset({LoginReason.CONNECT})
        self.filewatch = FileWatch(self)
        self.regression_calls = RegressionCalls(self)
        self._worker = Worker()
        self._checker = Worker(TIME_LIMIT, "Checking against the schema")
        self.drift = Drift(self, baselines)
        self.doctor = Doctor(self, self._guard)
        self.server_path.use(self.settings.get("connections.serverPath"))
        self.server_path.changed.connect(self._on_path_changed)

    def begin(self) -> None:
        """Load the settings. Call it first, once the loop runs."""
        self.settings.load()
        self.server_path.use(self.settings.get("connections.serverPath"))

    def _make_server(
        self,
        entry: Entry,
        is_saved: bool,
        permit: Permit | None = None,
        origin: str = "",
        folder: Path | None = None,
    ) -> Server:
        """Create a server. `permit`, `origin` and `folder` are for one from another client's file."""
        server = Server(
            entry,
            self.log,
            self._guard,
            self.settings,
            self.clock,
            is_saved=is_saved,
            on_change=self.servers.changed.emit,
            handlers=self._handlers,
            inbox=self.inbox if self._has_inbox else None,
            authorization=self.logins.authorization_for(entry),
            authorize=self._authorize,
            resolver=EntryResolver(self.log.credentials, self.secrets.get, permit, folder, self.server_path),
            origin=origin,
        )
        name = entry.name
        server.session.notified.connect(lambda message: self._on_notified(name, message))
        server.session.process_observed.connect(
            lambda event: self.processes.on_event(name, event, was_requested=server.session.is_ending)
        )
        server.client.changes.missed.connect(lambda filter: self._on_missed(name, filter))
        return server

    async def _on_server_renamed(self, before: str, after: str) -> None:
        """Update saved calls after a server was renamed."""
        await self.calls.rename_server(before, after)
        self.regression_calls.changed.emit(await self.regression_calls.view(after))

    async def _authorize(self, entry: Entry) -> Authorization | None:
        """Return the authorization for a server whose URL has just been expanded."""
        await self.logins.drop(entry.name)
        return self.logins.authorization_for(entry)

    def _on_setting_changed(self, id: str, value: JSON) -> None:
        if id == "connections.serverPath":
            self.server_path.use(str(value))
        elif id.startswith("connections."):
            for server in self.servers.all():
                server.apply_settings()

    def _on_path_changed(self, path: SearchPath) -> None:
        for server in self.servers.all():
            if isinstance(server.entry, StdioEntry):
                server.announce()

    async def close(self) -> None:
        """Disconnect everything and end all processes we started."""
        try:
            await self.server_path.close()
            await self.server_list_watch.close()
            await self.servers.connector.close()
            await self.filewatch.close()
            await self.regression_calls.close()
            await self.tasks.close()
            await self.drift.close()
            await self.doctor.close()
            await self.logins.close()
            await asyncio.gather(*(server.disconnect() for server in self.servers.all()))
            await self.servers.removals.close()
            await self._worker.close()
            await self._checker.close()
            await self.calls.end()
            await self.secrets.end()
            self._guard.close()
        finally:  # otherwise the next start would offer it as interrupted
            await self.captures.end()

    async def list_tools(self, name: str) -> Listing[Tool]:
        server = self.servers.get(name)
        return self._recorded(server, "tools", await server.client.list_tools())

    async def list_resources(self, name: str) -> Listing[Resource]:
        server = self.servers.get(name)
        return self._recorded(server, "resources", await server.client.list_resources())

    async def list_resource_templates(self, name: str) -> Listing[ResourceTemplate]:
        server = self.servers.get(name)
        return self._recorded(server, "templates", await server.client.list_resource_templates())

    async def list_prompts(self, name: str) -> Listing[Prompt]:
        server = self.servers.get(name)
        return self._recorded(server, "prompts", await server.client.list_prompts())

    def _recorded(self, server: Server, kind: str, listing: Listing[Feature]) -> Listing[Feature]:
        """Record a list for the server's counts and for drift, and return it."""
        server.set_count(FeatureCount(kind, len(listing.items), not listing.incomplete))
        return self.drift.record_list(server.entry.name, kind, listing)

    async def read_resource(self, name: str, uri: str) -> CallOutcome:
        """Read a resource. Every way this can end is an outcome, as for a call."""
        human = CallTimer()
        return await conclude(self.servers.get(name).client.request_resource(uri, human), self.clock, human)

    async def get_prompt(self, name: str, prompt: str, arguments: Mapping[str, str]) -> CallOutcome:
        """Get a prompt. Every way this can end is an outcome."""
        human, client = CallTimer(), self.servers.get(name).client
        return await conclude(client.request_prompt(prompt, arguments, human), self.clock, human)

    async def subscribe(self, name: str, uri: str, is_subscribed: bool) -> None:
        """Subscribe to or unsubscribe from a resource (`resource_changed`). Raises LensError."""
        client = self.servers.get(name).client
        await (client.subscribe(uri) if is_subscribed else client.unsubscribe(uri))

    async def send_raw(
        self,
        name: str,
        raw: bytes,
        *,
        headers: Headers = (),
        resent_of: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
        split: bool = False,
    ) -> RawOutcome:
        """Send raw bytes, valid or not, and wait for the response if they are a request.

        `resent_of` is the row of our request that this one repeats. Any response is an outcome, an error
        too. Raises UserError if nothing was sent: the server is not connected, or stdio would split the
        bytes at a newline (`split` sends each line as a message).
        """
        if resent_of is not None:
            require_sent_message(self.log, resent_of)
        started = self.clock.monotonic_ns()
        sent = await self.servers.get(name).client.send_raw(
            raw, headers=headers, resent_of=resent_of, timeout=timeout, split=split
        )
        reply = await sent.response() if wait else RawReply(failure=sent.failure)
        return raw_outcome(self.log, sent.row, self._since(started), reply)

    async def pause_reading(self, servers: Iterable[str], seconds: float) -> None:
        """Read nothing from these servers for a while; cancel it to continue earlier."""
        with contextlib.ExitStack() as paused:
            for name in servers:
                if self.servers.has(name):
                    paused.enter_context(self.servers.get(name).session.reading_paused())
            await asyncio.sleep(seconds)

    async def pretty(self, log: TrafficLog, row: int) -> PrettyText:
        """Format a message of the log or of a capture. Large ones are parsed in another process."""
        return await self._worker.run(pretty_text, log.raw(row))

    async def work(self, function: Callable[[bytes], T], data: bytes, *, separate: bool = False) -> T:
        """Run a function of bytes likewise; `separate` forces another process, even for few bytes.

        The function must be importable by name.
        """
        return await self._worker.run(function, data, separate=separate)

    async def work_limited(self, function: Callable[[bytes], T], data: bytes) -> T:
        """Run a function in another process, for a few seconds at most.

        For functions whose run time does not depend on the input size, e.g. validating a server's schema or
        regular expression. Raises UserError on timeout.
        """
        return await self._checker.run(function, data, separate=True)

    def _on_notified(self, server: str, notification: Message) -> None:
        changed = _LIST_CHANGES.get(notification.method)
        if changed is not None:
            self.list_changed.emit(server, changed)
        elif notification.method in TASK_NOTIFICATIONS:
            self.tasks.on_event(server, notification)
        elif notification.method == "notifications/resources/updated":
            if uri := _text(notification, "uri"):
                self.resource_changed.emit(server, uri)
        elif notification.method == "notifications/elicitation/complete":
            self.inbox.elicitation_completed(server, _text(notification, "elicitationId"))

    def _on_server_changed(self, view: ServerView) -> None:
        if view.status is not ServerStatus.CONNECTED:
            self.inbox.server_disconnected(view.name, view.reason)

    def _on_missed(self, server: str, filter: Filter) -> None:
        """Report everything as changed: missed notifications are not repeated."""
        for kind, is_subscribed in (
            ("tools", filter.tools),
            ("resources", filter.resources),
            ("prompts", filter.prompts),
        ):
            if is_subscribed:
                self.list_changed.emit(server, kind)
        for uri in filter.uris:
            self.resource_changed.emit(server, uri)

    def _since(self, started: int) -> int:
        return self.clock.monotonic_ns() - started


def _text(notification: Message, member: str) -> str:
    """Return a params member; "" if it is not a string or cannot be parsed."""
    with contextlib.suppress(JSONError):
        value = notification.params.get(member)
        return value if isinstance(value, str) else ""
    return ""


class EngineThread:
    """Runs an engine on its own thread; work can be submitted from any thread."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._ready: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=self._run, name="engine")

    def start(self) -> None:
        """Start the thread; work can be submitted afterwards."""
        self._thread.start()
        self._ready.result()

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        return self._ready.result(0)

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the engine's loop. Cancelling the future cancels it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Schedule a plain function on the engine's thread."""
        self._loop.call_soon_threadsafe(function, *args)

    def stop(self) -> None:
        """Close the engine and join the thread; no child process is left afterwards."""
        if not self._thread.is_alive():
            return
        self.submit(self.engine.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        # Not created on the main thread: on Windows, the loop would take over the signals of the process.
        try:
            loop = asyncio.new_event_loop()
        except BaseException as exc:
            self._ready.set_exception(exc)
            return
        asyncio.set_event_loop(loop)
        self._ready.set_result(loop)
        try:
            loop.run_forever()
            loop.run_until_complete(_end_tasks())
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()


async def _end_tasks() -> None:
    """Cancel remaining tasks and let all of them clean up before the loop closes."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        if not task.cancelling():
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
