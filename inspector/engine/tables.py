"""Text with separated values as rows of cells. Bounded: of a long table the beginning."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

MOST_ROWS = 5_000
MOST_COLUMNS = 200
MOST_CELL = 1_000
_SEPARATORS = ",;\t|"


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
    widest = 0
    try:
        for row in reader:
            if len(rows) > MOST_ROWS:
                notes.append(f"Only the first {MOST_ROWS:,} rows are shown.")
                break
            widest = max(widest, len(row))
            rows.append(tuple(cell[:MOST_CELL] for cell in row[:MOST_COLUMNS]))
    except csv.Error as exc:
        notes.append(f"It cannot be read beyond row {len(rows):,}: {exc}.")
    if widest > MOST_COLUMNS:
        notes.append(f"Only the first {MOST_COLUMNS:,} of {widest:,} columns are shown.")
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
