"""The engine on its thread with one connected server, as in the app, without a window."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from inspector.config.servers.entries import Entry
from inspector.engine.engine import Engine, EngineThread
from inspector.engine.server_view import ServerView

SERVER = "bench"


@contextmanager
def connected_engine(entry: Entry) -> Iterator[EngineThread]:
    """The entry's name must be SERVER."""
    thread = EngineThread(Engine())
    thread.start()
    try:
        thread.submit(_add(thread.engine, entry)).result()
        thread.submit(thread.engine.servers.connector.connect(SERVER)).result()
        gc.freeze()  # as `inspector.app.main.tune_interpreter` does
        yield thread
    finally:
        thread.stop()


async def _add(engine: Engine, entry: Entry) -> ServerView:
    return engine.servers.add(entry)
