"""The only file where the engine's thread and the window's thread meet.

Down: a panel awaits one of the methods here; the work runs on the engine's loop and its value comes back
to the window's. Up: what the engine says is queued, and delivered as Qt signals in batches, at most
every 33 ms, however much there is. Only frozen values cross, and the traffic log, which is made to be
read from any thread.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance

from inspector.base.errors import UserError
from inspector.qt.requests import Requests
from inspector.traffic.log import TrafficLog

# Types only: the window is on screen before the engine is imported, and asyncio with it.
if TYPE_CHECKING:
    import asyncio

    from inspector.config.entries import Entry
    from inspector.engine.engine import Engine
    from inspector.engine.taskviews import TaskView
    from inspector.engine.thread import EngineThread
    from inspector.transport.tasks import TaskScope

T = TypeVar("T")

_TICK_MS = 33
# New rows in one tick from which the engine waits until they are painted, and how long at most.
_FLOOD_ROWS = 500
_LONGEST_PAINT_S = 0.05
# Tables lay themselves out in one round of events and paint in the next.
_PAINTING_ROUNDS = 3
# In a flood the engine has this many times as long as the painting before took, but not for ever.
_ENGINE_SHARE = 5
_LONGEST_TICK_MS = 250


class Bridge(QObject, Requests):
    """What panels know of the engine.

    Signals:
        server_changed: A server was added or stands differently; carries its ServerView.
        server_removed: Carries its name.
        server_renamed: It was removed, and comes with another name; carries both.
        servers_ordered: Servers stand in another order; carries all names.
        catalogue_changed: Somebody else changed the file of servers; carries a CatalogueDiff.
        found_changed: Servers in files of other tools stand differently; carries a FoundReport.
        list_changed: A server's tools, resources or prompts changed; carries its name and which of them.
        resources_changed: Resources of a server changed; carries its name and the set of their URIs.
        problem_found: Something is wrong that belongs to no server; carries a sentence.
        problem_over: It is not so any more; carries the sentence.
        recording_changed: The recording stands differently; carries a RecordingState.
        secrets_changed: How secrets are kept stands differently; carries a SecretsState.
        login_changed: A login stands differently; carries its LoginView.
        login_wanted: A server wants a login that nobody began; carries a LoginWanted.
        tokens_changed: The tokens of a server are new, renewed or gone; carries its name.
        card_changed: A card of the Inbox was opened, changed or ended; carries the Card.
        tasks_changed: Tasks are new, stand differently or are kept no longer; carries their server and a
            mapping of their ids to the TaskView of each, None for one that is gone.
        drift_changed: What a server offers stands differently to its baseline; carries a DriftView.
        examination_changed: The doctor's examination of a server goes on; carries an Examination.
        process_changed: A process of a server started or ended; carries the server's name.
        filewatch_changed: The watch over the files of a server stands differently; carries its FileWatchView.
        reruns_changed: The watched calls of a server stand differently; carries their RerunView.
        traffic_grew: The log has more rows, or some changed; carries its length.
    """

    server_changed = Signal(object)
    server_removed = Signal(str)
    server_renamed = Signal(str, str)
    servers_ordered = Signal(object)
    catalogue_changed = Signal(object)
    found_changed = Signal(object)
    list_changed = Signal(str, str)
    resources_changed = Signal(str, object)
    problem_found = Signal(str)
    problem_over = Signal(str)
    recording_changed = Signal(object)
    secrets_changed = Signal(object)
    login_changed = Signal(object)
    login_wanted = Signal(object)
    tokens_changed = Signal(str)
    card_changed = Signal(object)
    tasks_changed = Signal(str, object)
    drift_changed = Signal(object)
    examination_changed = Signal(object)
    process_changed = Signal(str)
    filewatch_changed = Signal(object)
    reruns_changed = Signal(object)
    traffic_grew = Signal(int)
    _woken = Signal()

    _thread: EngineThread
    _engine: Engine
    _tasks: TaskScope

    def __init__(self, log: TrafficLog, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.log = log
        self.open_page: Callable[[str], None] = _no_browser  # opens an address, or raises UserError
        self._early: list[Callable[[], object]] = []
        self._queue: deque[Callable[[], None]] = deque()
        self._changed: deque[tuple[str, str]] = deque()
        self._tasks_changed: deque[tuple[str, str, TaskView | None]] = deque()
        self._is_awake = False
        self._is_closed = False
        self._shown_length = 0
        self._shown_touched = 0
        self._is_painted = threading.Event()
        self._is_painted.set()
        self._held_at = 0.0
        self._rounds = 0
        # Of no length: it fires when no event is left, paint events included. `QTimer.singleShot(0)` would
        # be an event itself, and come before them.
        self._after_events = QTimer(self, interval=0)
        self._after_events.timeout.connect(self._on_events_done)
        self._timer = QTimer(self, interval=_TICK_MS, singleShot=True)
        self._timer.timeout.connect(self._deliver)
        self._woken.connect(self._on_woken)

    def attach(self, thread: EngineThread) -> None:
        """The engine is there. The window may have been on screen for a while; what was begun goes on now."""
        from inspector.transport.tasks import TaskScope

        self._thread = thread
        self._engine = thread.engine
        self._tasks = TaskScope()
        self._listen()
        early, self._early = self._early, []
        for begin in early:
            begin()

    @property
    def is_attached(self) -> bool:
        return hasattr(self, "_engine")

    def start_when_attached(self, name: str, work: Coroutine[Any, Any, object]) -> None:
        """`start`, also in the first moments, when there is no engine yet."""
        if self.is_attached:
            self.start(name, work)
        else:
            self._early.append(partial(self.start, name, work))

    def start(
        self, name: str, work: Coroutine[Any, Any, object], owner: QObject | None = None
    ) -> asyncio.Task[Any]:
        """Run a panel's coroutine on the window's loop; what it raises for the person is shown to them.

        Give the `owner` whose widgets the work touches, if that can be deleted before the window is: the work
        may then end by finding them gone.
        """
        task = self._tasks.spawn(name, self._shown(work, owner))
        task.add_done_callback(lambda _: work.close())  # for one that was cancelled before it began
        return task

    async def close(self) -> None:
        """Nothing of ours runs on the window's loop any more; what the engine still says is not delivered."""
        self._is_closed = True
        await self._tasks.close()
        self._timer.stop()
        self._after_events.stop()
        self._is_painted.set()

    # -------------------------------------------------------------- down

    async def caught_up(self) -> None:
        """Until the window has heard all that the engine has said so far: what comes then is news."""
        import asyncio

        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._post(lambda: None if heard.done() else heard.set_result(None))
        await heard

    def _each(self, callback: Callable[[T], None]) -> Callable[[T], None]:
        """`callback`, to be called on the engine's thread: it runs on the window's, once for each value."""
        return lambda value: self._post(partial(callback, value))

    def on_window(self, callback: Callable[..., None]) -> Callable[..., None]:
        """`callback`, to be called on any thread: it runs on the window's, with the latest arguments only."""
        latest: deque[tuple[Any, ...]] = deque(maxlen=1)

        def deliver() -> None:
            # Newer ones may come at any moment: of two deliveries, the later then has nothing to do.
            if latest:
                callback(*latest.pop())

        def call(*arguments: Any) -> None:
            is_posted = bool(latest)
            latest.append(arguments)
            if not is_posted:
                self._post(deliver)

        return call

    async def on_engine(self, work: Coroutine[Any, Any, T]) -> T:
        """Run any coroutine on the engine's loop: for those who build the app, not for panels."""
        return await self._call(work)

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        import asyncio

        return await asyncio.wrap_future(self._thread.submit(work))

    async def _shown(self, work: Coroutine[Any, Any, object], owner: QObject | None) -> None:
        try:
            await work
        except UserError as exc:
            self.problem_found.emit(str(exc))
        except RuntimeError:  # also what touching a deleted widget raises
            if owner is None or shiboken6.isValid(owner):
                raise

    # -------------------------------------------------------------- up

    def _listen(self) -> None:
        """These run on the engine's thread, and on the recorder's: they only queue."""
        engine: Engine = self._engine
        engine.server_changed.connect(self._telling(self.server_changed))
        engine.server_removed.connect(self._telling(self.server_removed))
        engine.servers.renamed.connect(self._on_server_renamed)
        watch = engine.catalogue_watch
        watch.changed.connect(self._telling(self.catalogue_changed))
        watch.problem_found.connect(self._telling(self.problem_found))
        watch.problem_over.connect(self._telling(self.problem_over))
        engine.found.changed.connect(self.on_window(self.found_changed.emit))
        ordered = engine.servers.order_changed
        ordered.connect(self._telling(self.servers_ordered))
        engine.list_changed.connect(self._telling(self.list_changed))
        engine.resource_changed.connect(self._on_resource_changed)
        engine.problem_found.connect(self._telling(self.problem_found))
        engine.tasks.changed.connect(lambda view: self._on_task_changed(view.server, view.id, view))
        engine.tasks.removed.connect(lambda server, id: self._on_task_changed(server, id, None))
        engine.inbox.changed.connect(self._telling(self.card_changed))
        engine.inbox.problem_found.connect(self._telling(self.problem_found))
        logins = engine.logins
        logins.changed.connect(self._telling(self.login_changed))
        logins.wanted.connect(self._telling(self.login_wanted))
        logins.tokens_changed.connect(self._telling(self.tokens_changed))
        logins.open_url = self._open_url
        engine.drift.changed.connect(self._telling(self.drift_changed))
        engine.doctor.changed.connect(self._telling(self.examination_changed))
        engine.processes.changed.connect(self._telling(self.process_changed))
        engine.filewatch.changed.connect(self._telling(self.filewatch_changed))
        engine.reruns.changed.connect(self._telling(self.reruns_changed))
        engine.log.grew.connect(lambda length: self._wake())
        captures = engine.captures
        captures.problem_found.connect(self._telling(self.problem_found))
        engine.calls.problem_found.connect(self._telling(self.problem_found))
        engine.answers.problem_found.connect(self._telling(self.problem_found))
        engine.secrets.problem_found.connect(self._telling(self.problem_found))
        desk = engine.settings_desk
        desk.problem_found.connect(self._telling(self.problem_found))
        engine.secrets.changed.connect(self.on_window(self.secrets_changed.emit))
        captures.recording_changed.connect(self.on_window(self.recording_changed.emit))

    def _telling(self, signal: SignalInstance) -> Callable[..., None]:
        """To be called on any thread: the signal is emitted on the window's, once for each call."""
        return lambda *values: self._post(partial(signal.emit, *values))

    async def _open_url(self, url: str) -> None:
        """It goes on in the browser: asked on the engine's loop, done by the window. Raises UserError."""
        import asyncio

        loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = loop.create_future()

        def settle(problem: UserError | None) -> None:
            if not opened.done():
                opened.set_result(None) if problem is None else opened.set_exception(problem)

        def open_it() -> None:
            try:
                self.open_page(url)
            except UserError as exc:
                loop.call_soon_threadsafe(settle, exc)
            else:
                loop.call_soon_threadsafe(settle, None)

        self._post(open_it)
        await opened

    def _on_server_renamed(self, before: Entry, after: Entry) -> None:
        self._post(partial(self.server_renamed.emit, before.name, after.name))

    def _on_task_changed(self, server: str, id: str, view: TaskView | None) -> None:
        """A task that moves quickly is told of as it stands in the end."""
        self._tasks_changed.append((server, id, view))
        if len(self._tasks_changed) == 1:
            self._post(self._deliver_tasks)

    def _deliver_tasks(self) -> None:
        latest: dict[str, dict[str, TaskView | None]] = {}
        while self._tasks_changed:
            server, id, view = self._tasks_changed.popleft()
            latest.setdefault(server, {})[id] = view
        for server, views in latest.items():
            self.tasks_changed.emit(server, views)

    def _on_resource_changed(self, server: str, uri: str) -> None:
        """However often they change between two ticks, it is told once."""
        self._changed.append((server, uri))
        if len(self._changed) == 1:
            self._post(self._deliver_changes)

    def _deliver_changes(self) -> None:
        changed: dict[str, set[str]] = {}
        while self._changed:
            server, uri = self._changed.popleft()
            changed.setdefault(server, set()).add(uri)
        for server, uris in changed.items():
            self.resources_changed.emit(server, uris)

    def _post(self, deliver: Callable[[], None]) -> None:
        self._queue.append(deliver)
        self._wake()

    def _wake(self) -> None:
        # Set before the queue is emptied and cleared before it is read (`_deliver`): nothing is left behind.
        if not self._is_awake:
            self._is_awake = True
            self._woken.emit()

    def _on_woken(self) -> None:
        if not self._timer.isActive() and not self._is_closed:
            self._timer.start()

    def _deliver(self) -> None:
        self._is_awake = False
        for _ in range(len(self._queue)):
            self._queue.popleft()()
        length, touched = len(self.log), len(self.log.touched)
        if length - self._shown_length >= _FLOOD_ROWS:
            self._hold_engine()
        else:
            self._timer.setInterval(_TICK_MS)
        if (length, touched) != (self._shown_length, self._shown_touched):
            self._shown_length, self._shown_touched = length, touched
            self.traffic_grew.emit(length)

    def _hold_engine(self) -> None:
        """In a flood, take turns with the engine: it reads, then the window paints, then it reads again.

        Painting asks the models for a thousand values, and for each it would have to win Python's lock from
        an engine that never lets go of it by itself: that made gaps of 240 ms; taking turns, 30 ms. What
        arrives meanwhile waits in the pipe, and its time is noted that much later.
        """
        if self._is_painted.is_set():
            self._is_painted.clear()
            self._held_at = time.monotonic()
            self._thread.call(self._is_painted.wait, _LONGEST_PAINT_S)
            self._rounds = 0
            self._after_events.start()

    def _on_events_done(self) -> None:
        self._rounds += 1
        if self._rounds < _PAINTING_ROUNDS:
            return
        self._after_events.stop()
        self._is_painted.set()
        painting_ms = (time.monotonic() - self._held_at) * 1000
        self._timer.setInterval(min(max(_TICK_MS, round(_ENGINE_SHARE * painting_ms)), _LONGEST_TICK_MS))


def _no_browser(url: str) -> None:
    raise UserError("There is no browser here.", "Log in from the window.")
