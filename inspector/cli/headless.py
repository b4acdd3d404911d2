"""One engine for one command: connected, used, and always stopped, however the command ends."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from inspector.base.plaintext import visible
from inspector.cli import output
from inspector.cli.exitcodes import ExitCode
from inspector.cli.target import chosen_entry
from inspector.config.entries import Entry
from inspector.config.paths import secrets_path
from inspector.config.settings import Settings
from inspector.config.textsecrets import stored_secrets_of
from inspector.engine.engine import Engine
from inspector.engine.secrets import Secrets, make_store
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind

Work = Callable[[Engine, str], Awaitable[int]]
"""Given an engine, connected unless asked otherwise, and the server's name; gives the exit code."""


def run_on_server(
    options: argparse.Namespace,
    work: Work,
    request_timeout: float | None = None,
    *,
    connects: bool = True,
) -> int:
    """Connect to the server chosen by the options, run the work, stop the server.

    Raises LensError.
    """
    entry = chosen_entry(options)
    settings = Settings()
    if options.connect_timeout is not None:
        settings = replace(settings, connect_timeout=options.connect_timeout)
    if request_timeout is not None:
        settings = replace(settings, request_timeout=request_timeout)
    if not os.environ.get("MCP_LENS_DEBUG"):
        logging.getLogger().addHandler(logging.NullHandler())  # else Python prints tracebacks to stderr
    return _run(_on_server(entry, settings, work, show_stderr=options.stderr, connects=connects))


def run_engine(work: Callable[[Engine], Awaitable[int]]) -> int:
    """Run work that needs an engine but no server. Raises LensError."""

    async def with_engine() -> int:
        engine = Engine()
        try:
            return await work(engine)
        finally:
            await engine.close()

    return _run(with_engine())


async def _on_server(
    entry: Entry, settings: Settings, work: Work, *, show_stderr: bool, connects: bool
) -> int:
    # Open the secret store only if the entry refers to secrets: the keychain may prompt the user.
    secrets = Secrets(lambda: make_store(secrets_path())) if stored_secrets_of(entry) else None
    engine = Engine(settings=settings, secrets=secrets)
    if show_stderr:
        _StderrFollower(engine.log)
    try:
        engine.add(entry)
        if connects:
            await engine.connect(entry.name)
        return await work(engine, entry.name)
    finally:
        await engine.close()


def _run(work: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine.

    Ctrl+C and SIGTERM cancel it, so that it can stop the server before the process exits.
    """
    try:
        return asyncio.run(_until_terminated(work))
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


async def _until_terminated(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.current_task()
    assert task is not None
    is_terminated = False

    def on_terminate() -> None:
        nonlocal is_terminated
        if not is_terminated:  # a second signal must not interrupt the cleanup
            is_terminated = True
            task.cancel()

    with contextlib.suppress(NotImplementedError):  # Windows terminates processes without a signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, on_terminate)
    try:
        return await work
    except asyncio.CancelledError:
        if is_terminated:
            return ExitCode.TERMINATED
        raise


class _StderrFollower:
    """Copies the server's stderr to ours as it is recorded."""

    def __init__(self, log: TrafficLog) -> None:
        self._log = log
        self._seen = len(log)
        log.grew.connect(self._on_grew)

    def _on_grew(self, length: int) -> None:
        for row in range(self._seen, length):
            if self._log.kind(row) == RecordKind.STDERR:
                line = self._log.raw(row).decode(errors="replace")
                output.write_stderr(f"{visible(line) if output.is_terminal(sys.stderr) else line}\n")
        self._seen = length
