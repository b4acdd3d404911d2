"""Text format detection (JSON, Markdown, CSV), pretty-printing and CSV parsing.

Detection only chooses how a text is shown first: it reads the start of the text and prefers plain text
when in doubt. `pretty_text` returns the start of a message and its full length, `read_table` the first
rows of a table. Pure functions, on the engine's thread for small input and in the worker process for
large.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from inspector.base.json.scanner import reindent
from inspector.base.json.values import JSONError, parse

TextFormat: TypeAlias = Literal["plain", "json", "markdown", "csv"]

MAX_PRETTY_LENGTH = 1024 * 1024  # characters
_HEAD = 64 * 1024
_MAX_PARSED = 4 * 1024 * 1024
_BY_TYPE: dict[str, TextFormat] = {
    "application/json": "json",
    "text/json": "json",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
}
_UNSPECIFIC = ("", "text/plain", "application/octet-stream")

# Unambiguous Markdown, and marks that only count in combination. Matched line by line.
_CLEAR_MARKDOWN = re.compile(
    r"^ {0,3}(?:`{3}[\w+-]*|~{3}[\w+-]*)[ \t]*$|^ {0,3}\|?(?: *:?-{3,}:? *\|)+(?: *:?-{3,}:?)? *$"
    r"|!?\[[^\[\]\n]{1,200}\]\((?:[a-z]+:|/|#|\.)[^()\s]{1,500}\)",
    re.MULTILINE | re.IGNORECASE,
)
_MARKDOWN_HINTS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        r"^#{1,6} +\S",
        r"^ {0,3}[-*+] +\S[^\n]*\n(?:[^\n]*\n){0,3}? {0,3}[-*+] +\S",
        r"^ {0,3}1[.)] +\S[^\n]*\n(?:[^\n]*\n){0,3}? {0,3}2[.)] +\S",
        r"\*\*[^\s*][^*\n]{0,200}\*\*",
        r"(?<!`)`[^`\n]{1,200}`(?!`)",
        r"^> \S",
    )
)
_SEPARATORS = ",;\t|"  # in order of preference
_SAMPLE_LINES = 30  # lines read to detect a table
_MAX_NAME_WIDTH = 60  # characters of a column name


def declared_format(mime_type: str) -> TextFormat | None:
    """Return the format declared by the MIME type, None if that is not specific."""
    declared = mime_type.partition(";")[0].strip().lower()
    if declared.endswith("+json"):
        return "json"
    if declared in _UNSPECIFIC:
        return None
    return _BY_TYPE.get(declared, "plain")


def detect_format(text: str, mime_type: str = "") -> TextFormat:
    """Return the format by MIME type if specific, else by content."""
    declared = declared_format(mime_type)
    if declared is not None:
        return declared
    if looks_like_json(text):
        return "json"
    if looks_like_csv(text):
        return "csv"
    return "markdown" if looks_like_markdown(text) else "plain"


def looks_like_json(text: str) -> bool:
    """True for an object or array; a very long text is judged by its first and last character."""
    start, end = text[:100].lstrip()[:1], text[-100:].rstrip()[-1:]
    if (start, end) not in (("{", "}"), ("[", "]")):
        return False
    if len(text) > _MAX_PARSED:
        return True
    try:
        parse(text)
    except JSONError as exc:
        return exc.is_too_deep
    return True


def looks_like_markdown(text: str) -> bool:
    head = text[:_HEAD]
    return (
        _CLEAR_MARKDOWN.search(head) is not None
        or sum(hint.search(head) is not None for hint in _MARKDOWN_HINTS) >= 2
    )


def looks_like_csv(text: str) -> bool:
    """True for rows of equal width under a header of distinct, short names."""
    lines = [line for line in text[:_HEAD].splitlines()[: _SAMPLE_LINES + 1] if line.strip()]
    if len(text) > _HEAD or len(lines) > _SAMPLE_LINES:
        lines = lines[:-1]  # may be truncated
    return len(lines) >= 2 and any(_is_table(lines, separator) for separator in _SEPARATORS)


def _is_table(lines: list[str], separator: str) -> bool:
    if separator not in lines[0]:
        return False
    try:
        header, *rows = csv.reader(lines, delimiter=separator, strict=True)
    except (csv.Error, ValueError):
        return False
    width = len(header)
    # Two lines of prose easily have one comma each.
    is_enough = len(rows) >= 2 or width >= 3
    return is_enough and all(len(row) == width for row in rows) and _are_column_names(header)


def _are_column_names(header: list[str]) -> bool:
    names = [cell.strip() for cell in header]
    if len(set(names)) < len(names) or not all(0 < len(cell) <= _MAX_NAME_WIDTH for cell in names):
        return False
    # "Hello, world" is a sentence; so is anything that ends like one.
    return not any(cell[:1] == " " for cell in header[1:]) and not names[-1].endswith((".", "!", "?", ":"))


@dataclass(frozen=True, slots=True)
class PrettyText:
    """The first part of a text of `length` characters; `problem` says why it is not JSON."""

    text: str
    length: int
    is_json: bool
    problem: str = ""


def pretty_text(raw: bytes) -> PrettyText:
    """Return a message indented if it is JSON, else as received."""
    text = raw.decode(errors="replace").removeprefix("\ufeff")
    try:
        parse(text)
    except JSONError as exc:
        if not exc.is_too_deep:
            return PrettyText(text[:MAX_PRETTY_LENGTH], len(text), is_json=False, problem=str(exc))
    shown = reindent(text, MAX_PRETTY_LENGTH)
    return PrettyText(shown[:MAX_PRETTY_LENGTH], max(len(text), len(shown)), is_json=True)


MAX_ROWS = 5_000
MAX_COLUMNS = 200
MAX_CELL_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first row is the header. `note` says what is not shown or odd, "" if nothing."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


def read_table(text: str) -> Table | None:
    """Parse a table; None if the text is empty."""
    reader = csv.reader(_lines(text), delimiter=_separator(text), strict=False)
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    max_width = 0
    try:
        for row in reader:
            if len(rows) > MAX_ROWS:
                notes.append(f"Only the first {MAX_ROWS:,} rows are shown.")
                break
            max_width = max(max_width, len(row))
            rows.append(tuple(cell[:MAX_CELL_LENGTH] for cell in row[:MAX_COLUMNS]))
    except csv.Error as exc:
        notes.append(f"Could not read beyond row {len(rows):,}: {exc}.")
    if max_width > MAX_COLUMNS:
        notes.append(f"Only the first {MAX_COLUMNS:,} of {max_width:,} columns are shown.")
    return Table(rows[0], tuple(rows[1:]), " ".join(notes)) if rows else None


def _lines(text: str) -> Iterator[str]:
    """Yield lines lazily: a long text is not split for its first rows."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _separator(text: str) -> str:
    """Return the separator most frequent in the first line."""
    first = text[: text.find("\n") if "\n" in text else 10_000][:10_000]
    return max(_SEPARATORS, key=first.count)
