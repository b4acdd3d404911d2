"""`mcp-lens export CAPTURE`: export its rows, or those that match a filter.

Formats: JSON Lines, HAR and Markdown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from inspector.base.plain_text import one_line
from inspector.base.units import plural
from inspector.cli import output
from inspector.cli.output import ExitCode, Parser
from inspector.config.paths import captures_path
from inspector.engine.exports import ExportFormat, export, find_secrets
from inspector.traffic.captures.capture import Capture, open_capture
from inspector.traffic.captures.folder import CaptureFolder
from inspector.traffic.export.importer import import_capture, looks_like_capture
from inspector.traffic.filter.matcher import compile
from inspector.traffic.filter.parser import parse
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker

_FORMATS = {"jsonl": ExportFormat.JSON_LINES, "har": ExportFormat.HAR, "markdown": ExportFormat.MARKDOWN}
_SLICE = 16 * 1024


def configure(parser: Parser) -> None:
    parser.add_argument("capture", type=Path, metavar="CAPTURE", help="a capture, JSON Lines or HAR file")
    parser.add_argument("--format", choices=_FORMATS, default="jsonl", help="default: %(default)s")
    parser.add_argument(
        "--filter", default="", metavar="FILTER", help="export only matching messages, e.g. status:error"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument("--show-secrets", action="store_true", help="do not mask secrets")


def run(options: argparse.Namespace) -> int:
    query = parse(options.filter)
    with _opened(options.capture) as capture:
        for problem in capture.problems:
            output.print_error(problem)
        log = capture.log
        matcher = compile(query, log, now_ns=time.time_ns())
        rows = array("q")
        for first in range(0, len(log), _SLICE):
            rows.extend(matcher.rows(range(first, min(first + _SLICE, len(log)))))
        masking = Masker(FoundSecrets() if options.show_secrets else find_secrets(log, rows, None, _never))
        _write(log, rows, _FORMATS[options.format], masking, options.out)
    return ExitCode.RESULT


@contextmanager
def _opened(path: Path) -> Iterator[Capture]:
    """Open a capture; a JSON Lines or HAR file is converted to a temporary one first."""
    with tempfile.TemporaryDirectory(prefix="mcp-lens-") as folder:
        if looks_like_capture(path):
            capture = open_capture(path, folder=CaptureFolder(captures_path()))
        else:
            capture = import_capture(path, Path(folder, "imported.mcpcap"))
        try:
            yield capture
        finally:
            capture.close()


def _write(
    log: TrafficLog, rows: array[int], format: ExportFormat, masking: Masker, out: Path | None
) -> None:
    with tempfile.TemporaryDirectory(prefix="mcp-lens-") as folder:
        target = out if out is not None else Path(folder, f"out{format.suffix}")
        done = export(log, rows, format, masking, target, None, _never)
        if out is None:
            with target.open(encoding="utf-8", newline="") as file:
                for part in iter(lambda: file.read(1024 * 1024), ""):
                    output.write_file(part)
    for item in masking.items:
        output.print_error(f"masked {item.placeholder}: {one_line(item.where)}, {plural(item.count, 'time')}")
    if done.unreadable:
        output.print_error(f"omitted: {plural(done.unreadable, 'row')} that could not be read")
    if done.dropped:
        output.print_error(f"omitted (not supported by {format.text}): {done.dropped}")


def _never() -> bool:
    return False
