"""Searches all files below a folder for a secret in any encoding."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, quote_plus

from inspector.traffic.masking.secret_scan import in_base64

_SQLITE = b"SQLite format 3\0"


def spellings(secret: str) -> set[bytes]:
    """Return the value raw, in a URL, in a form, in JSON, and in base64 at each alignment."""
    raw = secret.encode()
    texts = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), secret.replace("/", "\\/")}
    lower = {quote(secret, safe="").replace("%2F", "%2f").replace("%2B", "%2b")}
    return {text.encode() for text in texts | lower} | set(in_base64(raw)) | {raw.hex().encode()}


def positions_of(secret: str, folder: Path, *, but: tuple[str, ...] = ()) -> list[str]:
    """Return the files and database cells that contain it; `but` names files that may."""
    wanted = spellings(secret)
    return [
        location
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in but
        for location, data in _texts(path)
        if any(each in data for each in wanted) or any(each in location.encode() for each in wanted)
    ]


def _texts(path: Path) -> Iterator[tuple[str, bytes]]:
    data = path.read_bytes()
    yield str(path), data
    if data.startswith(_SQLITE):
        # A long cell is spread over pages, so that the file's bytes alone are not enough.
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            names = [
                name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
            ]
            for name in names:
                for row in connection.execute(f"SELECT * FROM {name}"):
                    for cell in row:
                        text = cell if isinstance(cell, bytes) else str(cell).encode(errors="replace")
                        yield f"{path} {name}", text
