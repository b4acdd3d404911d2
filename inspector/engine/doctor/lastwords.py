"""Which line of all that a process wrote before it ended says most: pure functions of its lines."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

_TELLS = re.compile(r"\b(?:error|fatal|panic|failed|cannot|could not|exception)\b", re.IGNORECASE)
_SAYS_NOTHING = re.compile(r"a complete log of this run|^npm warn|^\s*at |^\s+File ", re.IGNORECASE)

_BEGINS = "Traceback (most recent call last):"
_RAISED = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt|Failure|Invalid|Refused|Timeout)\b")
_FRAME = re.compile(r'\s+File "(?P<file>[^"<]+)", line (?P<line>\d+)')
_OF_OTHERS = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python[\d.]*|Lib)[/\\]")
_IN_GROUP = re.compile(r"^\s*\| ?")  # prefix of the parts of an exception group


def telling_line(lines: Sequence[str]) -> str:
    """Return the last line that mentions an error, else the last line; "" if there is none."""
    said = [line.strip() for line in lines if line.strip() and not _SAYS_NOTHING.search(line)]
    return next((line for line in reversed(said) if _TELLS.search(line)), said[-1] if said else "")


def exception_in(lines: Sequence[str]) -> tuple[str, str]:
    """Return the last exception of a Python traceback and where it was raised.

    The location is in the server's own code if possible. Empty strings without a traceback.
    """
    plain = [_IN_GROUP.sub("", line) for line in lines]
    begins = next((index for index in range(len(plain) - 1, -1, -1) if _BEGINS in plain[index]), None)
    if begins is None:
        return "", ""
    what = next((line.strip() for line in plain[begins + 1 :] if _RAISED.match(line)), "")
    frames = [match for line in plain[begins + 1 :] if (match := _FRAME.match(line)) is not None]
    own = [frame for frame in frames if not _OF_OTHERS.search(frame["file"])]
    frame = next(reversed(own or frames), None)
    where = f"{os.path.basename(frame['file'])}, line {frame['line']}" if frame is not None else ""
    return what, where
