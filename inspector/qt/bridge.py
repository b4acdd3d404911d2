"""Bridge between the window thread and the engine thread; they meet in this module only.

Down: panels await `Bridge.ask`; the work runs on the engine's event loop and the result returns to the
window's, after all events that the engine emitted before. Up: engine events are queued and delivered as Qt
signals in batches, at most one batch every 33 ms unless an answer waits for it, in the order in which they
were emitted. Events that only matter in their latest state (progress, changed lists, tasks, resources) are
delivered once per batch. A batch takes some 10 ms; the rest waits for the next one, so that the window can
paint and react in between. In a flood of rows the servers that cause it are not read while the window
paints.
Only frozen values cross the threads, and the traffic log, which can be read from any thread.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from inspector.base.errors import UserError
from inspector.traffic.log import TrafficLog

# Types only: the window is on screen before the engine is imported, and asyncio with it.
if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from inspector.config.servers.entries import Entry
    from inspector.engine.engine import Engine, EngineThread
    from inspector.engine.tasks.views import TaskView
    from inspector.transport.task_scope import TaskScope

T = TypeVar("T")

_TICK_MS = 33
# How long a batch may take before the rest is postponed; a single event may take longer.
_MAX_BATCH_S = 0.01
# New rows per tick from which reading is paused for painting, and the maximum pause.
_FLOOD_ROWS = 500
_MAX_PAINT_S = 0.05
# Tables do their layout in one event round and paint in the next.
_PAINTING_ROUNDS = 3
# In a flood reading gets this multiple of the last painting time, up to a limit.
_READING_SHARE = 5
_MAX_TICK_MS = 250
# How long closing waits for choices that are being saved.
_SAVE_TIMEOUT_S = 5.0


class Bridge(QObject):
    """The panels' interface to the engine.

    Signals:
        server_changed: A server was added or its state changed; carries its ServerView.
        server_removed: A server was removed; carries its name.
        server_renamed: A server was removed and added again under another name; carries both names.
        servers_ordered: The order of the servers changed; carries all names.
        server_list_changed: The server list file was changed by another program; carries a ServerListDiff.
        discovered_servers_changed: The servers in other tools' configuration files changed; carries a
            DiscoveryReport.
        list_changed: A server's tools, resources or prompts changed; carries its name and which list.
        resources_changed: Resources of a server changed; carries its name and the set of their URIs.
        problem_found: Something failed that concerns no particular server; carries the message.
        problem_resolved: It was resolved; carries the same message.
        recording_changed: The recording state changed; carries a RecordingState.
        secrets_changed: The state of the secret store changed; carries a SecretsState.
        login_changed: The state of a login changed; carries its LoginView.
        login_required: A server requires a login that was not started; carries a LoginRequested.
        tokens_changed: A server's tokens were obtained, refreshed or removed; carries its name.
        setting_changed: A setting has another value; carries its id and the value.
        inbox_changed: A server request was added to the Inbox, changed or ended; carries the InboxRequest.
        tasks_changed: Tasks were added, changed or removed; carries their server and a mapping of task ids
            to their TaskView, None for a removed task.
        drift_changed: The difference between a server and its baseline changed; carries a DriftView.
        check_changed: A Doctor check of a server made progress; carries its CheckReport.
        process_changed: A server process started or ended; carries the server's name.
        filewatch_changed: The state of a server's file watch changed; carries its FileWatchView.
        regression_calls_changed: A server's regression calls changed; carries their RegressionView.
        traffic_grew: Rows were added to the log or changed; carries the log's length.
    """

    server_changed = Signal(object)
    server_removed = Signal(str)
    server_renamed = Signal(str, str)
    servers_ordered = Signal(object)
    server_list_changed = Signal(object)
    discovered_servers_changed = Signal(object)
    list_changed = Signal(str, str)
    resources_changed = Signal(str, object)
    problem_found = Signal(str)
    problem_resolved = Signal(str)
    recording_changed = Signal(object)
    secrets_changed = Signal(object)
    login_changed = Signal(object)
    login_required = Signal(object)
    tokens_changed = Signal(str)
    setting_changed = Signal(str, object)
    inbox_changed = Signal(object)
    tasks_changed = Signal(str, object)
    drift_changed = Signal(object)
    check_changed = Signal(object)
    process_changed = Signal(str)
    filewatch_changed = Signal(object)
    regression_calls_changed = Signal(object)
    traffic_grew = Signal(int)
    _woken = Signal()

    _thread: EngineThread
    _engine: Engine
    _tasks: TaskScope
    _saves: TaskScope

    def __init__(self, log: TrafficLog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = log
        self.open_url: Callable[[str], None] = _no_browser  # opens a URL, or raises UserError
        self._before_attach: list[Callable[[], object]] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._waiting: set[asyncio.Future[None]] = set()  # for the delivery of what is queued
        self._is_awake = False
        self._is_closed = False
        self._delivered_at = 0.0
        self._shown_length = 0
        self._shown_touched = 0
        self._pause: Future[None] | None = None  # of reading, while the window paints
        self._paused_at = 0.0
        self._rounds = 0
        # Zero interval: it fires when no event is left, paint events included. `QTimer.singleShot(0)` is
        # itself an event and would fire before them.
        self._after_events = QTimer(self, interval=0)
        self._after_events.timeout.connect(self._on_events_done)
        self._timer = QTimer(self, interval=_TICK_MS, singleShot=True)
        self._timer.timeout.connect(self._deliver)
        self._woken.connect(self._on_woken)

    def attach(self, thread: EngineThread) -> None:
        """Connect to the engine once it is up, and start the work that was queued before."""
        from inspector.transport.task_scope import TaskScope

        self._thread = thread
        self._engine = thread.engine
        self._tasks, self._saves = TaskScope(), TaskScope()
        self._listen()
        queued, self._before_attach = self._before_attach, []
        for start in queued:
            start()

    @property
    def is_attached(self) -> bool:
        return hasattr(self, "_engine")

    @property
    def is_closed(self) -> bool:
        """Whether the window is closing: its loop may not run any more, so start no work."""
        return self._is_closed

    def start_when_attached(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        """Like `start`, but queue the work while there is no engine yet."""
        if self.is_attached:
            self.start(name, work)
        else:
            self._before_attach.append(partial(self.start, name, work))

    def save(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        """Like `start_when_attached`, for a choice of the user: `close` waits until it is saved."""
        if self.is_attached:
            self._saves.spawn(name, self._run(work, None))
        else:
            self._before_attach.append(partial(self.save, name, work))

    def start(
        self, name: str, work: Coroutine[Any, Any, object], owner: QObject | None = None
    ) -> asyncio.Task[Any]:
        """Run a panel's coroutine on the window's loop; a UserError is shown to the user.

        Pass the `owner` whose widgets the work uses if it can be deleted before the window: errors about
        its deleted widgets are then ignored.
        """
        task = self._tasks.spawn(name, self._run(work, owner))
        task.add_done_callback(lambda _: work.close())  # in case it was cancelled before it started
        return task

    async def close(self) -> None:
        """Stop all work on the window's loop; later engine events are not delivered."""
        await self._saves.settle(_SAVE_TIMEOUT_S)
        self._is_closed = True
        await self._tasks.close()
        await self._saves.close()
        for delivered in tuple(self._waiting):
            _settle(delivered)
        self._timer.stop()
        self._after_events.stop()
        self._end_pause()

    @overload
    async def ask(self, work: Callable[[Engine], Coroutine[Any, Any, T]]) -> T: ...

    @overload
    async def ask(self, work: Callable[[Engine], T]) -> T: ...

    async def ask(self, work: Callable[[Engine], Any]) -> Any:
        """Run `work`, plain or async, on the engine's thread and return its result.

        For example `await bridge.ask(lambda engine: engine.calls.saved())`. Only frozen values may come back.
        Read widgets before: the lambda runs on the engine's thread. So do callbacks passed to the engine,
        unless they are wrapped with `on_window` or `each_on_window`.
        Everything that the engine emitted before the work ended is delivered before this returns or raises.
        Cancelling the awaiting task cancels the work. Raises what the work raises, mostly UserError.
        """
        import asyncio

        future = asyncio.wrap_future(self._thread.submit(_run_work(self._engine, work)))
        del work  # a traceback would keep the panel that it refers to
        try:
            result = await future
        except Exception:
            await self._catch_up()
            raise
        await self._catch_up()
        return result

    async def _catch_up(self) -> None:
        """Wait until the window has received everything the engine has sent so far."""
        if self._is_closed:
            return
        if not self._queue:
            self._report_rows()
            return
        import asyncio

        delivered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(delivered)
        delivered.add_done_callback(self._waiting.discard)
        self._post(partial(_settle, delivered))
        if time.monotonic() - self._delivered_at >= _TICK_MS / 1000:
            QTimer.singleShot(0, self._deliver)
        await delivered

    def each_on_window(self, callback: Callable[[T], None]) -> Callable[[T], None]:
        """Wrap `callback` for any thread: it runs on the window's, once per value."""
        return lambda value: self._post(partial(callback, value))

    def on_window(self, callback: Callable[..., None]) -> Callable[..., None]:
        """Wrap `callback` for any thread: it runs on the window's, with the latest arguments only."""

        def deliver_last(waiting: Iterator[tuple[Any, ...]]) -> None:
            for arguments in deque(waiting, maxlen=1):
                callback(*arguments)

        return self._batched(deliver_last)

    def _batched(self, deliver: Callable[[Iterator[tuple[Any, ...]]], None]) -> Callable[..., None]:
        """Wrap `deliver` for any thread: it runs on the window's, once per batch.

        It gets the arguments of all calls since, possibly none, and must take all of them.
        """
        waiting: deque[tuple[Any, ...]] = deque()
        is_posted = False

        # Read after the queue is filled, cleared before it is emptied: nothing is missed (as in `_wake`).
        def put(*arguments: Any) -> None:
            nonlocal is_posted
            waiting.append(arguments)
            if not is_posted:
                is_posted = True
                self._post(deliver_all)

        def deliver_all() -> None:
            nonlocal is_posted
            is_posted = False
            deliver(_drained(waiting))

        return put

    async def _run(self, work: Coroutine[Any, Any, object], owner: QObject | None) -> None:
        try:
            await work
        except UserError as exc:
            self.problem_found.emit(str(exc))
        except RuntimeError:  # also raised when using a deleted widget
            if owner is None or shiboken6.isValid(owner):
                raise

    def _listen(self) -> None:
        """Connect the engine's signals.

        The handlers run on the engine's and the recorder's thread, so they only queue.
        """
        engine: Engine = self._engine
        engine.servers.changed.connect(self._relay(self.server_changed))
        engine.servers.removed.connect(self._relay(self.server_removed))
        engine.servers.renamed.connect(self._on_server_renamed)
        watch = engine.server_list_watch
        watch.changed.connect(self._relay(self.server_list_changed))
        watch.problem_found.connect(self._relay(self.problem_found))
        watch.problem_resolved.connect(self._relay(self.problem_resolved))
        engine.discovery.changed.connect(self.on_window(self.discovered_servers_changed.emit))
        engine.servers.order_changed.connect(self._relay(self.servers_ordered))
        engine.list_changed.connect(self._relay_once(self.list_changed))
        engine.resource_changed.connect(self._batched(self._deliver_resources))
        engine.servers.problem_found.connect(self._relay(self.problem_found))
        put_task = self._batched(self._deliver_tasks)
        engine.tasks.changed.connect(lambda view: put_task(view.server, view.id, view))
        engine.tasks.removed.connect(lambda server, id: put_task(server, id, None))
        engine.inbox.changed.connect(self._relay(self.inbox_changed))
        logins = engine.logins
        logins.changed.connect(self._relay(self.login_changed))
        logins.login_requested.connect(self._relay(self.login_required))
        logins.tokens_changed.connect(self._relay(self.tokens_changed))
        logins.open_url = self._open_url
        engine.drift.changed.connect(self._relay(self.drift_changed))
        engine.doctor.changed.connect(self._relay(self.check_changed))
        engine.processes.changed.connect(self._relay_once(self.process_changed))
        engine.filewatch.changed.connect(self._relay(self.filewatch_changed))
        engine.regression_calls.changed.connect(self._relay(self.regression_calls_changed))
        engine.log.grew.connect(lambda length: self._wake())
        captures = engine.captures
        captures.problem_found.connect(self._relay(self.problem_found))
        engine.calls.problem_found.connect(self._relay(self.problem_found))
        engine.reply_rules.problem_found.connect(self._relay(self.problem_found))
        engine.secrets.problem_found.connect(self._relay(self.problem_found))
        engine.settings.changed.connect(self._relay(self.setting_changed))
        engine.settings.problem_found.connect(self._relay(self.problem_found))
        engine.secrets.changed.connect(self.on_window(self.secrets_changed.emit))
        captures.recording_changed.connect(self.on_window(self.recording_changed.emit))

    def _relay(self, signal: SignalInstance) -> Callable[..., None]:
        """Return a function for any thread that emits `signal` on the window's, once per call."""
        return lambda *values: self._post(partial(signal.emit, *values))

    def _relay_once(self, signal: SignalInstance) -> Callable[..., None]:
        """Like `_relay`, but emit the signal only once per batch for equal values."""

        def deliver(waiting: Iterator[tuple[Any, ...]]) -> None:
            for values in dict.fromkeys(waiting):
                signal.emit(*values)

        return self._batched(deliver)

    async def _open_url(self, url: str) -> None:
        """Open a URL in the browser: called on the engine's loop, executed by the window.

        Raises UserError.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()

        def settle(error: UserError | None) -> None:
            if not opened.done():
                opened.set_result(None) if error is None else opened.set_exception(error)

        def open_in_window() -> None:
            try:
                self.open_url(url)
            except UserError as exc:
                loop.call_soon_threadsafe(settle, exc)
            else:
                loop.call_soon_threadsafe(settle, None)

        self._post(open_in_window)
        await opened

    def _on_server_renamed(self, before: Entry, after: Entry) -> None:
        self._post(partial(self.server_renamed.emit, before.name, after.name))

    def _deliver_tasks(self, changes: Iterator[tuple[str, str, TaskView | None]]) -> None:
        """Report the latest state of each task."""
        latest: dict[str, dict[str, TaskView | None]] = {}
        for server, id, view in changes:
            latest.setdefault(server, {})[id] = view
        for server, views in latest.items():
            self.tasks_changed.emit(server, views)

    def _deliver_resources(self, changes: Iterator[tuple[str, str]]) -> None:
        """Report each changed resource once."""
        changed: dict[str, set[str]] = {}
        for server, uri in changes:
            changed.setdefault(server, set()).add(uri)
        for server, uris in changed.items():
            self.resources_changed.emit(server, uris)

    def _post(self, deliver: Callable[[], None]) -> None:
        self._queue.append(deliver)
        self._wake()

    def _wake(self) -> None:
        # Set before the queue is emptied, cleared before it is read (`_deliver`): nothing is missed.
        if not self._is_awake:
            self._is_awake = True
            self._woken.emit()

    def _on_woken(self) -> None:
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start()

    def _deliver(self) -> None:
        if self._is_closed:
            return
        self._is_awake = False
        until = time.monotonic() + _MAX_BATCH_S
        for _ in range(len(self._queue)):
            self._queue.popleft()()
            if time.monotonic() >= until:
                break
        self._report_rows()
        self._delivered_at = time.monotonic()
        if self._queue:
            self._wake()

    def _report_rows(self) -> None:
        length, touched = len(self.log), len(self.log.touched)
        if length - self._shown_length >= _FLOOD_ROWS:
            self._pause_reading(length)
        else:
            self._timer.setInterval(_TICK_MS)
        if (length, touched) != (self._shown_length, self._shown_touched):
            self._shown_length, self._shown_touched = length, touched
            self.traffic_grew.emit(length)

    def _pause_reading(self, length: int) -> None:
        """In a flood, alternate with the servers that cause it: read, paint, read again.

        Painting reads about a thousand values from the models and would compete for the GIL for each of
        them: that caused gaps of 240 ms, alternating 30 ms. Meanwhile, messages of these servers wait in
        the pipe; other servers are read on, so that their messages get the time at which they arrived.
        """
        if self._pause is not None:
            return
        names, rows = self.log.servers(), Counter(self.log.columns.server[self._shown_length : length])
        servers = [names[number] for number, count in rows.items() if count * len(rows) >= rows.total()]
        self._pause = self._thread.submit(self._engine.pause_reading(servers, _MAX_PAINT_S))
        self._paused_at = time.monotonic()
        self._rounds = 0
        self._after_events.start()

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _on_events_done(self) -> None:
        self._rounds += 1
        if self._rounds < _PAINTING_ROUNDS:
            return
        self._after_events.stop()
        self._end_pause()
        painting_ms = (time.monotonic() - self._paused_at) * 1000
        self._timer.setInterval(min(max(_TICK_MS, round(_READING_SHARE * painting_ms)), _MAX_TICK_MS))


async def _run_work(engine: Engine, work: Callable[[Engine], Any]) -> Any:
    result = work(engine)
    del work  # as in `Bridge.ask`
    return await result if isinstance(result, Coroutine) else result


def _settle(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def _drained(queue: deque[T]) -> Iterator[T]:
    for _ in range(len(queue)):
        yield queue.popleft()


def _no_browser(url: str) -> None:
    raise UserError("No browser is available here.", "Log in from the MCP Lens window.")
