"""Run a traffic export or import to its end."""

from __future__ import annotations

from pathlib import Path

from inspector.traffic.export.importer import Imported, TrafficImporter
from inspector.traffic.export.writer import Dropped, ExportSteps
from inspector.traffic.log import TrafficLog


def run_export(steps: ExportSteps) -> Dropped:
    while True:
        try:
            next(steps)
        except StopIteration as done:
            dropped: Dropped = done.value
            return dropped


def import_file(path: Path, log: TrafficLog) -> Imported:
    importer = TrafficImporter(path, log)
    for _ in importer.steps():
        pass
    return importer.imported
