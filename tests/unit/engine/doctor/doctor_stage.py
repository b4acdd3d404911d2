"""Runs Doctor on deliberately broken servers and collects its report."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspector.base.clock import SystemClock
from inspector.config.preferences.settings import ConnectionSettings
from inspector.config.servers.entries import Entry, StdioEntry
from inspector.engine.doctor.check_run import run_check
from inspector.engine.doctor.connection_check import CheckContext
from inspector.engine.doctor.results import CheckResult, CheckState, Diagnosis
from inspector.traffic.log import TrafficLog
from inspector.transport.orphan_guard import OrphanGuard
from tests.helpers.platforms import IS_WINDOWS
from tests.helpers.servers import FAULTSERVER

# Processes start more slowly under Wine, where the tests of Windows run.
TIME_FACTOR = 5.0 if IS_WINDOWS else 1.0


@dataclass
class Report:
    """The last result of each step, in their order, and the diagnoses."""

    results: dict[str, CheckResult]
    diagnoses: list[Diagnosis]
    log: TrafficLog

    @property
    def failure(self) -> Diagnosis:
        (failure,) = [each for each in self.diagnoses if not each.is_warning]
        return failure

    @property
    def warnings(self) -> list[str]:
        return [each.id for each in self.diagnoses if each.is_warning]

    def states(self) -> dict[str, CheckState]:
        return {id: result.state for id, result in self.results.items()}

    @property
    def text(self) -> str:
        lines = [line for each in self.results.values() for line in (each.text, *each.details)]
        for each in self.diagnoses:
            lines += [each.cause, each.fix, *each.evidence]
        return "\n".join(lines)


async def checked(
    entry: Entry, *, limit: float = 10.0, log: TrafficLog | None = None, **context: Any
) -> Report:
    """Run Doctor; `limit` is the connection timeout. Local ports reply to a probe at once, or never."""
    context.setdefault("probe_timeout", 0.3)
    limit *= TIME_FACTOR
    guard, log = OrphanGuard(), TrafficLog() if log is None else log
    results: dict[str, CheckResult] = {}
    diagnoses: list[Diagnosis] = []
    settings = ConnectionSettings(connect_timeout=limit, request_timeout=limit)
    try:
        async for item in run_check(entry, CheckContext(log, guard, SystemClock(), settings, **context)):
            if isinstance(item, Diagnosis):
                diagnoses.append(item)
            else:
                results[item.id] = item
    finally:
        guard.close()
    assert all(result.state is not CheckState.RUNNING for result in results.values()), results
    for diagnosis in diagnoses:  # each says which step, why, and what to do
        assert diagnosis.step in results
        assert diagnosis.cause.endswith((".", "!", "?")), diagnosis
        assert diagnosis.fix, diagnosis
    failed = [id for id, result in results.items() if result.state is CheckState.FAILED]
    assert failed == [each.step for each in diagnoses if not each.is_warning], (failed, diagnoses)
    return Report(results, diagnoses, log)


def python(code: str, *arguments: str, env: dict[str, str] | None = None) -> StdioEntry:
    """Return an entry that runs this code in the current Python."""
    return StdioEntry(
        name="srv", command=sys.executable, args=("-I", "-S", "-c", code, *arguments), env=env or {}
    )


def script(folder: Path, name: str, text: str | bytes, mode: int = 0o755) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    path.chmod(mode)
    return path


def make_program(folder: Path, name: str, code: str) -> Path:
    """Make a program that runs this code in the current Python: a script, or a batch file on Windows."""
    source = folder / f"{name}-code.py"
    source.write_text(f"import os, sys\n{code}\n", "utf-8")
    words = (sys.executable, "-I", "-S", str(source))
    if IS_WINDOWS:
        return script(folder, f"{name}.cmd", f"@{subprocess.list2cmdline(words)} %*\r\n")
    return script(folder, name, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')


def runtime_code(version: str, code: str) -> str:
    """Return the code of a runtime that reports this version; "" if it does not."""
    report = f"print({version!r}); sys.exit()" if version else "sys.exit(3)"
    return f"if sys.argv[1:] == ['--version']: {report}\n{code}"


def server_code() -> str:
    """Return code that becomes a working server."""
    return f"import runpy\nsys.argv = [{FAULTSERVER!r}]\nrunpy.run_path({FAULTSERVER!r}, run_name='__main__')"


def path_with(folder: Path) -> dict[str, str]:
    """Return environment variables whose PATH includes that folder."""
    return {"PATH": os.pathsep.join((str(folder), os.path.dirname(sys.executable), os.defpath))}
