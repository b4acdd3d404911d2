"""Import of JSON Lines (ours or foreign) and HAR, into a log or a new capture.

The format is detected from the content. The file is untrusted: a line or entry that cannot be used is
reported as a problem and the rest is read; only a file in none of these formats raises.

In JSON Lines of other tools, a line may be

- a JSON-RPC message, or a batch of them: its bytes are stored as they are;
- an object with the message in a member: `message`, `msg`, `frame`, `payload`, `json`, `data`, `raw`,
  `body`, `rpc` or `content`, as JSON or as a string of JSON. Beside it, any of
  - the direction, in `direction`, `dir`, `from`, `source`, `sender`, `side` or `type`: "client",
    "client->server", "fromClient", "stdin", "out", "sent", ">" and the like;
  - the time, in `time`, `timestamp`, `ts`, `at`, `date` or `wall_ns`: ISO 8601, or a number of seconds,
    milliseconds, microseconds or nanoseconds since 1970;
  - the server, in `server`, `server_name`, `serverName` or `peer`.

A missing direction is derived from the method, or from the request that a response belongs to. "in" and
"out" are taken as the client's; if a message would then come from the wrong side, the file was written on
the server's side and is read the other way round.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

from inspector.base.errors import RequestCancelled, UserError
from inspector.base.json.values import JSON, JSONError, JSONObject, parse, to_wire
from inspector.base.units import size as size_text
from inspector.protocol.framing import LineFramer, Overlong
from inspector.protocol.jsonrpc import Message, read
from inspector.traffic.captures.capture import Capture, open_capture
from inspector.traffic.captures.file_format import side_files
from inspector.traffic.captures.folder import CaptureFolder
from inspector.traffic.captures.recording import Recording
from inspector.traffic.export.har_reader import HarReader, entries_of
from inspector.traffic.export.imported_rows import BadRow, MessageReplay, direction_of, read_time
from inspector.traffic.export.jsonlines_reader import JsonLinesReader, version_problem
from inspector.traffic.log import TrafficLog
from inspector.traffic.records import Direction

_CHUNK = 256 * 1024
_HEAD = 1024 * 1024
_SQLITE_MAGIC = b"SQLite format 3\0"
_MAX_DOCUMENT_SIZE = 1024 * 1024 * 1024
_MAX_PROBLEMS = 1000
_HAR = re.compile(rb'\s*\{\s*"log"\s*:')
_BOM = b"\xef\xbb\xbf"
_NEXT_STEP = "Choose a JSON Lines file (one JSON-RPC message per line) or a HAR file."


@dataclass(frozen=True, slots=True)
class Imported:
    """The rows that were added, and the problems as sentences."""

    rows: range
    problems: tuple[str, ...]


class _LineReader(Protocol):
    def line(self, line: bytes) -> None: ...

    def finish(self) -> int: ...


class TrafficImporter:
    """Imports one file into a log. `steps` does the work; then `imported` is complete."""

    def __init__(self, path: Path, log: TrafficLog) -> None:
        """Raise UserError if the file cannot be read."""
        self._path = path
        self._log = log
        self._first = len(log)
        self._problems: list[str] = []
        try:
            status = path.stat()
        except OSError as exc:
            raise _unreadable(path, exc) from exc
        self.size = status.st_size
        self._modified_ns = status.st_mtime_ns

    @property
    def imported(self) -> Imported:
        more = len(self._problems) - _MAX_PROBLEMS
        shown = self._problems[:_MAX_PROBLEMS] + ([f"… and {more:,} more."] if more > 0 else [])
        return Imported(range(self._first, len(self._log)), tuple(shown))

    def steps(self) -> Iterator[int]:
        """Do the work; yield how many bytes of `size` are done.

        Raises UserError for an unsupported file.
        """
        try:
            with self._path.open("rb") as file:
                head = file.read(_HEAD)
                file.seek(0)
                yield from self._read(head, file)
        except OSError as exc:
            raise _unreadable(self._path, exc) from exc
        finally:
            self._log.publish()

    def _read(self, head: bytes, file: BinaryIO) -> Iterator[int]:
        if head.startswith(_SQLITE_MAGIC):
            raise UserError(f"{self._path.name} is a capture.", "Open it instead of importing it.")
        first = _first_value(head, len(head) == self.size)
        version = version_problem(first)
        if version:
            raise UserError(f"Could not import {self._path.name}: {version}.", "Update MCP Lens.")
        if version is not None:
            yield from self._lines(file, JsonLinesReader(self._log), has_header=True)
        elif _HAR.match(head.removeprefix(_BOM)) or entries_of(first) is not None:
            yield from self._har((yield from self._document(file)))
        elif isinstance(first, dict | list) or _has_json_line(head):
            yield from self._lines(file, self._foreign_reader(), has_header=False)
        elif head.lstrip()[:1] in (b"{", b"["):
            yield from self._items((yield from self._document(file)))
        else:
            raise UserError(f"{self._path.name} contains no traffic that can be imported.", _NEXT_STEP)

    def _foreign_reader(self) -> ForeignJsonLinesReader:
        return ForeignJsonLinesReader(self._log, self._path.stem, self._modified_ns)

    def _lines(self, file: BinaryIO, reader: _LineReader, *, has_header: bool) -> Iterator[int]:
        for done, number, line in _numbered(file):
            if not (has_header and number == 1):
                self._line(reader, number, line)
            yield done
        lost = reader.finish()
        if lost:
            self._problems.append(f"{lost:,} links refer to messages that are not in the file.")

    def _line(self, reader: _LineReader, number: int, line: bytes | Overlong) -> None:
        if isinstance(line, Overlong):
            self._problems.append(f"Line {number}: its size, {size_text(line.size)}, exceeds the limit.")
        elif line.strip():
            self._attempt(f"Line {number}", lambda: reader.line(line.removeprefix(_BOM)))

    def _attempt(self, name: str, add: Callable[[], None]) -> None:
        try:
            add()
        except (BadRow, JSONError, RecursionError) as exc:
            self._problems.append(f"{name}: {exc}.")

    def _har(self, document: JSON) -> Iterator[int]:
        reader = HarReader(self._log, document)
        for _ in reader.steps():
            yield self.size
        self._problems += reader.problems

    def _items(self, document: JSON) -> Iterator[int]:
        """Read a single JSON text: a list of what would be lines, or one of them."""
        reader = self._foreign_reader()
        for number, item in enumerate(document if isinstance(document, list) else [document], 1):
            self._attempt(f"Item {number}", lambda item=item: reader.item(item))  # type: ignore[misc]
            yield self.size

    def _document(self, file: BinaryIO) -> Generator[int, None, JSON]:
        if self.size > _MAX_DOCUMENT_SIZE:
            raise UserError(
                f"{self._path.name} is larger than {size_text(_MAX_DOCUMENT_SIZE)}.", "Split the file."
            )
        pieces, done = [], 0
        while piece := file.read(_CHUNK):
            pieces.append(piece)
            done += len(piece)
            yield done
        try:
            return parse(b"".join(pieces).removeprefix(_BOM).decode())
        except (UnicodeDecodeError, JSONError) as exc:
            raise UserError(f"{self._path.name} is not JSON: {exc}.", _NEXT_STEP) from exc


def _numbered(file: BinaryIO) -> Iterator[tuple[int, int, bytes | Overlong]]:
    """Yield the bytes read so far, the line number and the line."""
    framer, number, done = LineFramer(), 0, 0
    while chunk := file.read(_CHUNK):
        done += len(chunk)
        for line in framer.feed(chunk):
            number += 1
            yield done, number, line
    last = framer.end()
    if last is not None:
        yield done, number + 1, last


def _first_value(head: bytes, is_all: bool) -> JSON:
    """Parse the first non-empty line; None if it is not JSON or longer than the head."""
    text, end, _ = head.removeprefix(_BOM).lstrip().partition(b"\n")
    return _value(text) if end or is_all else None


def _has_json_line(head: bytes) -> bool:
    *lines, _ = head.split(b"\n")[:100]
    return any(isinstance(_value(line), dict) for line in lines)


def _value(line: bytes) -> JSON:
    try:
        return parse(line.decode())
    except (UnicodeDecodeError, JSONError):
        return None


def _unreadable(path: Path, exc: OSError) -> UserError:
    return UserError(
        f"Could not read {path}: {exc.strerror or exc}.", "Check that it exists and is readable."
    )


def looks_like_capture(path: Path) -> bool:
    """True if the first bytes are those of a capture.

    An empty or unreadable file is left to `open_capture`, which reports why.
    """
    try:
        with path.open("rb") as file:
            head = file.read(len(_SQLITE_MAGIC))
    except OSError:
        return True
    return not head or head == _SQLITE_MAGIC


def import_capture(
    path: Path,
    target: Path,
    on_progress: Callable[[int, int], object] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> Capture:
    """Import JSON Lines or HAR into a new capture at `target`, and open it. Raises UserError."""
    log = TrafficLog()
    importer = TrafficImporter(path, log)
    recording = Recording(log, target, title=path.name)
    try:
        for done in importer.steps():
            if is_cancelled is not None and is_cancelled():
                raise RequestCancelled(f"Opening {path.name} was cancelled.")
            if on_progress is not None:
                on_progress(done, importer.size)
    except BaseException:
        recording.close()
        _remove(target)
        raise
    recording.close()
    capture = open_capture(target, folder=CaptureFolder(target.parent))
    return replace(capture, problems=(*importer.imported.problems, *capture.problems))


def _remove(target: Path) -> None:
    for file in (target, *side_files(target)):
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


_BODIES = ("message", "msg", "frame", "payload", "json", "data", "raw", "body", "rpc", "content")
_DIRECTIONS = ("direction", "dir", "from", "source", "sender", "side", "type")
_TIMES = ("time", "timestamp", "ts", "at", "date", "wall_ns")
_SERVERS = ("server", "server_name", "serverName", "peer")
_MAX_NAME_LENGTH = 200
_FROM_CLIENT = re.compile(r"(?:from[_ -]?)?(?:client|host|c2s|stdin)|to[_ -]?server|>|→", re.IGNORECASE)
_FROM_SERVER = re.compile(r"(?:from[_ -]?)?(?:server|agent|s2c|stdout)|to[_ -]?client|<|←", re.IGNORECASE)
_OUT = re.compile(r"(?:out(?:bound|going|put)?|sen[dt]|tx|writ(?:e|ten)|egress)\b", re.IGNORECASE)
_IN = re.compile(r"(?:in(?:bound|coming|put)?|rec(?:v|eived?)|rx|read|ingress)\b", re.IGNORECASE)


class ForeignJsonLinesReader:
    """Reads JSON Lines of other tools. Feed it every line, then call `finish`."""

    def __init__(self, log: TrafficLog, server: str, wall_ns: int) -> None:
        """Create a reader; `server` and `wall_ns` are defaults for lines without them."""
        self._replay = MessageReplay(log, wall_ns)
        self._server = server
        self._is_server_side: bool | None = None

    def line(self, line: bytes) -> None:
        """Add a row. Raises BadRow."""
        try:
            value = parse(line.decode())
        except (UnicodeDecodeError, JSONError) as exc:
            raise BadRow(f"it is not JSON: {exc}") from exc
        self.item(value, line.strip())

    def item(self, value: JSON, raw: bytes | None = None) -> None:
        """Add the rows of an already parsed value."""
        if _is_message(value) or (isinstance(value, list) and value and all(map(_is_message, value))):
            self._add({}, to_wire(value) if raw is None else raw)
        elif isinstance(value, list):
            for item in value:
                self.item(item)
        elif isinstance(value, dict):
            self._add(value, _wrapped(value))
        else:
            raise BadRow("it is not an object")

    def finish(self) -> int:
        return 0

    def _add(self, envelope: JSONObject, raw: bytes) -> None:
        server = next((name for name in _texts(envelope, _SERVERS) if name), self._server)[:_MAX_NAME_LENGTH]
        self._set_time(envelope)
        message = read(raw)
        direction = self._direction(envelope, message) or self._replay.likely_direction(server, message)
        self._replay.add(server, raw, direction)

    def _set_time(self, envelope: JSONObject) -> None:
        times = (read_time(envelope[name]) for name in _TIMES if name in envelope)
        wall = next((time for time in times if time is not None), None)
        if wall is not None:
            self._replay.clock.set(wall)

    def _direction(self, envelope: JSONObject, message: Message) -> Direction | None:
        for text in _texts(envelope, _DIRECTIONS):
            for pattern, direction in ((_FROM_CLIENT, Direction.OUT), (_FROM_SERVER, Direction.IN)):
                if pattern.match(text):
                    return direction
            for pattern, direction in ((_OUT, Direction.OUT), (_IN, Direction.IN)):
                if pattern.match(text):
                    return self._from_our_side(direction, message)
        return None

    def _from_our_side(self, direction: Direction, message: Message) -> Direction:
        expected = direction_of(message)
        if self._is_server_side is None and expected is not None:
            self._is_server_side = expected is not direction
        if not self._is_server_side:
            return direction
        return Direction.IN if direction is Direction.OUT else Direction.OUT


def _is_message(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    return "jsonrpc" in value or ("id" in value and ("method" in value or "result" in value))


def _wrapped(value: JSONObject) -> bytes:
    """Return the message that an object wraps."""
    for name in _BODIES:
        inner = value.get(name)
        if isinstance(inner, dict | list) and inner:
            return to_wire(inner)
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", "["):
            return inner.strip().encode(errors="replace")
    raise BadRow(f"it contains no message: it has {', '.join(value)[:100] or 'no members'}")


def _texts(envelope: JSONObject, names: tuple[str, ...]) -> list[str]:
    values = (envelope.get(name) for name in names)
    return [value for value in values if isinstance(value, str)]
