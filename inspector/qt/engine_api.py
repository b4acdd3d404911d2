"""The engine's methods as panels call them; `Bridge` implements the thread switch.

Each method runs on the engine's event loop and returns its result on the window's. Engine types are
imported for type checking only: the window is on screen before the engine is imported.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from inspector.base.json.values import JSON, JSONObject

# Types only: the window is on screen before the engine is imported.
if TYPE_CHECKING:
    from inspector.config.servers.entries import Auth, Entry
    from inspector.engine.calls.library import CallLibrary
    from inspector.engine.calls.output_check import OutputCheck
    from inspector.engine.calls.regression_calls import RegressionCalls
    from inspector.engine.calls.repetition import Observation, PollPlan, RepeatPlan, RepeatReport
    from inspector.engine.calls.tool_calls import ToolCall
    from inspector.engine.captures import Captures
    from inspector.engine.content.text_formats import PrettyText
    from inspector.engine.doctor.doctor import Doctor
    from inspector.engine.drift.drift import Drift
    from inspector.engine.engine import Engine, EngineThread
    from inspector.engine.inbox.inbox import Inbox
    from inspector.engine.inbox.reply_rules import ReplyRules
    from inspector.engine.inbox.views import InboxRequest
    from inspector.engine.login.logins import LoginController
    from inspector.engine.processes.file_watch import FileWatch
    from inspector.engine.processes.processes import Processes
    from inspector.engine.secrets import Secrets
    from inspector.engine.server_view import ServerView
    from inspector.engine.servers.discovered_servers import ServerDiscovery
    from inspector.engine.servers.registry import ServerRegistry
    from inspector.engine.settings import SettingsStore
    from inspector.engine.tasks.store import TaskStore
    from inspector.engine.tasks.views import TaskView
    from inspector.engine.views import CallOutcome, RawOutcome
    from inspector.protocol.client_capabilities import ClientCapabilities
    from inspector.protocol.connection import ProgressReceived
    from inspector.protocol.tasks import Task
    from inspector.protocol.types import Completion, Listing, Prompt, Resource, ResourceTemplate, Tool
    from inspector.traffic.log import TrafficLog
    from inspector.transport.base import Headers

T = TypeVar("T")


class EngineApi:
    """The panels' requests to the engine.

    They raise UserError, or LensError where a server may refuse, as the engine's methods do.
    """

    _thread: EngineThread
    _engine: Engine

    @abstractmethod
    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the engine's loop."""

    @abstractmethod
    def _each(self, callback: Callable[[T], None]) -> Callable[[T], None]:
        """Wrap `callback` for the engine's thread: it runs on the window's, once per value."""

    @abstractmethod
    def on_window(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Wrap `callback` for any thread: it runs on the window's, with the latest arguments only."""

    async def load(self) -> None:
        await self._call(_as_coroutine(self._engine.load))

    async def save_server(self, entry: Entry, secrets: Mapping[str, str] | None = None) -> ServerView:
        """Save a server and the secrets it refers to. Raises UserError."""
        return await self._call(self._engine.save_with_secrets(entry, secrets or {}))

    async def set_secrets(self, name: str, moved: Collection[str], values: Mapping[str, str]) -> None:
        """Move plain headers or variables into the secret store; set new values for others.

        Raises UserError.
        """
        await self._call(self._engine.set_secrets(name, moved, values))

    async def add_server(self, entry: Entry) -> ServerView:
        return await self._call(_as_coroutine(partial(self._engine.add, entry)))

    async def unique_name(self, name: str) -> str:
        return await self._call(_as_coroutine(partial(self._engine.unique_name, name)))

    async def ask_servers(self, ask: Callable[[ServerRegistry], Coroutine[Any, Any, T]]) -> T:
        """Edit the server list.

        For example `await bridge.ask_servers(lambda servers: servers.update(name, entry))`. To remove one
        with undo: `servers.removals.remove(name)`. Raises UserError.
        """
        return await self._call(ask(self._engine.servers))

    async def ask_found(self, ask: Callable[[ServerDiscovery], Coroutine[Any, Any, T]]) -> T:
        """Query the servers discovered in other tools' files. Raises UserError."""
        return await self._call(ask(self._engine.discovery))

    async def set_enabled(self, name: str, enabled: bool) -> None:
        await self._call(self._engine.set_enabled(name, enabled))

    async def view(self, name: str) -> ServerView:
        """Return the current state of a server. Raises UserError."""
        return await self._call(_as_coroutine(partial(self._engine.view, name)))

    async def set_declared(self, name: str, declared: ClientCapabilities | None) -> None:
        """Set the client capabilities for a server (`Engine.set_declared`). Raises UserError."""
        await self._call(_as_coroutine(partial(self._engine.set_declared, name, declared)))

    async def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """Set the roots for a server (`Engine.set_roots`). Raises UserError."""
        await self._call(self._engine.set_roots(name, roots))

    def connect_server(self, name: str) -> None:
        """Start connecting; `server_changed` reports the progress."""
        self._thread.call(self._engine.connect_soon, name)

    def wait_longer(self, name: str) -> None:
        """Give a server that is slow to start more time."""
        self._thread.call(self._engine.servers.connector.wait_longer, name)

    def connect_all(self) -> None:
        """Start connecting all enabled servers. No browser is opened."""
        self._thread.call(self._engine.servers.connector.connect_all)

    def watch_server_list(self) -> None:
        """Start watching the server list file for changes by others."""
        self._thread.call(self._engine.server_list_watch.start)

    def connect_at_start(self) -> None:
        """Start connecting the servers marked to connect at startup."""
        self._thread.call(self._engine.servers.connector.connect_at_start)

    async def disconnect_server(self, name: str) -> None:
        await self._call(self._engine.disconnect(name))

    async def list_tools(self, server: str) -> Listing[Tool]:
        return await self._call(self._engine.list_tools(server))

    async def list_resources(self, server: str) -> Listing[Resource]:
        return await self._call(self._engine.list_resources(server))

    async def list_resource_templates(self, server: str) -> Listing[ResourceTemplate]:
        return await self._call(self._engine.list_resource_templates(server))

    async def list_prompts(self, server: str) -> Listing[Prompt]:
        return await self._call(self._engine.list_prompts(server))

    async def read_resource(self, server: str, uri: str) -> CallOutcome:
        """Read a resource. Cancelling the awaiting task cancels the request."""
        return await self._call(self._engine.read_resource(server, uri))

    async def get_prompt(self, server: str, prompt: str, arguments: Mapping[str, str]) -> CallOutcome:
        """Get a prompt. Failures are outcomes too, not exceptions."""
        return await self._call(self._engine.get_prompt(server, prompt, arguments))

    async def complete(
        self, server: str, ref: JSONObject, argument: str, value: str, context: Mapping[str, str]
    ) -> Completion:
        """Request completions of a value (`Client.complete`). Raises LensError.

        Cancelling the awaiting task cancels the request.
        """
        return await self._call(self._engine.complete(server, ref, argument, value, context))

    async def subscribe(self, server: str, uri: str, wanted: bool) -> None:
        """Subscribe to a resource (`resources_changed`), or unsubscribe. Raises LensError."""
        await self._call(self._engine.subscribe(server, uri, wanted))

    async def call_tool(
        self, server: str, tool: str, arguments: JSONObject, on_progress: Callable[[ProgressReceived], None]
    ) -> CallOutcome:
        """Call a tool. Cancelling the awaiting task cancels the call."""
        from inspector.engine.calls.tool_calls import ToolCall

        return await self.call(server, ToolCall(tool, arguments), on_progress)

    async def call(
        self,
        server: str,
        call: ToolCall,
        on_progress: Callable[[ProgressReceived], None],
        on_task: Callable[[Task], None] | None = None,
    ) -> CallOutcome:
        """Call a tool with all options, and add it to the history.

        Of several progress notifications per batch, `on_progress` gets the last. Cancelling the awaiting
        task cancels the call.
        """
        relay = self._each(on_task) if on_task is not None else None
        caller = self._engine.tool_caller
        make = partial(
            caller.call, server, call, keep=True, on_progress=self.on_window(on_progress), on_task=relay
        )
        return await self._call(self._engine.processes.measured(server, make))

    async def repeat_call(
        self, server: str, call: ToolCall, plan: RepeatPlan, on_report: Callable[[RepeatReport], None]
    ) -> RepeatReport:
        """Call a tool many times. Cancelling ends it; the latest report remains valid.

        Raises UserError.
        """
        return await self._call(
            self._engine.tool_caller.repeat(server, call, plan, self.on_window(on_report))
        )

    async def poll_tool(
        self, server: str, call: ToolCall, plan: PollPlan, on_observation: Callable[[Observation], None]
    ) -> str:
        """Call a tool at intervals and report changes until the server is lost; return why.

        Cancelling ends it. Raises UserError.
        """
        return await self._call(
            self._engine.tool_caller.poll_tool(server, call, plan, self._each(on_observation))
        )

    async def poll_resource(
        self, server: str, uri: str, plan: PollPlan, on_observation: Callable[[Observation], None]
    ) -> str:
        """Read a resource periodically; otherwise like `poll_tool`."""
        return await self._call(
            self._engine.tool_caller.poll_resource(server, uri, plan, self._each(on_observation))
        )

    async def check_output(self, response: bytes, output_schema: JSON) -> OutputCheck:
        """Validate a tool's result against its outputSchema; `output_schema` is None if it has none."""
        return await self._call(self._engine.tool_caller.check_output(response, output_schema))

    async def ask_calls(self, ask: Callable[[CallLibrary], Coroutine[Any, Any, T]]) -> T:
        """Access call history, saved calls and call variables.

        For example `await bridge.ask_calls(lambda calls: calls.saved())`.
        """
        return await self._call(ask(self._engine.calls))

    async def set_auth(self, name: str, auth: Auth, secrets: Mapping[str, str]) -> None:
        """Set a server's authentication; `secrets` are those it newly refers to. Raises UserError."""
        await self._call(self._engine.set_auth(name, auth, secrets))

    async def ask_secrets(self, ask: Callable[[Secrets], Coroutine[Any, Any, T]]) -> T:
        """Access the secret store: `await bridge.ask_secrets(lambda secrets: secrets.stored())`."""
        return await self._call(ask(self._engine.secrets))

    async def ask_logins(self, ask: Callable[[LoginController], Coroutine[Any, Any, T]]) -> T:
        """Control logins: `await bridge.ask_logins(lambda logins: logins.next(server))`.

        Raises UserError.
        """
        return await self._call(ask(self._engine.logins))

    async def ask_drift(self, ask: Callable[[Drift], Coroutine[Any, Any, T]]) -> T:
        """Query changes to a server: `await bridge.ask_drift(lambda drift: drift.get(server))`.

        Raises UserError.
        """
        return await self._call(ask(self._engine.drift))

    async def ask_doctor(self, ask: Callable[[Doctor], Coroutine[Any, Any, T]]) -> T:
        """Diagnose a server: `await bridge.ask_doctor(lambda doctor: doctor.start(server))`.

        Raises UserError.
        """
        return await self._call(ask(self._engine.doctor))

    async def ask_processes(self, ask: Callable[[Processes], Coroutine[Any, Any, T]]) -> T:
        """Access a server's running and ended processes.

        For example `await bridge.ask_processes(lambda processes: processes.scan(server))`.
        """
        return await self._call(ask(self._engine.processes))

    async def ask_filewatch(self, ask: Callable[[FileWatch], Coroutine[Any, Any, T]]) -> T:
        """Access the file watch that restarts a server. Raises UserError."""
        return await self._call(ask(self._engine.filewatch))

    async def ask_regression_calls(self, ask: Callable[[RegressionCalls], Coroutine[Any, Any, T]]) -> T:
        """Access the regression calls of a server. Raises UserError."""
        return await self._call(ask(self._engine.regression_calls))

    async def ask_settings(self, ask: Callable[[SettingsStore], Coroutine[Any, Any, T]]) -> T:
        """Access the settings: `await bridge.ask_settings(lambda store: store.set(id, value))`.

        Raises UserError.
        """
        return await self._call(ask(self._engine.settings_store))

    async def ask_reply_rules(self, ask: Callable[[ReplyRules], Coroutine[Any, Any, T]]) -> T:
        """Access the reply rules: `await bridge.ask_reply_rules(lambda rules: rules.rules())`."""
        return await self._call(ask(self._engine.reply_rules))

    async def inbox_requests(self) -> tuple[InboxRequest, ...]:
        """Return the pending server requests, oldest first; `inbox_changed` reports later ones."""
        return await self.ask_inbox(lambda inbox: inbox.inbox_requests())

    async def tasks(self, server: str) -> tuple[TaskView, ...]:
        """Return a server's known tasks; `tasks_changed` reports later changes."""
        return await self._call(_as_coroutine(partial(self._engine.tasks.views, server)))

    async def ask_tasks(self, ask: Callable[[TaskStore], Coroutine[Any, Any, T]]) -> T:
        """Poll, cancel or remove tasks: `await bridge.ask_tasks(lambda tasks: tasks.poll(server, id))`.

        Raises LensError.
        """
        return await self._call(ask(self._engine.tasks))

    async def ask_inbox(self, ask: Callable[[Inbox], T]) -> T:
        """Reply to requests: `await bridge.ask_inbox(lambda inbox: inbox.reply(id, key, reply))`.

        Raises UserError if the request is no longer pending.
        """
        return await self._call(_as_coroutine(partial(ask, self._engine.inbox)))

    async def send_raw(
        self,
        server: str,
        raw: bytes,
        *,
        headers: Headers = (),
        resent_of: int | None = None,
        wait: bool = True,
        timeout: float | None = None,
        split: bool = False,
    ) -> RawOutcome:
        """Send bytes unchanged (`Engine.send_raw`).

        Cancelling the awaiting task ends the wait.
        """
        work = self._engine.send_raw(
            server, raw, headers=headers, resent_of=resent_of, wait=wait, timeout=timeout, split=split
        )
        return await self._call(work)

    async def next_id(self, server: str) -> int:
        """Return an unused id for a raw request."""
        return await self._call(_as_coroutine(partial(self._engine.next_id, server)))

    async def pretty(self, log: TrafficLog, row: int) -> PrettyText:
        return await self._call(self._engine.pretty(log, row))

    async def work_limited(self, function: Callable[[bytes], T], data: bytes) -> T:
        """Run a function that evaluates a server's schema in a worker process, with a timeout.

        Raises UserError on timeout.
        """
        return await self._call(self._engine.work_limited(function, data))

    async def work(self, function: Callable[[bytes], T], data: bytes) -> T:
        """Run a function on bytes; large ones are processed without blocking the window."""
        return await self._call(self._engine.work(function, data))

    async def ask_captures(self, ask: Callable[[Captures], Coroutine[Any, Any, T]]) -> T:
        """Save, open or export: `await bridge.ask_captures(lambda captures: captures.open(path))`.

        Progress is reported on other threads: pass `on_window(callback)` for it. Cancelling ends the work.
        """
        return await self._call(ask(self._engine.captures))


def _as_coroutine(function: Callable[[], T]) -> Coroutine[Any, Any, T]:
    """Wrap a plain function as a coroutine, to run it on the engine's thread."""

    async def run() -> T:
        return function()

    return run()
