"""Check of a stdio server: find the command, start it, read its output, negotiate."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace

from inspector.base.environment import inherited_variables
from inspector.base.errors import ConfigError
from inspector.base.json.values import shorten
from inspector.base.plain_text import one_line
from inspector.base.redaction import masked_command
from inspector.base.search_path import path_source, path_variable
from inspector.base.units import plural
from inspector.config.servers.entries import Entry, StdioEntry, installer_of
from inspector.config.servers.entry_secrets import plain_values, secret_references
from inspector.engine.doctor.connection_check import NOT_EXPANDED, ConnectionCheck, summary_of
from inspector.engine.doctor.probe_session import ObservedTraffic, ProbeSession
from inspector.engine.doctor.program_probe import inspect_program, runtime_of, version_of
from inspector.engine.doctor.results import PROCESS_STEPS, CheckResult, Diagnosis
from inspector.engine.doctor.rules.output import (
    diagnose_exit,
    diagnose_silence,
    diagnose_stray,
    diagnose_unusable,
    explains,
    lines_of,
)
from inspector.engine.doctor.rules.programs import diagnose_program, diagnose_version
from inspector.engine.doctor.rules.protocol import diagnose_messages, diagnose_settings
from inspector.engine.doctor.rules.variables import name_variables
from inspector.session.connect import start_allowance
from inspector.transport.programs import Command
from inspector.transport.task_scope import TaskScope

# Failures that an old runtime may have caused.
_POSSIBLY_OLD_RUNTIME = ("exited", "raised", "script-broken", "crashed", "node-module-missing")


class ProcessCheck(ConnectionCheck):
    """Checks a command: find it, start it, read its output, negotiate."""

    steps = PROCESS_STEPS

    async def run(self) -> AsyncGenerator[CheckResult, None]:
        entry = await self._resolve()
        yield self._settings(entry)
        if not isinstance(entry, StdioEntry):
            return
        if self.has_unexpanded_placeholders(entry):
            yield self.skipped("command", NOT_EXPANDED)
            return
        command = Command(
            (entry.command, *entry.args), plain_values(entry), entry.cwd, entry.inherit_environment
        )
        yield self.running("command")
        began = self.now()
        probe = await asyncio.to_thread(inspect_program, command)
        diagnosis = diagnose_program(probe)
        details = (*((f"Working directory: {entry.cwd}",) if entry.cwd else ()), *self._path_lines(command))
        text = "" if diagnosis is not None else probe.found
        yield self.check_result("command", text, self.now() - began, diagnosis, details)
        if self.has_failed() or not self.context.may_contact:
            return
        runtime: Diagnosis | None = None
        if runtime_of(entry.command) is None:
            yield self.skipped("runtime", "Not a known runtime; its version is not checked.")
        else:
            yield self.running("runtime")
            began = self.now()
            version = await version_of(probe.found, command, self.context.guard)
            runtime = diagnose_version(probe.found, version)
            yield self.check_result("runtime", version.version, self.now() - began, runtime)
            if self.has_failed():
                return
        too_old = runtime if runtime is not None and runtime.id == "runtime-too-old" else None
        async with aclosing(self._check_session(entry, command, too_old)) as results:
            async for result in results:
                yield result

    def _path_lines(self, command: Command) -> Iterator[str]:
        assert isinstance(self.entry, StdioEntry)
        yield f"PATH: {path_source(self.entry.env)}"
        yield command.environment().get(path_variable(command.env), "not set")

    async def _resolve(self) -> Entry | ConfigError:
        try:
            return await self.context.resolve(self.entry)
        except ConfigError as exc:
            return exc

    def _settings(self, entry: Entry | ConfigError) -> CheckResult:
        if isinstance(entry, ConfigError):
            is_secret = bool(secret_references(self.entry))
            return self.check_result(
                "settings", "", diagnosis=diagnose_settings(self.entry, entry, is_secret=is_secret)
            )
        assert isinstance(entry, StdioEntry)
        names = ", ".join(entry.env) or "none"
        inherited = ", ".join(sorted(inherited_variables(os.environ, whole=entry.inherit_environment)))
        details = (f"Environment variables: {names}", f"Inherited from MCP Lens: {inherited}")
        text = " ".join(masked_command((entry.command, *entry.args)))
        return self.check_result("settings", text, details=details)

    async def _check_session(
        self, entry: StdioEntry, command: Command, too_old: Diagnosis | None
    ) -> AsyncGenerator[CheckResult, None]:
        yield self.running("started")
        try:
            session = self.new_session(entry, explains)
        except ConfigError as exc:
            yield self.check_result("settings", "", diagnosis=diagnose_settings(entry, exc, is_secret=False))
            return
        scope = TaskScope()
        connecting = scope.spawn(f"connect to {entry.name} for Doctor", session.connect())
        try:
            if await _wait_for_either(connecting, session.listener.started):
                yield self._started(session.listener.traffic)
                limit = self.settings.connect_timeout
                yield self.running("output", f"Waiting up to {start_allowance(limit) + limit:g} s.")
                await _wait_for_either(connecting, session.listener.received_anything)
            await connecting
            async with aclosing(self._evaluate(session, command, too_old)) as results:
                async for result in results:
                    yield result
        finally:
            await scope.close()
            await session.close()

    def _started(self, traffic: ObservedTraffic) -> CheckResult:
        return self.check_result("started", f"PID {traffic.pid}", max(0, traffic.started_at - traffic.began))

    async def _evaluate(
        self, session: ProbeSession, command: Command, too_old: Diagnosis | None
    ) -> AsyncGenerator[CheckResult, None]:
        traffic = session.listener.traffic
        if traffic.negotiated is None:
            diagnosis = await asyncio.to_thread(self._diagnose, traffic)  # scans the server's output
            if too_old is not None and diagnosis.id in _POSSIBLY_OLD_RUNTIME:
                self.warnings = [each for each in self.warnings if each.id != too_old.id]
                diagnosis = replace(too_old, is_warning=False)
            passed = command.environment()
            diagnosis = name_variables(diagnosis, lines_of(traffic), command.argv[0], os.environ, passed)
            for result in self._failed_results(traffic, diagnosis):
                yield result
            return
        yield self._output(traffic)
        yield self._stray(traffic)
        yield self.check_result("handshake", "The server responded.", traffic.ended - traffic.began)
        yield self.check_result("era", self.era_text(traffic))
        async for result in self.check_negotiated(session, traffic):
            yield result

    def _diagnose(self, traffic: ObservedTraffic) -> Diagnosis:
        if not traffic.started_at:
            return Diagnosis(
                "start-refused",
                "started",
                summary_of(traffic.error) or "The operating system could not start the program.",
                traffic.error.next_step if traffic.error is not None else "",
            )
        if traffic.exit_status:
            return diagnose_exit(traffic)
        if traffic.closed:
            return Diagnosis(
                "stdout-closed",
                "output",
                "The process is still running but has closed stdout, so it cannot respond.",
                "It may have daemonized. Run it in the foreground.",
                tuple(shorten(one_line(line), 300) for line in list(traffic.stderr)[-6:]),
            )
        assert isinstance(self.entry, StdioEntry)
        waited = round((traffic.ended - traffic.started_at) / 1e9, 1)
        installer = installer_of((self.entry.command, *self.entry.args))
        return (
            diagnose_unusable(traffic)
            or diagnose_messages(traffic, self.entry)
            or diagnose_silence(traffic, waited, installer)
        )

    def _failed_results(self, traffic: ObservedTraffic, diagnosis: Diagnosis) -> list[CheckResult]:
        """Return the results of the steps up to and including the failed one."""
        results: list[CheckResult] = []
        elapsed = traffic.ended - traffic.began
        began = self.steps.index("started")
        step = diagnosis.step if diagnosis.step in self.steps[began:] else "handshake"
        for id in self.steps[began : self.steps.index(step)]:
            if id == "started":
                results.append(self._started(traffic))
            elif id == "output":
                results.append(self._output(traffic))
            elif id == "stray":
                results.append(self._stray(traffic))
            elif id == "handshake":
                results.append(self.check_result("handshake", "The server responded.", elapsed))
        return [*results, self.check_result(step, "", elapsed, diagnosis)]

    def _output(self, traffic: ObservedTraffic) -> CheckResult:
        if not traffic.first_output_at:
            return self.skipped("output", "No output.")
        first = next(iter((*traffic.stderr, *traffic.stray)), "") or "A message on stdout."
        shown = shorten(one_line(first), 160)
        elapsed = max(0, traffic.first_output_at - traffic.started_at)
        return self.check_result("output", shown, elapsed, details=tuple(list(traffic.stderr)[:20]))

    def _stray(self, traffic: ObservedTraffic) -> CheckResult:
        diagnosis = diagnose_stray(traffic)
        count = len(traffic.stray)
        text = f"{plural(count, 'line')} that {'is' if count == 1 else 'are'} not JSON-RPC" if count else ""
        return self.check_result(
            "stray",
            text or "Only JSON-RPC messages on stdout.",
            diagnosis=diagnosis,
            details=tuple(traffic.stray[:20]),
        )


async def _wait_for_either(task: asyncio.Task[None], event: asyncio.Event) -> bool:
    """Wait for the event or the end of the task; return whether the event was set."""
    scope = TaskScope()
    waiting = scope.spawn("wait for the process", event.wait())
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        return event.is_set()
    finally:
        await scope.close()
