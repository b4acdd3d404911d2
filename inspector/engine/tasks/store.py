"""All known tasks of all servers: from calls, from `tasks/list`, or by an entered id.

Tasks outlive a lost connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError, LensError
from inspector.base.json.values import JSONError, shorten
from inspector.base.plain_text import one_line
from inspector.base.signals import Signal
from inspector.engine.server_view import ServerView
from inspector.engine.tasks.follower import TaskFollower, TaskStart
from inspector.engine.tasks.views import TaskOrigin, TaskView, TrackingState
from inspector.engine.views import CallOutcome, ServerStatus
from inspector.protocol.connection import ProgressReceived, read_progress
from inspector.protocol.jsonrpc import Message
from inspector.protocol.tasks import CoreTasks, ExtensionTasks, Task
from inspector.session.input_rounds import CompletedCall
from inspector.session.pending_requests import CallTimer, OnProgress
from inspector.transport.task_scope import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

# Per server. Listed tasks are polled up to this number; tasks of our own calls always are.
_MAX_FOLLOWED = 50
_MAX_TASKS = 10_000
_BATCH_SIZE = 500  # list items per loop turn, so that others get to run

_STATES = (CoreTasks.notification, ExtensionTasks.notification)
_PROGRESS = "notifications/progress"
TASK_NOTIFICATIONS = (*_STATES, _PROGRESS)  # may be about a task


class TaskStore:
    """All known tasks of all servers. Runs on the engine's loop.

    Signals:
        changed: A task was added or changed; carries its TaskView.
        removed: A task was dropped; carries its server and id.
    """

    def __init__(self, engine: Engine) -> None:
        self.changed: Signal[TaskView] = Signal()
        self.removed: Signal[str, str] = Signal()
        self._engine = engine
        self._tasks: dict[str, dict[str, TaskFollower]] = {}
        self._scope = TaskScope()
        self._connected: set[str] = set()
        self._to_update: set[str] = set()
        engine.servers.changed.connect(self._on_server_changed)
        engine.servers.removed.connect(self._on_server_removed)

    def views(self, server: str) -> tuple[TaskView, ...]:
        return tuple(follower.view for follower in self._tasks.get(server, {}).values())

    async def close(self) -> None:
        await self._scope.close()

    async def finish(
        self,
        server: str,
        tool: str,
        done: CompletedCall,
        started_ns: int,
        on_changes: Callable[[Task], None] | None = None,
        on_progress: OnProgress | None = None,
        human: CallTimer | None = None,
    ) -> CallOutcome:
        """Follow the task that a call became and wait for its outcome.

        Cancelling only ends the waiting. `human` is the time that the call waited for our replies; the task
        adds to it.
        """
        assert done.task is not None
        if on_changes is not None:
            on_changes(done.task)
        exchange = done.exchange
        start = TaskStart(
            TaskOrigin.CALLED,
            tool,
            exchange.row,
            exchange.request.id,
            started_ns,
            on_changes,
            on_progress,
            human or CallTimer(),
        )
        self._drop(server, done.task.id, "Another call became a task with the same id.")
        follower = self._add(server, done.task, start)
        follower.follow()
        return await follower.wait()

    async def refresh(self, server: str) -> int:
        """Fetch the server's task list; return how many tasks were new. Raises LensError."""
        listing = await self._engine.servers.get(server).client.tasks.list()
        known = self._tasks.setdefault(server, {})
        new = left_out = 0
        for number, task in enumerate(listing.items, 1):
            if task.id in known:
                known[task.id].receive(task)
            elif len(known) < _MAX_TASKS:
                self._add(server, task, TaskStart(TaskOrigin.LISTED))
                new += 1
            else:
                left_out += 1
            if number % _BATCH_SIZE == 0:
                await asyncio.sleep(0)
        if left_out:
            self._report_left_out(server, len(listing.items), left_out)
        listed = {task.id for task in listing.items}
        for id, follower in known.items():
            if id in listed and follower.tracking is TrackingState.UNKNOWN:
                follower.follow()
        self._follow_some(server)
        return new

    def _report_left_out(self, server: str, listed: int, left_out: int) -> None:
        self._engine.servers.problem_found.emit(
            f"“{one_line(shorten(server, 60))}” lists {listed:,} tasks; {left_out:,} of them are not shown. "
            "Remove ended tasks, or add one by its id."
        )

    async def add(self, server: str, id: str) -> TaskView:
        """Add a task by id. Raises LensError; RpcError if the server does not know it."""
        known = self._tasks.get(server, {}).get(id)
        if known is not None:
            await self.poll(server, id)
            return known.view
        task = await self._engine.servers.get(server).client.tasks.get(id)
        if task.id != id:
            raise ConfigError(
                f"The server returned a different task, “{shorten(one_line(task.id), 60)}”.",
                "Check the task ID.",
            )
        follower = self._add(server, task, TaskStart(TaskOrigin.ADDED))
        follower.follow()
        return follower.view

    async def find(self, server: str, id: str) -> TaskView:
        """Return a known task. Raises ConfigError."""
        return self._get(server, id).view

    async def poll(self, server: str, id: str) -> None:
        """Poll it now; unanswered requests are asked again."""
        self._get(server, id).follow(now=True)

    async def fetch(self, server: str, id: str) -> None:
        """Fetch its result, where that takes a separate request."""
        self._get(server, id).fetch()

    async def cancel(self, server: str, id: str) -> None:
        """Ask the server to cancel it. Raises LensError."""
        follower = self._get(server, id)
        task = await self._engine.servers.get(server).client.tasks.cancel(id)
        follower.cancelling()
        if task is not None:
            follower.receive(task)

    async def detach(self, server: str, id: str) -> None:
        """Stop waiting for it; the task continues."""
        self._get(server, id).detach()

    async def forget(self, server: str, id: str) -> None:
        self._get(server, id)
        self._drop(server, id, "The task was removed from the list.")

    async def forget_ended(self, server: str) -> None:
        """Drop ended and unknown tasks."""
        for id, follower in tuple(self._tasks.get(server, {}).items()):
            if follower.tracking in (TrackingState.ENDED, TrackingState.UNKNOWN) or follower.is_over:
                self._drop(server, id, "The task was removed from the list.")

    def cancel_soon(self, server: str, id: str) -> None:
        """Cancel the task of a cancelled call in the background; see the traffic for the outcome."""
        self._scope.spawn(f"cancel task {id}", self._cancel_quietly(server, id))

    async def _cancel_quietly(self, server: str, id: str) -> None:
        with contextlib.suppress(LensError):
            await self.cancel(server, id)

    def on_event(self, server: str, notification: Message) -> None:
        """Handle a task status or progress notification."""
        with contextlib.suppress(JSONError, ValueError):  # visible in the traffic
            if notification.method in _STATES:
                self._on_status(server, Task.read(notification.params))
            elif (progress := read_progress(notification)) is not None:
                self._on_progress(server, progress)

    def _on_status(self, server: str, task: Task) -> None:
        follower = self._tasks.get(server, {}).get(task.id)
        if follower is not None:
            follower.receive(task)

    def _on_progress(self, server: str, progress: ProgressReceived) -> None:
        """Handle progress: the token of a call stays valid until its task has ended."""
        for follower in self._tasks.get(server, {}).values():
            if follower.progress_token == progress.request_id and not follower.is_over:
                follower.progressed(progress)

    def _on_server_changed(self, view: ServerView) -> None:
        tasks = self._tasks.get(view.name, {})
        if view.status is ServerStatus.CONNECTED:
            if view.name not in self._connected:
                self._connected.add(view.name)
                for follower in tasks.values():
                    if follower.tracking is TrackingState.WAITING:
                        follower.follow(now=True)
        elif view.name in self._connected:
            self._connected.discard(view.name)
            for follower in tasks.values():
                follower.on_disconnected(view.reason or "The connection was closed.")

    def _on_server_removed(self, server: str) -> None:
        self._connected.discard(server)
        for id in tuple(self._tasks.get(server, {})):
            self._drop(server, id, "The server was removed.")
        self._tasks.pop(server, None)

    def _add(self, server: str, task: Task, start: TaskStart) -> TaskFollower:
        engine = self._engine
        calls = engine.servers.get(server).client.tasks
        follower = TaskFollower(server, task, start, calls, engine.clock, self._scope, self._on_changed)
        known = self._tasks.setdefault(server, {})
        while len(known) >= _MAX_TASKS and (old := next((x for x in known.values() if x.is_over), None)):
            self._drop(server, old.task.id, "")
        known[task.id] = follower
        self._on_changed(follower)
        return follower

    def _drop(self, server: str, id: str, reason: str) -> None:
        follower = self._tasks.get(server, {}).pop(id, None)
        if follower is not None:
            follower.drop(reason)
            self.removed.emit(server, id)
            self._update_subscriptions_soon(server)

    def _follow_some(self, server: str) -> None:
        tasks = self._tasks.get(server, {}).values()
        followed = sum(follower.tracking is TrackingState.FOLLOWED for follower in tasks)
        for follower in tasks:
            if followed >= _MAX_FOLLOWED:
                return
            if follower.tracking is TrackingState.STOPPED and not follower.is_over:
                follower.follow()
                followed += 1

    def _get(self, server: str, id: str) -> TaskFollower:
        try:
            return self._tasks[server][id]
        except KeyError:
            text = f"The task “{shorten(one_line(id), 60)}” is no longer in the list."
            raise ConfigError(text, "Add it by its id.") from None

    def _on_changed(self, follower: TaskFollower) -> None:
        if self._tasks.get(follower.server, {}).get(follower.task.id) is follower:
            self.changed.emit(follower.view)
            self._update_subscriptions_soon(follower.server)

    def _update_subscriptions_soon(self, server: str) -> None:
        """Schedule one update: many tasks may start or end in one loop turn."""
        if not self._to_update:
            asyncio.get_running_loop().call_soon(self._update_subscriptions)
        self._to_update.add(server)

    def _update_subscriptions(self) -> None:
        servers, self._to_update = self._to_update, set()
        for server in servers & self._connected:
            tasks = self._tasks.get(server, {}).values()
            ids = tuple(
                follower.task.id
                for follower in tasks
                if follower.tracking is TrackingState.FOLLOWED and not follower.is_over
            )
            with contextlib.suppress(LensError):
                self._engine.servers.get(server).client.subscribe_to_tasks(ids)
