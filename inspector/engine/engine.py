"""The application without a window. Lives on one asyncio loop; everything here is called on it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from inspector.base.clock import Clock, SystemClock
from inspector.base.errors import ConfigError, NeedsLogin, UserError
from inspector.base.jsonvalue import JSONObject, JSONProblem
from inspector.base.signals import Signal
from inspector.config.auth import Auth
from inspector.config.catalogue import Catalogue
from inspector.config.entries import Entry, HttpEntry
from inspector.config.entrysecrets import LOGIN, own_secrets_of, references_of, with_references
from inspector.config.secrets.names import is_below, make_name
from inspector.config.secrets.standing import Rung
from inspector.config.settings import Settings
from inspector.engine.answerrules import AnswerRules
from inspector.engine.byhand import ByHand, ToolCall
from inspector.engine.calls import Calls
from inspector.engine.captures import Captures
from inspector.engine.drift import Drift
from inspector.engine.filewatch import FileWatch
from inspector.engine.inbox import Inbox
from inspector.engine.logins import Logins
from inspector.engine.outcomes import conclude
from inspector.engine.outputcheck import TIME_LIMIT
from inspector.engine.preparing import Preparing
from inspector.engine.prettytext import PrettyText, pretty_text
from inspector.engine.processes import Processes
from inspector.engine.resend import make_outcome, require_message_of_ours
from inspector.engine.secrets import Secrets
from inspector.engine.server import Server
from inspector.engine.taskbook import TASK_NOTIFICATIONS, TaskBook
from inspector.engine.views import CallOutcome, RawOutcome, ServerStatus, ServerView
from inspector.engine.workers import Worker
from inspector.oauth.occasions import Occasion
from inspector.protocol.declared import Declared
from inspector.protocol.jsonrpc import Message
from inspector.protocol.listen import Filter
from inspector.protocol.types import Completion, Listing, Prompt, Resource, ResourceTemplate, Tool
from inspector.session.client import Client
from inspector.session.rawsend import RawReply
from inspector.session.route import Answerer
from inspector.session.waiting import HumanTime, OnProgress
from inspector.traffic.log import TrafficLog
from inspector.transport.base import Authorization, Headers
from inspector.transport.orphanguard import OrphanGuard
from inspector.transport.tasks import TaskScope

T = TypeVar("T")

_LIST_CHANGES = {
    "notifications/tools/list_changed": "tools",
    "notifications/resources/list_changed": "resources",
    "notifications/prompts/list_changed": "prompts",
}


class Engine:
    """Owns the servers, their traffic and the worker process. `answerers` answer what servers ask.

    With an `inbox` a person answers the rest, and everything that servers may ask is declared; without one
    only what is answered is.

    Signals:
        server_changed: A server was added or stands differently; carries its ServerView.
        server_removed: Carries its name.
        list_changed: A server's list of tools, resources or prompts changed; carries both names.
        resource_changed: A resource that was subscribed to, or one below it; carries server and URI.
        problem_found: Something is wrong that belongs to no server; carries a sentence.
    """

    def __init__(
        self,
        catalogue: Catalogue | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
        log: TrafficLog | None = None,
        answerers: Mapping[str, Answerer] | None = None,
        captures: Captures | None = None,
        calls: Calls | None = None,
        secrets: Secrets | None = None,
        inbox: Inbox | None = None,
        answers: AnswerRules | None = None,
        baselines: Path | None = None,
    ) -> None:
        self.log = log if log is not None else TrafficLog()  # an empty one is false
        self.captures = captures or Captures(self.log)
        self.calls = calls or Calls()
        self.secrets = secrets or Secrets()
        self.secrets.credentials = self.log.credentials
        self.answers = answers or AnswerRules()
        self.by_hand = ByHand(self)
        self.clock = clock or SystemClock()
        self.processes = Processes(self.log, self.clock)
        self.server_changed: Signal[ServerView] = Signal()
        self.server_removed: Signal[str] = Signal()
        self.tasks = TaskBook(self)
        self.list_changed: Signal[str, str] = Signal()
        self.resource_changed: Signal[str, str] = Signal()
        self.problem_found: Signal[str] = Signal()
        self._catalogue = catalogue
        self._settings = settings or Settings()
        self._answerers = answerers or {}
        self.inbox = inbox or Inbox(self.clock)
        self._is_attended = inbox is not None
        self.server_changed.connect(self._on_server_changed)
        self._servers: dict[str, Server] = {}
        self.logins = Logins(self.secrets, self.log, self.clock, self._settings, self._server)
        if self._is_attended:
            self.logins.opens_browser = frozenset({Occasion.CONNECT})
        self.filewatch = FileWatch(self)
        self._guard = OrphanGuard()
        self._worker = Worker()
        self._checker = Worker(TIME_LIMIT, "Checking against the schema")
        self._tasks = TaskScope()
        self.drift = Drift(self, baselines)

    # -------------------------------------------------------------- servers

    def load(self) -> None:
        """Add what the catalogue holds. Nothing is connected."""
        if self._catalogue is None:
            return
        loaded = self._catalogue.load()
        problems = list(loaded.problems)
        for entry in loaded.entries:
            try:
                self.add(entry, keep=True)
            except ConfigError as exc:  # the others are none the worse for it
                problems.append(str(exc))
        for problem in problems:
            self.problem_found.emit(problem)

    def add(self, entry: Entry, *, keep: bool = False) -> ServerView:
        """A server for this run; with `keep` it is one of the catalogue's. Raises ConfigError."""
        return self._admit(self._make_server(entry, keep))

    def save(self, entry: Entry) -> ServerView:
        """Add a server and write it into the catalogue. Not added when it cannot be written, nor written
        when it cannot be added."""
        server = self._make_server(entry, keep=self._catalogue is not None)
        if self._catalogue is not None:
            self._catalogue.save(entry)
        return self._admit(server)

    def _make_server(self, entry: Entry, keep: bool) -> Server:
        self._require_new(entry.name)
        return Server(
            entry,
            self.log,
            self._guard,
            self._settings,
            self.clock,
            is_kept=keep,
            on_change=self.server_changed.emit,
            answerers=self._answerers,
            inbox=self.inbox if self._is_attended else None,
            authorization=self.logins.authorization_for(entry),
            authorize=self._authorize,
            preparing=Preparing(self.log.credentials, self.secrets.get),
        )

    async def _authorize(self, entry: Entry) -> Authorization | None:
        """For a server whose address is known now, after names in it were expanded."""
        await self.logins.drop(entry.name)
        return self.logins.authorization_for(entry)

    async def save_with_secrets(self, entry: Entry, values: Mapping[str, str]) -> ServerView:
        """`save` a server together with what it refers to in the secret store, all or nothing. Raises
        ConfigError."""
        self._require_new(entry.name)  # before another server's secret is written over
        await self._put(values)
        try:
            return self.save(entry)
        except (UserError, OSError):
            for name in values:
                await self.secrets.delete(name)
            raise

    async def set_secrets(self, name: str, moved: Collection[str], values: Mapping[str, str]) -> None:
        """Move these plain headers or variables of a server into the secret store, and give those that it
        refers to new `values`; from the next connecting on. Raises ConfigError."""
        server = self._server(name)
        entry, plain = with_references(server.entry, moved)
        if plain and server.is_kept:
            await self._require_lasting_secrets()
        references = references_of(server.entry)
        new = {references[each].ref: value for each, value in values.items() if each in references}
        await self._put({**plain, **new})
        if server is not self._servers.get(name):
            raise ConfigError(f"There is no server {name!r} any more.")
        self._keep(server, entry)
        server.set_declared(entry)

    async def _put(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            await self.secrets.put(name, value)

    async def _require_lasting_secrets(self) -> None:
        """What is moved into memory would be lost."""
        state = await self.secrets.open()
        if state.rung is Rung.MEMORY:
            raise ConfigError(
                "Secrets are kept in memory only: these would be gone when MCP Lens is closed.",
                "Choose another place in the Secrets dialog first.",
            )

    async def _forget_secrets(self, entry: Entry) -> None:
        """Those of a server that is no more. That they cannot be deleted does not keep it."""
        try:
            for name in own_secrets_of(entry):
                await self.secrets.delete(name)
        except ConfigError as exc:
            self.problem_found.emit(f"The secrets of server {entry.name!r} are still stored. {exc}")

    def _admit(self, server: Server) -> ServerView:
        name = server.entry.name
        server.session.notified.connect(lambda message: self._on_notified(name, message))
        server.session.process_seen.connect(
            lambda event: self.processes.hear(name, event, was_asked=server.session.is_ending)
        )
        server.client.changes.missed.connect(lambda filter: self._on_missed(name, filter))
        self._servers[name] = server
        server.announce()
        return server.view

    def unique_name(self, name: str) -> str:
        """The name, or the name with a number, that no server has."""
        names = [name, *(f"{name} {number}" for number in range(2, len(self._servers) + 3))]
        return next(candidate for candidate in names if candidate not in self._servers)

    async def remove(self, name: str) -> None:
        server = self._server(name)
        await self.logins.forget(name)
        await server.disconnect()
        del self._servers[name]
        if server.is_kept and self._catalogue is not None:
            self._catalogue.remove(name)
        await self._forget_secrets(server.entry)
        self.processes.forget(name)
        self.server_removed.emit(name)

    def view(self, name: str) -> ServerView:
        """One server as it stands. Raises ConfigError."""
        return self._server(name).view

    def entry(self, name: str) -> Entry:
        """How a server is configured. Raises ConfigError."""
        return self._server(name).entry

    @property
    def settings(self) -> Settings:
        return self._settings

    def views(self) -> tuple[ServerView, ...]:
        return tuple(server.view for server in self._servers.values())

    async def connect(self, name: str) -> None:
        """Raises UserError; the server's view says the same.

        A server that wants a login gets one, where the browser may be opened for that.
        """
        server = self._server(name)
        try:
            await server.connect()
        except NeedsLogin as exc:
            if not await self.logins.log_in_to_connect(name, exc):
                raise
            await server.connect()

    def connect_soon(self, name: str) -> None:
        """Connect in the background: the view tells how it goes."""
        self._tasks.spawn(f"connect {name}", self._connect_quietly(name))

    async def disconnect(self, name: str) -> None:
        server = self._server(name)
        self.logins.stop(name)
        await server.disconnect()

    async def set_enabled(self, name: str, enabled: bool) -> None:
        """A disabled server is not connected, and stays out of "connect all"."""
        server = self._server(name)
        if not enabled:
            await server.disconnect()
        server.entry = replace(server.entry, enabled=enabled)
        self._keep(server, server.entry)
        server.announce()

    def set_declared(self, name: str, declared: Declared | None) -> None:
        """Declare this to a server; None is all that we can answer. Raises ConfigError.

        In the stateless era the next request says it. Before, it takes connecting again: the view tells.
        """
        server = self._server(name)
        capabilities, is_exact = (None, False) if declared is None else (declared.whole, declared.is_exact)
        entry = replace(server.entry, capabilities=capabilities, exact_capabilities=is_exact)
        self._keep(server, entry)
        server.set_declared(entry)

    async def set_auth(self, name: str, auth: Auth | None, secrets: Mapping[str, str] | None = None) -> None:
        """How a server is told who asks, from the next connecting on; tokens that it has stay. What it newly
        refers to are `secrets`; what nothing refers to any more is forgotten. Raises UserError."""
        server = self._server(name)
        if not isinstance(server.entry, HttpEntry):
            raise ConfigError(f"{name!r} has no login: it is no server over HTTP.")
        await self._put(secrets or {})
        before, entry = own_secrets_of(server.entry), replace(server.entry, auth=auth)
        self._keep(server, entry)
        for stale in set(before) - set(own_secrets_of(entry)):
            if is_below(stale, make_name(LOGIN, name)):
                await self.secrets.delete(stale)
        await self.logins.drop(name)
        server.set_authorization(entry, self.logins.authorization_for(entry))

    def set_watch(self, name: str, globs: tuple[str, ...]) -> None:
        """Restart a server when a file that fits changes (`filewatch`). Raises ConfigError."""
        server = self._server(name)
        entry = replace(server.entry, watch=globs)
        self._keep(server, entry)
        server.entry = entry
        server.announce()

    def remark(self, name: str, text: str) -> None:
        """Put a sentence of ours about a server into the log."""
        self._server(name).session.remark(text)

    async def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """Answer a server's `roots/list` with these; it is told of it where we said so. Raises UserError."""
        server = self._server(name)
        entry = replace(server.entry, roots=roots)
        self._keep(server, entry)
        await server.set_roots(entry)

    async def close(self) -> None:
        """Disconnect everything and end every process that we started."""
        try:
            await self._tasks.close()
            await self.filewatch.close()
            await self.tasks.close()
            await self.drift.close()
            await self.logins.close()
            await asyncio.gather(*(server.disconnect() for server in self._servers.values()))
            await self._worker.close()
            await self._checker.close()
            await self.calls.end()
            await self.secrets.end()
            self._guard.close()
        finally:  # or the next start would offer a capture that nothing happened to
            await self.captures.end()

    # -------------------------------------------------------------- asking servers

    def client(self, name: str) -> Client:
        """Everything that can be asked of a server: resources, prompts, completion, subscriptions, tasks."""
        return self._server(name).client

    async def list_tools(self, name: str) -> Listing[Tool]:
        return self.drift.saw(name, "tools", await self._server(name).client.list_tools())

    async def list_resources(self, name: str) -> Listing[Resource]:
        return self.drift.saw(name, "resources", await self._server(name).client.list_resources())

    async def list_resource_templates(self, name: str) -> Listing[ResourceTemplate]:
        return self.drift.saw(name, "templates", await self._server(name).client.list_resource_templates())

    async def list_prompts(self, name: str) -> Listing[Prompt]:
        return self.drift.saw(name, "prompts", await self._server(name).client.list_prompts())

    async def read_resource(self, name: str, uri: str) -> CallOutcome:
        """Read a resource. Every way in which that can end is an outcome, as with a call."""
        human = HumanTime()
        return await conclude(self._server(name).client.ask_resource(uri, human), self.clock, human)

    async def get_prompt(self, name: str, prompt: str, arguments: Mapping[str, str]) -> CallOutcome:
        """Get a prompt, likewise."""
        human, client = HumanTime(), self._server(name).client
        return await conclude(client.ask_prompt(prompt, arguments, human), self.clock, human)

    async def complete(
        self, name: str, ref: JSONObject, argument: str, value: str, context: Mapping[str, str]
    ) -> Completion:
        """What could stand for an argument of a prompt or a resource template. Raises LensError."""
        return await self._server(name).client.complete(ref, argument, value, context)

    async def subscribe(self, name: str, uri: str, wanted: bool) -> None:
        """Hear of changes of a resource (`resource_changed`), or no longer. Raises LensError."""
        client = self._server(name).client
        await (client.subscribe(uri) if wanted else client.unsubscribe(uri))

    async def call_tool(
        self,
        name: str,
        tool: str,
        arguments: JSONObject,
        *,
        timeout: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> CallOutcome:
        """Call a tool. Every way in which that can end is an outcome; cancelling the caller is one too.

        `by_hand` has more: variables, `_meta`, tasks, calling many times, watching.
        """
        return await self.by_hand.call(name, ToolCall(tool, arguments, timeout), on_progress=on_progress)

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
        """Send bytes as they are, valid or not, and wait for the answer if they ask for one.

        `resent_of` is the row of the request of ours that this one repeats. What the server makes of the
        bytes is an outcome, a refusal too. Raises UserError when they were not sent: the server is not
        connected, or stdio would cut them at a line break (`split` sends each line as a message).
        """
        if resent_of is not None:
            require_message_of_ours(self.log, resent_of)
        started = self.clock.monotonic_ns()
        sent = await self._server(name).client.send_raw(
            raw, headers=headers, resent_of=resent_of, timeout=timeout, split=split
        )
        reply = await sent.answer() if wait else RawReply(failure=sent.failure)
        return make_outcome(self.log, sent.row, self._since(started), reply)

    def next_id(self, name: str) -> int:
        """An id that was not used in this conversation, and is not given out again. Raises ConnectionLost."""
        return self._server(name).session.next_id()

    # -------------------------------------------------------------- looking at frames

    async def pretty(self, log: TrafficLog, row: int) -> PrettyText:
        """A frame of ours or of a capture, for reading. Big ones are read in another process."""
        return await self._worker.run(pretty_text, log.raw(row))

    async def work(self, function: Callable[[bytes], T], data: bytes, *, apart: bool = False) -> T:
        """Any function of bytes, likewise; `apart`, also of few. It must be one that another process can
        import by its name."""
        return await self._worker.run(function, data, apart=apart)

    async def work_apart(self, function: Callable[[bytes], T], data: bytes) -> T:
        """A function whose time does not follow from the size of its bytes, such as one that follows a
        server's schema or regular expression: always in another process, for a few seconds at most.
        Raises UserError when they are over."""
        return await self._checker.run(function, data, apart=True)

    def spawn(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        """Work that goes on by itself, and ends with the engine at the latest."""
        self._tasks.spawn(name, work)

    # --------------------------------------------------------------

    def _keep(self, server: Server, entry: Entry) -> None:
        """Write what a server is to be, if it is one of the catalogue's."""
        if server.is_kept and self._catalogue is not None:
            self._catalogue.save(entry)

    def _require_new(self, name: str) -> None:
        if name in self._servers:
            raise ConfigError(f"There is a server {name!r} already.", "Choose another name.")

    def _server(self, name: str) -> Server:
        try:
            return self._servers[name]
        except KeyError:
            raise ConfigError(f"There is no server {name!r}.", "It may have been removed.") from None

    async def _connect_quietly(self, name: str) -> None:
        with contextlib.suppress(UserError):  # the server's view says it
            await self.connect(name)

    def _on_notified(self, server: str, notification: Message) -> None:
        changed = _LIST_CHANGES.get(notification.method)
        if changed is not None:
            self.list_changed.emit(server, changed)
        elif notification.method in TASK_NOTIFICATIONS:
            self.tasks.hear(server, notification)
        elif notification.method == "notifications/resources/updated":
            if uri := _text(notification, "uri"):
                self.resource_changed.emit(server, uri)
        elif notification.method == "notifications/elicitation/complete":
            self.inbox.completed(server, _text(notification, "elicitationId"))

    def _on_server_changed(self, view: ServerView) -> None:
        if view.status is not ServerStatus.CONNECTED:
            self.inbox.server_gone(view.name, view.reason)

    def _on_missed(self, server: str, filter: Filter) -> None:
        """Nothing is told twice: whatever may have changed is taken to have."""
        for kind, is_heard_of in (
            ("tools", filter.tools),
            ("resources", filter.resources),
            ("prompts", filter.prompts),
        ):
            if is_heard_of:
                self.list_changed.emit(server, kind)
        for uri in filter.uris:
            self.resource_changed.emit(server, uri)

    def _since(self, started: int) -> int:
        return self.clock.monotonic_ns() - started


def _text(notification: Message, member: str) -> str:
    """A member of its params; "" for what is no text, or cannot be read."""
    with contextlib.suppress(JSONProblem):
        value = notification.params.get(member)
        return value if isinstance(value, str) else ""
    return ""
