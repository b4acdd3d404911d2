"""Traffic export: formats, secrets to mask, and the writing. Blocking: run on a thread."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inspector.base.atomic_file import AtomicFile
from inspector.base.errors import RequestCancelled, UserError
from inspector.traffic.export.har import write_har
from inspector.traffic.export.jsonlines import write_json_lines
from inspector.traffic.export.markdown import write_markdown
from inspector.traffic.export.writer import Dropped, ExportSteps
from inspector.traffic.log import TrafficLog
from inspector.traffic.masking.masker import FoundSecrets, Masker, SecretScan

OnProgress = Callable[[int, int], None]
IsCancelled = Callable[[], bool]

# Progress interval: a row takes microseconds.
_PROGRESS_EVERY = 256


class ExportFormat(Enum):
    """Export formats: display name, file suffix and description."""

    JSON_LINES = ("JSON Lines", ".jsonl", "All messages with full details; can be opened again")
    HAR = ("HAR", ".har", "HTTP exchanges, for browsers and HTTP tools")
    MARKDOWN = ("Markdown", ".md", "A report to paste into an issue")

    @property
    def text(self) -> str:
        return self.value[0]

    @property
    def suffix(self) -> str:
        return self.value[1]

    @property
    def hint(self) -> str:
        return self.value[2]


_WRITERS: dict[ExportFormat, Callable[..., ExportSteps]] = {
    ExportFormat.JSON_LINES: write_json_lines,
    ExportFormat.HAR: write_har,
    ExportFormat.MARKDOWN: write_markdown,
}


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export."""

    path: Path
    rows: int
    masked: int  # number of distinct secrets
    dropped: str  # what the format could not represent, as text
    unreadable: int = 0  # rows that were left out


def find_secrets(
    log: TrafficLog, rows: Sequence[int], on_progress: OnProgress | None, is_cancelled: IsCancelled
) -> FoundSecrets:
    scan = SecretScan(log, rows)
    for _ in _with_progress(scan.steps(), len(rows), on_progress, is_cancelled):
        pass
    return scan.found


def export(
    log: TrafficLog,
    rows: Sequence[int],
    format: ExportFormat,
    masking: Masker,
    path: Path,
    on_progress: OnProgress | None,
    is_cancelled: IsCancelled,
) -> Exported:
    """Export to a temporary file next to the target, then replace it. Raises UserError.

    Rows whose bytes cannot be read are left out and counted, unless there is no other.
    """
    readable = _readable_rows(log, rows, is_cancelled)
    unreadable, rows = len(rows) - len(readable), readable or rows
    try:
        # Masked as far as possible, but still traffic: private to the owner until shared.
        with AtomicFile(path, is_private=True) as file:
            writing = _WriterResult(_WRITERS[format](log, rows, file, masking))
            for _ in _with_progress(iter(writing), len(rows), on_progress, is_cancelled):
                pass
            file.commit()
    except OSError as exc:
        reason = exc.strerror or str(exc)
        raise UserError(f"Could not write {path}: {reason}.", "Choose another location.") from exc
    return Exported(path, len(rows), len(masking.items), str(writing.dropped), unreadable)


def _readable_rows(log: TrafficLog, rows: Sequence[int], is_cancelled: IsCancelled) -> array[int]:
    readable = array("q")
    for row in _with_progress(rows, len(rows), None, is_cancelled):
        if log.readable_raw(row) is not None:
            readable.append(row)
    return readable


class _WriterResult:
    """Wraps a writer generator and keeps its return value."""

    def __init__(self, writing: ExportSteps) -> None:
        self._writing = writing
        self.dropped = Dropped()

    def __iter__(self) -> Iterator[int]:
        self.dropped = yield from self._writing


def _with_progress(
    steps: Iterable[int], total: int, on_progress: OnProgress | None, is_cancelled: IsCancelled
) -> Iterator[int]:
    for number, done in enumerate(steps):
        if number % _PROGRESS_EVERY == 0:
            if is_cancelled():
                raise RequestCancelled("The export was cancelled.")
            if on_progress is not None:
                on_progress(done, total)
        yield done
