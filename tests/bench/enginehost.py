"""The engine on its own thread with one connected server, as the app runs it, without a window."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from inspector.engine.engine import Engine
from inspector.engine.thread import EngineThread
from inspector.engine.views import ServerView
from tests.bench.servercommand import entry

SERVER = "bench"


@contextmanager
def connected_engine(options: argparse.Namespace) -> Iterator[EngineThread]:
    thread = EngineThread(Engine())
    thread.start()
    try:
        thread.submit(_add(thread.engine, options)).result()
        thread.submit(thread.engine.connect(SERVER)).result()
        yield thread
    finally:
        thread.stop()


async def _add(engine: Engine, options: argparse.Namespace) -> ServerView:
    return engine.add(entry(options))
