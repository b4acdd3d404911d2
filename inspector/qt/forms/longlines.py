"""Long lines shown as several rows.

Qt lays out a line as a whole: one of 700,000 characters takes a second at each key press. A row that goes on
in the next one ends in `GOES_ON`, a code point that no text may hold, so that joining the rows gives back
exactly what was there. Nothing of this leaves the text widget.
"""

from __future__ import annotations

GOES_ON = "\ufdef"  # not U+FDD0, which Qt uses as a separator
LONGEST_ROW = 2000
_JOINT = f"{GOES_ON}\n"


def to_rows(text: str) -> str:
    """Break long lines into rows. Must not be used for text that contains `GOES_ON`."""
    if len(text) <= LONGEST_ROW:
        return text
    lines = text.split("\n")
    if max(map(len, lines)) <= LONGEST_ROW:
        return text
    return "\n".join(line if len(line) <= LONGEST_ROW else _broken(line) for line in lines)


def from_rows(rows: str) -> str:
    """Return the text of the rows, also after edits."""
    if GOES_ON not in rows:
        return rows
    return rows.replace(_JOINT, "").replace(GOES_ON, "")


def row_offset(rows: str, offset: int) -> int:
    """Convert an offset in the text to one in the rows."""
    at = 0
    while offset > 0:
        joint = rows.find(_JOINT, at)
        if joint < 0 or offset < joint - at:
            break
        offset -= joint - at
        at = joint + len(_JOINT)
    return min(at + offset, len(rows))


def text_offset(rows: str, offset: int) -> int:
    """Convert an offset in the rows to one in the text."""
    return len(from_rows(rows[:offset]))


def _broken(line: str) -> str:
    return _JOINT.join(line[at : at + LONGEST_ROW] for at in range(0, len(line), LONGEST_ROW))
