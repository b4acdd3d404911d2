"""A window with a server whose files a test edits: its Process tab and regression calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from inspector.config.calls.saved_calls import SavedCall
from inspector.engine.calls.regression_calls import RegressionView
from inspector.engine.processes.file_watch import WatchTiming
from inspector.engine.views import ServerStatus
from inspector.qt.panels.processes.panel import ProcessPanel
from inspector.qt.window.tabs import PROCESS
from tests.helpers.editedserver import edited_entry, write_server
from tests.qt.lens_driver import Lens

SERVER = "edited"


class ProcessStage:
    """Call `start` first."""

    def __init__(self, lens: Lens, folder: Path) -> None:
        self.lens = lens
        self.folder = folder / "project"
        self.folder.mkdir()
        lens.app.thread.engine.filewatch.timing = WatchTiming(poll=0.03, quiet=0.03, max_delay=1.0)

    def save(self, tool: str, **more: Any) -> SavedCall:
        call = SavedCall(f"Call of {tool}", tool, SERVER, is_regression=True, **more)
        return self.lens.ask(lambda engine: engine.calls.save(call))

    def start(self, *watch: str, **responses: str | int) -> ProcessPanel:
        """Connect, and go to the Process tab."""
        self.write(**responses)
        self.lens.connect(edited_entry(self.folder, *watch))
        self.lens.do("view.process")
        self.lens.until(lambda: self.panel.running.model.rowCount() == 1)
        self.lens.settle()
        return self.panel

    def write(self, **responses: str | int) -> None:
        write_server(self.folder, **responses)

    def restart(self, **responses: str | int) -> None:
        """Rewrite the server and reconnect manually."""
        self.write(**responses)
        before = self.lens.view(SERVER).pid
        self.lens.do("server.reconnect")
        self.lens.until(lambda: self.lens.view(SERVER).pid not in (None, before))
        self.lens.wait_for(SERVER, ServerStatus.CONNECTED)
        self.lens.settle()

    @property
    def panel(self) -> ProcessPanel:
        return self.lens.workspace.panel(PROCESS)

    @property
    def regression_calls(self) -> RegressionView:
        return self.panel.regression_calls._view

    def run(self) -> None:
        """By hand, to its end."""
        self.lens.until(self.panel.regression_calls.run.isEnabled)  # the calls are listed
        number = self.regression_calls.number + 1
        self.panel.regression_calls.run.trigger()
        self.until_ran(number)

    def until_ran(self, number: int) -> None:
        self.lens.until(
            lambda: self.regression_calls.number == number and not self.regression_calls.is_running
        )

    def until_files_are_watched(self) -> None:
        self.lens.until(lambda: self.panel.files.text.text().startswith("Watching"))

    def state(self, tool: str) -> str:
        return next(each.state.value for each in self.regression_calls.results if each.call.tool == tool)

    def choose(self, tool: str) -> None:
        rows = range(self.panel.regression_calls.model.rowCount())
        row = next(row for row in rows if self.panel.regression_calls.model.find(row).call.tool == tool)  # type: ignore[union-attr]
        self.panel.regression_calls.table.selectRow(row)
