"""Application lifecycle: show the window, load the engine on a thread, shut everything down.

`run_window` runs the application; `build` creates all of it at once, for tests and the tour.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from inspector.app.frontend import Application, Frontend, make_frontend
from inspector.app.runtime_hooks import GarbageCollector, report_task_errors, report_uncaught
from inspector.config.paths import (
    Files,
    baselines_path,
    calls_path,
    captures_path,
    history_path,
    layout_path,
    preferences_path,
    reply_rules_path,
    secrets_path,
    server_list_path,
    trust_path,
)
from inspector.qt.theme import Scheme

if TYPE_CHECKING:
    from inspector.app.backend import App


def build(files: Files, layout: Path, scheme: Scheme | None = None) -> App:
    """Build the whole application at once, for callers that run the loop: tests and the tour."""
    from inspector.app.backend import start_backend

    return start_backend(make_frontend(layout, scheme), files, is_running=False)


def run_window(demo: bool, server_list: Path | None, files: Sequence[Path] = ()) -> int:
    """Open the window, with these captures, and run until it is closed.

    The demo uses no server list.
    """
    frontend = make_frontend(layout_path())
    report_uncaught(frontend.bridge.problem_found.emit, frontend.bridge.log.credentials)
    lifecycle = _Lifecycle(
        frontend, demo, _user_files(None if demo else server_list or server_list_path()), files
    )
    frontend.window.show()
    lifecycle.begin()
    code = frontend.qt.exec()
    lifecycle.finish()
    return code


def _user_files(server_list: Path | None) -> Files:
    return Files(
        server_list,
        preferences_path(),
        captures_path(),
        history_path(),
        calls_path(),
        secrets_path(),
        reply_rules_path(),
        trust=trust_path() if server_list is not None else None,
        baselines=baselines_path() if server_list is not None else None,  # the demo's ports change every time
    )


def tune_interpreter(window: QObject) -> None:
    """Tune the GC and thread switching. Call once, when all long-lived objects exist."""
    # Exempts these objects from garbage collection: a full collection takes 2-3 ms instead of 20-30.
    gc.freeze()
    GarbageCollector(window)
    # Both threads compete for the GIL in a flood; a short slice halves the window's delays.
    sys.setswitchinterval(0.0005)


# Time for the first paint, before another thread competes for the GIL.
_FIRST_PAINT_MS = 50


class _Lifecycle(QObject):
    """Application lifecycle, from showing the window until the engine has stopped.

    Signals:
        loaded: The engine's modules have been imported on the loader thread.
    """

    loaded = Signal()

    def __init__(self, frontend: Frontend, demo: bool, files: Files, captures: Sequence[Path]) -> None:
        super().__init__()
        self._frontend = frontend
        self._demo = demo
        self._files = files
        self._captures = list(captures)
        self._app: App | None = None
        self._is_closing = False
        self._is_shut_down = False
        self._loader = threading.Thread(target=self._load, name="loader")
        self.loaded.connect(self._on_loaded)
        frontend.window.closing.connect(self._on_closing)
        if isinstance(frontend.qt, Application):
            frontend.qt.file_opened.connect(self._on_file_opened)

    def begin(self) -> None:
        """Load the engine on a thread once the window has been painted, so that it stays responsive."""
        QTimer.singleShot(_FIRST_PAINT_MS, self._loader.start)

    def finish(self) -> None:
        """Clean up after Qt's event loop has ended.

        The loop may have been ended from outside (display lost, desktop logout). The engine must be stopped
        all the same, or its thread would keep the process alive without a window.
        """
        if self._loader.ident is not None:
            self._loader.join()
        if self._app is not None and not self._is_shut_down:
            from inspector.app.backend import stop_synchronously

            stop_synchronously(self._app)

    def _load(self) -> None:
        import inspector.app.backend  # noqa: F401

        self.loaded.emit()

    def _on_loaded(self) -> None:
        from inspector.app.backend import close_on_signals, open_first_servers, start_backend

        self._loader.join()
        bridge = self._frontend.bridge
        report_task_errors(bridge.problem_found.emit, bridge.log.credentials)
        self._app = start_backend(self._frontend, self._files, is_running=True)
        close_on_signals(self._frontend.window)
        tune_interpreter(self._frontend.window)
        if self._is_closing:
            self._begin_shutdown()
        else:
            self._frontend.bridge.start("first servers", open_first_servers(self._app, self._demo))
            self._frontend.window.captures.open(self._captures)
            self._frontend.window.capture_notice.offer_interrupted()

    def _on_file_opened(self, path: str) -> None:
        """Open a file that the desktop passes; one that starts MCP Lens arrives before the engine is up."""
        if self._app is None:
            self._captures.append(Path(path))
        else:
            self._frontend.window.captures.open([Path(path)])

    def _on_closing(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._begin_shutdown()

    def _begin_shutdown(self) -> None:
        """Shut down; if the window was closed while the engine was loading, do so after loading."""
        if self._app is not None:
            self._shutdown_task = self._app.loop.create_task(self._shut_down(self._app), name="shut down")

    async def _shut_down(self, app: App) -> None:
        from inspector.app.backend import shut_down

        try:
            await shut_down(app)
            self._is_shut_down = True
        finally:
            self._frontend.qt.quit()
