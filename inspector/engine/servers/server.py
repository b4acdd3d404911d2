"""One configured server with at most one session, and its reconnects with backoff."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace

from inspector.base.clock import Clock
from inspector.base.errors import FailureKind, LensError, NeedsLogin, RequestCancelled, UserError
from inspector.base.search_path import path_source
from inspector.config.preferences.settings import ConnectionSettings
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.config.servers.entry_diff import is_same_connection
from inspector.config.servers.placeholders import InputOwner, names_in, plain_secrets_of, stored_secrets_of
from inspector.engine.inbox.inbox import Inbox
from inspector.engine.server_view import ClientSide, FeatureCount, ServerView
from inspector.engine.servers.entry_resolver import EntryResolver
from inspector.engine.settings import SettingsStore
from inspector.engine.views import ServerStatus
from inspector.protocol.client_capabilities import ALL, ClientCapabilities, capabilities_for_methods
from inspector.protocol.discovery import proposed_revision
from inspector.protocol.revisions import NEWEST_HANDSHAKE, Era, find_revision
from inspector.protocol.server_requests.request import ROOTS, SERVER_REQUEST_METHODS
from inspector.session.client import Client
from inspector.session.connect import capabilities_for, make_routes, roots_of
from inspector.session.server_requests import responder_of
from inspector.session.session import Session
from inspector.session.state import RequestHandler, Route, SessionState, Status
from inspector.traffic.log import TrafficLog
from inspector.traffic.recorder import Recorder
from inspector.transport.base import Authorization
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.task_scope import TaskScope

MAX_ATTEMPTS = 5
STABLE_AFTER = 60.0  # seconds after which a connection counts as stable and the retry count restarts
_FIRST_DELAY = 1.0
_MAX_DELAY = 30.0


class Server:
    """A configured server with at most one session.

    `connect` and `disconnect` may be called at any time, in any order; the last one wins. Server
    requests without a handler go to the `inbox`. Without an inbox, only the capabilities that the handlers
    cover are declared. `authorization` provides credentials; `authorize` creates it for a URL that is only
    known on connecting. `resolver` resolves references in the entry. `origin` is the other client's file that
    defines the server, "" for the server list.
    """

    def __init__(
        self,
        entry: Entry,
        log: TrafficLog,
        guard: OrphanGuard,
        settings: SettingsStore,
        clock: Clock,
        *,
        is_saved: bool,
        on_change: Callable[[ServerView], None],
        handlers: Mapping[str, RequestHandler] | None = None,
        inbox: Inbox | None = None,
        authorization: Authorization | None = None,
        authorize: Callable[[Entry], Awaitable[Authorization | None]] | None = None,
        resolver: EntryResolver | None = None,
        origin: str = "",
    ) -> None:
        self.entry = entry
        self._connected_entry: Entry | None = None  # the entry of the latest connection
        self._authorized: Entry | None = None  # the entry with the resolved URL, as used for logins
        self._resolver = resolver or EntryResolver(log.credentials)
        self.authorization, self._authorize = authorization, authorize
        self.is_saved, self.origin = is_saved, origin
        self._input_owner: InputOwner | None = None
        self._app_settings = settings
        connection = _with_entry_timeouts(settings.connection(), entry)
        self._handlers = handlers or {}
        self._has_inbox = inbox is not None
        known = {ROOTS: roots_of(lambda: self.entry.roots), **self._handlers}
        responder = inbox.responder(entry.name, known, self._note) if inbox else responder_of(known)
        self._guard, self._clock, self._settings = guard, clock, connection
        self.session = Session(self._make_routes(), Recorder(log, entry.name, clock), connection, responder)
        self.client = Client(self.session, connection.max_pages)
        self._on_change = on_change
        self._tasks = TaskScope()
        self._connecting: asyncio.Task[None] | None = None
        self._generation = 0
        self._restarting: asyncio.Task[None] | None = None
        self._restart_text = ""
        self._latest_failure = SessionState()
        self._logins = 0
        self._is_user_logging_in = False
        self._attempts = restart_delays()
        self._connected_at = 0.0
        self._counts: dict[str, FeatureCount] = {}
        self._was_connected = False
        self._keep_alive = connection.keep_alive
        self.session.state_changed.connect(self._on_state_changed)

    @property
    def input_owner(self) -> InputOwner:
        """Where its input values are stored; set for a server from another client's file."""
        return self._input_owner or InputOwner(self.entry.name)

    @input_owner.setter
    def input_owner(self, owner: InputOwner) -> None:
        self._input_owner = owner

    @property
    def view(self) -> ServerView:
        view = view_of(self.entry, self.session.state, self.is_saved)
        if self._restart_text:
            view = replace(
                view,
                status=ServerStatus.RECONNECTING,
                reconnect=self._restart_text,
                reason=self._latest_failure.reason,
                next_step=self._latest_failure.next_step,
            )
        if self._logins and view.status is ServerStatus.NEEDS_LOGIN:
            status, waits_for = ServerStatus.LOGGING_IN, "a login in the browser"
            view = replace(view, status=status, waits_for=waits_for, reason="", next_step="")
        is_connected = view.status is ServerStatus.CONNECTED and self._connected_entry is not None
        is_outdated = is_connected and not is_same_connection(self._connected_entry, self.entry)
        return replace(
            view,
            client_side=self._client_side(),
            origin=self.origin,
            is_outdated=is_outdated,
            is_logging_in=self._is_user_logging_in,
            counts=tuple(self._counts.values()),
        )

    def set_count(self, count: FeatureCount) -> None:
        """Record how long a list is that was fetched; forgotten when the connection ends."""
        if self._was_connected and self._counts.get(count.kind) != count:
            self._counts[count.kind] = count
            self.announce()

    async def connect(self, timeout: float | None = None) -> None:
        """Connect or reconnect. Raises UserError if that fails or is superseded.

        `timeout` replaces the connection timeout of the settings for this attempt.
        """
        generation = self._next_generation()
        self._stop_restarting()
        await self._stop_connecting()
        if generation != self._generation:
            raise RequestCancelled("The connection attempt was cancelled.", "Connect again.")
        task = self._connecting = self._tasks.spawn(
            f"connect {self.entry.name}", self._connect_quietly(timeout)
        )
        await asyncio.wait([task])  # the caller may be cancelled; connecting continues
        if task.cancelled():
            raise RequestCancelled("The connection attempt was cancelled.", "Connect again.")
        if self._failure is not None:
            raise self._failure

    async def disconnect(self) -> None:
        generation = self._next_generation()
        self._stop_restarting()
        await self._stop_connecting()
        if generation == self._generation:
            await self.session.close()

    @contextlib.contextmanager
    def logging_in(self) -> Iterator[None]:
        """Show the server as logging in.

        After a successful login, the connection attempt updates the status.
        """
        self._logins += 1
        self.announce()
        try:
            yield
        except BaseException:
            self._logins -= 1
            self.announce()
            raise
        self._logins -= 1

    def set_user_logging_in(self, is_running: bool) -> None:
        """Show whether a login that the user started is running. It does not affect the connection."""
        if is_running is not self._is_user_logging_in:
            self._is_user_logging_in = is_running
            self.announce()

    @property
    def declared(self) -> ClientCapabilities:
        """Client capabilities chosen for this server, or the default."""
        if self._has_inbox:
            return capabilities_for(self.entry, ALL, SERVER_REQUEST_METHODS)
        handled = {*self._handlers, *((ROOTS,) if self.entry.roots else ())}
        return capabilities_for(self.entry, capabilities_for_methods(handled), handled)

    def _make_routes(self, entry: Entry | None = None) -> tuple[Route, ...]:
        return make_routes(
            entry or self.entry, self.declared, self._guard, self._clock, self._settings, self.authorization
        )

    def set_declared(self, entry: Entry) -> None:
        """Declare this entry's capabilities: at once, or from the next connection on."""
        self.entry = entry
        self.session.use(self._make_routes())
        self.announce()

    def require_usable(self, entry: Entry) -> None:
        """Raise ConfigError if this entry cannot be used to connect."""
        self._make_routes(entry)

    def set_entry(self, entry: Entry, authorization: Authorization | None) -> None:
        """Change the configuration under the same name. An existing connection is unaffected."""
        self._settings = _with_entry_timeouts(self._app_settings.connection(), entry)
        self._keep_alive = self._settings.keep_alive
        self.session.set_settings(self._settings)
        self.set_authorization(entry, authorization)

    def apply_settings(self) -> None:
        """Use changed settings from the next connection on; those of the entry take precedence."""
        self.client.set_max_pages(self._app_settings.get("connections.mostPages"))
        self.set_entry(self.entry, self.authorization)

    def set_authorization(self, entry: Entry, authorization: Authorization | None) -> None:
        """Use this entry's authorization from the next connection on."""
        self._authorized = None
        self.authorization = authorization
        self.set_declared(entry)

    async def set_roots(self, entry: Entry) -> None:
        """Use this entry's roots, and notify the server if `listChanged` was declared."""
        self.set_declared(entry)
        negotiated, capabilities = (
            self.session.state.negotiated,
            ClientCapabilities(self.session.declared or {}),
        )
        if (
            negotiated is not None
            and negotiated.era is Era.SESSION
            and capabilities.has(("roots", "listChanged"))
        ):
            await self.client.roots_changed()

    def _client_side(self) -> ClientSide:
        negotiated, declared = self.session.state.negotiated, self.declared
        revision = negotiated.revision if negotiated is not None else find_revision(self.entry.era)
        capabilities = self.session.declared
        # The handshake declared the capabilities for the proposed version, which may differ from the
        # negotiated one.
        proposed = revision
        if negotiated is not None and negotiated.era is Era.SESSION:
            proposed = find_revision(self.entry.era) or NEWEST_HANDSHAKE
        return ClientSide(
            declared=declared,
            is_default=self.entry.capabilities is None,
            roots=self.entry.roots,
            revision=proposed,
            sent=capabilities,
            differs=capabilities is not None and capabilities != declared.capabilities(proposed),
        )

    def _next_generation(self) -> int:
        """Start a new generation, so that an earlier one can tell it was superseded.

        A generation is one call of connect or disconnect.
        """
        self._generation += 1
        return self._generation

    def _note(self, text: str) -> None:
        self.session.note(text)

    def announce(self) -> None:
        self._on_change(self.view)

    async def _connect_quietly(self, timeout: float | None = None) -> None:
        """Connect, storing a failure instead of raising it: the task may have no awaiter."""
        self._failure: UserError | None = None
        self._connected_entry = self.entry
        try:
            is_path_pending = self._resolver.waits_for_path(self.entry)
            waits_for = "the PATH of the login shell" if is_path_pending else "the secret store"
            await self.session.connect(await self._route_resolver(), waits_for, timeout)
        except UserError as exc:
            self._failure = exc

    async def _route_resolver(self) -> Callable[[], Awaitable[tuple[Route, ...]]] | None:
        """Return None if nothing needs resolving, to avoid waiting for the secret store."""
        if self._resolver.is_needed(self.entry):
            return self._resolve_routes
        await self._resolver.resolve(self.entry)
        return None

    async def _resolve_routes(self) -> tuple[Route, ...]:
        """Return the routes with current values and secrets. Raises ConfigError if one is missing."""
        entry = await self._resolver.resolve(self.entry)
        await self._authorize_for(entry)
        return self._make_routes(entry)

    async def _authorize_for(self, resolved: Entry) -> None:
        """Create the authorization for the resolved URL. Secret headers are not included."""
        if self._authorize is None or isinstance(resolved, StdioEntry) or isinstance(self.entry, StdioEntry):
            return
        entry = replace(self.entry, url=resolved.url, network=resolved.network)
        if entry not in (self.entry, self._authorized):
            self._authorized = entry
            self.authorization = await self._authorize(entry)

    async def resolve(self, entry: Entry) -> Entry:
        """Return this entry fully resolved, as for connecting. Raises ConfigError."""
        return await self._resolver.resolve(entry)

    async def _stop_connecting(self) -> None:
        task, self._connecting = self._connecting, None
        if task is not None and not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def _on_state_changed(self, state: SessionState) -> None:
        is_lost = self._was_connected and state.status is Status.FAILED
        if state.status is Status.FAILED:
            self._latest_failure = state
        is_new = state.status is Status.CONNECTED and not self._was_connected
        self._was_connected = state.status is Status.CONNECTED
        if is_new:
            self._on_connected()
        else:
            self._counts.clear()
        # "When a client receives HTTP 404 […] it MUST start a new session": whatever the setting says.
        wants_restart = self.entry.auto_restart or state.is_session_lost
        if is_lost and wants_restart and self._restarting is None:
            self._begin_restarting()
        self.announce()

    def _on_connected(self) -> None:
        self._connected_at = asyncio.get_running_loop().time()
        self.client.resume()
        if self._keep_alive > 0:
            self.session.spawn("keep alive", self._send_pings())

    async def _send_pings(self) -> None:
        """Send pings; responses and timeouts appear in Traffic."""
        while True:
            await asyncio.sleep(self._keep_alive)
            with contextlib.suppress(LensError):
                await self.client.ping()

    def _begin_restarting(self) -> None:
        """Start reconnecting.

        The attempt count is reset only after a stable connection, so that crash loops end.
        """
        if asyncio.get_running_loop().time() - self._connected_at >= STABLE_AFTER:
            self._attempts = restart_delays()
        self._restarting = self._tasks.spawn(f"restart {self.entry.name}", self._restart())

    async def _restart(self) -> None:
        """Reconnect: up to five attempts with increasing delays."""
        try:
            for number, delay in self._attempts:
                self._show_restarting(f"reconnecting in {delay:.1f} s, attempt {number} of {MAX_ATTEMPTS}")
                await asyncio.sleep(delay)
                self._show_restarting(f"reconnecting, attempt {number} of {MAX_ATTEMPTS}")
                await self._connect_quietly()
                if self._failure is None or isinstance(self._failure, NeedsLogin):
                    break
        finally:
            if self._restarting is asyncio.current_task():
                self._restarting = None
                self._show_restarting("")

    def _show_restarting(self, text: str) -> None:
        self._restart_text = text
        self.announce()

    def _stop_restarting(self) -> None:
        """Stop restarting at the user's request; the next time has all attempts again."""
        task, self._restarting = self._restarting, None
        self._attempts = restart_delays()
        if task is not None:
            task.cancel()
            self._show_restarting("")


def reconnect_delays(attempts: int = MAX_ATTEMPTS, rng: random.Random | None = None) -> Iterator[float]:
    """Yield the delay before each attempt, in seconds: exponential backoff with jitter."""
    source = rng or random.Random()
    for number in range(attempts):
        full = min(_FIRST_DELAY * 2**number, _MAX_DELAY)
        yield full * source.uniform(0.5, 1.0)


def restart_delays() -> Iterator[tuple[int, float]]:
    """Yield the numbered attempts of one series, each with its delay."""
    return enumerate(reconnect_delays(), 1)


def view_of(entry: Entry, state: SessionState, is_saved: bool) -> ServerView:
    return ServerView(
        name=entry.name,
        transport=entry.transport,
        address=entry.address,
        status=_status(entry, state),
        reason=state.reason,
        next_step=state.next_step,
        waits_for=state.waits_for,
        negotiated=state.negotiated,
        pid=state.pid,
        was_connected=state.was_connected,
        continue_as=proposed_revision(entry.era).date if state.kind is FailureKind.VERSION else "",
        is_header_rejected=state.kind is FailureKind.CREDENTIALS,
        path_source=path_source(entry.env) if isinstance(entry, StdioEntry) else "",
        stream_problem=state.stream_problem,
        can_wait_longer=state.can_wait_longer,
        is_sequential=entry.sequential,
        is_verified=isinstance(entry, StdioEntry) or entry.network.verify,
        is_saved=is_saved,
        plain_secrets=plain_secrets_of(entry) if is_saved else (),
        secret_references=tuple(stored_secrets_of(entry)),
        expands=names_in(entry).shown,
        notes=entry.notes,
        color=entry.color,
        auto_connect=entry.auto_connect,
        is_enabled=entry.enabled,
    )


def _status(entry: Entry, state: SessionState) -> ServerStatus:
    if not entry.enabled and state.status not in (Status.CONNECTING, Status.CONNECTED):
        return ServerStatus.DISABLED
    return ServerStatus(state.status.value)


def _with_entry_timeouts(settings: ConnectionSettings, entry: Entry) -> ConnectionSettings:
    timeouts = entry.timeouts
    total = timeouts.total or settings.total_timeout
    return replace(
        settings,
        connect_timeout=timeouts.connect or settings.connect_timeout,
        request_timeout=min(timeouts.request or settings.request_timeout, total),
        total_timeout=total,
        keep_alive=settings.keep_alive if timeouts.keep_alive is None else timeouts.keep_alive,
    )
