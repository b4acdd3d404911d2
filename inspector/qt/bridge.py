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
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import shiboken6
from PySide6.QtCore import QObject, QTimer, Signal

from inspector.base.errors import UserError
from inspector.base.jsonvalue import JSON, JSONObject
from inspector.traffic.log import TrafficLog

# Types only: the window is on screen before the engine is imported, and asyncio with it.
if TYPE_CHECKING:
    import asyncio

    from inspector.config.auth import Auth
    from inspector.config.entries import Entry
    from inspector.engine.answerrules import AnswerRules
    from inspector.engine.byhand import ToolCall
    from inspector.engine.calls import Calls
    from inspector.engine.captures import Captures
    from inspector.engine.cards import Card
    from inspector.engine.doctor.doctor import Doctor
    from inspector.engine.drift import Drift
    from inspector.engine.engine import Engine
    from inspector.engine.filewatch import FileWatch
    from inspector.engine.found import FoundServers
    from inspector.engine.inbox import Inbox
    from inspector.engine.logins import Logins
    from inspector.engine.outputcheck import OutputCheck
    from inspector.engine.prettytext import PrettyText
    from inspector.engine.processes import Processes
    from inspector.engine.repeating import RepeatPlan, RepeatReport
    from inspector.engine.reruns import Reruns
    from inspector.engine.secrets import Secrets
    from inspector.engine.servers import Servers
    from inspector.engine.settingsdesk import SettingsDesk
    from inspector.engine.taskbook import TaskBook
    from inspector.engine.taskviews import TaskView
    from inspector.engine.thread import EngineThread
    from inspector.engine.views import CallOutcome, RawOutcome, ServerView
    from inspector.engine.watching import Sighting, WatchPlan
    from inspector.protocol.connection import Progressed
    from inspector.protocol.declared import Declared
    from inspector.protocol.tasks import Task
    from inspector.protocol.types import Completion, Listing, Prompt, Resource, ResourceTemplate, Tool
    from inspector.transport.base import Headers
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


class Bridge(QObject):
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

    async def load(self) -> None:
        await self._call(_soon(self._engine.load))

    async def save_server(self, entry: Entry, secrets: Mapping[str, str] | None = None) -> ServerView:
        """With what it refers to in the secret store. Raises UserError."""
        return await self._call(self._engine.save_with_secrets(entry, secrets or {}))

    async def set_secrets(self, name: str, moved: Collection[str], values: Mapping[str, str]) -> None:
        """Move plain headers or variables into the secret store; give others new values. Raises UserError."""
        await self._call(self._engine.set_secrets(name, moved, values))

    async def add_server(self, entry: Entry) -> ServerView:
        return await self._call(_soon(partial(self._engine.add, entry)))

    async def unique_name(self, name: str) -> str:
        return await self._call(_soon(partial(self._engine.unique_name, name)))

    async def remove_server(self, name: str) -> None:
        await self._call(self._engine.remove(name))

    async def ask_servers(self, ask: Callable[[Servers], Coroutine[Any, Any, T]]) -> T:
        """Edit, duplicate: `await bridge.ask_servers(lambda servers: servers.update(name, entry))`. Remove so
        that it can be undone: `servers.removals.remove(name)`. Raises UserError."""
        return await self._call(ask(self._engine.servers))

    async def ask_found(self, ask: Callable[[FoundServers], Coroutine[Any, Any, T]]) -> T:
        """Servers in files of other tools: `await bridge.ask_found(lambda found: found.look())`. Raises
        UserError."""
        return await self._call(ask(self._engine.found))

    async def set_enabled(self, name: str, enabled: bool) -> None:
        await self._call(self._engine.set_enabled(name, enabled))

    async def view(self, name: str) -> ServerView:
        """One server as it stands. Raises UserError."""
        return await self._call(_soon(partial(self._engine.view, name)))

    async def caught_up(self) -> None:
        """Until the window has heard all that the engine has said so far: what comes then is news."""
        import asyncio

        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._post(lambda: None if heard.done() else heard.set_result(None))
        await heard

    async def set_declared(self, name: str, declared: Declared | None) -> None:
        """What we declare to a server (`Engine.set_declared`). Raises UserError."""
        await self._call(_soon(partial(self._engine.set_declared, name, declared)))

    async def set_roots(self, name: str, roots: tuple[str, ...]) -> None:
        """The folders that a server is told of (`Engine.set_roots`). Raises UserError."""
        await self._call(self._engine.set_roots(name, roots))

    def connect_server(self, name: str) -> None:
        """Begin to connect; `server_changed` tells how it goes."""
        self._thread.call(self._engine.connect_soon, name)

    def connect_all(self) -> None:
        """Begin to connect all that are enabled, likewise. No browser is opened."""
        self._thread.call(self._engine.servers.connecting.connect_all)

    def watch_catalogue(self) -> None:
        """From now on, follow what others write into the file of servers."""
        self._thread.call(self._engine.catalogue_watch.start)

    def connect_at_start(self) -> None:
        """Begin to connect those that are to be when the app starts, likewise."""
        self._thread.call(self._engine.servers.connecting.connect_at_start)

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
        """Read a resource. Cancelling the task that awaits this cancels the request."""
        return await self._call(self._engine.read_resource(server, uri))

    async def get_prompt(self, server: str, prompt: str, arguments: Mapping[str, str]) -> CallOutcome:
        """Get a prompt, likewise."""
        return await self._call(self._engine.get_prompt(server, prompt, arguments))

    async def complete(
        self, server: str, ref: JSONObject, argument: str, value: str, context: Mapping[str, str]
    ) -> Completion:
        """How a value may go on (`Client.complete`), likewise. Raises LensError."""
        return await self._call(self._engine.complete(server, ref, argument, value, context))

    async def subscribe(self, server: str, uri: str, wanted: bool) -> None:
        """Hear of changes of a resource (`resources_changed`), or no longer. Raises LensError."""
        await self._call(self._engine.subscribe(server, uri, wanted))

    async def call_tool(
        self, server: str, tool: str, arguments: JSONObject, on_progress: Callable[[Progressed], None]
    ) -> CallOutcome:
        """Call a tool. Cancelling the task that awaits this cancels the call."""
        from inspector.engine.byhand import ToolCall

        return await self.call(server, ToolCall(tool, arguments), on_progress)

    async def call(
        self,
        server: str,
        call: ToolCall,
        on_progress: Callable[[Progressed], None],
        on_task: Callable[[Task], None] | None = None,
    ) -> CallOutcome:
        """Call a tool with all that can be said about it, and keep it in the history; likewise."""
        news = self._each(on_task) if on_task is not None else None
        by_hand = self._engine.by_hand
        make = partial(
            by_hand.call, server, call, keep=True, on_progress=self._each(on_progress), on_task=news
        )
        return await self._call(self._engine.processes.measured(server, make))

    async def repeat_call(
        self, server: str, call: ToolCall, plan: RepeatPlan, on_report: Callable[[RepeatReport], None]
    ) -> RepeatReport:
        """Call a tool many times over. Cancelling ends it; the latest report stands. Raises UserError."""
        return await self._call(self._engine.by_hand.repeat(server, call, plan, self.on_window(on_report)))

    async def watch_tool(
        self, server: str, call: ToolCall, plan: WatchPlan, on_sight: Callable[[Sighting], None]
    ) -> str:
        """Call a tool every so often and tell what changed, until the server is lost: gives the reason.

        Cancelling ends it. Raises UserError.
        """
        return await self._call(self._engine.by_hand.watch_tool(server, call, plan, self._each(on_sight)))

    async def watch_resource(
        self, server: str, uri: str, plan: WatchPlan, on_sight: Callable[[Sighting], None]
    ) -> str:
        """Read a resource every so often, likewise."""
        return await self._call(self._engine.by_hand.watch_resource(server, uri, plan, self._each(on_sight)))

    async def check_output(self, answer: bytes, output_schema: JSON) -> OutputCheck:
        """A tool's answer against its outputSchema; None where it has none."""
        return await self._call(self._engine.by_hand.check_output(answer, output_schema))

    async def ask_calls(self, ask: Callable[[Calls], Coroutine[Any, Any, T]]) -> T:
        """History, saved calls, variables: `await bridge.ask_calls(lambda calls: calls.saved())`."""
        return await self._call(ask(self._engine.calls))

    async def set_auth(self, name: str, auth: Auth, secrets: Mapping[str, str]) -> None:
        """How a server is told who asks; what that newly refers to are `secrets`. Raises UserError."""
        await self._call(self._engine.set_auth(name, auth, secrets))

    async def ask_secrets(self, ask: Callable[[Secrets], Coroutine[Any, Any, T]]) -> T:
        """The secret store: `await bridge.ask_secrets(lambda secrets: secrets.stored())`."""
        return await self._call(ask(self._engine.secrets))

    async def ask_logins(self, ask: Callable[[Logins], Coroutine[Any, Any, T]]) -> T:
        """Logins: `await bridge.ask_logins(lambda logins: logins.next(server))`. Raises UserError."""
        return await self._call(ask(self._engine.logins))

    async def ask_drift(self, ask: Callable[[Drift], Coroutine[Any, Any, T]]) -> T:
        """What changed: `await bridge.ask_drift(lambda drift: drift.get(server))`. Raises UserError."""
        return await self._call(ask(self._engine.drift))

    async def ask_doctor(self, ask: Callable[[Doctor], Coroutine[Any, Any, T]]) -> T:
        """Why a server fails: `await bridge.ask_doctor(lambda doctor: doctor.start(server))`. Raises
        UserError."""
        return await self._call(ask(self._engine.doctor))

    async def ask_processes(self, ask: Callable[[Processes], Coroutine[Any, Any, T]]) -> T:
        """What runs of a server, and what ran: `await bridge.ask_processes(lambda its: its.look(server))`."""
        return await self._call(ask(self._engine.processes))

    async def ask_filewatch(self, ask: Callable[[FileWatch], Coroutine[Any, Any, T]]) -> T:
        """The files that restart a server. Raises UserError."""
        return await self._call(ask(self._engine.filewatch))

    async def ask_reruns(self, ask: Callable[[Reruns], Coroutine[Any, Any, T]]) -> T:
        """Calls that are made again after a restart. Raises UserError."""
        return await self._call(ask(self._engine.reruns))

    async def ask_settings(self, ask: Callable[[SettingsDesk], Coroutine[Any, Any, T]]) -> T:
        """All settings: `await bridge.ask_settings(lambda desk: desk.set(id, value))`. Raises UserError."""
        return await self._call(ask(self._engine.settings_desk))

    async def ask_answers(self, ask: Callable[[AnswerRules], Coroutine[Any, Any, T]]) -> T:
        """The answer rules: `await bridge.ask_answers(lambda answers: answers.rules())`."""
        return await self._call(ask(self._engine.answers))

    async def cards(self) -> tuple[Card, ...]:
        """Those of the Inbox that wait, the oldest first; `card_changed` tells of the others."""
        return await self.ask_inbox(lambda inbox: inbox.cards())

    async def tasks(self, server: str) -> tuple[TaskView, ...]:
        """Those that are known of a server; `tasks_changed` tells of the others."""
        return await self._call(_soon(partial(self._engine.tasks.views, server)))

    async def ask_tasks(self, ask: Callable[[TaskBook], Coroutine[Any, Any, T]]) -> T:
        """Poll, cancel, forget: `await bridge.ask_tasks(lambda tasks: tasks.poll(server, id))`.

        Raises LensError.
        """
        return await self._call(ask(self._engine.tasks))

    async def ask_inbox(self, ask: Callable[[Inbox], T]) -> T:
        """Answer a card: `await bridge.ask_inbox(lambda inbox: inbox.reply(id, key, reply))`.

        Raises UserError for what is not asked any more.
        """
        return await self._call(_soon(partial(ask, self._engine.inbox)))

    def _each(self, callback: Callable[[T], None]) -> Callable[[T], None]:
        """`callback`, to be called on the engine's thread: it runs on the window's, once for each value."""
        return lambda value: self._post(partial(callback, value))

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
        """Send bytes as they are (`Engine.send_raw`). Cancelling the task that awaits this ends the wait."""
        work = self._engine.send_raw(
            server, raw, headers=headers, resent_of=resent_of, wait=wait, timeout=timeout, split=split
        )
        return await self._call(work)

    async def next_id(self, server: str) -> int:
        """An id for a request that a person writes: nobody else gets it in this conversation."""
        return await self._call(_soon(partial(self._engine.next_id, server)))

    async def pretty(self, log: TrafficLog, row: int) -> PrettyText:
        return await self._call(self._engine.pretty(log, row))

    async def work_apart(self, function: Callable[[bytes], T], data: bytes) -> T:
        """What a function gives that follows a server's schema: in another process, under a time limit.

        Raises UserError when it is over.
        """
        return await self._call(self._engine.work_apart(function, data))

    async def work(self, function: Callable[[bytes], T], data: bytes) -> T:
        """What a function of bytes gives, without holding up the window if they are many."""
        return await self._call(self._engine.work(function, data))

    async def ask_captures(self, ask: Callable[[Captures], Coroutine[Any, Any, T]]) -> T:
        """Save, open, export: `await bridge.ask_captures(lambda captures: captures.open(path))`.

        Progress is told on other threads: give `on_window(callback)` for it. Cancelling ends the work.
        """
        return await self._call(ask(self._engine.captures))

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
        engine.server_changed.connect(lambda view: self._post(partial(self.server_changed.emit, view)))
        engine.server_removed.connect(lambda name: self._post(partial(self.server_removed.emit, name)))
        engine.servers.renamed.connect(self._on_server_renamed)
        watch = engine.catalogue_watch
        watch.changed.connect(lambda diff: self._post(partial(self.catalogue_changed.emit, diff)))
        watch.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        watch.problem_over.connect(lambda text: self._post(partial(self.problem_over.emit, text)))
        engine.found.changed.connect(self.on_window(self.found_changed.emit))
        ordered = engine.servers.order_changed
        ordered.connect(lambda names: self._post(partial(self.servers_ordered.emit, names)))
        engine.list_changed.connect(lambda *names: self._post(partial(self.list_changed.emit, *names)))
        engine.resource_changed.connect(self._on_resource_changed)
        engine.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        engine.tasks.changed.connect(lambda view: self._on_task_changed(view.server, view.id, view))
        engine.tasks.removed.connect(lambda server, id: self._on_task_changed(server, id, None))
        engine.inbox.changed.connect(lambda card: self._post(partial(self.card_changed.emit, card)))
        engine.inbox.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        logins = engine.logins
        logins.changed.connect(lambda view: self._post(partial(self.login_changed.emit, view)))
        logins.wanted.connect(lambda wanted: self._post(partial(self.login_wanted.emit, wanted)))
        logins.tokens_changed.connect(lambda name: self._post(partial(self.tokens_changed.emit, name)))
        logins.open_url = self._open_url
        engine.drift.changed.connect(lambda view: self._post(partial(self.drift_changed.emit, view)))
        engine.doctor.changed.connect(lambda view: self._post(partial(self.examination_changed.emit, view)))
        engine.processes.changed.connect(lambda name: self._post(partial(self.process_changed.emit, name)))
        engine.filewatch.changed.connect(lambda view: self._post(partial(self.filewatch_changed.emit, view)))
        engine.reruns.changed.connect(lambda view: self._post(partial(self.reruns_changed.emit, view)))
        engine.log.grew.connect(lambda length: self._wake())
        captures = engine.captures
        captures.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        engine.calls.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        engine.answers.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        engine.secrets.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        desk = engine.settings_desk
        desk.problem_found.connect(lambda text: self._post(partial(self.problem_found.emit, text)))
        engine.secrets.changed.connect(self.on_window(self.secrets_changed.emit))
        captures.recording_changed.connect(self.on_window(self.recording_changed.emit))

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


def _soon(function: Callable[[], T]) -> Coroutine[Any, Any, T]:
    """A plain function as a coroutine, so that it runs on the engine's thread."""

    async def run() -> T:
        return function()

    return run()
