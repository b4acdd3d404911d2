"""The Doctor as the window and the CLI use it: at most one check per server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inspector.base.errors import ConfigError
from inspector.base.signals import Signal
from inspector.engine.doctor.results import Action, CheckReport, CheckResult, CheckState, Diagnosis
from inspector.transport.orphan_guard import OrphanGuard
from inspector.transport.task_scope import TaskScope

# Imported with the first check: most runs have none.
if TYPE_CHECKING:
    from inspector.config.servers.entries import Entry
    from inspector.engine.doctor.connection_check import CheckContext
    from inspector.engine.engine import Engine
    from inspector.engine.servers.server import Server

_log = logging.getLogger(__name__)
_STOPPED = "Doctor was stopped."


class Doctor:
    """Connection checks, at most one per server. Runs on the engine's loop.

    A check uses a separate connection: a command is started a second time. Its messages appear in the
    server's traffic.

    Signals:
        changed: A check made progress; carries its CheckReport.
    """

    def __init__(self, engine: Engine, guard: OrphanGuard) -> None:
        self.changed: Signal[CheckReport] = Signal()
        self._engine = engine
        self._guard = guard
        self._tasks = TaskScope()
        self._running: dict[str, asyncio.Task[None]] = {}
        self._views: dict[str, CheckReport] = {}
        engine.servers.removed.connect(self._forget)

    def view(self, server: str) -> CheckReport | None:
        """Return the report of a server's latest check, finished or not."""
        return self._views.get(server)

    async def latest(self, server: str) -> CheckReport | None:
        """Like `view`, for other threads."""
        return self.view(server)

    async def start(self, server: str) -> CheckReport:
        """Start a check, replacing a running one. Raises ConfigError."""
        target = self._engine.servers.get(server)
        await self.stop(server)
        view = CheckReport(server, target.entry.address, is_running=True)
        self._show(view)
        self._running[server] = self._tasks.spawn(f"run Doctor on {server}", self._run(server, target))
        return view

    async def check_after_failure(self, server: str) -> None:
        """After a failed connection, call `start` unless the user disabled that."""
        if self._engine.settings.get("connections.examineFailures"):
            await self.start(server)

    async def check(self, server: str) -> CheckReport:
        """Like `start`, and wait for the end. Raises ConfigError."""
        await self.start(server)
        await asyncio.wait([self._running[server]])
        return self._views[server]

    async def stop(self, server: str) -> None:
        """Stop a check; the report keeps the results so far."""
        task = self._running.pop(server, None)
        if task is None or task.done():
            return
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        view = self._views.get(server)
        if view is not None and view.is_running:
            results = tuple(
                replace(each, state=CheckState.SKIPPED, text=_STOPPED)
                if each.state is CheckState.RUNNING
                else each
                for each in view.results
            )
            self._show(replace(view, results=results, is_running=False, is_stopped=True))

    async def apply(self, server: str, action: Action) -> None:
        """Apply the action of a diagnosis. Raises UserError, leaving everything unchanged.

        Only an action that was offered is accepted, above all for certificates.
        """
        view = self._views.get(server)
        if view is None or all(diagnosis.action != action for diagnosis in view.diagnoses):
            raise ConfigError("This is not Doctor's latest result.", "Run Doctor again.")
        from inspector.engine.doctor.check_run import apply_fix

        entry = self._engine.servers.entry(server)
        entry = await asyncio.to_thread(apply_fix, entry, action, self._certificates())
        await self._engine.servers.update(server, entry)

    async def text(self, server: str) -> str:
        """Return the latest report as text, without secrets. Raises ConfigError."""
        from inspector.engine.doctor.results import as_text

        view = self._views.get(server)
        if view is None:
            raise ConfigError(f"{server!r} has not been checked yet.", "Run Doctor first.")
        return as_text(view)

    def check_untrusted(self, entry: Entry) -> AsyncGenerator[CheckResult | Diagnosis, None]:
        """Check a server that is not trusted: nothing is started or contacted."""
        from inspector.engine.doctor.check_run import run_check

        return run_check(entry, replace(self._context(), may_contact=False))

    async def check_discovered(self, server_id: str) -> CheckReport:
        """Like `check_untrusted`, for a discovered server by its id. Raises ConfigError."""
        entry = await self._engine.discovery.entry_of(server_id)
        view = CheckReport(entry.name, entry.address)
        async with aclosing(self.check_untrusted(entry)) as items:
            async for item in items:
                if isinstance(item, CheckResult):
                    view = replace(view, results=view.with_result(item))
                else:
                    view = replace(view, diagnoses=(*view.diagnoses, item))
        return view

    async def close(self) -> None:
        await self._tasks.close()

    async def _run(self, server: str, target: Server) -> None:
        try:
            await self._check(server, target)
        except Exception as exc:  # otherwise the check would seem to run forever
            _log.exception("Doctor failed for %s", server)
            view = self._views[server]
            step = view.results[-1].id if view.results else "settings"
            bug = Diagnosis(
                "doctor-failed",
                step,
                f"Doctor failed with an internal error: {exc!r}.",
                "This is a bug in MCP Lens. Please report it.",
            )
            self._show(replace(view, diagnoses=(*view.diagnoses, bug)))
        if server in self._views:
            self._show(replace(self._views[server], is_running=False))

    async def _check(self, server: str, target: Server) -> None:
        from inspector.engine.doctor.check_run import run_check

        context = replace(self._context(), resolve=target.resolve, authorization=target.authorization)
        async with aclosing(run_check(target.entry, context)) as items:
            async for item in items:
                view = self._views[server]
                if isinstance(item, CheckResult):
                    self._show(replace(view, results=view.with_result(item)))
                else:
                    self._show(replace(view, diagnoses=(*view.diagnoses, item)))

    def _context(self) -> CheckContext:
        from inspector.engine.doctor.connection_check import CheckContext

        engine = self._engine
        return CheckContext(engine.log, self._guard, engine.clock, engine.settings.connection())

    def _certificates(self) -> Path | None:
        server_list = self._engine.servers.server_list
        return server_list.path.parent / "certificates" if server_list is not None else None

    def _show(self, view: CheckReport) -> None:
        self._views[view.server] = view
        self.changed.emit(view)

    def _forget(self, server: str) -> None:
        self._views.pop(server, None)
        if (task := self._running.pop(server, None)) is not None:
            task.cancel()
