"""Runner of tool calls: one at a time, with progress, cancel and consent.

A tool annotated as destructive needs confirmation before its first call.
Rate and remaining time are estimated from progress notifications.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QProgressBar, QWidget

from inspector.base.plain_text import one_line
from inspector.base.units import duration, three_digits
from inspector.config.calls.variables import Variables
from inspector.engine.calls.repetition import Observation, PollPlan, RepeatPlan, RepeatReport
from inspector.engine.calls.tool_calls import ToolAnnotations, ToolCall, takes_arguments
from inspector.engine.views import CallOutcome
from inspector.protocol.connection import ProgressReceived
from inspector.protocol.tasks import Task
from inspector.protocol.types import Tool
from inspector.qt.bridge import Bridge
from inspector.qt.panels.tools.call_options import CallDrawer
from inspector.qt.theme import SPACE_1, SPACE_3, Theme
from inspector.qt.views.feature_panel import Runner
from inspector.qt.views.result_view import ResultView
from inspector.qt.widgets.inputs.controls import ActionButton
from inspector.qt.widgets.layout import hbox, vbox
from inspector.qt.widgets.notices.notices import Alert, reported
from inspector.qt.widgets.text.labels import MutedLabel
from inspector.schema.values import FieldError, FormError

_TOPIC = "consent"
Work: TypeAlias = Callable[[Tool, ToolCall], Coroutine[Any, Any, None]]
OnCancelled: TypeAlias = Callable[[CallOutcome], object]
ArgumentsCheck: TypeAlias = "asyncio.Future[tuple[FieldError, ...]]"
FetchVariables: TypeAlias = Callable[[str], Coroutine[Any, Any, Variables]]


class CallRunner(Runner):
    """Runs calls, once they are confirmed, and shows their progress and outcomes."""

    def __init__(
        self,
        bridge: Bridge,
        server: str,
        variables: FetchVariables,
        drawer: CallDrawer,
        progress: ProgressStrip,
        alert: Alert,
        result: ResultView,
    ) -> None:
        super().__init__(bridge, result)
        self._server = server
        self._variables = variables
        self._drawer = drawer
        self._progress = progress
        self._alert = alert
        self._result = result
        self._consent = DestructiveCallConsent(alert)
        self._tool: Tool | None = None
        self._running: Tool | None = None
        self._task_id = ""  # of the task that the call became
        self._check: ArgumentsCheck | None = None  # of the arguments of the running call
        progress.run_in_background.triggered.connect(self.run_in_background)
        self.changed.connect(self._on_changed)

    @property
    def running_tool(self) -> Tool | None:
        """The tool being called, if any."""
        return self._running if self.is_running else None

    def has_result(self, name: str) -> bool:
        """Return whether the tool of this name was called, or is being called."""
        running = self.running_tool
        return name in self.outcomes or (running is not None and running.name == name)

    def set_tool(self, tool: Tool | None) -> None:
        """Set the current tool; another one comes with its latest outcome."""
        is_other = tool is None or self._tool is None or self._tool.name != tool.name
        self._tool = tool
        if not is_other:
            return
        self._consent.withdraw()
        if not self.is_running:
            self._drawer.clear()
        outcome = self.outcomes.get(tool.name) if tool is not None else None
        if tool is not None and outcome is not None:
            self._bridge.start(f"show {tool.name}", self._show(tool, outcome), self)
        else:
            self._result.show_nothing(has_arguments=tool is None or takes_arguments(tool))

    def call(self, tool: Tool, call: ToolCall, check: ArgumentsCheck) -> None:
        """Call a tool once `check` has found no errors; one with destructiveHint needs confirmation once."""
        self._start_after_consent(tool, call, check, self._call, partial(self._on_cancelled, tool))

    def repeat(self, plan: RepeatPlan, tool: Tool, call: ToolCall, check: ArgumentsCheck) -> None:
        stop = self._drawer.repeat_bar.show_stopped
        self._start_after_consent(tool, call, check, partial(self._repeat, plan), lambda outcome: stop())

    def poll(self, plan: PollPlan, tool: Tool, call: ToolCall, check: ArgumentsCheck) -> None:
        stop = partial(self._drawer.interval_bar.show_end, "Stopped.")
        self._start_after_consent(tool, call, check, partial(self._poll, plan), lambda outcome: stop())

    def run_in_background(self) -> None:
        """Stop waiting for the task the call became; the task continues."""
        if self.is_running and self._task_id:
            id = self._task_id
            work = self._bridge.ask(lambda engine: engine.tasks.detach(self._server, id))
            self._bridge.start("stop waiting for a task", work, self)

    def _start_after_consent(
        self, tool: Tool, call: ToolCall, check: ArgumentsCheck, work: Work, on_cancelled: OnCancelled
    ) -> None:
        self._consent.request(tool, partial(self._start, tool, call, check, work, on_cancelled))

    def _start(
        self, tool: Tool, call: ToolCall, check: ArgumentsCheck, work: Work, on_cancelled: OnCancelled
    ) -> None:
        if self.is_running:
            return
        self._running, self._check, self._task_id = tool, check, ""
        self._progress.begin()
        self.run(f"call {tool.name}", partial(self._send, tool, call, work), on_cancelled)

    async def _send(self, tool: Tool, call: ToolCall, work: Work) -> None:
        # A UserError: nothing was sent. A FormError: neither, and the editor shows it.
        with reported(self._alert, "sending"), contextlib.suppress(FormError):
            await work(tool, call)

    async def _ready(self, call: ToolCall) -> ToolCall:
        """Add the variables. Raises FormError for invalid arguments."""
        if self._check is not None and (errors := await asyncio.shield(self._check)):
            raise FormError(errors)
        return replace(call, variables=await self._variables(call.tool))

    def _on_changed(self) -> None:
        if not self.is_running:
            self._progress.end()

    async def _call(self, tool: Tool, call: ToolCall) -> None:
        on_progress = self._bridge.on_window(self.in_run(self._progress.show_progress))

        @self._bridge.each_on_window
        @self.in_run
        def on_task(task: Task) -> None:
            self._task_id = task.id
            self._progress.show_task(task)

        ready = await self._ready(call)
        outcome = await self._bridge.ask(
            lambda engine: engine.tool_caller.call_for_user(self._server, ready, on_progress, on_task)
        )
        self.finish()
        await self._store(tool, outcome)

    async def _repeat(self, plan: RepeatPlan, tool: Tool, call: ToolCall) -> None:
        strip = self._drawer.repeat_bar
        strip.clear()

        @self._bridge.on_window
        @self.in_run
        def on_report(report: RepeatReport) -> None:
            strip.show_report(report)
            self._progress.show_count(report.done, report.wanted)

        ready = await self._ready(call)
        report = await self._bridge.ask(
            lambda engine: engine.tool_caller.repeat(self._server, ready, plan, on_report)
        )
        self.finish()
        strip.show_report(report)
        if report.latest is not None:
            await self._store(tool, report.latest)

    async def _poll(self, plan: PollPlan, tool: Tool, call: ToolCall) -> None:
        strip = self._drawer.interval_bar
        strip.clear()
        self._progress.begin(f"Repeating every {plan.interval:g} s")

        @self._bridge.each_on_window
        @self.in_run
        def on_observation(observation: Observation) -> None:
            strip.show_observation(observation)
            self._bridge.start(f"show {tool.name}", self._show_observation(tool, observation), self)

        ready = await self._ready(call)
        reason = await self._bridge.ask(
            lambda engine: engine.tool_caller.poll_tool(self._server, ready, plan, on_observation)
        )
        self.finish()
        strip.show_end(reason)

    def _on_cancelled(self, tool: Tool, outcome: CallOutcome) -> None:
        self._bridge.start(f"show {tool.name}", self._store(tool, outcome), self)

    async def _store(self, tool: Tool, outcome: CallOutcome) -> None:
        self.keep(tool.name, outcome)
        await self._show(tool, outcome)

    async def _show(self, tool: Tool, outcome: CallOutcome) -> None:
        if self._is_selected(tool):
            await self._result.show_outcome(outcome, tool.source.get("outputSchema"))

    async def _show_observation(self, tool: Tool, observation: Observation) -> None:
        self.keep(tool.name, observation.outcome)
        if self._is_selected(tool):
            await self._result.show_observation(observation, tool.source.get("outputSchema"))

    def _is_selected(self, tool: Tool) -> bool:
        return self._tool is not None and self._tool.name == tool.name


class DestructiveCallConsent(QObject):
    """Asks in the alert for confirmation, once per tool while the app runs."""

    def __init__(self, alert: Alert) -> None:
        super().__init__(alert)
        self._alert = alert
        self._confirmed: set[str] = set()
        self._pending: tuple[str, Callable[[], None]] | None = None
        self._accept = QAction("Call", self)
        self._cancel = QAction("Cancel", self)
        self._accept.triggered.connect(self._on_accepted)
        self._cancel.triggered.connect(self.withdraw)

    def request(self, tool: Tool, start: Callable[[], None]) -> None:
        """Call `start` now if no confirmation is needed, else once it is given."""
        if tool.name in self._confirmed or not ToolAnnotations.of(tool).is_marked_destructive:
            start()
            return
        self._pending = (tool.name, start)
        actions = [self._accept, self._cancel]
        self._alert.show_message(_TOPIC, "This tool may delete or overwrite data.", "Call it?", actions)
        buttons = self._alert.findChildren(ActionButton)
        next(each for each in buttons if each.text() == self._accept.text()).setFocus()

    def withdraw(self) -> None:
        """Close the request without starting anything."""
        self._pending = None
        self._alert.close_topic(_TOPIC)

    def _on_accepted(self) -> None:
        pending = self._pending
        self.withdraw()
        if pending is not None:
            tool, start = pending
            self._confirmed.add(tool)
            start()


class ProgressStrip(QWidget):
    """A progress bar, the server's progress message and the time. Hidden while nothing runs."""

    def __init__(self, theme: Theme, cancel: QAction, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._started = 0
        self._rate = ProgressRate()
        self._message = ""
        self._status_text = ""  # shown instead of progress
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(4)
        self._bar.setAccessibleName("Call progress")
        self.run_in_background = QAction("Run in the background", self)
        self.run_in_background.setToolTip("Stop waiting; the task keeps running and appears in Tasks")
        self._background_button = ActionButton(self.run_in_background, "quiet")
        self._label = MutedLabel(theme)
        self._elapsed = MutedLabel(theme)
        self._timer = QTimer(self, interval=100)
        self._timer.timeout.connect(self._on_tick)
        row = hbox(
            None,
            (self._label, 1),
            self._elapsed,
            self._background_button,
            ActionButton(cancel, "quiet"),
            gap=-1,
        )
        vbox(self, self._bar, row, gap=SPACE_1, margin=(SPACE_3, SPACE_1, SPACE_3, 0))
        self.hide()

    def begin(self, text: str = "Waiting for the response") -> None:
        self._started = time.monotonic_ns()
        self._rate, self._message, self._status_text = ProgressRate(), "", text
        self._bar.setRange(0, 0)
        self._background_button.hide()
        self._show_text()
        self._elapsed.setText("")
        self._timer.start()
        self.show()

    def end(self) -> None:
        self._timer.stop()
        self._bar.setRange(0, 1)  # an indeterminate bar would keep animating
        self.hide()

    def elapsed_ns(self) -> int:
        return time.monotonic_ns() - self._started

    def show_progress(self, event: ProgressReceived) -> None:
        """Show the server's progress; late notifications are ignored."""
        if self.isHidden():
            return
        self._rate.add(time.monotonic(), event.progress, event.total)
        self._message, self._status_text = one_line(event.message), ""
        fraction = event.progress / event.total if event.total else math.nan
        if math.isfinite(fraction):
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(max(fraction, 0), 1)))
        self._show_text()

    def show_task(self, task: Task) -> None:
        """Show the state of the task the call became."""
        if not self.isHidden():
            self._background_button.setVisible(not task.status.is_terminal)
            status = task.status.value.replace("_", " ")
            self._status_text = f"Task {status}  {one_line(task.message)}".strip()
            self._show_text()

    def show_count(self, done: int, total: int) -> None:
        """Show how many of the calls are done."""
        self._bar.setRange(0, max(total, 1))
        self._bar.setValue(done)
        self._status_text = f"{done:,} of {total:,} calls"
        self._show_text()

    def _show_text(self) -> None:
        parts = (self._rate.counted(), self._rate.text(time.monotonic()), self._message)
        text = self._status_text or "  ".join(part for part in parts if part)
        if text != self._label.text():
            self._label.setText(text)

    def _on_tick(self) -> None:
        self._elapsed.setText(duration(self.elapsed_ns()))
        self._show_text()  # the remaining time decreases by itself


_MIN_SPAN_S = 0.2  # too short for a meaningful rate
_WINDOW_S = 10.0  # sliding window
_MIN_APART_S = 0.05
_SLOW = 0.1  # per second; below, show the rate per minute


class ProgressRate:
    """Rate estimator for progress notifications; times are monotonic seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()
        self._total: float | None = None

    def add(self, now: float, progress: float, total: float | None) -> None:
        """Add a sample. Non-finite values are ignored; going backwards restarts."""
        if not math.isfinite(progress):
            return
        self._total = total if total is not None and math.isfinite(total) and total > 0 else None
        if self._samples and progress < self._samples[-1][1]:
            self._samples.clear()
        if len(self._samples) > 1 and now - self._samples[-2][0] < _MIN_APART_S:
            self._samples.pop()
        self._samples.append((now, progress))
        while len(self._samples) > 2 and now - self._samples[1][0] > _WINDOW_S:
            self._samples.popleft()

    def rate(self) -> float | None:
        """Return units per second, None if unknown."""
        if not self._samples:
            return None
        (first, minimum), (latest, maximum) = self._samples[0], self._samples[-1]
        if latest - first < _MIN_SPAN_S or maximum <= minimum:
            return None
        return (maximum - minimum) / (latest - first)

    def seconds_left(self, now: float) -> float | None:
        """Return the estimated seconds left; None without a total or rate."""
        rate = self.rate()
        if rate is None or self._total is None:
            return None
        latest, progress = self._samples[-1]
        return max((self._total - progress) / rate - (now - latest), 0)

    def counted(self) -> str:
        """Return `4 of 10`; `40%` if the total is 1 or 100; `4` without a total."""
        if not self._samples:
            return ""
        progress = self._samples[-1][1]
        if self._total is None:
            return f"{progress:,.6g}"
        if self._is_share:
            return f"{100 * progress / self._total:.3g}%"
        return f"{progress:,.6g} of {self._total:,.6g}"

    def text(self, now: float) -> str:
        """Return `12%/s · 5 s left`; "" if unknown."""
        rate = self.rate()
        if rate is None:
            return ""
        unit = ""
        if self._is_share and self._total is not None:
            rate, unit = 100 * rate / self._total, "%"
        speed = f"{three_digits(rate)}{unit}/s" if rate >= _SLOW else f"{three_digits(60 * rate)}{unit}/min"
        left = self.seconds_left(now)
        return speed if left is None else f"{speed} · {_rounded(left)} left"

    @property
    def _is_share(self) -> bool:
        return self._total in (1, 100)


def _rounded(seconds: float) -> str:
    """Format whole seconds: anything finer would flicker."""
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    return duration(whole * 1_000_000_000) if whole < 3600 else f"{whole / 3600:,.1f} h"
