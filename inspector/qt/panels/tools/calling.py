"""The calls of one server's tools, as the person makes them: one thing runs at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from inspector.base.errors import UserError
from inspector.config.variables import Variables
from inspector.engine.byhand import ToolCall
from inspector.engine.repeating import RepeatPlan, RepeatReport
from inspector.engine.toolhints import takes_arguments
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.engine.watching import Sighting, WatchPlan
from inspector.protocol.connection import Progressed
from inspector.protocol.tasks import Task
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.forms.resultview import ResultView
from inspector.qt.panels.tools.consent import Consent
from inspector.qt.panels.tools.drawer import Drawer
from inspector.qt.panels.tools.running import RunningStrip
from inspector.qt.widgets.alert import Alert

_MOST_KEPT = 100  # outcomes of other tools

Work: TypeAlias = Callable[[Tool, ToolCall], Coroutine[Any, Any, None]]
AskVariables: TypeAlias = Callable[[str], Coroutine[Any, Any, Variables]]


class Calling(QObject):
    """Runs calls and keeps each tool's latest outcome for when the user returns to it.

    Signals:
        changed: `is_running` may have changed.
    """

    changed = Signal()

    def __init__(
        self,
        bridge: Bridge,
        server: str,
        variables: AskVariables,
        drawer: Drawer,
        running: RunningStrip,
        alert: Alert,
        result: ResultView,
    ) -> None:
        super().__init__(result)
        self._bridge = bridge
        self._server = server
        self._variables = variables
        self._drawer = drawer
        self._running = running
        self._alert = alert
        self._result = result
        self._consent = Consent(alert)
        self._tool: Tool | None = None
        self._outcomes: dict[str, CallOutcome] = {}
        self._task: asyncio.Task[None] | None = None
        self._called = ""
        self._task_id = ""  # of the task that the call became
        running.leave.triggered.connect(self.leave)
        self._turn = 0

    @property
    def is_running(self) -> bool:
        return self._task is not None

    @property
    def running_tool(self) -> str:
        """The name of the tool being called, "" for none."""
        return self._called if self.is_running else ""

    def set_tool(self, tool: Tool | None) -> None:
        """Set the current tool; another one comes with its latest outcome."""
        is_other = tool is None or self._tool is None or self._tool.name != tool.name
        self._tool = tool
        if not is_other:
            return
        self._consent.forget_question()
        if not self.is_running:
            self._drawer.clear()
        outcome = self._outcomes.get(tool.name) if tool is not None else None
        if tool is not None and outcome is not None:
            self._bridge.start(f"show {tool.name}", self._show(tool, outcome), self)
        else:
            self._result.show_nothing(has_arguments=tool is None or takes_arguments(tool))

    # -------------------------------------------------------------- what can be begun

    def call(self, tool: Tool, call: ToolCall) -> None:
        """Call a tool; one with destructiveHint needs confirmation once."""
        self._begin_soon(tool, call, self._call)

    def repeat(self, tool: Tool, call: ToolCall, plan: RepeatPlan) -> None:
        self._begin_soon(tool, call, partial(self._repeat, plan))

    def watch(self, tool: Tool, call: ToolCall, plan: WatchPlan) -> None:
        self._begin_soon(tool, call, partial(self._watch, plan))

    def cancel(self) -> None:
        """Cancel whatever is running."""
        if self._task is not None:
            # Deferred: a task cancelled before its first step would never run, nor clean up.
            self._task.get_loop().call_soon(self._task.cancel)

    def leave(self) -> None:
        """Stop waiting for the task the call became; the task continues."""
        if self.is_running and self._task_id:
            work = self._bridge.ask_tasks(lambda book: book.leave(self._server, self._task_id))
            self._bridge.start("leave task", work, self)

    def _begin_soon(self, tool: Tool, call: ToolCall, work: Work) -> None:
        self._consent.begin(tool, partial(self._begin, tool, call, work))

    def _begin(self, tool: Tool, call: ToolCall, work: Work) -> None:
        if self.is_running:
            return
        self._turn += 1
        self._called = tool.name
        self._task = self._bridge.start(f"call {tool.name}", self._run(tool, call, work, self._turn), self)
        self._task_id = ""
        self._running.begin()
        self.changed.emit()

    async def _run(self, tool: Tool, call: ToolCall, work: Work, turn: int) -> None:
        try:
            await work(tool, call)
        except UserError as exc:  # nothing was sent
            self._alert.say("sending", exc.summary, exc.next_step)
        finally:
            self._finish(turn)

    async def _ready(self, call: ToolCall) -> ToolCall:
        """Resolve variables before sending. Raises UserError if one has no value."""
        ready = replace(call, variables=await self._variables(call.tool))
        ready.expanded()
        return ready

    def _finish(self, turn: int) -> None:
        if turn == self._turn and self._task is not None:
            self._task = None
            self._running.end()
            self.changed.emit()

    # -------------------------------------------------------------- what runs

    async def _call(self, tool: Tool, call: ToolCall) -> None:
        turn = self._turn

        def on_progress(event: Progressed) -> None:
            if turn == self._turn:  # else it is late, and another call is running
                self._running.show_progress(event)

        def on_task(task: Task) -> None:
            if turn == self._turn:
                self._task_id = task.id
                self._running.show_task(task)

        try:
            ready = await self._ready(call)
            outcome = await self._bridge.call(self._server, ready, on_progress, on_task)
        except asyncio.CancelledError:
            elapsed = self._running.elapsed_ns()
            self._finish(turn)
            await self._keep(tool, CallOutcome(OutcomeKind.CANCELLED, elapsed))
            raise
        self._finish(turn)  # first: reading a large response takes a while, and the next call need not wait
        await self._keep(tool, outcome)

    async def _repeat(self, plan: RepeatPlan, tool: Tool, call: ToolCall) -> None:
        turn, strip = self._turn, self._drawer.repeating
        strip.clear()

        def on_report(report: RepeatReport) -> None:
            if turn == self._turn:
                strip.show_report(report)
                self._running.show_count(report.done, report.wanted)

        try:
            ready = await self._ready(call)
            report = await self._bridge.repeat_call(self._server, ready, plan, on_report)
        except asyncio.CancelledError:
            strip.show_stopped()
            raise
        self._finish(turn)
        strip.show_report(report)
        if report.latest is not None:
            await self._keep(tool, report.latest)

    async def _watch(self, plan: WatchPlan, tool: Tool, call: ToolCall) -> None:
        strip = self._drawer.watching
        strip.clear()
        self._running.begin(f"Watching, every {plan.interval:g} s")

        def on_sight(sighting: Sighting) -> None:
            strip.show_sighting(sighting)
            self._bridge.start(f"look at {tool.name}", self._show_sighting(tool, sighting), self)

        try:
            ready = await self._ready(call)
            reason = await self._bridge.watch_tool(self._server, ready, plan, on_sight)
        except asyncio.CancelledError:
            strip.show_end("Stopped.")
            raise
        strip.show_end(reason)

    # -------------------------------------------------------------- outcomes

    async def _keep(self, tool: Tool, outcome: CallOutcome) -> None:
        self._outcomes.pop(tool.name, None)
        self._outcomes[tool.name] = outcome
        while len(self._outcomes) > _MOST_KEPT:
            del self._outcomes[next(iter(self._outcomes))]
        await self._show(tool, outcome)

    async def _show(self, tool: Tool, outcome: CallOutcome) -> None:
        if self._is_in_front(tool):
            await self._result.show_outcome(outcome, tool.source.get("outputSchema"))

    async def _show_sighting(self, tool: Tool, sighting: Sighting) -> None:
        self._outcomes[tool.name] = sighting.outcome
        if self._is_in_front(tool):
            await self._result.show_sighting(sighting, tool.source.get("outputSchema"))

    def _is_in_front(self, tool: Tool) -> bool:
        return self._tool is not None and self._tool.name == tool.name
