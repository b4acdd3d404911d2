"""The capture file format (`.mcpcap`), documented so that other tools can read it.

An SQLite database with `application_id` 0x4D435043 ("MCPC") and `user_version` 1, in UTF-8. JSON columns
are ASCII (everything else is escaped, so that a lone surrogate survives). Rows are numbered from 0.

    about     key, value            app, began_at (ns since 1970), title, recorder (process id, start
                                    time), closed_at (missing: still recording, or interrupted)
    server    first, texts          JSON array of names, numbered from `first`
    word      first, texts          … of texts that rows refer to; number 0 is the empty one
    revision  first, texts          … of protocol versions; number 0 is the empty one
    segment   number, count, columns    rows from number * 1024 on, 1,024 in all but the last: column
                                    after column, little-endian, in the order and types of `columns.TYPES`
    chunk     number, bytes         the bytes of a run of rows, joined; a row's columns `chunk`, `offset`
                                    and `kept` locate its own. More than 64 KiB: alone in a chunk
    other_id  first, ids            JSON [[row, …], [id, …]]: ids that are not 64-bit integers
    http      row, value            JSON object: the exchange of a row of kind HTTP, without its body
    http_body row, bytes            … its body, if one was kept
    remark    row, value            JSON [is marked, comment]
    resent    row, value            JSON [row of the request that this one repeats]

Secrets of logins and of HTTP exchanges, and credentials that were in use, are replaced by placeholders
such as `~secret-1-Authorization~`, with the same number for the same secret. For a row that has one,
`size` and `kept` count what is stored.

Columns instead of one SQL row per message: Python's SQLite module releases and reacquires the GIL for
each statement. While another thread computes, that allows 6,000 inserts a second; segments allow 200,000
rows.

This module holds the SQL statements, the JSON form of HTTP exchanges, and the identity of the recording
process (to tell an interrupted capture from one being recorded). Writing raises `sqlite3.Error`, reading
any of `UNREADABLE`.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath

from inspector.base.errors import UserError
from inspector.base.json.values import JSON
from inspector.traffic.records import HttpExchange, RowNote

_JOURNAL_SUFFIXES = ("-wal", "-journal")
_SIDE_SUFFIXES = (*_JOURNAL_SUFFIXES, "-shm")
APPLICATION_ID = 0x4D435043
VERSION = 1
SEGMENT_ROWS = 1024
CHUNK_BYTES = 256 * 1024
OWN_CHUNK_BYTES = 64 * 1024

_SCHEMA = (
    "CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE server (first INTEGER PRIMARY KEY, texts TEXT NOT NULL)",
    "CREATE TABLE word (first INTEGER PRIMARY KEY, texts TEXT NOT NULL)",
    "CREATE TABLE revision (first INTEGER PRIMARY KEY, texts TEXT NOT NULL)",
    "CREATE TABLE segment (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, columns BLOB NOT NULL)",
    "CREATE TABLE chunk (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE other_id (first INTEGER PRIMARY KEY, ids TEXT NOT NULL)",
    "CREATE TABLE http (row INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE http_body (row INTEGER PRIMARY KEY, bytes BLOB NOT NULL)",
    "CREATE TABLE remark (row INTEGER PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE resent (row INTEGER PRIMARY KEY, value TEXT NOT NULL)",
)
_MAGIC = b"SQLite format 3\0"
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
# Larger pages shorten the page chains of big bodies, smaller ones write less per commit.
_PAGE_SIZE = 8192
_MAX_BLOBS = 64  # per statement
_BIG_BYTES = 4 * 1024 * 1024  # larger blobs are written in slices
_SLICE = 1024 * 1024

# Errors from reading a damaged file: SQLite's message may contain its bytes and not be valid text.
UNREADABLE = (sqlite3.Error, ValueError, OverflowError)

_RECORDER_KEY = "recorder"
_START_TOLERANCE_S = 5  # start times derive from the boot time, which shifts when the clock is set

_EXCHANGE_MEMBERS = tuple(name for name in HttpExchange._fields if name != "body")
_MAX_SIZE = 2**63 - 1

Headers = tuple[tuple[str, str], ...]


def create(path: Path, about: dict[str, str]) -> sqlite3.Connection:
    """Create a capture, readable by its owner only: it holds wire traffic.

    Raises OSError (including FileExistsError) or sqlite3.Error.
    """
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = connect(path, "rw")
    try:
        connection.execute(f"PRAGMA page_size={_PAGE_SIZE}")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        put_about(connection, about)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
        enable_wal(connection)
    except BaseException:
        connection.close()
        path.unlink(missing_ok=True)
        raise
    return connection


def reopen(path: Path) -> sqlite3.Connection:
    """Open a closed capture to continue recording. Raises sqlite3.Error."""
    connection = connect(path, "rw")
    try:
        connection.execute("DELETE FROM about WHERE key = 'closed_at'")
        enable_wal(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def enable_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL: readers and the writer do not block each other, and a commit is one append."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    # SQLite opens the journal with the first read; if the file is deleted before, the connection is useless.
    connection.execute("SELECT count(*) FROM about").fetchone()


def merge_wal(connection: sqlite3.Connection) -> None:
    """Merge the WAL journal into the file. Raises if another process has it open."""
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode=DELETE")


def connect(path: Path, mode: str, extra: str = "") -> sqlite3.Connection:
    """Connect to a capture; `mode` is "rw" or "ro". Raises sqlite3.Error.

    The file is not trusted: nothing in its schema is executed.
    """
    if mode == "rw":
        _check_journal(path)
    uri = f"{database_uri(path.absolute())}?mode={mode}{extra}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    return connection


def database_uri(path: PurePath) -> str:
    """Return a `file:` URI for SQLite, which accepts no host in it: `file:////server/share/x` on Windows."""
    uri = path.as_uri()
    return uri if uri.startswith("file:///") else f"file:////{uri.removeprefix('file://')}"


def _check_journal(path: Path) -> None:
    """Raise sqlite3.OperationalError if a journal would make SQLite delete another file.

    A rollback journal that ends with the magic number names a super-journal, which is deleted after the
    rollback. MCP Lens writes none, but a capture from elsewhere can be copied into its folder.
    """
    journal = Path(f"{os.path.realpath(path)}-journal")
    try:
        with journal.open("rb") as file:
            file.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
            is_hostile = file.read() == _JOURNAL_MAGIC
    except OSError:  # there is none, or it is shorter
        return
    if is_hostile:
        raise sqlite3.OperationalError(
            f"{journal.name} refers to another file, and was not written by MCP Lens"
        )


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Connect read-only to a file that may have a journal, even on a read-only medium."""
    connection = connect(path, "ro")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        return connect_immutable(path)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_immutable(path: Path) -> sqlite3.Connection:
    """Connect to a file from elsewhere: nothing is written, locked or deleted.

    A journal beside the file is not used. A rollback journal can name any file as its super-journal, which
    SQLite deletes after the rollback (https://www.sqlite.org/atomiccommit.html#_super_journals_).
    """
    return connect(path, "ro", "&immutable=1")


def has_valid_schema(connection: sqlite3.Connection) -> bool:
    """True if the file has exactly our tables: a view or trigger of that name could do anything."""
    found = connection.execute("SELECT sql FROM sqlite_master").fetchmany(len(_SCHEMA) + 1)
    return {sql for (sql,) in found} == set(_SCHEMA)


def side_files(path: Path) -> list[Path]:
    """Return the files that SQLite may have put beside a capture: part of it, useless alone."""
    return [path.with_name(path.name + end) for end in _SIDE_SUFFIXES]


def journals(path: Path) -> list[Path]:
    """Return the side files that have content of their own."""
    return [path.with_name(path.name + end) for end in _JOURNAL_SUFFIXES]


def check_header(path: Path) -> None:
    """Raise UserError if a file is not a readable capture, before SQLite opens it."""
    header = _header(path)
    if not header:
        raise UserError(f"{path.name} is empty.", "Nothing was recorded in it; you can delete it.")
    if not header.startswith(_MAGIC):
        raise UserError(
            f"{path.name} is not a capture.", "Open an .mcpcap file, or import a .jsonl or .har file."
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise UserError(
            f"{path.name} is a database from another application.",
            "Open an .mcpcap file that MCP Lens wrote.",
        )
    if (version := int.from_bytes(header[60:64], "big")) > VERSION:
        raise UserError(
            f"{path.name} was written by a newer version of MCP Lens (format {version}; this version "
            f"reads {VERSION}).",
            "Update MCP Lens to open it.",
        )


def _header(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{path.name} is not a file.", "Choose an .mcpcap file.")
        with path.open("rb") as file:
            return file.read(100)
    except OSError as exc:
        raise open_error(path, exc) from exc


def open_error(path: Path, exc: Exception) -> UserError:
    """Build the error for a file that cannot be used, with the next step."""
    if isinstance(exc, FileNotFoundError):
        return UserError(f"File not found: {path}.", "It may have been moved or deleted.")
    if isinstance(exc, OSError):
        return UserError(f"Could not open {path}: {exc.strerror or exc}.", "Check the file's permissions.")
    reason = str(exc) if isinstance(exc, sqlite3.Error) else "its content is invalid"
    return UserError(f"{path.name} is damaged: {reason}.", "Open a copy of it, if you have one.")


def put_about(connection: sqlite3.Connection, about: dict[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", about.items())


def put_texts(connection: sqlite3.Connection, table: str, first: int, texts: Sequence[str]) -> None:
    connection.execute(f"INSERT OR REPLACE INTO {table} VALUES (?, ?)", (first, _json(texts)))  # noqa: S608


def put_segments(connection: sqlite3.Connection, segments: Sequence[tuple[int, int, bytes]]) -> None:
    _put_blobs(connection, "segment", segments)


def put_chunks(connection: sqlite3.Connection, chunks: Sequence[tuple[int, bytes]]) -> None:
    _put_blobs(connection, "chunk", [chunk for chunk in chunks if len(chunk[1]) <= _BIG_BYTES])
    for number, data in chunks:
        if len(data) > _BIG_BYTES:
            _put_in_slices(connection, number, data)


def _put_in_slices(connection: sqlite3.Connection, number: int, data: bytes) -> None:
    """Write a large blob in slices.

    A single statement copies its data while holding the GIL: 60 ms for 50 MB.
    """
    connection.execute("INSERT OR REPLACE INTO chunk VALUES (?, zeroblob(?))", (number, len(data)))
    with connection.blobopen("chunk", "bytes", number) as blob, memoryview(data) as view:
        for start in range(0, len(data), _SLICE):
            blob.write(view[start : start + _SLICE])


def put_other_ids(connection: sqlite3.Connection, rows: Sequence[int], ids: Sequence[int | str]) -> None:
    connection.execute("INSERT OR REPLACE INTO other_id VALUES (?, ?)", (rows[0], _json([rows, ids])))


def put_values(connection: sqlite3.Connection, table: str, values: Iterable[tuple[int, object]]) -> None:
    """Write JSON values of rows to http, remark or resent, in a single statement."""
    # SQLite returns an element of an array as it was written; a scalar would be converted.
    connection.execute(
        f"INSERT OR REPLACE INTO {table} "  # noqa: S608  # the name is one of ours
        "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)",
        (_json(list(values)),),
    )


def put_notes(connection: sqlite3.Connection, notes: Mapping[int, RowNote]) -> None:
    """Write notes; an empty one replaces one that was removed."""
    values = ((row, (note.is_marked, note.comment)) for row, note in notes.items())
    put_values(connection, "remark", values)


def put_http_bodies(connection: sqlite3.Connection, bodies: Mapping[int, bytes]) -> None:
    """Replace the stored bodies of these rows; few exchanges have any."""
    connection.execute(
        "DELETE FROM http_body WHERE row IN (SELECT value FROM json_each(?))", (_json([*bodies]),)
    )
    stored = ((row, body) for row, body in bodies.items() if body)
    connection.executemany("INSERT INTO http_body VALUES (?, ?)", stored)


def _put_blobs(connection: sqlite3.Connection, table: str, rows: Sequence[tuple[int | bytes, ...]]) -> None:
    for start in range(0, len(rows), _MAX_BLOBS):
        batch = rows[start : start + _MAX_BLOBS]
        placeholders = f"({','.join('?' * len(batch[0]))})"
        values = ",".join([placeholders] * len(batch))
        statement = f"INSERT OR REPLACE INTO {table} VALUES {values}"  # noqa: S608  # the name is one of ours
        connection.execute(statement, [value for row in batch for value in row])


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def read_about(connection: sqlite3.Connection) -> dict[str, str]:
    found = connection.execute("SELECT key, value FROM about").fetchmany(100)
    return {key: value for key, value in found if isinstance(key, str) and isinstance(value, str)}


def row_count(connection: sqlite3.Connection) -> int:
    last = connection.execute("SELECT number, count FROM segment ORDER BY number DESC LIMIT 1").fetchone()
    if last is None:
        return 0
    number, count = last
    if not isinstance(count, int):
        raise ValueError("a segment does not say how many rows it has")
    return int(number) * SEGMENT_ROWS + count


def json_value(text: object) -> JSON:
    """Parse a JSON column; None if it is invalid."""
    if not isinstance(text, str):
        return None
    try:
        value: JSON = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def this_process() -> dict[str, str]:
    """Return this process's identity, for `about`."""
    import psutil  # not needed at startup

    return {_RECORDER_KEY: f"{os.getpid()} {psutil.Process().create_time():.2f}"}


def is_recording(about: dict[str, str]) -> bool:
    """True if the process recorded in `about` is still running, under the same pid."""
    import psutil

    try:
        pid, started = about[_RECORDER_KEY].split()
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < _START_TOLERANCE_S
    except psutil.AccessDenied:  # it exists, but is not ours
        return True
    except (KeyError, ValueError, OverflowError, psutil.Error):
        return False


def exchange_to_json(exchange: HttpExchange) -> dict[str, object]:
    return {name: getattr(exchange, name) for name in _EXCHANGE_MEMBERS}


def exchange_from_json(value: JSON, body: bytes) -> HttpExchange | None:
    """Parse an exchange; None if the value is not an object. Invalid members are left out."""
    if not isinstance(value, dict):
        return None
    get = value.get
    return HttpExchange(
        method=_text(get("method")),
        url=_text(get("url")),
        request_headers=_headers(get("request_headers")),
        request_size=_number(get("request_size")) or 0,
        status=_number(get("status")),
        http_version=_text(get("http_version")),
        response_headers=_headers(get("response_headers")),
        response_size=_number(get("response_size")) or 0,
        dns_ns=_number(get("dns_ns")),
        connect_ns=_number(get("connect_ns")),
        tls_ns=_number(get("tls_ns")),
        first_byte_ns=_number(get("first_byte_ns")),
        total_ns=_number(get("total_ns")),
        error=_text(get("error")),
        body=body,
        is_over=get("is_over") is True,
    )


def _text(value: JSON) -> str:
    return value if isinstance(value, str) else ""


def _number(value: JSON) -> int | None:
    return value if type(value) is int and 0 <= value <= _MAX_SIZE else None


def _headers(value: JSON) -> Headers:
    pairs = value if isinstance(value, list) else []
    return tuple(
        (_text(pair[0]), _text(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2
    )
