"""A tool result of 50 MB, as one line and as lines of 1 KB, called in the visible window.

Once the response arrived, its row is selected in the traffic table: its start must be on screen soon, and
the window must stay responsive; then it is saved to a file, which must equal what the server sent. The
first row ever selected is a small one: building the detail pane is measured separately.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from inspector.engine.calls.tool_calls import ToolCall
from inspector.engine.views import CallOutcome, OutcomeKind
from inspector.protocol.jsonrpc import RequestId
from inspector.qt.window.tabs import TOOLS
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import RecordKind
from tests.bench.echoserver import response, write_answer
from tests.bench.enginehost import SERVER
from tests.bench.memory import peak_rss_mib
from tests.bench.report import Number, Result, note
from tests.bench.servercommand import ECHO_SERVER, add_command, json_object
from tests.bench.windowhost import in_window

if TYPE_CHECKING:
    from inspector.app.backend import App
    from inspector.protocol.connection import ProgressReceived
    from inspector.qt.panels.traffic.panel import TrafficPanel

HEAD_S = 2.0
WORST_GAP_MS = 100
_SIZE = 50 * 1024 * 1024
_REST_S = 0.5
_HEAD = 10_000  # characters: more than fit on a screen


def configure(parser: argparse.ArgumentParser) -> None:
    add_command(parser, ECHO_SERVER)
    parser.add_argument(
        "--tool", action="append", help="a tool to call; again for more (default: line, lines)"
    )
    parser.add_argument(
        "--args", type=json_object, default={"size": _SIZE}, metavar="JSON", help="its arguments"
    )


def run(options: argparse.Namespace) -> Result:
    async def measure(app: App) -> Result:
        first_gap = await _choose_first(app)
        bodies = {tool: await _call(app, tool, options) for tool in options.tool or ("line", "lines")}
        numbers: dict[str, Number] = {"command": options.command, "era": options.era}
        for tool, body in bodies.items():
            numbers |= {f"{tool}_{name}": value for name, value in asdict(body).items()}
        return Result(
            "body",
            {**numbers, "first_row_gap_ms": first_gap, "peak_rss_mib": peak_rss_mib()},
            {
                "head<2s": max(body.head_s for body in bodies.values()) < HEAD_S,
                "gap<=100ms": max(body.worst_gap_ms for body in bodies.values()) <= WORST_GAP_MS,
                "saved whole": all(body.is_saved_whole for body in bodies.values()),
            },
        )

    return in_window(options, measure)


@dataclass(slots=True)
class _Body:
    """One result, from the call until it is in a file; seconds since its last byte arrived."""

    bytes: int
    head_s: float = 0.0
    result_s: float = 0.0
    saved_s: float = 0.0
    worst_gap_ms: float = 0.0
    is_saved_whole: bool = False


async def _choose_first(app: App) -> float:
    """Select a small row, which builds the detail pane, and return the gap."""
    from tests.bench.heartbeat import Heartbeat

    heartbeat = Heartbeat()
    heartbeat.start()
    app.window.traffic.choose(len(app.bridge.log) - 1)
    await asyncio.sleep(_REST_S)
    heartbeat.stop()
    return heartbeat.worst_ms()


async def _call(app: App, tool: str, options: argparse.Namespace) -> _Body:
    from tests.bench.heartbeat import Heartbeat

    heartbeat, log, panel = Heartbeat(), app.bridge.log, app.window.traffic
    with TemporaryDirectory(prefix="lens-bench-") as folder:
        path = Path(folder, "saved.json")
        heartbeat.start()
        outcome = await app.bridge.ask(
            lambda engine: engine.tool_caller.call(SERVER, ToolCall(tool, options.args))
        )
        row = _response_row(log, outcome)
        body, arrived = _Body(len(outcome.response)), log.monotonic_ns(row)
        await _show_head(app, panel, row)
        body.head_s = _since(arrived)
        await _show_result(app, outcome)
        body.result_s = _since(arrived)
        await _save(panel, path)
        body.saved_s = _since(arrived)
        heartbeat.stop()
        body.worst_gap_ms = heartbeat.worst_ms()
        expected = _sent(tool, options, log.id(row)) if options.command == ECHO_SERVER else outcome.response
        body.is_saved_whole = _digest_of(path) == _digest(expected)
    note(f"{tool}: {body}")
    return body


async def _show_head(app: App, panel: TrafficPanel, row: int) -> None:
    """Select the row as soon as the table has it, and wait until its bytes are on screen."""
    from PySide6.QtWidgets import QPlainTextEdit

    from inspector.qt.panels.traffic.detail.message_view import Form
    from tests.bench.openedcapture import Painted, until

    await until(app.bridge.traffic_grew, lambda: panel.choose(row))
    text = panel.detail.message.own.text_view(Form.PRETTY)
    code = text.findChild(QPlainTextEdit)
    assert code is not None
    painted = Painted(code.viewport(), lambda: len(text.shown_text()) >= _HEAD)
    code.viewport().update()
    await painted.wait()


async def _show_result(app: App, outcome: CallOutcome) -> None:
    """Show the result in the panel that called the tool."""
    workspace = app.window.workspace()
    assert workspace is not None
    await workspace.panel(TOOLS).call_view.result.show_outcome(outcome)
    workspace.repaint()


async def _save(panel: TrafficPanel, path: Path) -> None:
    """Save with the button of the message view."""
    from PySide6.QtWidgets import QFileDialog

    from inspector.qt.widgets.code.save_file import BodySaver

    message = panel.detail.message
    saver = message.own.findChild(BodySaver)
    assert saver is not None
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    connection = saver.ended.connect(ended.set_result)
    message.save_action.trigger()
    dialog = panel.findChild(QFileDialog)
    assert dialog is not None
    dialog.fileSelected.emit(str(path))
    dialog.close()
    note(await ended)
    saver.ended.disconnect(connection)


def _response_row(log: TrafficLog, outcome: CallOutcome) -> int:
    if outcome.kind is not OutcomeKind.RESULT or outcome.row is None:
        raise SystemExit(f"The call failed: {outcome.summary or outcome.response[:300]!r}")
    partner = log.partner(outcome.row)
    return outcome.row if log.kind(outcome.row) != RecordKind.REQUEST or partner is None else partner


def _sent(tool: str, options: argparse.Namespace, id: RequestId | None) -> bytes:
    """Return what the echo server writes, computed independently."""
    return write_answer(id, response("tools/call", {"name": tool, "arguments": options.args}))


def _digest_of(path: Path) -> tuple[int, str]:
    return _digest(path.read_bytes())


def _digest(data: bytes) -> tuple[int, str]:
    return len(data), hashlib.sha256(data).hexdigest()


def _since(moment_ns: int) -> float:
    return round((time.monotonic_ns() - moment_ns) / 1e9, 3)


def _ignore(event: ProgressReceived) -> None:
    """Ignore progress."""
