"""Regression calls: saved calls that are rerun when their server's files have changed.

A result is compared with the expected result that the user accepted; until there is one, with the first
successful result since MCP Lens was started. That reference changes only when the user accepts another
result, so that a repeated failure does not turn green.

A call from an added folder runs automatically only if the user allowed exactly that call with its variables,
by running it manually or by making it a regression call (`config.calls.saved_calls.AllowedCalls`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from inspector.base.errors import ConfigError, UserError
from inspector.base.signals import Signal
from inspector.config.calls.saved_calls import SavedCall
from inspector.config.calls.variables import Variables
from inspector.engine.calls import repetition
from inspector.engine.calls.tool_calls import ToolCall, failed
from inspector.engine.processes.file_watch import FileWatchView
from inspector.engine.views import CallOutcome, OutcomeKind, ServerStatus
from inspector.traffic.compare.diff import Diff
from inspector.transport.task_scope import TaskScope

if TYPE_CHECKING:
    from inspector.engine.engine import Engine

_Run: TypeAlias = "asyncio.Task[None]"

DEFAULT_TOTAL_TIMEOUT = 60.0  # total timeout in seconds, unless the call has its own
MANUAL = "run manually"


class RegressionState(Enum):
    """State of a regression call; the values are display text."""

    NOT_RUN = "not run yet"
    RUNNING = "running"
    SAME = "as expected"
    DIFFERENT = "differs"
    NEW = "new"  # nothing to compare with yet
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_APPROVED = "awaiting approval"  # not allowed by the user yet

    @property
    def is_bad(self) -> bool:
        return self in (RegressionState.DIFFERENT, RegressionState.FAILED)


@dataclass(frozen=True, slots=True)
class RegressionResult:
    """Result of one call.

    `expected` is the JSON it was compared with: the expected result if `is_accepted`, otherwise the first
    successful result since MCP Lens was started. `diff` is from that to the actual result.
    """

    call: SavedCall
    state: RegressionState = RegressionState.NOT_RUN
    outcome: CallOutcome | None = None
    expected: bytes = b""
    is_accepted: bool = False
    diff: Diff | None = None
    problem: str = ""

    @property
    def can_accept(self) -> bool:
        """True if there is a result that is not the expected one already."""
        is_expected = self.state is RegressionState.SAME and self.is_accepted
        return self.outcome is not None and bool(self.outcome.response) and not is_expected


@dataclass(frozen=True, slots=True)
class RegressionView:
    """The regression calls of a server and their latest run; `number` is 0 before the first."""

    server: str
    results: tuple[RegressionResult, ...] = ()
    number: int = 0
    cause: str = ""
    at_ns: int = 0  # wall time
    is_running: bool = False

    def count(self, *states: RegressionState) -> int:
        return sum(result.state in states for result in self.results)

    @property
    def bad(self) -> int:
        return sum(result.state.is_bad for result in self.results)


class RegressionCalls:
    """Runs regression calls, on the engine's loop. A new run replaces the server's last one.

    Signals:
        changed: The regression calls of a server or their run changed; carries its RegressionView.
    """

    def __init__(self, engine: Engine) -> None:
        self.changed: Signal[RegressionView] = Signal()
        self._engine = engine
        self._views: dict[str, RegressionView] = {}
        self._first_results: dict[tuple[object, ...], bytes] = {}
        self._running: dict[str, _Run] = {}
        self._tasks = TaskScope()
        engine.filewatch.restarted.connect(self.begin)
        engine.filewatch.not_restarted.connect(self._on_not_restarted)
        engine.filewatch.changed.connect(self._on_files_changed)
        engine.servers.removed.connect(self._forget)

    async def view(self, server: str) -> RegressionView:
        """Return the view with the regression calls as currently saved."""
        known = self._view(server)
        if known.is_running:
            return known
        before = {_key(result.call): result for result in known.results}
        calls = await self._regression_calls(server)
        results = tuple(_updated(before.get(_key(call)), call) for call in calls)
        view = replace(self._view(server), results=results)
        if not self._view(server).is_running:
            self._views[server] = view
        return view

    def begin(self, server: str, cause: str = MANUAL) -> None:
        """Start a run; `changed` reports its progress."""
        self._begin(server, lambda before: self._run(server, cause, before))

    def _on_not_restarted(self, server: str, cause: str, failure: str) -> None:
        """Mark all calls as failed: earlier results do not apply to the changed files."""
        self._begin(server, lambda before: self._fail(server, cause, failure, before))

    def _begin(self, server: str, make: Callable[[_Run | None], Coroutine[Any, Any, None]]) -> None:
        self._cancel(server)
        work = make(self._running.get(server))
        self._running[server] = self._tasks.spawn(f"run regression calls of {server}", work)

    async def run(self, server: str) -> None:
        """Like `begin`, at the user's request. Raises ConfigError if there is nothing to run."""
        calls = await self._regression_calls(server)
        if not calls:
            raise ConfigError(
                "This server has no regression calls.", "Save a call and mark it as a regression call."
            )
        if self._engine.servers.get(server).view.status is not ServerStatus.CONNECTED:
            raise ConfigError("The server is not connected.", "Connect first.")
        await self._engine.calls.allow(*calls)
        self.begin(server)

    async def stop(self, server: str) -> None:
        """Stop the run; calls in flight are cancelled."""
        self._cancel(server)

    def _cancel(self, server: str) -> None:
        task = self._running.get(server)
        if task is not None:
            task.cancel()

    async def accept(self, server: str, path: Path) -> None:
        """Make the last result of this file's call the expected one. Raises ConfigError."""
        result = next((each for each in self._view(server).results if each.call.path == path), None)
        if result is None or result.outcome is None or not result.can_accept:
            raise ConfigError("There is no result to accept.", "Run the call first.")
        comparable = repetition.comparable_part(result.outcome.response)
        await self._engine.calls.set_expected(result.call, comparable)
        state = RegressionState.SAME
        self._put(server, replace(result, state=state, expected=comparable, is_accepted=True, diff=None))

    async def accept_all(self, server: str) -> None:
        """Accept all results that differ from the expected ones or have none yet."""
        for result in self._view(server).results:
            if result.can_accept and result.call.path is not None:
                await self.accept(server, result.call.path)

    async def set_regression(self, server: str, call: SavedCall, is_regression: bool) -> None:
        """Set and save whether this is a regression call. Raises ConfigError."""
        await self._engine.calls.set_regression(call, is_regression)
        self.changed.emit(await self.view(server))

    async def ignore(self, server: str, call: SavedCall, location: str) -> None:
        """Ignore this location in comparisons from now on. Raises UserError."""
        ignoring = replace(repetition.DEFAULT_IGNORING, paths=(*call.ignore, location))
        ignoring.check()
        saved = await self._engine.calls.save(replace(call, ignore=ignoring.paths))
        result = next((each for each in self._view(server).results if each.call.path == call.path), None)
        if result is not None and result.outcome is not None:
            self._put(server, await self._compared(replace(result, call=saved), result.outcome))

    async def close(self) -> None:
        await self._tasks.close()

    async def _run(self, server: str, cause: str, before: _Run | None) -> None:
        view = await self._new_run(server, cause, before)
        if not view.results:
            return
        self._publish(replace(view, is_running=True))
        try:
            for result in view.results:
                self._put(server, replace(result, state=RegressionState.RUNNING))
                self._put(server, await self._result(server, result.call))
        finally:
            self._end(server)

    async def _fail(self, server: str, cause: str, failure: str, before: _Run | None) -> None:
        """Report a run that could not start: the server is down."""
        view = await self._new_run(server, cause, before)
        text = f"The server did not start. {failure}"
        results = tuple(replace(each, state=RegressionState.FAILED, problem=text) for each in view.results)
        if results:
            self._publish(replace(view, results=results))
        self._end(server)

    async def _new_run(self, server: str, cause: str, before: _Run | None) -> RegressionView:
        if before is not None:
            await asyncio.wait([before])  # stopping: two runs must not overlap
        calls = await self._regression_calls(server)
        number, at = self._view(server).number + 1, self._engine.clock.wall_ns()
        return RegressionView(server, tuple(RegressionResult(call) for call in calls), number, cause, at)

    def _end(self, server: str) -> None:
        if self._running.get(server) is asyncio.current_task():
            del self._running[server]
        view = self._views.get(server)
        if view is None or not view.is_running:
            return
        unfinished = (RegressionState.RUNNING, RegressionState.NOT_RUN)
        results = tuple(
            replace(each, state=RegressionState.STOPPED) if each.state in unfinished else each
            for each in view.results
        )
        self._publish(replace(view, results=results, is_running=False))

    async def _result(self, server: str, call: SavedCall) -> RegressionResult:
        variables = await self._engine.calls.allowed_variables(call)
        if variables is None:
            return RegressionResult(call, RegressionState.NOT_APPROVED)
        outcome = await self._outcome(server, call, variables)
        return await self._compared(RegressionResult(call), outcome)

    async def _outcome(self, server: str, call: SavedCall, variables: Variables) -> CallOutcome:
        engine = self._engine
        tool_call = ToolCall(
            call.tool,
            call.arguments,
            call.timeout,
            call.meta,
            call.as_task,
            variables,
            call.capabilities,
            call.total or DEFAULT_TOTAL_TIMEOUT,
        )
        try:
            return await engine.processes.measured(server, lambda: engine.tool_caller.call(server, tool_call))
        except UserError as exc:
            return failed(exc, 0)

    async def _compared(self, result: RegressionResult, outcome: CallOutcome) -> RegressionResult:
        result = replace(result, outcome=outcome, diff=None, problem="")
        if not outcome.response:
            return replace(result, state=RegressionState.FAILED, problem=outcome.summary)
        try:
            accepted = await self._engine.calls.expected(result.call)
        except ConfigError as exc:
            return replace(result, state=RegressionState.NEW, problem=str(exc))
        expected = accepted or self._first_results.get(_key(result.call), b"")
        if not expected:
            if outcome.kind is OutcomeKind.RESULT:
                self._first_results[_key(result.call)] = repetition.comparable_part(outcome.response)
            return replace(result, state=RegressionState.NEW)
        result = replace(result, expected=expected, is_accepted=accepted is not None)
        return await self._with_diff(result, outcome)

    async def _with_diff(self, result: RegressionResult, outcome: CallOutcome) -> RegressionResult:
        ignoring = replace(repetition.DEFAULT_IGNORING, paths=result.call.ignore)
        try:
            ignoring.check()
            packed = repetition.pack(result.expected, outcome.response, ignoring)
            diff = await self._engine.work(repetition.compare_packed, packed)
        except UserError as exc:
            return replace(result, state=RegressionState.DIFFERENT, problem=str(exc))
        state = RegressionState.SAME if diff.is_same else RegressionState.DIFFERENT
        return replace(result, state=state, diff=diff)

    async def _regression_calls(self, server: str) -> Sequence[SavedCall]:
        """Return the regression calls that name this server: none runs automatically on another."""
        folders = await self._engine.calls.saved()
        calls = (call for folder in folders for call in folder.loaded.calls)
        return [call for call in calls if call.is_regression and call.server == server]

    def _on_files_changed(self, view: FileWatchView) -> None:
        if view.is_restarting:
            self._cancel(view.server)

    def _forget(self, server: str) -> None:
        self._views.pop(server, None)
        self._cancel(server)

    def _view(self, server: str) -> RegressionView:
        return self._views.get(server, RegressionView(server))

    def _put(self, server: str, result: RegressionResult) -> None:
        view = self._view(server)
        path = result.call.path
        results = tuple(result if each.call.path == path else each for each in view.results)
        self._publish(replace(view, results=results))

    def _publish(self, view: RegressionView) -> None:
        self._views[view.server] = view
        self.changed.emit(view)


def _key(call: SavedCall) -> tuple[object, ...]:
    """Return a key that changes when the call is edited, so that it counts as not run."""
    return call.path, call.tool, repr(call.arguments), repr(call.meta)


def _updated(known: RegressionResult | None, call: SavedCall) -> RegressionResult:
    return replace(known, call=call) if known is not None else RegressionResult(call)
